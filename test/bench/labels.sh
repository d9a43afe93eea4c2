#!/usr/bin/env bash
# labels.sh - what do false labels cost viewers without a hint? 419 labels of each profile, from one
# address and from as many, against the shipped policies in each mode of --untagged. Prints what
# every profile gets before and after them, on links that the exam of merges does not know, and ends
# with 1 when a profile loses more than 2 % of its scale or of its QoE.
set -euo pipefail
cd "$(dirname "$0")/../.."
make -s build/release/check >/dev/null
build/release/check cli/emulate/labels
