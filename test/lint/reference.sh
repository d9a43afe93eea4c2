#!/usr/bin/env bash
# reference.sh [--write] - the generated parts of the references: in deploy/REFERENCE.md the options and metrics
# as the built program prints them and the routes of web/openapi.json, in web/docs/options.md the help of
# every command. --write puts each part between its two marks; without it, prints what is not true.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
abrd=${ABRD:-build/abrd}
[ -x "$abrd" ] || { echo "deploy/REFERENCE.md:1: $abrd is not built: run make"; exit 1; }

table=$(mktemp) now=$(mktemp)
trap 'rm -f "$table" "$now" "$now.next"' EXIT
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

# The help of every command and of its subcommands, without those that only print and without serve.
help_of()
{
    printf '\n%s abrd %s\n\n```text\n' "$1" "${*:2}"
    if "$abrd" "${@:2}" --help | grep -q -- --help-all; then "$abrd" "${@:2}" --help-all; else "$abrd" "${@:2}" --help; fi
    echo '```'
}
names_in() { sed -nE "/^($1):\$/,/^\$/ s/^  ([a-z]+)  .*/\1/p"; }
helps()
{
    local c sub
    for c in $("$abrd" help | names_in commands); do
        case $c in serve | help | man | completion | version) continue ;; esac
        help_of '##' "$c"
        for sub in $("$abrd" "$c" --help | names_in 'commands|labs'); do help_of '###' "$c" "$sub"; done
    done
}

# renew PAGE PART...: the parts of a page, each between "<!-- PART -->" and "<!-- end of PART -->"
renew()
{
    local page=$1 what
    cp "$page" "$now"
    for what in "${@:2}"; do
        grep -qx "<!-- $what -->" "$now" && grep -qx "<!-- end of $what -->" "$now" ||
            { echo "$page:1: has no lines '<!-- $what -->' and '<!-- end of $what -->'"; exit 1; }
        case $what in
            routes) routes ;;
            helps) helps ;;
            *) "$abrd" man --markdown "$what" ;;
        esac >"$table" || exit 1
        awk -v table="$table" -v what="$what" '
            $0 == "<!-- end of " what " -->" { print ""; skip = 0 }
            !skip { print }
            $0 == "<!-- " what " -->" {
                skip = 1
                while ((getline line < table) > 0) print line
            }' "$now" >"$now.next" && mv "$now.next" "$now"
    done
    cmp -s "$now" "$page" && return
    if [ "$write" ]; then cat "$now" >"$page"; else echo "$page:1: is not what the program prints: run make format"; fi
}

write=${1:+yes}
renew deploy/REFERENCE.md serve metrics routes
renew web/docs/options.md helps
exit 0
