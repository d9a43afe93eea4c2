#!/usr/bin/env bash
# selftest.sh - lint.sh must pass a clean tree and find each rule broken on purpose.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
passed=0 failed=0

fresh()
{
    rm -rf "${top:?}/p"
    mkdir -p "$top"/p/{src,test}/{base,nn,abr,serve,cli}
    cd "$top/p" || exit 1
    printf '/* a.h - a thing. printf() and "rand()" in words are fine. */\nint a_one(void);\n' \
        >src/base/a.h
    printf '#include "base/a.h"\n\n/* exit(1), typedef struct */\nstatic const int K = 1;\nint a_one(void)\n{\n    return K;\n}\n' \
        >src/base/a.c
    : >test/base/test_a.c
}

# expect RULE: the tree as it is now breaks exactly this rule ("" = none)
expect()
{
    local said broken
    said=$(bash "$here/lint.sh" . "${2:-}")
    broken=$(sed -nE 's/^[^:]*:[0-9]+: ([a-z-]+): .*/\1/p' <<<"$said" | sort -u | tr '\n' ' ')
    if [ "${broken% }" = "$1" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "lint selftest: expected '$1', found '${broken% }':"
        echo "$said"
    fi
}

# breaks RULE FILE TEXT: one more line in a file that is otherwise clean
breaks()
{
    fresh
    mkdir -p "$(dirname "$2")"
    printf '%b\n' "$3" >>"$2"
    case $2 in
    src/*.c)
        local t=${2#src/}
        mkdir -p "test/${t%/*}"
        : >"test/${t%/*}/test_${t##*/}"
        ;;
    esac
    expect "$1"
}

fresh
expect ""
breaks merge-marks README.md '<<<<<<< HEAD\\nhere\\n=======\\nthere\\n>>>>>>> other'
breaks layers src/base/a.c '#include "abr/video.h"'
breaks layers src/nn/b.c '#include "learn/env.h"'
breaks layers src/nn/b.c '#include "elsewhere/env.h"'
breaks parts src/serve/session/b.c '#include "serve/cluster/lead.h"'
breaks parts src/serve/http/b.h '/* b.h - a thing. */\n#include "serve/players/media.h"'
breaks '' src/serve/players/b.c '#include "serve/hintless/hintless.h"'
breaks foreign-headers src/nn/b.c '#include <jansson.h>'
breaks foreign-headers src/abr/b.c '#include <cblas.h>'
breaks foreign-headers src/serve/b.c '#include <curl/curl.h>'
breaks foreign-headers src/abr/b.c '#include <pthread.h>'
breaks "" src/serve/http/http.c '#include <microhttpd.h>'
breaks "" src/cli/b.c '#include "serve/http.h"\nint main(void) { printf("x"); exit(1); }'
breaks typedef src/base/a.h 'typedef struct a { int x; } a_t;'
breaks print-exit src/base/a.c 'void a_p(void) { printf(""); }'
breaks print-exit src/serve/b.c 'void b_p(void) { fprintf(stderr, ""); }'
breaks print-exit src/nn/b.c 'void b_p(void) { exit(1); }'
breaks "" src/base/a.c 'void a_p(char *s) { snprintf(s, 1, "printf( exit( stderr"); }'
breaks forbidden-calls src/base/a.c 'int a_p(void) { return rand(); }'
breaks forbidden-calls src/base/a.c 'int a_p(const char *s) { return atoi(s); }'
breaks forbidden-calls src/abr/b.c 'double b_p(void) { return clock_mono(); }'
breaks threads src/abr/b.c 'void b_p(void) { pthread_create(0, 0, 0, 0); }'
breaks lapack src/abr/b.c 'void b_p(void) { dgesdd_("N"); }'
breaks "" src/nn/svd.c 'void b_p(void) { dgesdd_("N"); }'
breaks globals src/base/a.c 'static int counter;'
breaks globals src/base/a.c 'static struct a table[3] = {{0}};'
breaks "" src/base/a.c 'static const char *const NAMES[] = {"a"};'

fresh
sed -i '1s/.*/int x;/' src/base/a.h
expect header-opening

fresh
rm test/base/test_a.c
expect tested
echo '#include "base/a.h"' >test/base/test_b.c
expect ""

fresh
printf '<!-- modules -->\n<!-- end of modules -->\n' >src/base/README.md
expect readme
MODULES_ROOT=. bash "$here/modules.sh" --write
expect ""
printf '/* b.h - news. */\n' >src/base/b.h
expect readme
rm src/base/b.h src/base/README.md
for i in 1 2 3 4 5; do echo '#include "base/a.h"' | tee src/base/a$i.c >test/base/test_a$i.c; done
expect readme

fresh
echo 'const char *a_path = "/ho''me/someone";' >>src/base/a.c
expect machine-paths
for f in test/http/a.mjs test/b.sh .github/workflows/c.yml traces/README.md deploy/d.conf web/e.js .ci/run; do
    fresh
    mkdir -p "$(dirname "$f")"
    echo '// see /ho''me/someone' >"$f"
    expect machine-paths
done
fresh
mkdir -p web/node_modules web/vendor build
echo 'see /ho''me/someone' | tee web/node_modules/a web/vendor/b build/c >/dev/null
expect ""

# refused FILE TEXT, accepted FILE TEXT: one script each; all of them go through one run of lint.sh
scripts=0 javascript=
script()
{
    local file=${2%.*}_$((++scripts)).${2##*.}
    mkdir -p "$(dirname "$file")"
    printf '%s\n' "$3" >"$file"
    [ "$1" = accepted ] || javascript+="$file"$'\n'
}
refused() { script refused "$@"; }
accepted() { script accepted "$@"; }

fresh
for f in test/http/a.mjs web/a.js; do
    refused $f 'export const a = [1].with(0, 2);'
    refused $f 'export const a = list => list.with(0, 2);'
    refused $f 'export const a = list => list.toSorted();'
    refused $f 'export const a = list => list.toReversed();'
    refused $f 'export const a = list => list.toSpliced(0, 1);'
    refused $f 'export const a = Promise.withResolvers();'
    refused $f 'export const a = Object.groupBy([1], x => x);'
    refused $f 'export const a = Map.groupBy([1], x => x);'
    refused $f 'export const a = new Set().union(new Set());'
    refused $f 'export const a = (b, c) => b.isSubsetOf(c);'
    refused $f 'export const a = b => Array.fromAsync(b);'
    refused $f 'export const a = /[\p{L}--[a-z]]/v;'
    refused $f 'export const a = b => b.isWellFormed();'
    refused $f 'export const a = b => b.values().toArray();'
    refused $f 'export const a = () => b;'
    refused $f 'const a = 1;'
    accepted $f 'export const a = b => [structuredClone(b), b.at(-1), b.findLast(c => c), Object.hasOwn(b, 1)];'
    accepted $f 'export const a = async b => [...b].map(c => c).filter(c => c).concat(await fetch(b));'
    accepted $f 'export class A { #a = 1; static { A.b = 1; } get a() { return this.#a ??= 2; } }'
done
refused test/http/a.mjs 'performance.now = () => 1;'
refused test/http/a.mjs 'globalThis.performance.now = () => 1;'
refused test/http/a.mjs 'export const a = import.meta.dirname;'
refused test/http/a.mjs 'export const a = import.meta.filename;'
refused test/http/a.mjs 'export const a = new WebSocket("ws://127.0.0.1/");'
refused test/http/a.mjs 'import { globSync } from "node:fs"; export const a = globSync;'
refused test/http/a.mjs 'export const a = AbortSignal.any([]);'
refused test/http/a.mjs 'import a from "./a.json" with { type: "json" }; export default a;'
refused test/http/a.mjs 'export const a = window;;const'
accepted test/http/a.mjs 'export const a = page => page.evaluate(() => window.document.title);'
accepted test/http/a.mjs 'export const a = Object.defineProperty(performance, "now", { value: () => 1 });'
refused web/a.js 'export const a = process.env;'
accepted web/a.js 'export const a = new uPlot(window, document);'
said=$(bash "$here/lint.sh" . "" | sed -nE 's/^([^:]*):[0-9]+: javascript: .*/\1/p' | sort -u)
if [ "$said" = "$(printf %s "$javascript" | sort -u)" ]; then
    passed=$((passed + scripts))
else
    failed=$((failed + 1))
    echo "lint selftest: of these scripts some were not refused (<) or refused by mistake (>):"
    diff <(printf %s "$javascript" | sort -u) <(echo "$said") | grep '^[<>]' | while read -r side file; do
        echo "$side $file: $(head -n 1 "$file")"
    done
fi

if command -v gcc >/dev/null; then
    fresh
    echo 'int other(void) { return 1; }' >>src/base/a.c
    mkdir -p build/src/base
    gcc -Isrc -c -o build/src/base/a.o src/base/a.c
    expect exported-names build
fi

if command -v clang-format >/dev/null; then
    fresh
    printf 'BasedOnStyle: LLVM\nIndentWidth: 4\nBreakBeforeBraces: Linux\nReflowComments: false\nAllowShortFunctionsOnASingleLine: None\n' >.clang-format
    expect ""
    echo 'int  a;' >>src/base/a.c
    expect format
fi

cd "$here" || exit 1
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
