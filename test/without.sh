#!/usr/bin/env bash
# without.sh - the daemon without each of its parts, and without all of them (make without).
#
# Each of the six programs is built in a folder of its own, passes the unit suites of the core, starts,
# decides and learns of a reward over HTTP, and says that it was built without what a setting asks for.
# Prints "N passed, N failed". ONLY="cluster" for one of them.
set -u
export LC_ALL=C
dir=$(mktemp -d)
pid=
trap '[ -n "$pid" ] && kill "$pid" 2>/dev/null; rm -rf "$dir"' EXIT
passed=0 failed=0

# ok WHAT COMMAND...: the command succeeds
ok()
{
    local what=$1
    shift
    if "$@" >"$dir/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "without $parts: $what"
        tail -n 20 "$dir/said"
    fi
}

has()
{
    grep -q "$1" "$dir/body" || { echo "no $1 in:"; head -c 2000 "$dir/body"; return 1; }
}

post()
{
    curl -sSf --max-time 20 -o "$dir/body" -d "$2" "$url$1"
}

get()
{
    curl -sSf --max-time 20 -o "$dir/body" "$url$1"
}

# the daemon's address, from its --json, when it is there
start()
{
    rm -f "$dir/start.json"
    "$program" serve --port 0 --json "$dir/start.json" --log-level warn >"$dir/out" 2>"$dir/err" &
    pid=$!
    for _ in $(seq 600); do
        url=$(sed -nE 's/.*"url": *"([^"]*)".*/\1/p' "$dir/start.json" 2>/dev/null)
        [ -n "$url" ] && return 0
        kill -0 "$pid" 2>/dev/null || { cat "$dir/err"; return 1; }
        sleep 0.1
    done
    return 1
}

# refused OPTION...: the program ends and names what it was built without
refused()
{
    timeout 60 "$program" serve --port 0 "$@" >"$dir/refused" 2>&1 && return 1
    grep -q "built without" "$dir/refused" || { cat "$dir/refused"; return 1; }
}

no_library()
{
    ! ldd "$program" | grep -q "$1"
}

session='{"ladder_kbps":[300,750,1200,1850,2850,4300],"chunk_s":4,"chunks":48,"key":7'
chunk='"level":0,"bytes":150000,"download_s":1.5,"rebuffer_s":0'

talk()
{
    local s
    ok "a session with a hint" post /v1/sessions "$session,\"profile\":\"live\"}"
    s=$(sed -nE 's/.*"session": *"([0-9a-f]{32})".*/\1/p' "$dir/body")
    ok "a decision" post "/v1/sessions/$s/decisions" \
        "{\"chunk\":1,\"buffer_s\":4,\"last\":{\"chunk\":0,$chunk}}"
    ok "has a level" has '"level"'
    ok "a reward" post "/v1/sessions/$s/rewards" "{\"chunk\":1,$chunk,\"final\":true}"
    ok "a session without a hint" post /v1/sessions "$session}"
    ok "a decision without a session" post /v1/decide \
        '{"profile":"live","ladder_kbps":[300,750],"chunk_s":4,"buffer_s":12}'
    ok "its history" get "/v1/sessions/$s"
    ok "metrics" get /metrics
    ok "count the decisions" has '^abrd_decisions_total 3$'
    ok "count the reward" has '^abrd_rewards_total 2$'
    ok "readiness" get /readyz
    ok "the stream of figures" has ready
}

one()
{
    parts=$1
    b=build/without-$(tr ' ' '\n' <<<"$parts" | sort | paste -sd-)
    program=$b/abrd
    ok "builds" make --no-print-directory WITHOUT="$parts" "$b/abrd" "$b/check"
    [ -x "$program" ] && [ -x "$b/check" ] || return
    ok "passes the suites of serve/session" env JOBS="$(nproc)" timeout 300 "$b/check" serve/session
    ok "passes the suites of serve/http" env JOBS="$(nproc)" timeout 300 "$b/check" serve/http
    ok "starts" start
    [ -n "${url:-}" ] && talk
    kill "$pid" 2>/dev/null
    ok "stops cleanly" wait "$pid"
    pid= url=
    case " $parts " in
    *" cluster "*)
        ok "does not need libnats" no_library libnats
        ok "refuses a role" refused --role decide --bus nats://127.0.0.1:1
        ;;
    esac
    case " $parts " in *" hintless "*) ok "refuses a merge" refused --untagged merge ;; esac
    case " $parts " in *" added "*) ok "refuses added experts" refused --grow-max 2 ;; esac
    case " $parts " in *" trial "*) ok "refuses a trial" refused --trial x --trial-arms a:0.5:abrd,b:0.5:rate ;; esac
    case " $parts " in *" players "*) ok "refuses origins" refused --origin a=http://127.0.0.1:1/ ;; esac
}

if [ -n "${ONLY:-}" ]; then
    one "$ONLY"
else
    for parts in cluster hintless added players trial "cluster hintless added players trial"; do
        one "$parts"
    done
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
