#!/usr/bin/env bash
# all.sh - every kind of test, side by side, when everything is built. The last line of the output is
# "N passed, N failed" over all of them.
exec bash "$(dirname "$0")/each.sh" web check http lint players
