#!/usr/bin/env node
// sbom.mjs PROGRAM OUT - writes the dependencies of abrd as SPDX 2.3 JSON: the packages of the shared
// libraries that PROGRAM loads (ldd, dpkg) with the licences of their copyright files, and the npm
// packages of web/package-lock.json. It prints them as a table, too. `make sbom` runs it in the project's root.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';

const [program, out] = process.argv.slice(2);
if (!out) {
    console.error('usage: sbom.mjs PROGRAM OUT');
    process.exit(2);
}
const run = (command, ...args) =>
    execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const version = /CMD_VERSION "(.*)"/.exec(readFileSync('src/cli/cmd.h', 'utf8'))[1];

// ---- licences

// Debian's short names where SPDX has others
const SPDX = {
    'Expat': 'MIT', 'expat': 'MIT', 'MIT': 'MIT', 'curl': 'curl', 'ISC': 'ISC', 'Zlib': 'Zlib',
    'zlib': 'Zlib', 'OpenSSL': 'OpenSSL', 'Artistic': 'Artistic-1.0', 'public-domain': null,
};

/** The SPDX expression for a licence name of Debian; null if there is none. */
function spdxOf(name) {
    if (name in SPDX) return SPDX[name];
    const gnu = /^(L?GPL|AGPL|GFDL)-(\d)(?:\.(\d))?(\+)?$/.exec(name);
    if (gnu) return `${gnu[1]}-${gnu[2]}.${gnu[3] ?? 0}-${gnu[4] ? 'or-later' : 'only'}`;
    const bsd = /^BSD-(\d)-clause$/i.exec(name);
    if (bsd) return `BSD-${bsd[1]}-Clause`;
    return /^Apache-2(\.0)?$/.test(name) ? 'Apache-2.0' : null;
}

const extracted = new Map(); // LicenseRef-... -> what it stands for

function reference(name, why) {
    const id = `LicenseRef-${name.replace(/[^A-Za-z0-9.-]+/g, '-')}`;
    if (!extracted.has(id)) extracted.set(id, why);
    return id;
}

/** The licence that a package's copyright file gives for most of it. */
function licenceOf(name) {
    const file = `/usr/share/doc/${name}/copyright`;
    if (!existsSync(file)) return 'NOASSERTION';
    const text = readFileSync(file, 'utf8');
    const stanzas = text.split(/\n\s*\n/);
    const all = stanzas.find(s => /^Files:\s*\*/m.test(s)) ?? stanzas.find(s => /^Files:/m.test(s));
    const said = all && /^License:\s*(.+)$/m.exec(all)?.[1].trim();
    if (!said) return reference(`Debian-${name}`, `told in words in ${file}`);
    return said.split(/\s+(or|and)\s+/i).map((word, i) => i % 2 ? word.toUpperCase()
        : spdxOf(word) ?? reference(word, `"${word}" in ${file}`)).join(' ');
}

// ---- packages

function libraries() {
    const files = run('ldd', program).split('\n')
        .map(line => /=> (\/\S+)/.exec(line)?.[1] ?? /^\s+(\/\S+)/.exec(line)?.[1]).filter(Boolean);
    const names = new Set();
    for (const file of files) {
        // with an alternative or a merged /usr the path differs from that of the package
        const real = realpathSync(file);
        for (const path of [file, real, file.replace(/^\/usr/, ''), real.replace(/^\/usr/, '')]) {
            try {
                names.add(run('dpkg-query', '-S', path).split(':')[0]);
                break;
            } catch { /* not by this name */ }
        }
    }
    return [...names].sort().map(name => {
        const [v, arch, home] = run('dpkg-query', '-W', '-f=${Version}\t${Architecture}\t${Homepage}\n',
            name).split('\n')[0].split('\t');
        return { name, version: v, licence: licenceOf(name), home, relation: 'DYNAMIC_LINK',
            purl: `pkg:deb/debian/${name}@${encodeURIComponent(v)}?arch=${arch}` };
    });
}

function npm() {
    const lock = JSON.parse(readFileSync('web/package-lock.json', 'utf8'));
    // what web/tools/vendor.sh copies to the pages, with what is built into it; the rest builds and tests
    const inside = name => lock.packages[`node_modules/${name}`] ?? {};
    const shipped = new Set(['dashjs', 'hls.js', 'shaka-player', 'uplot']);
    for (const name of shipped)
        for (const inner of Object.keys({ ...inside(name).dependencies, ...inside(name).peerDependencies }))
            shipped.add(inner);
    return Object.entries(lock.packages).filter(([path]) => path).map(([path, p]) => {
        const name = path.replace(/^.*node_modules\//, '');
        const sum = p.integrity?.startsWith('sha512-')
            ? Buffer.from(p.integrity.slice(7), 'base64').toString('hex') : undefined;
        return { name, version: p.version, licence: p.license ?? 'NOASSERTION', sum,
            relation: shipped.has(name) ? 'CONTAINS' : 'DEV_DEPENDENCY_OF',
            purl: `pkg:npm/${name.replace('@', '%40')}@${p.version}` };
    });
}

// ---- the document

const packages = [...libraries(), ...npm()];
const id = p => `SPDXRef-${p.purl.split('?')[0].replace(/[^A-Za-z0-9.-]+/g, '-')}`;
const created = new Date(process.env.SOURCE_DATE_EPOCH ? process.env.SOURCE_DATE_EPOCH * 1000 : Date.now());
const describe = p => ({
    SPDXID: id(p), name: p.name, versionInfo: p.version, downloadLocation: 'NOASSERTION',
    filesAnalyzed: false, licenseConcluded: 'NOASSERTION', licenseDeclared: p.licence,
    copyrightText: 'NOASSERTION', homepage: p.home || undefined,
    checksums: p.sum ? [{ algorithm: 'SHA512', checksumValue: p.sum }] : undefined,
    externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: p.purl }],
});
const own = 'SPDXRef-abrd';
const document = {
    spdxVersion: 'SPDX-2.3', dataLicense: 'CC0-1.0', SPDXID: 'SPDXRef-DOCUMENT', name: `abrd-${version}`,
    documentNamespace: `https://spdx.org/spdxdocs/abrd-${version}-${created.getTime().toString(36)}`,
    creationInfo: { created: created.toISOString().replace(/\.\d+Z/, 'Z'), creators: ['Tool: abrd-sbom'] },
    packages: [{ SPDXID: own, name: 'abrd', versionInfo: version, downloadLocation: 'NOASSERTION',
        filesAnalyzed: false, licenseConcluded: 'NOASSERTION', licenseDeclared: 'NOASSERTION',
        copyrightText: 'NOASSERTION' }, ...packages.map(describe)],
    hasExtractedLicensingInfos: [...extracted].map(([licenseId, extractedText]) => ({ licenseId, extractedText })),
    relationships: [
        { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: own },
        ...packages.map(p => p.relation === 'DEV_DEPENDENCY_OF'
            ? { spdxElementId: id(p), relationshipType: p.relation, relatedSpdxElement: own }
            : { spdxElementId: own, relationshipType: p.relation, relatedSpdxElement: id(p) }),
    ],
};
writeFileSync(out, JSON.stringify(document, null, 2) + '\n');

const wide = [0, 0].map((_, i) => Math.max(...packages.map(p => [p.name, p.version][i].length)));
const WORD = { DYNAMIC_LINK: 'linked', CONTAINS: 'in the pages', DEV_DEPENDENCY_OF: 'build, tests' };
for (const p of packages)
    console.log(`${p.name.padEnd(wide[0])}  ${p.version.padEnd(wide[1])}  ${WORD[p.relation].padEnd(12)}  ${p.licence}`);
console.log(`${packages.length} packages: ${out}`);
