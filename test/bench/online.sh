#!/usr/bin/env bash
# online.sh [SEEDS [OPTION...]] - does the daemon learn? 2,000 viewers on links of a kind that the shipped
# policy never met, exploration share 1; then greedy scores on 60 other links of that kind.
# Prints the share of the gap between learning off and the oracle that was closed: mean over
# seeds with a 95 % t interval. Each seed has links, start points and sampling of its own.
# Options go to abrd emulate: --mu 3,1,3 --grow sports lets new experts alone learn.
set -euo pipefail
cd "$(dirname "$0")/../.."
seeds=${1:-5}
shift || true

for ((s = 101; s < 101 + seeds; s++)); do
    build/abrd emulate --kind volatile-low --links 200 --viewers 2000 --learn --explore 1 \
        --score 60 --seed "$s" --quiet --csv - "$@" 2>/dev/null |
        awk -F, -v s="$s" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            $at["policy"] == "after" {
                print s, $at["profile"], $at["gap_closed"], $at["gap_lo"], $at["gap_hi"] }'
done | awk '
    # two-sided 95 % quantiles of t for 1 .. 19 degrees of freedom
    BEGIN { split("12.71 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 " \
                  "2.179 2.160 2.145 2.131 2.120 2.110 2.101 2.093", t, " ") }
    {
        printf "  seed %d %-12s %6.1f %% of the gap closed (%.1f .. %.1f over links)\n",
               $1, $2, 100 * $3, 100 * $4, 100 * $5
        if (!($2 in n)) order[++profiles] = $2
        n[$2]++; sum[$2] += $3; square[$2] += $3 * $3
    }
    END {
        for (i = 1; i <= profiles; i++) {
            p = order[i]; m = sum[p] / n[p]
            var = n[p] > 1 ? (square[p] / n[p] - m * m) * n[p] / (n[p] - 1) : 0
            df = n[p] - 1 > 19 ? 19 : n[p] - 1
            half = n[p] > 1 ? t[df] * sqrt(var > 0 ? var : 0) / sqrt(n[p]) : 0
            printf "online learning, %-12s %5.1f %% of the gap closed, 95 %% %.1f .. %.1f over %d seeds\n",
                   p ":", 100 * m, 100 * (m - half), 100 * (m + half), n[p]
        }
    }'
