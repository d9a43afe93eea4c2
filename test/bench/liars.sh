#!/usr/bin/env bash
# liars.sh [SEEDS [OPTION...]] - do lies get out? Viewers on links of a kind that the shipped policy
# never met, of whom 0, 10 and 30 % report the extreme of what the API takes, all to the same end:
# that the daemon chooses the highest level, or the lowest. Prints the policies' scores in the daemon's
# exam: the largest fall of a published one below the best before it, the worst of all seeds, and
# ends with 1 when that is more than 3 %. Options go to abrd emulate.
set -euo pipefail
cd "$(dirname "$0")/../.."
seeds=${1:-5}
shift || true

for how in "0 up" "0.1 up" "0.1 down" "0.3 up" "0.3 down"; do
    read -r share lie <<<"$how"
    for ((s = 101; s < 101 + seeds; s++)); do
        build/abrd emulate --kind volatile-low --links 200 --viewers 1000 --learn --explore 1 \
            --liars "$share" --lie "$lie" --seed "$s" --quiet "$@" |
            sed -nE "s/.*published: ([0-9.-]+) at first, .* best, ([0-9.-]+) at last.*: ([0-9.-]+) %; ([0-9]+) updates, ([0-9]+) rolled.*/$share $lie $s \1 \2 \3 \4 \5/p"
    done
done | tee "${LIARS_LOG:-/dev/null}" | awk '
    { key = $1 " " $2; if (!(key in n)) order[++k] = key
      n[key]++; first[key] += $4; last[key] += $5; updates[key] += $7; back[key] += $8
      if ($6 > worst[key]) worst[key] = $6 }
    END {
        for (i = 1; i <= k; i++) {
            key = order[i]; split(key, w, " ")
            printf "liars %2.0f %% %-4s exam %.4f -> %.4f, largest fall %.2f %%, %d updates, %d rolled back (%d seeds)\n",
                   100 * w[1], (w[1] > 0 ? w[2] : ""), first[key] / n[key], last[key] / n[key],
                   worst[key], updates[key], back[key], n[key]
            if (worst[key] > 3) bad = 1
        }
        exit bad || !k
    }'
