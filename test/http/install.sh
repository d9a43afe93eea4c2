#!/usr/bin/env bash
# What `make install` puts down is complete: the program runs from there, every page and script is
# there, and a player is built with the library by pkg-config.
set -u
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. test/ok.sh

"${MAKE:-make}" --no-print-directory -s install DESTDIR="$dir" PREFIX=/opt/abrd >"$dir/log" 2>&1 ||
    { cat "$dir/log"; echo "0 passed, 1 failed"; exit 1; }
at=$dir/opt/abrd

for f in bin/abrd share/man/man8/abrd.8 share/man/man8/abrd-serve.8 share/abrd/web/openapi.json \
    share/abrd/deploy/policy/moe.safetensors share/bash-completion/completions/abrd \
    share/zsh/site-functions/_abrd lib/systemd/system/abrd.service lib/systemd/system/abrd.socket \
    lib/systemd/system/abrd-retrain.service lib/systemd/system/abrd-retrain.timer share/doc/abrd/abrd.conf \
    include/abrd/policy.h lib/libabrd.a lib/pkgconfig/abrd.pc share/doc/abrd/play.c; do
    ok "$f" test -s "$at/$f"
done
for f in $(cd web && find . -type f -path './vendor/*' ! -name '.*'); do
    ok "web/$f" test -s "$at/share/abrd/web/$f"
done
for f in docs/index.html docs/faq.html docs/search.json docs/manual.css; do # rendered by make web
    ok "web/$f" test -s "$at/share/abrd/web/$f"
done
# on a fresh clone nobody has run make web: what is missing then is told, and put down once it is there
fresh=$dir/fresh
mkdir "$fresh"
ln -s "$PWD"/* "$fresh"
rm "$fresh/web"
mkdir "$fresh/web"
ln -s "$PWD"/web/* "$fresh/web"
rm "$fresh/web/vendor" "$fresh/web/docs"
cp -r web/docs "$fresh/web/docs"
rm -r "$fresh"/web/docs/*.html "$fresh/web/docs/search.json" "$fresh/web/docs/files"
install_fresh() { "${MAKE:-make}" --no-print-directory -s -C "$fresh" "$@" install-program DESTDIR="$dir/of-fresh" PREFIX=/opt/abrd; }
said=$(install_fresh 2>&1)
ok 'no libraries for the pages: it says so' grep -q 'web/vendor.*make web' <<<"$said"
ok 'no rendered manual: it says so' grep -q '/docs/: run .make web' <<<"$said"
printf 'libraries:\n\t@mkdir web/vendor && echo 1 > web/vendor/made.js && echo 1 > web/docs/index.html\ninstall-program: libraries\ninclude Makefile\n' >"$fresh/made.mk"
said=$(install_fresh -f made.mk 2>&1)
ok 'libraries that the same make brings' test -s "$dir/of-fresh/opt/abrd/share/abrd/web/vendor/made.js"
ok 'and then it says nothing' bash -c '! grep -q "make web" <<<"$0"' "$said"
ok 'a page for every command' bash -c \
    "for c in \$('$at/bin/abrd' help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
        case \$c in help|man|completion|version) ;; *) test -s '$at/share/man/man8/abrd-'\$c.8 || exit 1 ;; esac
    done"
ok 'the unit starts what is installed' grep -q '^ExecStart=/opt/abrd/bin/abrd serve' \
    "$at/lib/systemd/system/abrd.service"
ok 'the retraining, too' grep -q '^ExecStart=/opt/abrd/bin/abrd retrain --data /var/lib/abrd' \
    "$at/lib/systemd/system/abrd-retrain.service"
ok 'no folder of this build is left in a text' bash -c "! grep -rIl '$dir' '$at'"

# from elsewhere, with its own files beside it
ok 'it finds its files' bash -c "cd / && '$at/bin/abrd' eval --policy moe --profile news --quiet"

export PKG_CONFIG_PATH=$at/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir
ok 'the version' test "$(pkg-config --modversion abrd)" = "$("$at/bin/abrd" version | cut -d' ' -f2)"
# the sysroot is for our paths; jansson's have none
ok 'a player is built' bash -c \
    "${CC:-gcc} -std=c11 -Wall -Wextra -Wpedantic -Werror deploy/example/play.c \$(pkg-config --cflags --libs abrd) -o '$dir/play'"
trace=traces/3g-commute-00
ok 'it plays' bash -c \
    "'$dir/play' '$at/share/abrd/deploy/policy/moe.safetensors' '$trace' news | tail -n 1 | grep -q '^48 chunks, quality [0-9.]*, QoE [0-9]'"
ok 'it says what is missing' bash -c \
    "'$dir/play' /no/such '$trace' 2>&1 | grep -q '^play: /no/such: '"
ok 'it needs no more than jansson' bash -c \
    "needs=\$(ldd '$dir/play') && grep -q jansson <<<\"\$needs\" &&
     ! grep -E 'microhttpd|sqlite|blas|xml|expat|curl|nats|systemd' <<<\"\$needs\""
ok 'it gives the names of its header, no others' diff \
    <(nm -g --defined-only "$at/lib/libabrd.a" | awk 'NF == 3 { print $3 }' | sort) \
    <({ grep -oE '\<abrd_[a-z_]+\(' include/abrd/policy.h | tr -d '(' | grep -vx abrd_error
        awk '/^#define abrd_/ { print $3 }' include/abrd/policy.h; } | sort -u)

# every library that is loaded belongs to a package of the list, and what it says can be followed
ok 'the list of dependencies' node deploy/sbom.mjs "$at/bin/abrd" "$dir/spdx.json"
ok 'is whole' node -e '
    const { readFileSync } = require("fs");
    const d = JSON.parse(readFileSync(process.argv[1])), ids = new Set(d.packages.map(p => p.SPDXID));
    const known = new Set(d.hasExtractedLicensingInfos.map(l => l.licenseId));
    const bad = (ok, what) => { if (!ok) { console.error(what); process.exit(1); } };
    bad(ids.size === d.packages.length, "two packages share an id");
    for (const r of d.relationships)
        bad(ids.has(r.relatedSpdxElement) && (r.spdxElementId === "SPDXRef-DOCUMENT" || ids.has(r.spdxElementId)), r);
    for (const p of d.packages)
        for (const l of p.licenseDeclared.match(/LicenseRef-\S+/g) ?? []) bad(known.has(l), l);
    const names = d.packages.map(p => p.name).join(" ");
    for (const n of ["libc6", "libmicrohttpd", "libjansson", "libopenblas", "libsqlite3", "libcurl", "libexpat",
        "libsystemd", "dashjs", "uplot"]) bad(names.includes(n), n + " is missing");
    bad(/^(MIT|BSD-3-Clause)$/.test(d.packages.find(p => p.name === "dashjs").licenseDeclared), "dashjs");
    ' "$dir/spdx.json"
# and every page that the README leads to is there
ok 'the links of the README' bash -c \
    'grep -oE "\]\([^)#:]+[)#]" README.md .github/*.md | sed -E "s/^([^:]*):\]\(([^)#]*).*/\1 \2/" |
     while read -r from to; do test -e "$(dirname "$from")/$to" || { echo "$from: $to"; exit 1; }; done'

ok_finish
