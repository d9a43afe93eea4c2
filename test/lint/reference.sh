#!/usr/bin/env bash
# reference.sh [--write] - the tables of deploy/REFERENCE.md: options and metrics as the built program prints
# them, routes from web/openapi.json. --write puts each table between its two marks; without it, prints what
# is not true.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
page=deploy/REFERENCE.md abrd=${ABRD:-build/abrd}
[ -x "$abrd" ] || { echo "$page:1: $abrd is not built: run make"; exit 1; }

table=$(mktemp) now=$(mktemp)
trap 'rm -f "$table" "$now"' EXIT
cp "$page" "$now"
# Routes as a table: method, path, summary.
routes()
{
    node -e '
        const { paths } = JSON.parse(require("fs").readFileSync("web/openapi.json", "utf8"));
        console.log("\n| method | path | what it does |\n|---|---|---|");
        for (const [path, methods] of Object.entries(paths))
            for (const [method, { summary }] of Object.entries(methods))
                if (summary) console.log(`| ${method.toUpperCase()} | \`${path}\` | ${summary} |`);'
}

for what in serve metrics routes; do
    grep -qx "<!-- $what -->" "$now" && grep -qx "<!-- end of $what -->" "$now" ||
        { echo "$page:1: has no lines '<!-- $what -->' and '<!-- end of $what -->'"; exit 1; }
    if [ "$what" = routes ]; then routes; else "$abrd" man --markdown "$what"; fi >"$table" || exit 1
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
