#!/usr/bin/env bash
# score.sh - how good is a policy, in the papers' units? The table of web/docs/scores.md in one run: what was
# measured with its 95 % interval, the least it has to be (floor), what is aimed at, and the
# command behind each figure. Also writes build/score.json.
#
#   POLICY=moe      or moe:FILE; what is scored, greedily, one set of weights for all rows
#   PART=test       test: traces that no policy may be chosen by. val: the validation part of
#                   the training traces, which is what a search looks at
#   SHARED=DIR      holds traces/ and video/ (default ../shared); what is absent is skipped
#   PAPER=DIR       policies of `abrd lab shift --policies DIR`, to compare with the paper's MoE:
#                   each profile with what every seed had learned at the end of its last segment
#   SEEDS="F F.."   policies of the same recipe and other seeds: the recipe's own mean
#   DRAWS=200       custom weights; 0 leaves them out
#   ORACLE=1        0 leaves the oracle out, which takes most of the time
#   OUT=FILE        default build/score.json
#
# The same policy and traces give the same figures. Exit code 0 whatever the figures are, 1 when
# one could not be had.
set -euo pipefail
cd "$(dirname "$0")/../.."
policy=${POLICY:-moe} part=${PART:-test} shared=${SHARED:-../shared} draws=${DRAWS:-200}
oracle=${ORACLE:-1} out=${OUT:-build/score.json}
abrd=build/abrd
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export OPENBLAS_NUM_THREADS=1

train=$shared/traces/pensieve-train-127 envivio=$shared/video/envivio-dash3
case $part in
test)
    norway=(--traces "$shared/traces/pensieve-test-hsdpa-142")
    sabre=(--traces "$shared/traces/sabre-3g-86")
    lumos=(--traces "$shared/traces/lumos-4g-175")
    ;;
val)
    norway=(--traces "$train" --part test)
    sabre=("${norway[@]}")
    lumos=(--traces traces --part test) # the training traces know nothing so fast
    ;;
*)
    echo "score.sh: PART is test or val, not '$part'" >&2
    exit 2
    ;;
esac
ladder=1000,2500,5000,8000,16000,25000,40000
three=documentary,live,news # of the paper; all rows are in its units, see viewers.mjs for the product's
of_paper=paper-documentary,paper-live,paper-news

# ---- running and reading

# have PATH...: are all there?
have()
{
    for path in "$@"; do
        [ -e "$path" ] || { skipped+=("$path is not there"); return 1; }
    done
}

# run NAME ARG...: abrd eval ARG..., rows in $tmp/NAME.csv, the command in $shown
declare -A shown
run()
{
    local name=$1 TIMEFORMAT='%U %S'
    shift
    shown[$name]="abrd eval $*"
    if ! { time "$abrd" eval "$@" --quiet --csv "$tmp/$name.csv" >"$tmp/out" 2>"$tmp/err"; } \
        2>"$tmp/time"; then
        cat "$tmp/err" >&2
        exit 1
    fi
    spent[$name]=$(awk '{ printf "%.1f", $1 + $2 }' "$tmp/time")
}
declare -A spent

# pick NAME POLICY PROFILE COLUMN: one value, "" when it is not there
pick()
{
    awk -F, -v policy="$2" -v profile="$3" -v column="$4" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["policy"] == policy && $at["profile"] == profile && column in at {
            print $at[column]; exit }' "$tmp/$1.csv"
}

# three NAME POLICY PROFILE COLUMN: the value and its interval
triple()
{
    echo "$(pick "$1" "$2" "$3" "$4") $(pick "$1" "$2" "$3" "$4_lo") $(pick "$1" "$2" "$3" "$4_hi")"
}

# ---- the table

rows=$tmp/rows
: >"$rows"
skipped=()

# row NAME UNIT FLOOR AIM COMMAND FIGURE LO HI: "-" where there is none. UNIT is %, +%
# for a gain, or 1; a
# floor that begins with < is an upper limit.
row()
{
    local floor=$3 aim=$4
    # floors and aims are told for the test sets
    if [ "$part" = val ] && [ "${absolute:-}" = 1 ]; then floor=- aim=-; fi
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$floor" "$aim" "$5" "${6:--}" \
        "${7:--}" "${8:--}" >>"$rows"
}

if have "${norway[1]}" "$envivio"; then
    players=$policy,mpc,mpc-default
    [ "$oracle" = 0 ] || players+=,oracle
    run norway --policy "$players" --gain "$policy" --profile papers "${norway[@]}" \
        --video "$envivio"
    read -r mean lo hi <<<"$(pick norway "$policy" pensieve mean_qoe) $(pick norway "$policy" \
        pensieve ci_lo) $(pick norway "$policy" pensieve ci_hi)"
    absolute=1 row "QoE per chunk, pensieve weights" 1 .986 1.03 norway "$mean" "$lo" "$hi"
    # shellcheck disable=SC2046
    row "gain over the best RobustMPC, mean of D, L, N" +% .25 .40 norway \
        $(triple norway "$policy" documentary+live+news gain)
    for p in documentary live news; do
        # shellcheck disable=SC2046
        row "  gain, $p" +% .05 - norway $(triple norway "$policy" "paper-$p" gain)
    done
    if [ "$oracle" != 0 ]; then
        above=0
        for p in paper-documentary paper-live paper-news pensieve; do
            # shellcheck disable=SC2046
            row "  share of the oracle, ${p#paper-}" % - .90 norway \
                $(triple norway "$policy" $p of_oracle)
            # shellcheck disable=SC2046
            row "  of what was to be gained over RobustMPC, ${p#paper-}" % - - norway \
                $(triple norway "$policy" $p gap_closed)
            for who in "$policy" mpc mpc-default; do
                above=$((above + $(pick norway "$who" $p above_bound)))
            done
        done
        row "  traces on which anyone beat the oracle's bound" 1 '<0' - norway "$above"
        gap=$(for p in paper-documentary paper-live paper-news pensieve; do
            pick norway oracle $p oracle_gap
        done | sort -g | tail -n 1)
        row "  gap between oracle and bound, largest of the profiles" 1 - - norway "$gap"
    fi

    if [ "$part" = test ] && have "$train"; then
        "$abrd" trace overlap "$train" "${norway[1]}" --list "$tmp/overlap" >/dev/null
        leaked=$(grep -vc '^#' "$tmp/overlap" || true)
        run apart --gain "$policy" --policy "$policy" --profile papers "${norway[@]}" --video \
            "$envivio" --exclude "$tmp/overlap"
        shown[apart]="abrd trace overlap $train ${norway[1]} --list overlap; ${shown[apart]/$tmp\//}"
        read -r mean lo hi <<<"$(pick apart "$policy" pensieve mean_qoe) $(pick apart "$policy" \
            pensieve ci_lo) $(pick apart "$policy" pensieve ci_hi)"
        row "without $leaked traces that training traces correlate with: pensieve" 1 .986 1.03 \
            apart "$mean" "$lo" "$hi"
        # shellcheck disable=SC2046
        row "  and the mean gain of D, L, N" +% .25 .40 apart \
            $(triple apart "$policy" documentary+live+news gain)
    fi

    if [ -n "${SEEDS:-}" ]; then
        list=
        for file in $SEEDS; do list+=${list:+,}moe:$file; done
        run seeds --policy "$list" --profile pensieve "${norway[@]}" --video "$envivio"
        shown[seeds]="abrd eval --policy moe:SEED1,... --profile pensieve ${norway[*]} --video $envivio"
        # shellcheck disable=SC2046
        absolute=1 row "recipe, mean over seeds, pensieve weights" 1 .965 - seeds $(
            for file in $SEEDS; do pick seeds "moe:$file" pensieve mean_qoe; done |
                awk -f test/score/interval.awk)
    fi

    if [ -z "${PAPER:-}" ]; then
        skipped+=("PAPER= names no policies of the paper's preset")
    elif have "$PAPER"; then
        ours=0
        for p in ${three//,/ }; do
            list=$policy
            for file in "$PAPER"/paper-moe-[0-9]*-"$p".safetensors; do list+=,moe:$file; done
            run "paper-$p" --policy "$list" --profile "paper-$p" "${norway[@]}" --video "$envivio"
            ours=$(awk -v a="$ours" -v b="$(pick "paper-$p" "$policy" "paper-$p" mean_qoe)" \
                'BEGIN { print a + b / 3 }')
        done
        shown[paper]="abrd eval --policy $policy,moe:$PAPER/paper-moe-SEED-PROFILE.safetensors,... --profile paper-PROFILE ${norway[*]} --video $envivio"
        spent[paper]=$(for p in ${three//,/ }; do echo "${spent[paper-$p]}"; done |
            awk '{ s += $1 } END { print s }')
        # the mean of each seed over the profiles, then over seeds
        read -r mean lo hi <<<"$(for file in "$PAPER"/paper-moe-[0-9]*-news.safetensors; do
            for p in ${three//,/ }; do
                pick "paper-$p" "moe:${file/-news./-$p.}" "paper-$p" mean_qoe
            done | awk '{ s += $1 } END { print s / NR }'
        done | awk -f test/score/interval.awk)"
        row "the paper's MoE, mean of D, L, N and of seeds" 1 - - paper "$mean" "$lo" "$hi"
        # shellcheck disable=SC2046
        row "times that" 1 2.5 4 paper $(awk -v a="$ours" -v m="$mean" -v lo="$lo" -v hi="$hi" \
            'BEGIN { print a / m, (hi > 0 ? a / hi : "-"), (lo > 0 ? a / lo : "-") }')
    fi

    run live --policy "mpc,$policy" --paired mpc --profile paper-live --chunk-s 2 --buffer-s 6 \
        "${norway[@]}"
    # shellcheck disable=SC2046
    row "live, 6 s buffer, 2 s chunks: stall per chunk less mpc's [s]" 1 '<0' - live \
        $(triple live "$policy" paper-live stall_diff)
    run edge --gain "$policy" --over mpc --policy "$policy" --profile paper-live --chunk-s 2 \
        --buffer-s 6 "${norway[@]}"
    # shellcheck disable=SC2046
    row "  gain in QoE over mpc" +% 0 .05 edge $(triple edge "$policy" paper-live gain)

    if [ "$draws" != 0 ]; then
        run draws --policy "$policy" --mu-draws "$draws" --worst 0 "${norway[@]}" --video \
            "$envivio"
        # shellcheck disable=SC2046
        row "$draws drawn weights: not below the best of BB, BOLA, RobustMPC" % .90 .97 draws \
            $(triple draws "$policy" drawn share)
    fi
fi

if have "${sabre[1]}" "$shared/video/sabre-bbb.json"; then
    run sabre --gain "$policy" --policy "$policy" --profile "$of_paper" "${sabre[@]}" --video \
        "$shared/video/sabre-bbb.json"
    # shellcheck disable=SC2046
    row "Big Buck Bunny, 10 levels of 3 s: mean gain of D, L, N" +% 0 .03 sabre \
        $(triple sabre "$policy" documentary+live+news gain)
fi

if have "${lumos[1]}"; then
    run lumos --gain "$policy" --policy "$policy" --profile "$of_paper" "${lumos[@]}" --ladder \
        "$ladder"
    # shellcheck disable=SC2046
    row "ladder up to 40 Mbit/s on fast links: mean gain of D, L, N" +% 0 .03 lumos \
        $(triple lumos "$policy" documentary+live+news gain)
fi

# ---- told

looks=$(sed -n 's/.*scored on the test sets: *\([0-9][0-9]*\).*/\1/p' deploy/policy/README.md)
file=${policy#moe:}
[ "$file" != moe ] || file=deploy/policy/moe.safetensors
sum=$(sha256sum "$file" 2>/dev/null | cut -c1-64 || true)

echo "policy $policy (sha256 ${sum:0:16}), part $part"
[ "$part" = val ] || echo "candidate releases scored on the test sets so far: ${looks:-not told}"
awk -F'\t' -f test/score/table.awk "$rows"
for name in norway apart seeds paper live edge draws sabre lumos; do
    [ -z "${shown[$name]:-}" ] || echo "  [$name] ${spent[$name]} s CPU: ${shown[$name]}"
done
for why in ${skipped[@]+"${skipped[@]}"}; do echo "  skipped: $why"; done

mkdir -p "$(dirname "$out")"
{
    printf '{"policy": "%s", "sha256": "%s", "part": "%s", "looks": %s,\n "rows": [' \
        "$policy" "$sum" "$part" "${looks:-null}"
    comma=
    while IFS=$'\t' read -r name unit floor aim key figure lo hi; do
        printf '%s\n  ' "$comma"
        printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$unit" "$floor" "$aim" \
            "${shown[$key]}" "$figure" "$lo" "$hi" |
            awk -F'\t' -v json=1 -f test/score/table.awk
        comma=,
    done <"$rows"
    printf '\n ]}\n'
} >"$out"
echo "figures in $out"
