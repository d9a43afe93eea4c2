#!/usr/bin/env bash
# `make run`: a port or a folder that somebody has is told before anything is built; on another port
# the daemon answers, and Ctrl-C ends it.
set -um
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
. test/ok.sh

# shown FILE: whether a line of it has a URL; waits for the program that writes it
shown() { until grep -qsE 'http://[0-9.:]+/' "$1"; do kill -0 "$2" 2>/dev/null || return 1; sleep .05; done; }
port_of() { sed -nE 's,.*http://127\.0\.0\.1:([0-9]+)/.*,\1,p' "$1" | head -n 1; }

build/abrd serve --port 0 --data "$dir/held" >"$dir/first" 2>&1 &
first=$!
ok 'a first daemon' shown "$dir/first" $first
busy=$(port_of "$dir/first")

# refused WHAT ARGUMENTS...: make run ends with an error and builds nothing
refused()
{
    local what=$1
    shift
    said=$(make --no-print-directory MODE=none run "$@" 2>&1)
    ok "$what: it ends" test $? -ne 0
    ok "$what: nothing is built" test ! -e build/none
}
refused 'a port in use' PORT="$busy" DATA="$dir/own"
ok 'the port is named' grep -q "port $busy of 127.0.0.1 is in use" <<<"$said"
ok 'another one is proposed' grep -qE 'make run PORT=[0-9]+$' <<<"$(grep abrd: <<<"$said")"
refused 'port and folder in use' PORT="$busy" DATA="$dir/held"
ok 'another folder is proposed, too' grep -qE "make run PORT=[0-9]+ DATA=$dir/held-2" <<<"$said"
refused 'a folder in use' PORT=0 DATA="$dir/held"
ok 'the folder is named' grep -q "$dir/held is in use by another abrd" <<<"$said"
for wrong in 65536 -1 '' news; do
    refused "no port: '$wrong'" PORT="$wrong"
    ok "it says what '$wrong' is" grep -q "PORT=$wrong is not a port" <<<"$said"
done

# the port that the first daemon had is free again
kill -TERM $first
wait $first
make --no-print-directory run PORT="$busy" DATA="$dir/own" >"$dir/second" 2>&1 &
second=$!
ok 'it runs there' shown "$dir/second" $second
ok 'on the port that it was given' test "$(port_of "$dir/second")" = "$busy"
ok 'and keeps its data in that folder' test -e "$dir/own/lock"
kill -INT -- -$second
wait $second
ok 'Ctrl-C ends it' bash -c "! (: <>/dev/tcp/127.0.0.1/$busy) 2>/dev/null"

ok_finish
