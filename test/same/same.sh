#!/usr/bin/env bash
# same.sh BASE - does this program still do what that of commit BASE does? Both are recorded on this
# machine (record.mjs) and compared. BASE's own build and recording are kept in build/same.
set -euo pipefail
cd "$(dirname "$0")/../.."
base=$(git rev-parse --short=12 "$1^{commit}")
tree=build/same/$base

if [ ! -x "$tree/build/abrd" ]; then
    rm -rf "$tree" && mkdir -p "$tree"
    git archive "$base" | tar -x -C "$tree"
    ${MAKE:-make} --no-print-directory -C "$tree" -j"$(nproc)" all >build/same/build.log 2>&1 ||
        { tail -20 build/same/build.log; exit 1; }
fi
if [ ! -f "$tree.recording/metrics.txt" ] || [ -n "$(find test/same -name '*.mjs' -newer "$tree.recording/metrics.txt")" ]; then
    (cd "$tree" && node "$OLDPWD/test/same/record.mjs" build/abrd "$OLDPWD/$tree.recording")
fi
node test/same/record.mjs build/abrd build/same/now
node test/same/compare.mjs "$tree.recording" build/same/now
