#!/usr/bin/env bash
# upgrade.sh - upgrades and the ways back, with older programs that are built from this repository's
# history: OLD, whose store had another schema, on one machine; PEER, the first with roles, in a cluster.
# OLD_ABRD, PEER_ABRD: such programs, built already. `make upgrade` (needs nats-server).
set -u
cd "$(dirname "$0")/../.."
# the last commit with schema 1 of the store, the first whose nodes run without a learner
: "${OLD:=d1ac503}" "${PEER:=42d3a0d}"

build() # COMMIT -> the path of its program
{
    local at=build/upgrade/$1
    if [ ! -x "$at/build/abrd" ]; then
        rm -rf "$at" && mkdir -p "$at" &&
            git archive "$1" | tar -x -C "$at" &&
            make --no-print-directory -j"$(nproc)" -C "$at" build/abrd >"$at.log" 2>&1 ||
            { tail -n 5 "$at.log" >&2; echo "cannot build $1" >&2; return 1; }
    fi
    echo "$PWD/$at/build/abrd"
}

[ -n "${OLD_ABRD:-}" ] || OLD_ABRD=$(build "$OLD") || { echo "0 passed, 1 failed"; exit 1; }
[ -n "${PEER_ABRD:-}" ] || PEER_ABRD=$(build "$PEER") || { echo "0 passed, 1 failed"; exit 1; }
export OLD_ABRD PEER_ABRD
exec node test/trial/upgrade.mjs
