#!/usr/bin/env bash
# tidy.sh FLAGS FILE... - clang-tidy (.clang-tidy) and cppcheck over sources, one line each with a
# finding or a file that could not be read; the last line counts. FLAGS: what the compiler gets, one
# word for the shell. Two files at a time, unless JOBS says otherwise.
set -u
cd "$(dirname "$0")/.."
flags=$1
shift
missing=
for tool in clang-tidy cppcheck; do
    command -v "$tool" > /dev/null || missing+=" $tool"
done
if [ -n "$missing" ]; then
    echo "make tidy needs the package(s)$missing" >&2
    exit 1
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

one() # what the Makefile gives a kernel beside the flags of all
{
    local own=
    case $2 in
    *_avx2.c) own="-mavx2 -mfma -mpopcnt" ;;
    *_avx512.c) own="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mavx2 -mfma" ;;
    esac
    # shellcheck disable=SC2086
    clang-tidy --quiet "$2" -- $1 $own 2> /dev/null
    case $? in
    0 | 1) ;;
    *) echo "$2: error: clang-tidy ended with $?" ;;
    esac
}
export -f one
printf '%s\0' "$@" | xargs -0 -P "${JOBS:-2}" -I{} bash -c 'one "$0" "$1"' "$flags" {} > "$out/tidy"

cppcheck --quiet --inline-suppr --std=c11 --library=posix --enable=warning,performance,portability \
    --suppressions-list=test/lint/cppcheck.txt --template='{file}:{line}: {severity}: {message} [{id}]' \
    --library=test/lint/cppcheck.cfg -j "${JOBS:-2}" -D_GNU_SOURCE -Iinclude "$@" > "$out/cppcheck" 2>&1

grep -hE '^[^ ]+:.* (error|warning|performance|portability|style): ' "$out/tidy" "$out/cppcheck" |
    sort -u > "$out/all"
cat "$out/all"
found=$(wc -l < "$out/all")
echo "$# files, $found findings"
[ "$found" -eq 0 ]
