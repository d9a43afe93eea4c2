#!/usr/bin/env bash
# sandbox.sh - the HTTP tests with the daemon under strace; every system call that it makes must be
# among those that deploy/abrd.service allows. Needs strace and systemd-analyze; `make sandbox`.
set -u
cd "$(dirname "$0")/../.."
for tool in strace systemd-analyze; do
    command -v $tool >/dev/null || { echo "make sandbox needs $tool" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
check()
{
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $2"; fi
}

# the unit is one that systemd understands, and leaves little open
sed "s,/usr/local/bin/abrd,$PWD/build/abrd," deploy/abrd.service >"$work/abrd.service"
said=$(systemd-analyze verify --man=no "$work/abrd.service" 2>&1 | grep abrd.service)
[ -z "$said" ]
check $? "systemd-analyze verify: $said"
sed "s,/usr/local/bin/abrd,$PWD/build/abrd," deploy/abrd-retrain.service >"$work/abrd-retrain.service"
cp deploy/abrd-retrain.timer "$work"
said=$(systemd-analyze verify --man=no "$work"/abrd-retrain.* 2>&1 | grep abrd-retrain)
[ -z "$said" ]
check $? "systemd-analyze verify of the retraining: $said"
said=$(systemd-analyze security --offline=true --threshold=15 "$work/abrd-retrain.service" 2>&1)
check $? "systemd-analyze security of the retraining: $(tail -n 1 <<<"$said")"
said=$(systemd-analyze security --offline=true --threshold=15 "$work/abrd.service" 2>&1)
check $? "systemd-analyze security: $(tail -n 1 <<<"$said")"
tail -n 1 <<<"$said"

# the names that a filter line stands for; groups hold groups
expand()
{
    local name
    for name in "$@"; do
        case $name in
        @*) expand $(systemd-analyze syscall-filter "$name" | sed -n 's/^ \+\([-@a-z0-9_]\+\)$/\1/p') ;;
        *) echo "$name" ;;
        esac
    done
}
# lines add or, with a tilde, take away, in their order
expand @default | sort -u >"$work/allowed"
sed -n 's/^SystemCallFilter=//p' deploy/abrd.service | while read -r line; do
    expand ${line#\~} | sort -u >"$work/line"
    case $line in
    \~*) comm -23 "$work/allowed" "$work/line" ;;
    *) sort -u "$work/allowed" "$work/line" ;;
    esac >"$work/next"
    mv "$work/next" "$work/allowed"
done
[ "$(wc -l <"$work/allowed")" -gt 100 ]
check $? "the filter could not be read"

# strace stays behind (-D), so that signals of the tests reach the daemon
cat >"$work/abrd" <<END
#!/bin/sh
[ "\$1" = serve ] || exec "$PWD/build/abrd" "\$@"
exec strace -D -f -qq -e signal=none -o "$work/trace.\$\$" "$PWD/build/abrd" "\$@"
END
chmod +x "$work/abrd"
for f in ${SANDBOX_TESTS:-api events gates hostile life limits}; do
    echo "-- $f under strace"
    ABRD=$work/abrd timeout 600 node "test/http/$f.mjs" | tail -n 3
    check "${PIPESTATUS[0]}" "$f under strace"
done

# execve and what comes before main is systemd's and the loader's business
cat "$work"/trace.* | sed -n 's/^[0-9]\+ \+\([a-z0-9_]\+\)(.*/\1/p; s/^[0-9]\+ \+<\.\.\. \([a-z0-9_]\+\) resumed.*/\1/p' |
    sort -u >"$work/used"
echo "$(wc -l <"$work/used") different system calls, $(wc -l <"$work/allowed") allowed"
outside=$(comm -23 "$work/used" "$work/allowed" | tr '\n' ' ')
[ "$(wc -l <"$work/used")" -gt 40 ] && [ -z "$outside" ]
check $? "calls that the filter refuses: $outside"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
