#!/usr/bin/env bash
# selftest.sh - do the scores say what is so? score.sh, viewers.mjs, regimes.mjs, ablation.sh, routing.sh and
# continual.mjs on
# small golden traces.
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
is "every claim has a figure" 0 "$(grep -c '"figure": null' "$tmp/one.json")"
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

# ---- sessions in one process, what viewers feel, the map
export LOOKS=$tmp/looks.tsv
echo '# looks' >"$LOOKS"
ladder=300,750,1200,1850,2850,4300
cell()
{
    printf '{"traces": "test/golden/traces", "part": "all", "ladder": [%s], "chunk_s": 4, "chunks": 48, "profile": "%s", %s "policies": ["mpc", "fixed-0"]}\n' \
        "$ladder" "$1" "$2"
}
# qoe PROFILE FREE: mean of mpc's sessions
played() { cell "$1" "$2" | build/release/grid 1 | head -n 1 |
    node -e 'const r = JSON.parse(require("fs").readFileSync(0)); console.log((r.qoe.reduce((a, b) => a + b) / r.qoe.length).toFixed(3))'; }
evaluated() { build/abrd eval --policy mpc --profile "$1" --traces test/golden/traces --quiet --csv - "${@:2}" 2>/dev/null |
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["policy"] == "mpc" { printf "%.3f\n", $at["mean_qoe"] }'; }
is "the grid plays as eval does" "$(evaluated news --count-first)" "$(played news '')"
is "and from chunk 1" "$(evaluated paper-live)" "$(played paper-live '"free_start": true,')"
is "with any number of threads" "$(cell live '' | build/release/grid 1)" "$(cell live '' | build/release/grid 3)"
is "a live viewer sees no end" 1 "$([ "$(played standard '"live": true,')" != "$(played standard '')" ]; echo $((! $?)))"
is "an unknown policy fails" 1 "$(cell live '' | sed s/mpc/mpx/ | build/release/grid 1 >/dev/null 2>&1; echo $?)"
module() { node --input-type=module -e "import * as g from '$PWD/test/score/grid.mjs'; console.log(JSON.stringify($1))"; }
is "a quantile" 2.5 "$(module 'g.quantile([4, 1, 3, 2], 0.5)')"
is "a difference without spread" '{"mean":1,"lo":1,"hi":1}' "$(module 'g.paired([2, 3], [1, 2])')"
is "a gain" '{"mean":0.5,"lo":0.5,"hi":0.5}' "$(module 'g.gain([3, 3], [2, 2])')"

# map NAME POLICY
map()
{
    SHARED=$tmp/shared CACHE=$tmp/cache POLICY=$2 CELLS=24 TRACES=3 DRAWS=1 OUT=$tmp/$1 \
        node test/score/regimes.mjs >"$tmp/$1.txt" 2>&1
    echo $?
}
rows() { awk 'END { print NR - 1 }' "$1"; }
is "a map ends well" 0 "$(map first fixed-0)"
kept=$(cat "$tmp"/cache/rules-*/sessions.jsonl | wc -l)
is "its rivals are kept" 1 "$((kept > 24 * 11))"
is "a second map" 0 "$(map second fixed-0)"
is "is the same" "$(grep -v 'map in' "$tmp/first.txt")" "$(grep -v 'map in' "$tmp/second.txt")"
is "and plays no rival again" "$kept" "$(cat "$tmp"/cache/rules-*/sessions.jsonl | wc -l)"
is "a square a cell" "$(rows "$tmp/first/regimes.csv")" \
    "$(grep -o '<title>[^<]*against [^<]*</title>' "$tmp/first/regimes.html" | wc -l)"
is "verdicts are as counted" "$(grep -c '"worse"' "$tmp/first/regimes.csv")" \
    "$(sed -n 's/.*[0-9] cells, .* worse \([0-9]*\) (.*; worst:.*/\1/p' "$tmp/first.txt")"
is "the lowest level alone is worse somewhere" 0 "$(grep -q '"worse"' "$tmp/first/regimes.csv"; echo $?)"
map rule fugu >/dev/null
is "a rule is no rival of its own" 0 "$(awk -F, 'NR > 1 && $11 == "\"fugu\""' "$tmp/rule/regimes.csv" | wc -l)"
is "but of others" 0 "$(awk -F, 'NR > 1 && $11 == "\"fugu\""' "$tmp/first/regimes.csv" | grep -q .; echo $?)"
# one cell in real players
SHARED=$tmp/shared CACHE=$tmp/cache CELLS=24 TRACES=3 DRAWS=0 PLAYERS=1 PLAYER_TRACES=2 OUT=$tmp/played \
    node test/score/regimes.mjs >"$tmp/played.txt" 2>&1
is "a map with players" 0 $?
is "their verdict has the same form" 1 "$(grep -c '^in players, 2 sessions a cell, abrd in dash.js .*: 1 cells, better [01], level [01], worse [01] (' "$tmp/played.txt")"
is "all their sessions are there" '"2"' "$(awk -F, 'NR == 2 { print $9 }' "$tmp/played/players.csv")"
is "a rule decides in no player" 2 "$(PLAYERS=1 POLICY=fugu node test/score/regimes.mjs >/dev/null 2>&1; echo $?)"
is "a wrong part of the map" 2 "$(PART=best node test/score/regimes.mjs >/dev/null 2>&1; echo $?)"

# scored SCRIPT NAME PART POLICY: the exit code; its text is in NAME.txt
scored()
{
    SHARED=$tmp/shared CACHE=$tmp/cache POLICY=$4 PART=$3 OUT=$tmp/$2.json node "test/score/$1.mjs" >"$tmp/$2.txt" 2>&1
    echo $?
}
# feel NAME PART [POLICY]
feel() { scored viewers "$1" "$2" "${3:-fixed-0}"; }
is "viewers end well" 0 "$(feel viewers train)"
is "a row a profile" 6 "$(grep -c '^3g  *Envivio' "$tmp/viewers.txt")"
is "the lowest level starts as the lowest level" 1 "$(grep -c '^pass .*first picture.*2 of 2' "$tmp/viewers.txt")"
is "and loses quality" 1 "$(grep -c '^SHORT .*QoE over the best.*0 of 6' "$tmp/viewers.txt")"
is "what is absent is named by viewers" 1 "$(grep -c 'skipped: lumos, Big Buck Bunny' "$tmp/viewers.txt")"
feel top train fixed-5 >/dev/null
is "the top level alone starts late" 1 "$(grep -c '^SHORT .*first picture' "$tmp/top.txt")"
is "and stalls" 1 "$(grep -c '^SHORT .*stall ratio' "$tmp/top.txt")"

# margin POLICY PART
margin() { TAKE=2 scored margins margin "$2" "$1"; }
is "margins end well" 0 "$(margin fixed-0 train)"
is "the papers' profiles at home and six short sessions" 10 "$(grep -c '^  3g, Envivio' "$tmp/margin.txt")"
is "the lowest level is below the buffer rule" 1 "$(grep -c '^SHORT  4G and 5G links, .*: [0-9]* of 60 not below 0, [1-9]' "$tmp/margin.txt")"
is "what is absent is named by margins" 1 "$(grep -c 'skipped: lumos' "$tmp/margin.txt")"
is "a rule is level with itself" 1 "$(margin buffer train >/dev/null; grep -c '^  skipped: fast links: the rule itself' "$tmp/margin.txt")"
is "a wrong part of the margins" 2 "$(margin moe best)"
is "nobody looked" 1 "$(wc -l <"$LOOKS")"
cp -r "$tmp/shared/traces/pensieve-train-127" "$tmp/shared/traces/pensieve-test-hsdpa-142"
is "a look" 0 "$(feel look test)"
is "is counted" 2 "$(wc -l <"$LOOKS")"
is "and shown" 1 "$(grep -c 'looks at the test sets so far: 1$' "$tmp/look.txt")"
rm -r "$tmp/shared/traces/pensieve-test-hsdpa-142"
unset LOOKS

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

# an arm that does not learn changes nothing; one that learns too fast does
printf 'still|--learn-rate 0 --critic-rate 0 --noise 0\nwild|--learn-rate 0.02 --noise 0 --tolerance 1 --exam-links 0\nfuture|--no-such-setting 1\n' >"$tmp/arms"
continual()
{
    SHARED=$tmp/shared CACHE=$tmp/cache RUNS=$tmp/continual ARMS=$tmp/arms QUICK=1 OUT=$tmp/continual.json \
        node test/score/continual.mjs 2>&1
}
continual >"$tmp/continual.txt"
is "an arm of a program to come is skipped" 1 "$(grep -c 'skipped: arm future' "$tmp/continual.txt")"
is "frozen weights change nothing" 1 \
    "$(grep -cE '^still +\+0.00 \[\+0.00, \+0.00\] +\+0.00 \[\+0.00, \+0.00\]' "$tmp/continual.txt")"
is "and learning does" 0 "$(grep -cE '^wild +[+-]0.00 \[' "$tmp/continual.txt")"
is "a sentence says who wins" 1 "$(grep -cE '^(Frozen weights win|(still|wild) wins): ' "$tmp/continual.txt")"
is "its page has it" 1 "$(grep -cE '(Frozen weights win|(still|wild) wins): ' "$tmp/continual.html")"
rm -f "$tmp/continual.html"
is "a run is made once, with the same figures" "$(grep -v '^figures\|^page' "$tmp/continual.txt")" \
    "$(continual | grep -v '^figures\|^page')"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
