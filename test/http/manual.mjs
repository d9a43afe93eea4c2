// manual.mjs - the manual: every page is in the navigation, every link leads somewhere, on a forge and as it is
// rendered; what it names exists in the program; the daemon serves it, and works without it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { INDEX, Manual, pageFile, slug } from '../../web/tools/manual.mjs';
import { ABRD, Daemon, done, folder, test } from './lib/daemon.mjs';

const OUT = join(folder, 'web/docs');
const manual = new Manual();
manual.write(OUT);

/** Links of the pages below `out` that lead to no file or to no anchor; `above` is the folder of ../ links. */
function dangling(out, above) {
    const pages = readdirSync(out).filter(f => f.endsWith('.html')), wrong = [];
    const html = Object.fromEntries(pages.map(f => [f, readFileSync(join(out, f), 'utf8')]));
    const ids = Object.fromEntries(pages.map(f => [f, new Set([...html[f].matchAll(/ id="([^"]*)"/g)].map(m => m[1]))]));
    let n = 0;
    for (const f of pages)
        for (const [, to] of html[f].matchAll(/<(?:a|img|link|script)\b[^>]* (?:href|src)="([^"]*)"/g)) {
            if (/^[a-z]+:/.test(to)) continue;
            n++;
            const [file, anchor] = to.split('#');
            const where = file.startsWith('../') ? join(above, file.slice(3)) : ['manual.css', 'manual.js'].includes(file) ?
                join('web/docs', file) : join(out, file || f);
            if (!existsSync(where)) wrong.push(`${f}: ${to}`);
            else if (anchor && ids[file || f] && !ids[file || f].has(anchor)) wrong.push(`${f}: ${to}: no such anchor`);
        }
    return { wrong, n };
}

/** Pages of web/docs in `root` that the navigation lacks. */
const unlisted = (m, root) => readdirSync(join(root, 'web/docs')).filter(f => f.endsWith('.md')).map(f => `web/docs/${f}`)
    .filter(f => f !== INDEX && !m.listed.some(p => p.source === f));

await test('every page is in the navigation of web/docs/README.md', () => {
    assert.deepEqual(unlisted(manual, '.'), []);
    assert.ok(manual.listed.length > 30, `${manual.listed.length} pages`);
});

await test('every link of the sources leads to a file', () => assert.deepEqual(manual.dangling, []));

await test('every rendered link leads to a page and to an anchor', () => {
    const { wrong, n } = dangling(OUT, 'web');
    assert.deepEqual(wrong, []);
    assert.ok(n > 1000, `${n} links`);
});

await test('a wrong link, a wrong anchor and a page without a place are found', () => {
    const root = join(folder, 'broken'), put = (f, text) => {
        mkdirSync(dirname(join(root, f)), { recursive: true });
        writeFileSync(join(root, f), text);
    };
    put('web/docs/README.md', '# M\n\n## S\n\n- [A](a.md)\n');
    put('web/docs/a.md', '# A\n\n[x](none.md) [y](b.md#nowhere) [z](b.md#a-b-c)\n');
    put('web/docs/b.md', '# B\n\n## A, `b` [c](a.md)\n');
    put('web/page.css', '');
    for (const f of ['index.html', 'dashboard.html', 'api.html', 'demo/icon.svg']) put(`web/${f}`, '');
    const m = new Manual(root);
    m.write(join(root, 'web/docs'));
    assert.deepEqual(m.dangling, [['web/docs/a.md', 'none.md']]);
    assert.deepEqual(unlisted(m, root), ['web/docs/b.md']);
    assert.deepEqual(dangling(join(root, 'web/docs'), join(root, 'web')).wrong, ['a.html: b.html#nowhere: no such anchor']);
    put('web/docs/README.md', '# M\n\n## S\n\n- [A](gone.md)\n');
    assert.throws(() => new Manual(root), /names web\/docs\/gone\.md/);
});

await test('text is escaped, tables scroll, and rows of a reference have anchors', () => {
    const html = readFileSync(join(OUT, pageFile('deploy/REFERENCE.md')), 'utf8');
    assert.match(html, /<div class="scroll"[^>]*><table>/);
    assert.match(html, /<tr id="port"><td><code>--port N<\/code>/);
    assert.match(html, /<tr id="abrd_profile_startup_seconds">/);
    const page = readFileSync(join(OUT, 'dashjs.html'), 'utf8');
    assert.ok(page.includes('&lt;video id=&quot;video&quot;') && !page.includes('<video'));
    assert.equal(slug('What it does, in 3 `steps`'), 'what-it-does-in-3-steps');
});

await test('the search knows headings, options, metrics and routes', () => {
    const rows = JSON.parse(readFileSync(join(OUT, 'search.json'), 'utf8'));
    for (const heading of ['--port N', 'abrd_profile_startup_seconds', 'Upgrade and roll back', 'What happens when the daemon dies?'])
        assert.ok(rows.some(r => r[3] === heading), heading);
    for (const [file, , anchor] of rows)
        assert.ok(readFileSync(join(OUT, file), 'utf8').includes(`id="${anchor}"`), `${file}#${anchor}`);
});

/* ----- what is only named ----- */

const sources = [...new Set(['README.md', INDEX, ...manual.listed.map(p => p.source)])];
const text = Object.fromEntries(sources.map(f => [f, readFileSync(f, 'utf8')]));
/** Code in a page: between backticks, and blocks. */
const code = f => [...text[f].replace(/^```\w*\n([^]*?)^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(m => m[1])
    .concat([...text[f].matchAll(/^```\w*\n([^]*?)^```/gm)].map(m => m[1]));

await test('every metric that is named exists', () => {
    const table = execFileSync(ABRD, ['man', '--markdown', 'metrics'], { encoding: 'utf8' });
    const known = [...table.matchAll(/^\| `(abrd_\w+)`/gm)].map(m => m[1]), wrong = [];
    const is = name => known.some(k => name === k || name.replace(/_(?:bucket|sum|count)$/, '') === k || (name.endsWith('_') && k.startsWith(name)));
    assert.ok(is('abrd_decisions_total') && !is('abrd_decisions') && !is('abrd_none_'));
    let n = 0;
    for (const f of sources)
        for (const c of code(f))
            for (const [name] of c.matchAll(/\babrd_[a-z_]+/g)) {
                n++;
                if (!is(name)) wrong.push(`${f}: ${name}`);
            }
    assert.deepEqual(wrong, []);
    assert.ok(n > 200, `${n} metrics`);
});

await test('every route that is named exists', () => {
    const { paths } = JSON.parse(readFileSync('web/openapi.json', 'utf8')), wrong = [];
    const shapes = Object.keys(paths).map(p => [new RegExp(`^${p.replaceAll(/\{[^}]*\}/g, '[^/]+')}$`), paths[p]]);
    const has = (method, at) => shapes.some(([r, of]) => r.test(at) && of[method.toLowerCase()]);
    assert.ok(has('GET', '/v1/profiles/kids') && !has('POST', '/v1/profiles/kids') && !has('GET', '/v1/none'));
    let n = 0;
    for (const f of sources)
        for (const c of code(f))
            for (const [, method, at] of c.matchAll(/\b(GET|PUT|POST|DELETE) (\/[\w/{}.]*)/g)) {
                n++;
                if (!has(method, at.replace(/^\/o\/.*/, '/o/a/b'))) wrong.push(`${f}: ${method} ${at}`);
            }
    assert.deepEqual(wrong, []);
    assert.ok(n > 20, `${n} routes`);
});

await test('every option that is named alone is one of a command', () => {
    const known = new Set(), wrong = [];
    for (const f of ['web/docs/options.md', 'deploy/REFERENCE.md'])
        for (const [, o] of readFileSync(f, 'utf8').matchAll(/--([a-z0-9-]+)/g)) known.add(o);
    assert.ok(known.has('explore') && !known.has('explores'));
    let n = 0;
    for (const f of sources.filter(x => !['web/docs/options.md', 'deploy/REFERENCE.md'].includes(x)))
        for (const c of code(f))
            for (const [, o] of c.matchAll(/^--([a-z0-9-]+)/g)) {
                n++;
                if (!known.has(o)) wrong.push(`${f}: --${o}`);
            }
    assert.deepEqual(wrong, []);
    assert.ok(n > 80, `${n} options`);
});

/* ----- the daemon ----- */

await test('the daemon serves it, and /docs leads there', async () => {
    assert.ok(existsSync('web/docs/index.html'), 'run make web');
    const d = await Daemon.start([]);
    const page = await d.call('GET', '/docs/');
    assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
    assert.match(page.text, /<h1[^>]*>The manual of abrd/);
    const bare = await d.call('GET', '/docs');
    assert.deepEqual([bare.status, new URL(bare.headers.get('location'), `${d.url}/docs`).pathname], [308, '/docs/']);
    for (const f of ['manual.css', 'manual.js', 'search.json', 'faq.html']) assert.equal((await d.call('GET', `/docs/${f}`)).status, 200, f);
});

await test('a daemon without rendered pages says 404 there and decides', async () => {
    const web = join(folder, 'bare');
    mkdirSync(web);
    writeFileSync(join(web, 'index.html'), '<p>demo</p>');
    const d = await Daemon.start(['--web-dir', web]);
    assert.equal((await d.call('GET', '/docs/')).status, 404);
    assert.equal((await d.call('GET', '/')).status, 200);
    const { json } = await d.call('POST', '/v1/decide', { ladder_kbps: [300, 750], chunk_s: 4, buffer_s: 8 });
    assert.ok(json.level >= 0);
});

done();
