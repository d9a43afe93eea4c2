#!/usr/bin/env bash
# can-run.sh PORT DATA - checks, before anything is installed or built, whether `make run` can use
# this port of 127.0.0.1 and this folder. It needs only bash and the tools of a minimal Debian.
set -u
port=${1:-} data=${2:-}

[[ $port =~ ^[0-9]{1,5}$ ]] && [ "$((10#$port))" -le 65535 ] || {
    echo "abrd: PORT=$port is not a port: give a number up to 65535, for example make run PORT=9210" >&2
    exit 1
}
[ -n "$data" ] || { echo "abrd: DATA is empty: name a folder, for example make run DATA=var" >&2; exit 1; }

# a connection that is neither accepted nor refused means a listener, too
listens() { timeout 5 bash -c ": <>/dev/tcp/127.0.0.1/$1" 2>/dev/null || [ $? -eq 124 ]; }
held() { [ -e "$1/lock" ] && { flock -n "$1/lock" true 2>/dev/null; [ $? -eq 1 ]; }; }

more=
held "$data" && more=" DATA=$data-2"
if [ "$((10#$port))" -ne 0 ] && listens "$((10#$port))"; then
    other=$((10#$port < 65535 ? 10#$port + 1 : 1024))
    while listens $other; do other=$((other < 65535 ? other + 1 : 1024)); done
    echo "abrd: port $port of 127.0.0.1 is in use: stop the program that listens there," \
        "or take another port: make run PORT=$other$more" >&2
    exit 1
fi
[ -z "$more" ] || {
    echo "abrd: $data is in use by another abrd: stop it, or use another folder: make run PORT=$port$more" >&2
    exit 1
}
