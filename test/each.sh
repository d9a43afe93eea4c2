#!/usr/bin/env bash
# each.sh WHAT... - runs tests side by side, from the project's root. WHAT is a kind (lint, check,
# http, players, web), a script, or a folder (all *.sh and *.mjs in it). What they need is built already.
#
# JOBS (default: the processors) run at a time, and two of the browser's beside them, which mostly
# wait for their players; JOBS=1 runs all one after the other. A test's log is printed when it ends,
# with its seconds. The end names the slowest and what failed; the last line counts (count.sh).
#
# No limit here measures the machine. A script that works needs two minutes on an idle one: it is
# taken to hang after LIMIT_S (half an hour), and all end after WHOLE_S (75 minutes), before a CI's
# hour and a half is over. What is stopped is named and fails.
set -um # -m: each test is a process group, and SIGINT means there what it means elsewhere
cd "$(dirname "$0")/.."
. test/count.sh

jobs=$(sed -nE 's/^(.* )?-j([0-9]+)( .*)?$/\2/p' <<<"${MAKEFLAGS:-}")
jobs=${JOBS:-${jobs:-$(nproc)}}
limit_s=${LIMIT_S:-1800} whole_s=${WHOLE_S:-4500}
# a make that a test runs is one of its own; and what is written here goes to a file
unset MAKEFLAGS MFLAGS MAKELEVEL MAKE_TERMOUT MAKE_TERMERR
dir=$(mktemp -d)
SECONDS=0

kinds=() names=()
add()
{
    kinds+=("$1")
    names+=("$2")
}

# the longest first
for what in "$@"; do
    case $what in
    lint) add lint test/lint/selftest.sh; add lint test/lint/lint.sh ;;
    check) add check check ;;
    players) add players test/players/run.mjs ;;
    web) for f in fading run players observe examples origin; do add web "test/web/$f.mjs"; done ;;
    http)
        for f in test/trial/small.sh test/score/selftest.sh test/http/*.sh test/http/*.mjs \
            test/lab/lab-data.sh; do add http "$f"; done ;;
    *)
        if [ -d "$what" ]; then
            for f in "$what"/*.sh "$what"/*.mjs; do [ ! -f "$f" ] || add other "$f"; done
        elif [ -f "$what" ]; then
            add other "$what"
        fi ;;
    esac
done
[ ${#names[@]} -gt 0 ] || echo "there is no test script in: $*"

declare -A at=() running=([web]=0 [work]=0) limit=([web]=2 [work]=$jobs)
began=() took=() all_passed=() all_failed=()
lane() { if [ "$jobs" -gt 1 ] && [ "${kinds[$1]}" = web ]; then echo web; else echo work; fi; }

finish()
{
    for pid in "${!at[@]}"; do kill -TERM -- "-$pid" 2>/dev/null; done
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# begin I: runs one in the background, its output in a file
begin()
{
    local run left=$((whole_s - SECONDS)) name=${names[$1]}
    case $name in
    check) run=(env "JOBS=$jobs" build/release/check) ;;
    *.mjs) run=(node "$name") ;;
    *) run=(bash "$name") ;;
    esac
    [ $left -ge 1 ] || left=1
    [ $left -le "$limit_s" ] || left=$limit_s
    timeout -k 20 "$left" "${run[@]}" </dev/null >"$dir/$1" 2>&1 &
    at[$!]=$1 began[$1]=$SECONDS
}

# end PID CODE: shows and counts one
end()
{
    local i=${at[$1]} code=$2
    unset "at[$1]"
    running[$(lane "$i")]=$((running[$(lane "$i")] - 1))
    took[$i]=$((SECONDS - began[i]))
    count "$dir/$i" "$code"
    all_passed[$i]=$passed all_failed[$i]=$failed
    echo "-- ${names[$i]}: $passed passed, $failed failed, ${took[$i]} s"
    cat "$dir/$i"
    case $code in 124 | 137) echo "${names[$i]}: stopped after ${took[$i]} s: it hangs" ;; esac
    rm "$dir/$i"
}

pending=("${!names[@]}")
while [ ${#pending[@]} -gt 0 ] || [ ${#at[@]} -gt 0 ]; do
    for k in "${!pending[@]}"; do
        i=${pending[$k]} l=$(lane "${pending[$k]}")
        [ "${running[$l]}" -lt "${limit[$l]}" ] || continue
        running[$l]=$((running[$l] + 1))
        unset "pending[$k]"
        begin "$i"
    done
    wait -n -p pid
    code=$?
    [ -z "${pid:-}" ] || end "$pid" "$code"
done

total_passed=0 total_failed=0 broken=
for i in "${!names[@]}"; do
    total_passed=$((total_passed + all_passed[i]))
    total_failed=$((total_failed + all_failed[i]))
    [ "${all_failed[$i]}" -eq 0 ] || broken+=" ${names[$i]}"
done
if [ ${#names[@]} -gt 3 ]; then
    printf '\nslowest:'
    for i in "${!names[@]}"; do echo "${took[$i]} ${names[$i]}"; done | sort -rn | head -n 6 |
        while read -r s name; do printf ' %s %d s;' "$name" "$s"; done
    echo
    for kind in $(printf '%s\n' "${kinds[@]}" | uniq); do
        p=0 f=0 s=0
        for i in "${!names[@]}"; do
            [ "${kinds[$i]}" = "$kind" ] || continue
            p=$((p + all_passed[i])) f=$((f + all_failed[i])) s=$((s + took[i]))
        done
        printf '  %-6s %5d passed %3d failed %5d s\n' "$kind" $p $f $s
    done
    printf '  side by side %26d s\n' "$SECONDS"
fi
[ -z "$broken" ] || echo "failed:$broken"
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ] && [ "$total_passed" -gt 0 ]
