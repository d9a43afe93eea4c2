#!/usr/bin/env bash
# modules.sh [--write] - the tables of modules in the rooms' READMEs, from the opening sentence of
# each header. A room is a folder of src that has more than five sources of its own. --write puts
# each table between the two marks of its README; without it, prints every README whose table is not
# true, or that is missing.
set -u
export LC_ALL=C
cd "${MODULES_ROOT:-$(dirname "$0")/../..}" || exit 1

# module_table ROOM
module_table()
{
    printf '\n| module | what it is |\n|---|---|\n'
    for h in "$1"/*.h; do
        case $h in *_priv.h | *'*'*) continue ;; esac
        # up to the blank line or the first full stop
        awk -v name="$(basename "$h" .h)" '
            { line = $0; sub(/^(\/\*| \*)[ ]?/, "", line); sub(/[ ]*\*\/$/, "", line) }
            FNR == 1 { sub(/^[^ ]* - /, "", line) }
            line == "" { exit }
            {
                at = match(line, /\.( |$)/)
                text = text (text == "" ? "" : " ") (at ? substr(line, 1, at - 1) : line)
                if (at || $0 ~ /\*\/$/) exit
            }
            END { printf "| `%s` | %s |\n", name, text }' "$h"
    done
    echo
}

table=$(mktemp) now=$(mktemp)
trap 'rm -f "$table" "$now"' EXIT
for room in $(find src -mindepth 1 -type d 2>/dev/null | sort); do
    readme=$room/README.md
    sources=$(find "$room" -maxdepth 1 -name '*.c' | wc -l)
    [ "$sources" -gt 5 ] || [ -f "$readme" ] || continue
    module_table "$room" >"$table"
    if [ ! -f "$readme" ]; then
        echo "$readme:1: is missing: $room has $sources sources"
        continue
    fi
    awk -v table="$table" '
        /^<!-- end of modules -->/ { skip = 0 }
        !skip { print }
        /^<!-- modules -->/ {
            skip = found = 1
            while ((getline line < table) > 0) print line
        }
        END { if (!found) print "no marks" }' "$readme" >"$now"
    if grep -qx 'no marks' "$now"; then
        echo "$readme:1: has no line '<!-- modules -->' with '<!-- end of modules -->' behind it"
    elif [ "${1:-}" = --write ]; then
        cmp -s "$now" "$readme" || cat "$now" >"$readme"
    elif ! cmp -s "$now" "$readme"; then
        echo "$readme:1: its table of modules is not true: run make format"
    fi
done
