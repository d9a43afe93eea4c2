#!/usr/bin/env bash
# fuzz.sh BUILD SECONDS TARGET... - each target for some seconds on a copy of its corpus, so
# that the kept corpus grows only by hand. What breaks it is left in BUILD/crash-*.
set -u
build=$1 seconds=$2
shift 2

passed=0 failed=0
for t in "$@"; do
    work=$build/corpus/$t
    mkdir -p "$work"
    log=$build/$t.log
    echo "-- $t, $seconds s"
    if "$build/fuzz_$t" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="$build/crash-$t-" "$work" "test/fuzz/corpus/$t" >"$log" 2>&1; then
        passed=$((passed + 1))
        grep -E '^Done|DONE' "$log" | tail -n 2
    else
        failed=$((failed + 1))
        tail -n 40 "$log"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
