#!/usr/bin/env bash
# lint.sh [ROOT [BUILD]] - the rules of the house that a script can check.
#
# Prints "file:line: rule: what" for every breach, then "N passed, N failed" counting rules.
# BUILD holds the object files for the rule on exported names; an empty BUILD leaves that rule out.
# selftest.sh breaks each rule on purpose.
set -u
shopt -s lastpipe # rule counts at the end of its pipe
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}" || exit 1
build=${2-build/release}

layers=(base nn policy learn abr embed report lab serve cli)

# Each foreign header, and the only sources that may include it. An entry that ends in "/" is a
# layer.
declare -A home=(
    [cblas.h]="src/nn/blas.c"
    [jansson.h]="src/learn/ckpt src/learn/safetensors src/base/json_text src/abr/traces/trace.c src/abr/manifests/video.c src/report/report.c src/serve/wire/wire src/cli/out.c src/cli/ask.c src/cli/cmd_trial.c src/cli/serve/cmd_forget.c src/cli/emulate/backend_remote.c"
    [expat.h]="src/abr/manifests/mpd.c"
    [microhttpd.h]="src/serve/http/http"
    [sqlite3.h]="src/serve/store/store_sqlite"
    [nats/]="src/serve/cluster/bus_nats"
    [curl/]="src/cli/emulate/backend_remote.c src/cli/ask.c src/cli/fetch.c src/serve/players/origin.c"
    [getopt.h]="src/cli/opt.c"
    [systemd/]="src/cli/serve/manager.c"
    [pthread.h]="src/base/pool.c src/base/cond. src/base/owner.c src/serve/"
    [threads.h]="none"
    [time.h]="src/base/clock.c src/base/cond.c src/base/log.c src/serve/ src/cli/"
    [signal.h]="src/cli/ src/serve/"
)

mapfile -t sources < <(find src include -name '*.[ch]' 2>/dev/null | sort)
[ ${#sources[@]} -gt 0 ] || { echo "$PWD: no sources"; echo "0 passed, 1 failed"; exit 1; }
tests=()
[ -d test ] && mapfile -t tests < <(find test -name '*.[ch]' | sort)

# The sources without comments and without the insides of strings, one "file:line:text" per line,
# so that the patterns below meet code only.
code=$(mktemp)
breaches=$(mktemp)
trap 'rm -f "$code" "$breaches"' EXIT
awk '
FNR == 1 { inside = 0 }
{
    line = $0
    if (line !~ /^[ \t]*#[ \t]*include/) gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    out = ""
    while (line != "") {
        if (inside) {
            at = index(line, "*/")
            if (!at) { line = ""; break }
            line = substr(line, at + 2)
            inside = 0
        } else {
            at = index(line, "/*")
            if (!at) { out = out line; line = ""; break }
            out = out substr(line, 1, at - 1)
            line = substr(line, at + 2)
            inside = 1
        }
    }
    print FILENAME ":" FNR ":" out
}' "${sources[@]}" >"$code"

passed=0 failed=0

# rule NAME: takes breaches "file:line: what" from stdin
rule()
{
    sed "s/^\([^:]*:[0-9]*\): /\1: $1: /" >"$breaches"
    if [ -s "$breaches" ]; then
        cat "$breaches"
        failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
}

# match PATTERN WHAT [EXCEPT]: code lines that match, but not in files that match EXCEPT
match()
{
    grep -E "^[^:]*:[0-9]+:.*$1" "$code" | grep -vE "^(${3:-none}):" |
        sed -E "s|^([^:]*:[0-9]+):.*|\1: $2|"
}

# what a merge left undecided, in any file
grep -rnE --exclude-dir={.git,build,node_modules} '^(<<<<<<<|>>>>>>>) ' . |
    sed -E 's|^\./([^:]*:[0-9]+):.*|\1: a merge is undecided here|' | rule merge-marks

# a layer includes itself and those to its left
awk -F: -v layers="${layers[*]}" '
BEGIN { n = split(layers, l, " "); for (i = 1; i <= n; i++) rank[l[i]] = i }
$3 ~ /^[ \t]*#[ \t]*include[ \t]*"/ {
    split($1, path, "/")
    split($3, quoted, "\"")
    if (split(quoted[2], target, "/") < 2 || path[1] == "include") next
    if (target[1] == "abrd") target[1] = "embed" # the public header, abrd/policy.h
    if (!(target[1] in rank))
        printf "%s:%s: \"%s\" is of no layer\n", $1, $2, quoted[2]
    else if (rank[target[1]] > rank[path[2]])
        printf "%s:%s: %s may not include \"%s\"\n", $1, $2, path[2], quoted[2]
}' "$code" | rule layers

# the core knows its parts by one interface, serve/part.h, and one table, serve/parts.c
grep -E '^src/serve/(session|store|learner|http|access|wire)/[^:]*:[0-9]+:[ \t]*#[ \t]*include[ \t]*"serve/(cluster|hintless|added|players)/' "$code" |
    sed -E 's|^([^:]*:[0-9]+):.*(serve/[^"]*)".*|\1: the core may not include \2, which is of a part|' | rule parts

for header in "${!home[@]}"; do
    pattern=${header//./\\.}
    [[ $header == */ ]] && pattern+='[^>]*'
    grep -E "^[^:]*:[0-9]+:[ \t]*#[ \t]*include[ \t]*<$pattern>" "$code" |
        while IFS=: read -r file line _; do
            for h in ${home[$header]}; do
                [[ $file == "$h"* ]] && continue 2
            done
            echo "$file:$line: <$header> lives in ${home[$header]}"
        done
done | rule foreign-headers

match '\<typedef[ \t]+(struct|enum|union)\>' 'structs and enums keep their tag' | rule typedef

{
    match '\<(printf|vprintf|puts|putchar|perror|exit|_exit|abort|err|warn)[ \t]*\(' \
        'only cli prints and exits' 'src/cli/[^:]*'
    match '\<(std(out|err))\>' 'only cli prints' 'src/cli/[^:]*'
} | rule print-exit

{
    match '\<(rand|srand|random|srandom|drand48|rand_r)[ \t]*\(' 'use base/rng.h'
    match '\<(gets|sprintf|vsprintf|strtok|atoi|atol|atof|strncpy|alloca|tmpnam|mktemp)[ \t]*\(' \
        'unsafe or not strict'
    match '\<(system|popen)[ \t]*\(' 'no shell'
    match '\<(localtime|gmtime|asctime|ctime|setlocale|strerror_l)[ \t]*\(' \
        'not safe with threads'
    match '\<(gettimeofday|clock_gettime|nanosleep|usleep|sleep)[ \t]*\(' \
        'clocks are for base/clock, serve and cli' '(src/base/clock\.c|src/(serve|cli)/[^:]*)'
    match '\<clock_(now|mono|cpu|thread_cpu)[ \t]*\(' 'the core gets the time as an argument' \
        '(src/base/clock\.[ch]|src/(serve|cli)/[^:]*)'
    match '\<NDEBUG\>' 'assertions stay on'
} | rule forbidden-calls

match '\<pthread_[a-z_]+[ \t]*\(' 'threads are for base/pool, base/cond, base/owner and serve' \
    '(src/base/(pool|cond|owner)\.[ch]|src/serve/[^:]*)' | rule threads

# OpenBLAS exports LAPACK without a header, so the names are looked for instead
match '\<[sd](ge|gb|sy|or|po|tr|st|bd)[a-z0-9]{2,4}_[ \t]*\(' 'LAPACK lives in src/nn/svd.c' \
    'src/nn/svd\.c' | rule lapack

# one line each is enough: declarations begin with static and are neither const nor functions
grep -E '^[^:]*:[0-9]+:[ \t]*static[ \t]' "$code" |
    grep -vE ':[ \t]*static([ \t]+[a-z]+)*[ \t]+const\>|\(|_Static_assert|\<const[ \t]+[a-z_]+(\[|[ \t]*=)' |
    grep -vE '^src/(cli/interrupt|nn/blas)\.c:' |
    sed -E 's/^([^:]*:[0-9]+):.*/\1: mutable state belongs in a struct/' | rule globals

for f in "${sources[@]}"; do
    case $f in
    *_priv.h) ;;
    *.h) [[ $(head -n 1 "$f") == "/* $(basename "$f") - "* ]] ||
        echo "$f:1: a header opens with /* $(basename "$f") - what it is" ;;
    esac
done | rule header-opening

# tried from outside, as a program or over HTTP
declare -A outside=(
    [src/cli/serve/cmd_serve.c]=test/http/life.mjs
    [src/cli/emulate/viewers.c]=test/http/emulate.mjs
    [src/cli/emulate/backend_local.c]=test/http/emulate.mjs
    [src/cli/emulate/backend_remote.c]=test/http/emulate.mjs
    [src/serve/metrics/metrics.c]=test/serve/http/test_api.c
    [src/serve/hintless/api_hintless.c]=test/http/api.mjs
    [src/serve/trial/api_trial.c]=test/http/trial.mjs
    [src/serve/trial/trial_part.c]=test/http/trial.mjs
    [src/cli/ask.c]=test/http/trial.mjs
    [src/serve/players/api_cmcd.c]=test/http/cmcd.mjs
    [src/serve/players/api_demo.c]=test/http/api.mjs
    [src/serve/players/api_origin.c]=test/http/origin.mjs
    [src/serve/players/api_pensieve.c]=test/http/pensieve.mjs
)

# A source has a test when test/<room>/test_<name>.c is there, or any test includes its header; what
# was split off a module (mpd_sizes.c of mpd.c) is tried with it.
for f in "${sources[@]}"; do
    [[ $f == src/*.c && $f != src/cli/main.c ]] || continue
    [ -f "${outside[$f]:-none}" ] && continue
    room=$(dirname "${f#src/}") name=$(basename "$f" .c) found=
    while :; do
        if [ -f "test/$room/test_$name.c" ] ||
            grep -qs "^#include \"$room/$name\.h\"" ${tests[@]+"${tests[@]}"}; then
            found=yes
        fi
        [[ $name == *_* && -z $found ]] || break
        name=${name%_*}
    done
    [ -n "$found" ] || echo "$f:1: no test in test/$room/"
done | rule tested

if [ -n "$build" ]; then
    for o in $(find "$build/src" -name '*.o' | sort); do
        src=${o#"$build/"}
        src=${src%.o}.c
        [ -f "$src" ] || continue
        name=$(basename "$src" .c)
        nm -g --defined-only "$o" 2>/dev/null | awk -v src="$src" -v name="$name" '
            { sub(/_.*/, "", name) }
            $3 !~ "^" name "(_|$)" && $3 != "main" && $3 !~ /^__/ {
                printf "%s:1: exports %s; names begin with %s\n", src, $3, name }'
    done | rule exported-names
fi

# a room's README has every module of the room, and no other
MODULES_ROOT=. bash "$here/modules.sh" | rule readme

# what does not belong into a public project
find . \( -name .git -o -name node_modules -o -path ./build -o -path ./var -o -path ./web/vendor \
    -o -path ./web/docs/files -o -path './web/docs/*.html' -o -path ./test/lint \) -prune -o -type f -print0 |
    xargs -0 grep -nIE '/work/|/home/[a-z]|/root/' |
    sed -E 's/^(\.\/)?([^:]*:[0-9]+):.*/\2: a path of one machine/' | rule machine-paths

# JavaScript: nothing newer than the oldest Node and the oldest browsers that run it, no unknown names
mapfile -t scripts < <(find . \( -name node_modules -o -path ./build -o -path ./var -o -path ./web/vendor \) \
    -prune -o -type f \( -name '*.mjs' -o -name '*.js' \) -print)
if [ ${#scripts[@]} -gt 0 ]; then
    eslint="$here/node_modules/eslint/bin/eslint.js"
    if [ -f "$eslint" ]; then
        # an exit code above 1 is a fault of eslint or of its configuration
        node "$eslint" --config "$here/eslint.config.mjs" --format "$here/eslint-lines.mjs" . ||
            { [ $? -eq 1 ] || echo "test/lint/eslint.config.mjs:1: eslint does not run"; }
    else
        echo "test/lint/package.json:1: eslint is not installed: run make deps-test"
    fi | grep -E '^[^:]*:[0-9]+: ' | rule javascript
fi

if [ -f .clang-format ] && command -v clang-format >/dev/null; then
    clang-format --dry-run "${sources[@]}" ${tests[@]+"${tests[@]}"} 2>&1 |
        sed -nE 's/^([^:]*:[0-9]+):[0-9]+: warning: .*/\1: run make format/p' | rule format
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
