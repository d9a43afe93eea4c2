#!/usr/bin/env bash
# each.sh PATH... - runs test scripts (folders: all *.sh and *.mjs in them) from the project's
# root, each for at most ten minutes; the last line counts. What a script counts as is in count.sh.
set -u
cd "$(dirname "$0")/.."
. test/count.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT
scripts=()
for path in "$@"; do
    if [ -d "$path" ]; then
        for f in "$path"/*.sh "$path"/*.mjs; do
            [ -f "$f" ] && scripts+=("$f")
        done
    elif [ -f "$path" ]; then
        scripts+=("$path")
    fi
done
[ ${#scripts[@]} -gt 0 ] || echo "there is no test script in: $*"

total_passed=0 total_failed=0
for f in ${scripts[@]+"${scripts[@]}"}; do
    echo "-- $f"
    case $f in
    *.mjs) timeout 600 node "$f" 2>&1 | tee "$log" ;;
    *) timeout 600 bash "$f" 2>&1 | tee "$log" ;;
    esac
    code=${PIPESTATUS[0]}
    count "$log" "$code"
    [ "$code" -ne 124 ] || echo "$f: stopped after ten minutes"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
done

echo "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ] && [ "$total_passed" -gt 0 ]
