#!/usr/bin/env bash
# selftest.sh - do score.sh and ablation.sh say what is so? On small golden traces.
set -u
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

# is WHAT WANTED GOT
is()
{
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n  wanted: %s\n  got:    %s\n' "$1" "$2" "$3"
    fi
}

# verdict FIGURE FLOOR AIM
verdict()
{
    printf 'a row\t1\t%s\t%s\tcommand\t%s\t-\t-\n' "$2" "$3" "$1" |
        awk -F'\t' -v json=1 -f test/score/table.awk | sed 's/.*"verdict": "\([^"]*\)".*/\1/'
}
is "at the floor" pass "$(verdict .986 .986 1.03)"
is "under the floor" SHORT "$(verdict .985 .986 1.03)"
is "at the aim" aim "$(verdict 1.03 .986 1.03)"
is "without a floor" "below aim" "$(verdict .5 - .9)"
is "an upper limit kept" pass "$(verdict -0.001 '<0' -)"
is "an upper limit broken" SHORT "$(verdict 0.001 '<0' -)"
is "no figure" - "$(verdict - .9 1)"
is "nothing to reach" - "$(verdict .4 - -)"
is "a row as JSON" '{"row": "a \"row\"", "figure": 0.25, "lo": 0.1, "hi": null, "floor": 0, "upper_limit": true, "aim": null, "verdict": "SHORT", "command": "c"}' \
    "$(printf '  a "row"\t+%%\t<0\t-\tc\t.25\t.1\t-\n' | awk -F'\t' -v json=1 -f test/score/table.awk)"
is "a row for people" '  gain +12.5 % +1.0 .. +20.0 +5.0 % - pass [x]' \
    "$(printf '  gain\t+%%\t.05\t-\tx\t.125\t.01\t.2\n' | awk -F'\t' -f test/score/table.awk |
        sed -n '2s/\([^ ]\) \+/\1 /gp')"
# sd 1, t of 2 degrees of freedom 4.303: 2 +- 4.303 / sqrt 3
is "t interval" "2 -0.484338 4.48434" "$(printf '1\n2\n3\n' | awk -f test/score/interval.awk)"
is "of one" "4 - -" "$(echo 4 | awk -f test/score/interval.awk)"
is "of none" "- - -" "$(awk -f test/score/interval.awk </dev/null)"

# ---- the whole, where there is something to score
mkdir -p "$tmp/shared/traces" "$tmp/shared/video"
cp -r test/golden/traces "$tmp/shared/traces/pensieve-train-127"
cp -r test/golden/video "$tmp/shared/video/envivio-dash3"
score()
{
    SHARED=$1 PART=$2 DRAWS=4 OUT=$tmp/$3.json bash test/score/score.sh >"$tmp/$3.txt" 2>&1
    echo $?
}
is "score ends well" 0 "$(score "$tmp/shared" val one)"
is "and again" 0 "$(score "$tmp/shared" val two)"
is "the same figures twice" "$(cat "$tmp/one.json")" "$(cat "$tmp/two.json")"
is "a row per claim" 19 "$(grep -c '"row":' "$tmp/one.json")"
is "nobody beats the bound" 1 "$(grep -c "beat the oracle's bound\", \"figure\": 0," "$tmp/one.json")"
is "what is absent is named" 1 "$(grep -c 'skipped: .*sabre-bbb.json is not there' "$tmp/one.txt")"
is "no test set is looked at" 0 "$(grep -c 'test-hsdpa\|lumos-4g\|sabre-3g' "$tmp/one.json")"
is "absence alone is no failure" 0 "$(score "$tmp/nowhere" test none)"
is "and leaves no figures" 0 "$(grep -c '"row":' "$tmp/none.json")"
is "the looks are counted" 1 "$(grep -c '"looks": [0-9]' "$tmp/one.json")"
is "a wrong part" 2 "$(score "$tmp/shared" best wrong)"
POLICY=moe:$tmp/none SHARED=$tmp/shared PART=val OUT=$tmp/x.json bash test/score/score.sh \
    >"$tmp/x.txt" 2>&1
is "a policy that is not there" 1 $?
is "is named" 1 "$(grep -c "$tmp/none" "$tmp/x.txt")"

ablation()
{
    SHARED=$tmp/shared RUNS=$tmp/runs STEPS=8192 SEEDS=2 OPTIONS="--links 20 --ladders 2" TABLE=${1:-} \
        ARMS="one|--experts 1" OUT=$tmp/ablation.json bash test/score/ablation.sh 2>&1
}
is "nothing is trained for a table" 0 "$(ablation 1 | grep -c '^base-1')"
is "four runs" 4 "$(ablation | grep -cE '^(base|one)-[12]$')"
is "are made once" 0 "$(ablation | grep -cE '^(base|one)-[12]$')"
is "both arms have both seeds" 2 "$(grep -c '"seeds": 2' "$tmp/ablation.json")"
is "the change is told" 1 "$(grep -c '"options": "--experts 1"' "$tmp/ablation.json")"
is "a difference has an interval" 1 \
    "$(grep '"arm": "one"' "$tmp/ablation.json" | grep -cE '"all": \{"mean": [-0-9.e]+, "diff": [-0-9.e]+, "lo": [-0-9.e]+, "hi": [-0-9.e]+\}')"

# a gap that everybody is within: two updates, then the routers rest
routing()
{
    SHARED=$tmp/shared RUNS=$tmp/routers STEPS=16384 SEEDS=2 LATCH=2 GAP=1000 \
        OPTIONS="--links 20 --ladders 2" OUT=$tmp/routing.json bash test/score/routing.sh 2>&1
}
routing >"$tmp/routing.txt"
is "five checks of the routers" 5 "$(grep -c '"name": .*"pass": ' "$tmp/routing.json")"
is "all latched, nothing changed its way, experts moved on" 3 \
    "$(grep -cE '^pass +(latch|learning)' "$tmp/routing.txt")"
is "before the latch states did" 1 \
    "$(grep '"arm": "latch"' "$tmp/routing.json" | grep -cE '"changes_before": \[[1-9]')"
is "the routers' rows are JSON" 0 "$(node -e 'JSON.parse(require("fs").readFileSync(process.argv[1]))' "$tmp/routing.json"; echo $?)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
