#!/usr/bin/env bash
# online.sh [SEEDS [OPTION...]] - does the daemon learn, and what does it cost on known ground?
# VIEWERS (10,000) viewers on slow, volatile links, of whom the share EXPLORE (0.2) explores. Then greedy
# scores before and after learning: on 60 other links of that kind, the share of the gap to the oracle that
# was closed; on links of all kinds in traces/, and of KNOWN if that folder is there, the change of QoE, as
# percent of the score before where both are positive, else as a difference. Means over seeds with 95 % t
# intervals. Each seed has links, start points and sampling of its own. Options go to abrd emulate:
# --mu 3,1,3 --grow sports lets new experts alone learn (without known ground).
set -euo pipefail
cd "$(dirname "$0")/../.."
seeds=${1:-5}
shift || true

viewers=${VIEWERS:-10000} explore=${EXPLORE:-0.2}
known=${KNOWN:-${SHARED:-../shared}/traces/pensieve-train-127}
saved=$(mktemp --suffix .safetensors)
trap 'rm -f "$saved"' EXIT

# known DIR: "seed set profile before after" of the product's profiles
known()
{
    build/abrd eval --policy "moe,moe:$saved" --profile all --count-first --traces "$1" --part all --csv - 2>/dev/null |
        awk -F, -v s="$s" -v set="$(basename "$1")" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            $at["policy"] == "moe" { before[$at["profile"]] = $at["mean_qoe"] }
            $at["policy"] ~ /^moe:/ { print s, "known", set "/" $at["profile"], before[$at["profile"]], $at["mean_qoe"] }'
}

for ((s = 101; s < 101 + seeds; s++)); do
    build/abrd emulate --kind volatile-low --links 200 --viewers "$viewers" --learn --explore "$explore" \
        --score 60 --save "$saved" --seed "$s" --quiet --csv - "$@" 2>/dev/null |
        awk -F, -v s="$s" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            $at["policy"] == "after" {
                print s, $at["profile"], $at["gap_closed"], $at["gap_lo"], $at["gap_hi"] }'
    case " $* " in *" --grow "*) continue ;; esac
    known traces
    [ ! -d "$known" ] || known "$known"
done | awk '
    # two-sided 95 % quantiles of t for 1 .. 19 degrees of freedom
    BEGIN { split("12.71 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 " \
                  "2.179 2.160 2.145 2.131 2.120 2.110 2.101 2.093", t, " ") }
    # known ground: percent where both are positive, else a difference
    $2 == "known" {
        key = $3; if (!(key in kn)) korder[++cells] = key
        if (!($4 > 0 && $5 > 0)) differs[key] = 1
        kn[key]++; before[key, kn[key]] = $4; after[key, kn[key]] = $5
        next
    }
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
        for (i = 1; i <= cells; i++) {
            key = korder[i]; k = kn[key]; total = squares = was = is = 0
            for (j = 1; j <= k; j++) {
                x = after[key, j] - before[key, j]
                if (!(key in differs)) x *= 100 / before[key, j]
                total += x; squares += x * x; was += before[key, j] / k; is += after[key, j] / k
            }
            m = total / k; var = k > 1 ? (squares / k - m * m) * k / (k - 1) : 0
            df = k - 1 > 19 ? 19 : k - 1
            half = k > 1 ? t[df] * sqrt(var > 0 ? var : 0) / sqrt(k) : 0
            printf "known ground, %-40s before %7.3f, after %7.3f: %+.2f%s, 95 %% %+.2f .. %+.2f\n",
                   key ":", was, is, m, (key in differs ? " (difference)" : " %"), m - half, m + half
        }
    }'
