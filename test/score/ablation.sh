#!/usr/bin/env bash
# ablation.sh - what does each part of the recipe do? Trains the tuned recipe and the same with
# one change, several seeds each, on the train part of Pensieve's training traces, and scores
# them greedily on the validation part: never on a test set. Prints the mean over seeds and the
# difference to the unchanged recipe, paired by seed, with a 95 % t interval; writes
# build/ablation.json.
#
#   STEPS=N         of each run (default: the recipe's own number)
#   SEEDS=5         seeds 1 .. N
#   JOBS=2          runs at a time, one core each
#   OPTIONS="..."   options of abrd train for all arms
#   ARMS="..."      lines of "name|options" instead of those below; "base" is always there
#   SHARED=DIR      holds traces/ and video/ (default ../shared)
#   RUNS=DIR        keeps the runs (default build/ablation)
#   TABLE=1         train nothing, tell what is there
#
# Runs that are finished are not made again and those that were interrupted go on, as long as
# steps, options and the recipe's settings are the same: RUNS/KEY. A change in the
# program that no setting shows calls for `rm -r build/ablation`.
set -euo pipefail
cd "$(dirname "$0")/../.."
seeds=${SEEDS:-5} jobs=${JOBS:-2} shared=${SHARED:-../shared} steps=${STEPS:-0}
out=${OUT:-build/ablation.json}
abrd=build/abrd
traces=$shared/traces/pensieve-train-127 video=$shared/video/envivio-dash3
export OPENBLAS_NUM_THREADS=1
for path in "$traces" "$video"; do
    [ -e "$path" ] || { echo "ablation.sh: skipped, $path is not there"; exit 0; }
done
[ "$seeds" -ge 1 ] && [ "$jobs" -ge 1 ] || { echo "ablation.sh: SEEDS and JOBS are 1 or more" >&2; exit 2; }

arms=${ARMS:-"experts-1|--experts 1
experts-6|--experts 6
dense|--route dense
balance-off|--balance 0
noise-0|--noise 0
noise-3|--noise 3
hint-off|--no-hint
layout-paper|--layout paper"}
arms=$'base|\n'$arms

key=$({ "$abrd" train --help; echo "$steps ${OPTIONS:-}"; } | cksum | cut -d' ' -f1)
dir=${RUNS:-build/ablation}/$key
mkdir -p "$dir"

# ---- training and scoring

# train ARM SEED OPTION...: makes $dir/ARM-SEED.csv; the curve is in ARM-SEED.curve
train()
{
    local name=$1-$2 seed=$2
    shift 2
    local to=$dir/$name.safetensors where=(--traces "$traces" --video "$video")
    if [ ! -f "$to" ]; then
        local how=(--preset tuned --variant pamoe --part train --seed "$seed")
        [ "$steps" = 0 ] || how+=(--steps "$steps")
        # shellcheck disable=SC2206
        how+=(${OPTIONS:-} "$@")
        [ ! -f "$to.part" ] || how=(--resume "$to.part")
        "$abrd" train "${how[@]}" "${where[@]}" --threads 1 --quiet --out "$to" \
            --csv "$dir/$name.curve" >"$dir/$name.log" 2>&1 &
        # it saves what it has; a key press reaches it without us
        trap 'kill -INT $! 2>/dev/null || true' TERM
        wait $! || { wait $! || true; }
        [ -f "$to" ] || return 1 # interrupted
    fi
    "$abrd" eval --policy "moe:$to" --profile papers --traces "$traces" --part test --video \
        "$video" --threads 1 --quiet --csv "$dir/$name.tmp" >>"$dir/$name.log" 2>&1 || return 1
    mv "$dir/$name.tmp" "$dir/$name.csv"
    echo "$name"
}

running=0
stop()
{
    trap '' INT TERM
    # Ctrl-C has reached them already, and a second one would end them before they saved
    if [ "${1:-}" = TERM ]; then
        for job in $(jobs -p); do kill -TERM "$job" 2>/dev/null || true; done
    fi
    wait
    echo "ablation.sh: stopped; the same command goes on from here" >&2
    exit 1
}

failed=0
reap()
{
    wait -n || failed=$((failed + 1))
    running=$((running - 1))
}

if [ "${TABLE:-}" != 1 ]; then
    trap stop INT
    trap 'stop TERM' TERM
    for ((seed = 1; seed <= seeds; seed++)); do
        while IFS='|' read -r arm options; do
            [ -n "$arm" ] || continue
            [ ! -f "$dir/$arm-$seed.csv" ] || continue
            [ "$running" -lt "$jobs" ] || reap
            # shellcheck disable=SC2086
            train "$arm" "$seed" $options </dev/null &
            running=$((running + 1))
        done <<<"$arms"
    done
    while [ "$running" -gt 0 ]; do reap; done
    trap - INT TERM
fi
if [ "$failed" -gt 0 ]; then
    echo "ablation.sh: $failed runs failed; their words are in $dir/*.log" >&2
    tail -n 2 "$dir"/*.log >&2
    exit 1
fi

# ---- told

# score ARM SEED PROFILE; "all" is the mean over profiles of QoE over the sum of the weights
score()
{
    awk -F, -v profile="$3" '
        BEGIN { sum["paper-documentary"] = sum["paper-live"] = sum["paper-news"] = 8; sum["pensieve"] = 6.3 }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["profile"] == profile { print $at["mean_qoe"] }
        { all += $at["mean_qoe"] / sum[$at["profile"]]; n++ }
        END { if (profile == "all") print all / n }' "$dir/$1-$2.csv"
}

# compare ARM PROFILE: mean over seeds, then the difference to base and its interval
compare()
{
    for ((s = 1; s <= seeds; s++)); do
        [ -f "$dir/base-$s.csv" ] && [ -f "$dir/$1-$s.csv" ] || continue
        echo "$(score "$1" "$s" "$2") $(score base "$s" "$2")"
    done >"$dir/pairs"
    awk '{ n++; sum += $1 } END { printf "%d %s ", n, n ? sprintf("%.6g", sum / n) : "-" }' "$dir/pairs"
    awk '{ printf "%.9g\n", $1 - $2 }' "$dir/pairs" | awk -f test/score/interval.awk
}

echo "ablation of the tuned recipe, $([ "$steps" = 0 ] && echo "its own number of" || echo "$steps") steps${OPTIONS:+, $OPTIONS}"
echo "QoE per chunk on the validation part of $(basename "$traces"); all: QoE over the sum of weights"
printf '%-14s %5s' arm seeds
for p in paper-documentary paper-live paper-news pensieve all; do printf '  %-31s' "$p"; done
echo
rows=
while IFS='|' read -r arm options; do
    [ -n "$arm" ] || continue
    line= json=
    for p in paper-documentary paper-live paper-news pensieve all; do
        read -r n mean diff lo hi <<<"$(compare "$arm" $p)"
        if [ "$n" = 0 ]; then
            line+=$(printf '  %-31s' -)
        elif [ "$arm" = base ]; then
            line+=$(printf '  %-31s' "$(printf '%.3f' "$mean")")
        elif [ "$lo" = - ]; then
            line+=$(printf '  %-31s' "$(printf '%.3f  %+.3f' "$mean" "$diff")")
        else
            line+=$(printf '  %-31s' "$(printf '%.3f  %+.3f (%+.3f .. %+.3f)' "$mean" "$diff" "$lo" "$hi")")
        fi
        json+=$(printf ', "%s": {"mean": %s, "diff": %s, "lo": %s, "hi": %s}' "$p" \
            "${mean/#-/null}" "${diff/#-/@}" "${lo/#-/@}" "${hi/#-/@}")
    done
    printf '%-14s %5d%s\n' "$arm" "$n" "$line"
    # a lone "-" is no number; -0.1 is one
    json=$(sed -E 's/@([0-9.])/-\1/g; s/@/null/g' <<<"$json")
    rows+=$(printf '%s\n  {"arm": "%s", "options": "%s", "seeds": %d%s}' "${rows:+,}" "$arm" \
        "$options" "$n" "$json")
done <<<"$arms"
rm -f "$dir/pairs"
printf '{"steps": %s, "options": "%s", "part": "val",\n "arms": [%s\n ]}\n' "$steps" \
    "${OPTIONS:-}" "$rows" >"$out"
echo "figures in $out, runs in $dir"
