#!/usr/bin/env bash
# prometheus.sh - /metrics of a daemon that learns and deploy/alerts.yml, read by Prometheus' own
# promtool (PROMTOOL, or the one of the package prometheus); `make prometheus`.
set -u
cd "$(dirname "$0")/../.."
promtool=${PROMTOOL:-promtool}
command -v "$promtool" >/dev/null || { echo "make prometheus needs promtool" >&2; exit 1; }
work=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon"; wait; rm -rf "$work"' EXIT
passed=0 failed=0
check()
{
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $2"; fi
}

"$promtool" check rules deploy/alerts.yml
check $? "promtool check rules"
# the rules about viewers, on made series
sed "s,RULES,$PWD/deploy/alerts.yml," test/trial/alerts_test.yml >"$work/alerts_test.yml"
"$promtool" test rules "$work/alerts_test.yml" >"$work/said" 2>&1
check $? "promtool test rules: $(head -n 20 "$work/said")"
# and they can fail: without their ceilings nothing fires
sed -i 's/abrd_profile_\(startup_max_seconds\|stall_ratio_max\)/abrd_profile_nothing/' "$work/alerts_test.yml"
! "$promtool" test rules "$work/alerts_test.yml" >"$work/said" 2>&1
check $? "promtool test rules passes without ceilings"

# with everything in it: a learner that has learned, a grown profile, merged experts
: >"$work/out"
build/abrd serve --port 0 --data "$work/data" --explore 1 --untagged merge --slot 1 >"$work/out" 2>"$work/log" &
daemon=$!
for ((i = 0; i < 400; i++)); do
    url=$(sed -n 's,.* at \(http://[^ ]*\)/ .*,\1,p' "$work/out")
    [ -z "$url" ] || break
    sleep 0.05
done
curl -sf -X PUT "$url/v1/profiles/quiz" -d '{"mu":[3,1,3],"grow":true}' >/dev/null
check $? "a grown profile"
build/abrd emulate --server "$url" --viewers 150 --no-hint 0.2 >"$work/emulate" 2>&1
check $? "viewers: $(tail -n 1 "$work/emulate")"
# the learner may be in its first update
for ((i = 0; i < 600; i++)); do
    curl -sf "$url/metrics" >"$work/metrics"
    asked=$?
    ! grep -q '^abrd_learner_entropy' "$work/metrics" || break
    sleep 0.1
done
check $asked "GET /metrics"
"$promtool" check metrics <"$work/metrics" >"$work/said" 2>&1
check $? "promtool check metrics: $(head -n 5 "$work/said")"
cat "$work/said"
for name in abrd_learner_entropy abrd_policy_dormant_ratio abrd_grown_share abrd_merge_weight \
    abrd_decision_stage_seconds_count abrd_profile_startup_seconds_bucket; do
    grep -q "^$name" "$work/metrics"
    check $? "$name is not there"
done
echo "$(grep -c '^# TYPE' "$work/metrics") families, $(grep -vc '^#' "$work/metrics") samples"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
