#!/usr/bin/env bash
# all.sh MAKE - every kind of test, one after the other, also when an earlier kind failed.
# The last line of the output is "N passed, N failed" over all of them.
set -u
cd "$(dirname "$0")/.."
. test/count.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT
total_passed=0 total_failed=0 summary=

for kind in lint check test-http test-web; do
    echo "== make $kind"
    SECONDS=0
    timeout 900 $1 --no-print-directory "$kind" 2>&1 | tee "$log"
    count "$log" "${PIPESTATUS[0]}"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    summary+=$(printf '  %-10s %5d passed %3d failed %4d s' "$kind" "$passed" "$failed" $SECONDS)$'\n'
done

printf '\n%s' "$summary"
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ] && [ "$total_passed" -gt 0 ]
