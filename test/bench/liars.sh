#!/usr/bin/env bash
# liars.sh [SEEDS [OPTION...]] - what do lies cost, cell by cell? Three crowds on links like those trained on:
# honest viewers; an attack, half of the sessions from one address, with session keys that explore and
# contradictory stalls; 30 % liars, who all pull to the highest level, then all to the lowest. Prints the
# worst cell (profile x kind of link) of each and the share of updates that were refused. Ends with 1 when
# a cell falls by more than 2 %. Options go to abrd emulate. Environment: as test/score/continual.mjs.
set -euo pipefail
cd "$(dirname "$0")/../.."
seeds=${1:-5}
shift || true
arms=$(mktemp)
trap 'rm -f "$arms"' EXIT
echo "the daemon|$*" >"$arms"
ARMS=$arms SEEDS=$seeds ONLY=honest,attack,liars STRICT=1 OUT=${OUT:-build/liars.json} node test/score/continual.mjs
