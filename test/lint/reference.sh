#!/usr/bin/env bash
# reference.sh [--write] - the tables of deploy/REFERENCE.md, printed by the program that was built. --write
# puts each table between its two marks; without it, prints what is not true.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
page=deploy/REFERENCE.md abrd=${ABRD:-build/abrd}
[ -x "$abrd" ] || { echo "$page:1: $abrd is not built: run make"; exit 1; }

table=$(mktemp) now=$(mktemp)
trap 'rm -f "$table" "$now"' EXIT
cp "$page" "$now"
for what in serve metrics; do
    grep -qx "<!-- $what -->" "$now" && grep -qx "<!-- end of $what -->" "$now" ||
        { echo "$page:1: has no lines '<!-- $what -->' and '<!-- end of $what -->'"; exit 1; }
    "$abrd" man --markdown "$what" >"$table" || exit 1
    awk -v table="$table" -v what="$what" '
        $0 == "<!-- end of " what " -->" { print ""; skip = 0 }
        !skip { print }
        $0 == "<!-- " what " -->" {
            skip = 1
            while ((getline line < table) > 0) print line
        }' "$now" >"$now.next" && mv "$now.next" "$now"
done
if [ "${1:-}" = --write ]; then
    cmp -s "$now" "$page" || cat "$now" >"$page"
elif ! cmp -s "$now" "$page"; then
    echo "$page:1: its tables are not true: run make format"
fi
