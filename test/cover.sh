#!/usr/bin/env bash
# cover.sh BUILD SOURCE... - line coverage per source and in all, from gcov.
# A source whose code never ran has no counts; its lines are taken as not covered.
set -u
build=$1
shift

for src in "$@"; do
    gcov -n -o "$build/${src%.c}.gcda" "$src" 2>/dev/null | awk -v src="$src" '
        /^File / { mine = index($0, "\047" src "\047") }
        mine && /^Lines executed:/ {
            split($2, share, /[:%]/)
            lines = $NF
            printf "%s %d %d\n", src, share[2] * lines / 100 + .5, lines
            found = 1
            exit
        }
        END { if (!found) printf "%s 0 0\n", src }'
done | awk '
    { printf "%6.1f %%  %5d of %5d  %s\n", $3 ? 100 * $2 / $3 : 0, $2, $3, $1; hit += $2; all += $3 }
    END { if (!all) exit 1; printf "%6.1f %%  %5d of %5d  in all\n", 100 * hit / all, hit, all }'
