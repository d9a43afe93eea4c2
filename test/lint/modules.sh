#!/usr/bin/env bash
# modules.sh [--write] - the table of all modules, from the opening sentence of each header.
# --write puts it into src/README.md between its two marks; lint.sh compares the two.
set -u
export LC_ALL=C
cd "${MODULES_ROOT:-$(dirname "$0")/../..}" || exit 1

table()
{
    for layer in base nn moe rl abr abrd lab serve cli; do
        ls "include/$layer"/*.h >/dev/null 2>&1 || continue
        printf '\n### %s\n\n| module | what it is |\n|---|---|\n' "$layer"
        for h in "include/$layer"/*.h; do
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
    done
    echo
}

if [ "${1:-}" = --write ]; then
    new=$(mktemp)
    table >"$new.table"
    awk -v table="$new.table" '
        /^<!-- end of modules -->/ { skip = 0 }
        !skip { print }
        /^<!-- modules -->/ {
            skip = 1
            while ((getline line < table) > 0) print line
        }' src/README.md >"$new" && cat "$new" >src/README.md
    rm -f "$new" "$new.table"
else
    table
fi
