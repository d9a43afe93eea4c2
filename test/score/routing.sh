#!/usr/bin/env bash
# routing.sh - do the routers specialise, stay in balance and settle? Trains the tuned recipe with
# the auxiliary loss at BALANCE and the same without it, with the recipe's own weight of it, with
# the locality loss, and with the latch, several seeds each, through ablation.sh; asks `abrd eval --routing` in states of the
# validation part who is chosen, and the curves of training how many of 1000 fixed states
# an update sends to another expert, before the latch and after it. Checks:
#
#   least     with the auxiliary loss no expert of the actor has less than 15 % of the decisions
#   qoe       with it QoE is not worse than without: the paired interval does not lie below 0
#   latch     after the latch no update changes a route, of actor or critic
#   learning  after the latch the experts go on moving
#
# Prints a table, writes build/routing.json, exits with 1 when a check fails. STEPS, SEEDS, JOBS,
# OPTIONS, SHARED, TABLE: as ablation.sh.
#
#   LATCH=100     updates before a router may stop (4096 chunks each)
#   GAP=0.5       scores so close have converged
#   LOCALITY=0.1  weight of the locality loss
set -euo pipefail
cd "$(dirname "$0")/../.."
export STEPS=${STEPS:-1000000} SEEDS=${SEEDS:-5} SHARED=${SHARED:-../shared}
out=${OUT:-build/routing.json} runs=${RUNS:-build/routing}
balance=${BALANCE:-0.03} latch=${LATCH:-100} gap=${GAP:-0.5} locality=${LOCALITY:-0.1}
traces=$SHARED/traces/pensieve-train-127 video=$SHARED/video/envivio-dash3
for path in "$traces" "$video"; do
    [ -e "$path" ] || { echo "routing.sh: skipped, $path is not there"; exit 0; }
done

export OPTIONS="--balance $balance ${OPTIONS:-}" ARMS="no-balance|--balance 0
recipe|--balance 0.01
locality|--locality $locality
latch|--latch $latch --latch-gap $gap"
names="base no-balance recipe locality latch"
mkdir -p "$runs"
RUNS=$runs OUT=$runs/qoe.json bash test/score/ablation.sh | tee "$runs/table.txt"
dir=$(sed -n 's/^figures in .*, runs in //p' "$runs/table.txt")

# ---- what the routers do

# field FILE FILTER COLUMN: the column of the rows that match "network,profile"
field()
{
    awk -F, -v filter="$2" -v column="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["network"] "," $at["profile"] == filter { print $at[column] }' "$1"
}

for arm in $names; do
    for ((s = 1; s <= SEEDS; s++)); do
        to=$dir/$arm-$s.safetensors
        [ -f "$to" ] && [ ! -f "$dir/$arm-$s.routing" ] || continue
        build/abrd eval --policy "moe:$to" --routing --profile papers --traces "$traces" --part test \
            --video "$video" --csv "$dir/$arm-$s.tmp" >"$dir/$arm-$s.out" 2>&1 ||
            { cat "$dir/$arm-$s.out" >&2; exit 1; }
        mv "$dir/$arm-$s.tmp" "$dir/$arm-$s.routing"
    done
done

# over ARM NETWORK COLUMN: "mean least" over the seeds
over()
{
    for ((s = 1; s <= SEEDS; s++)); do
        [ ! -f "$dir/$1-$s.routing" ] || field "$dir/$1-$s.routing" "$2,all" "$3"
    done | awk '{ sum += $1; if (NR == 1 || $1 < least) least = $1 }
                END { if (NR) printf "%.4f %.4f", sum / NR, least; else printf "- -" }'
}

# settled ARM: from the curves of all seeds
#   changes of route per 1000 states and update: mean over the updates LATCH/2 .. LATCH, mean over
#   those behind LATCH, most in one behind the latch (each actor, critic); least movement of the
#   actor's experts behind it; runs that latched
settled()
{
    for ((s = 1; s <= SEEDS; s++)); do
        [ ! -f "$dir/$1-$s.curve" ] || awk -F, -v latch="$latch" '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            NR == 2 { while (("expert" (experts + 0)) in at) experts++ }
            { actor[NR] = $at["actor_rerouted"]; critic[NR] = $at["critic_rerouted"]
              moved[NR] = $at["actor_moved"]; n = NR
              done_a[NR] = $at["actor_converged"] == experts
              done_c[NR] = $at["critic_converged"] == experts }
            END {
                for (i = 3; i <= n; i++) {
                    if (i - 1 > latch / 2 && i - 1 <= latch) { before_a += actor[i]; before_c += critic[i]; b++ }
                    if (i - 1 > latch) { late_a += actor[i]; late_c += critic[i]; l++ }
                    # flags that rise in an update hold its gate still already
                    if (done_a[i]) { if (actor[i] > after_a) after_a = actor[i]
                                     if (!m++ || moved[i] < least) least = moved[i] }
                    if (done_c[i]) { if (critic[i] > after_c) after_c = critic[i]; mc++ }
                }
                print (b ? before_a / b : 0), (b ? before_c / b : 0), (l ? late_a / l : 0),
                      (l ? late_c / l : 0), after_a + 0, after_c + 0,
                      least + 0, (m > 0), (mc > 0)
            }' "$dir/$1-$s.curve"
    done | awk '{ a += $1; c += $2; la += $3; lc += $4; if ($5 > x) x = $5; if ($6 > y) y = $6
                  actors += $8; critics += $9; if ($8 && (!seen++ || $7 < low)) low = $7 }
        END { if (NR) printf "%.2f %.2f %.2f %.2f %.2f %.2f %.4g %d %d", 1000 * a / NR, 1000 * c / NR,
                             1000 * la / NR, 1000 * lc / NR, 1000 * x, 1000 * y, low, actors, critics
              else printf "0 0 0 0 0 0 0 0 0" }'
}

# qoe ARM: "diff lo hi" to base of QoE over the sum of weights, all profiles
qoe()
{
    sed -n "s/.*\"arm\": \"$1\".*\"all\": {\"mean\": [^,]*, \"diff\": \([^,]*\), \"lo\": \([^,]*\), \"hi\": \([^}]*\)}.*/\1 \2 \3/p" "$runs/qoe.json"
}

failed=0 checks=
# check NAME VALUE TRUE?
check()
{
    local pass=false
    if [ "$3" = 1 ]; then pass=true; else failed=$((failed + 1)); fi
    checks+=$(printf '%s\n  {"name": "%s", "value": %s, "pass": %s}' "${checks:+,}" "$1" "$2" "$pass")
    printf '%-6s %s: %s\n' "$([ "$pass" = true ] && echo pass || echo FAIL)" "$1" "$2"
}

echo
echo "routers, $STEPS steps, $SEEDS seeds; latch after $latch updates, gap $gap, locality $locality"
echo "decisions of the validation part: least share of an expert (mean, least of the seeds), normalised"
echo "information about profiles; of 1000 fixed states, those that an update sends elsewhere"
printf '%-11s %-15s %-15s %-15s %-15s %-15s %-15s %s\n' arm "least, actor" "least, critic" \
    "inform. a c" "to $latch: a c" "behind it: a c" "latched: most" "latched a c"
rows=
for arm in $names; do
    read -r la lamin <<<"$(over "$arm" actor least)"
    read -r lc lcmin <<<"$(over "$arm" critic least)"
    read -r ia _ <<<"$(over "$arm" actor normalised)"
    read -r ic _ <<<"$(over "$arm" critic normalised)"
    read -r ba bc late_a late_c aa ac low na nc <<<"$(settled "$arm")"
    printf '%-11s %-15s %-15s %-15s %-15s %-15s %-15s %s\n' "$arm" "$la $lamin" "$lc $lcmin" "$ia $ic" \
        "$ba $bc" "$late_a $late_c" "$([ "$na" = 0 ] && echo - || echo "$aa $ac")" "$na $nc"
    rows+=$(printf '%s\n  {"arm": "%s", "least_actor": %s, "least_actor_min": %s, "least_critic": %s, "least_critic_min": %s, "information_actor": %s, "information_critic": %s, "changes_before": [%s, %s], "changes_late": [%s, %s], "most_latched": [%s, %s], "moved_after": %s, "latched": [%s, %s]}' \
        "${rows:+,}" "$arm" "$la" "$lamin" "$lc" "$lcmin" "$ia" "$ic" "$ba" "$bc" "$late_a" "$late_c" "$aa" "$ac" "$low" "$na" "$nc")
    case $arm in
    base) base_least=$lamin ;;
    latch) latch_after=$(awk "BEGIN { print $aa + $ac }") latch_moved=$low latch_n=$na ;;
    esac
done
echo
read -r diff lo hi <<<"$(qoe no-balance)"
check "least: smallest share of an expert with the auxiliary loss, all seeds" "$base_least" \
    "$(awk "BEGIN { print ($base_least >= .15) }")"
# without minus with: the auxiliary loss is worse if that lies above 0
check "qoe: lower end of the interval of QoE without the auxiliary loss minus with it" "${lo:-null}" \
    "$(awk "BEGIN { print (${lo:-1} <= 0) }")"
check "latch: actors that latched" "$latch_n" "$([ "$latch_n" = "$SEEDS" ] && echo 1 || echo 0)"
check "latch: most changes of route in an update after the latch, of 1000 states" "$latch_after" \
    "$(awk "BEGIN { print ($latch_n > 0 && $latch_after == 0) }")"
check "learning: least movement of the actor's experts in an update after the latch" "$latch_moved" \
    "$(awk "BEGIN { print ($latch_moved > 0) }")"
printf '{"steps": %s, "seeds": %s, "balance": %s, "latch": %s, "gap": %s, "locality": %s,\n "arms": [%s\n ],\n "checks": [%s\n ]}\n' \
    "$STEPS" "$SEEDS" "$balance" "$latch" "$gap" "$locality" "$rows" "$checks" >"$out"
echo "figures in $out, runs in $dir"
[ "$failed" = 0 ]
