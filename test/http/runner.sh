#!/usr/bin/env bash
# each.sh, which runs these tests: logs in one piece, counts, and a script that hangs.
set -u
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. test/ok.sh

mkdir "$dir/t"
printf 'for i in 1 2 3; do echo a$i; read -t .1 <> <(:); done; echo "3 passed, 0 failed"\n' >"$dir/t/a.sh"
printf 'for i in 1 2 3; do echo b$i; read -t .1 <> <(:); done; exit 3\n' >"$dir/t/b.sh"
printf 'echo so far; sleep 1000 & echo $! >%s; wait\n' "$dir/pid" >"$dir/t/c.sh"
printf 'trap "exit 0" INT; kill -INT $$; exit 1\n' >"$dir/t/d.sh"
printf 'echo "make: $MAKEFLAGS"\n' >"$dir/t/e.sh"
said=$(MAKEFLAGS=' -j3 --jobserver-auth=3,4' LIMIT_S=10 bash test/each.sh "$dir/t" 2>&1)
ok 'a failure fails' test $? -ne 0
ok 'the last line counts' test "$(tail -n 1 <<<"$said")" = '5 passed, 2 failed'
ok 'a log is in one piece' grep -q 'a1 a2 a3 3 passed, 0 failed' <<<"$(tr '\n' ' ' <<<"$said")"
ok 'that of a failure, too' grep -q '0 passed, 1 failed, [0-9]* s b1 b2 b3' <<<"$(tr '\n' ' ' <<<"$said")"
ok 'what hangs is named' grep -q 'c.sh: stopped after [0-9]* s' <<<"$said"
ok 'with what it said' grep -q '^so far$' <<<"$said"
# gone, or dead and not yet buried by the machine's init
gone() { for _ in {1..200}; do grep -qs '^State:.[^Z]' "/proc/$1/status" || return 0; sleep .05; done; return 1; }
ok 'its children are gone' gone "$(cat "$dir/pid")"
ok 'what failed stands at the end' grep -q "^failed: $dir/t/b.sh $dir/t/c.sh$" <<<"$said"
ok 'SIGINT means what it means elsewhere' grep -q 'd.sh: 1 passed' <<<"$said"
ok 'a make in a test is one of its own' grep -q '^make: $' <<<"$said"
ok 'the whole has a limit, too' bash -c \
    "! WHOLE_S=1 JOBS=1 bash test/each.sh '$dir/t/c.sh' >'$dir/whole' && grep -q hangs '$dir/whole'"
ok 'nothing to run is a failure' bash -c "! bash test/each.sh '$dir/none'"

# the same of the unit tests' runner
check=build/release/check
if [ -x $check ]; then
    one=$(JOBS=1 $check base/ 2>&1 | tail -n 1) many=$(JOBS=4 $check base/ 2>&1 | tail -n 1)
    ok 'as many tests in turn as side by side' test "$one" = "$many"
    ok 'they are counted' grep -qE '^[1-9][0-9]* passed, 0 failed$' <<<"$many"
    ok 'a suite that is not there is a failure' bash -c "! $check no/such"
fi
ok_finish
