// readme.mjs - the commands of the READMEs as they stand there: those that ask a daemon answer what is
// printed below them, and all others name commands, options, targets, scripts and files that there are.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeBlock, codeBlocks, dialogue } from './lib/blocks.mjs';
import { ABRD, Daemon, done, folder, test } from './lib/daemon.mjs';

/** Every README of a folder and of the folders in it. */
const readmes = dir => readdirSync(dir, { withFileTypes: true }).flatMap(f =>
    (f.isDirectory() ? (f.name === 'node_modules' ? [] : readmes(join(dir, f.name))) :
        f.name === 'README.md' ? [join(dir, f.name)] : []));
const PAGES = readdirSync('web/docs').filter(f => f.endsWith('.md')).map(f => `web/docs/${f}`);
const FILES = ['README.md', ...PAGES, 'web/README.md', 'deploy/README.md', 'traces/README.md', 'deploy/policy/README.md',
    '.github/CONTRIBUTING.md', ...readmes('src'), ...readmes('test')];
const SHIPPED = 'deploy/policy/moe.safetensors';
const text = Object.fromEntries(FILES.map(f => [f, readFileSync(f, 'utf8')]));

const media = join(folder, 'media');
mkdirSync(media);
const LADDER = [300, 750, 1200, 1850, 2850, 4300];
for (const kbps of LADDER)
    for (let n = 1; n <= 3; n++) writeFileSync(join(media, `${kbps}-${n}.m4s`), Buffer.alloc(kbps * 500));
writeFileSync(join(media, 'manifest.mpd'), `<MPD mediaPresentationDuration="PT12S"><Period><AdaptationSet contentType="video">
<SegmentTemplate media="$RepresentationID$-$Number$.m4s" duration="4" startNumber="1"/>
${LADDER.map(kbps => `<Representation id="${kbps}" bandwidth="${kbps}000"/>`).join('\n')}</AdaptationSet></Period></MPD>`);

const token = join(folder, 'token');
const d = await new Daemon(['--port', '0', '--policy', SHIPPED, '--learn', 'off', '--explore', '0', '--media-dir', media,
    '--data', join(folder, 'data'), '--admin-token-file', token]).ready;

/** What the shell prints for a command that asks the daemon, at this one's address. */
function run(command, env = {}) {
    assert.match(command, /(127\.0\.0\.1|localhost):8080/);
    const here = command.replaceAll(/(127\.0\.0\.1|localhost):8080/g, `127.0.0.1:${d.port}`);
    for (;;) {
        const said = execFileSync('bash', ['-euo', 'pipefail', '-c', here],
            { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], cwd: folder, env: { ...process.env, ...env } });
        if (!said.includes('the disk has not answered')) return said; // else a busy machine: again
    }
}

/** Replaces a text that must be there. */
function swap(s, from, to) {
    assert.ok(s.includes(from), `no ${from}`);
    return s.replace(from, to);
}

await test('the front page stays one that is read', () => {
    assert.ok(statSync('README.md').size <= 9000, `${statSync('README.md').size} bytes: at most 9000`);
    assert.ok(text['README.md'].split('\n').length <= 150);
});

await test('the first question and its answer', () => {
    const [{ command, output }] = dialogue(codeBlock('README.md', '/v1/decide -d'));
    const shown = JSON.parse(output), { probabilities, value, entropy, ...answer } = JSON.parse(run(command));
    const { probabilities: p, value: v, entropy: e, ...rest } = shown;
    assert.deepEqual(answer, rest);
    // another processor rounds another bit
    probabilities.forEach((x, i) => assert.ok(Math.abs(x - p[i]) < 1e-3, `${probabilities}`));
    assert.ok(Math.abs(value - v) < 1e-2 && Math.abs(entropy - e) < 1e-2, `${value} ${entropy}`);
    // it looks right: no more than the link carried last
    const { throughput_kbps: had } = JSON.parse(/'(\{[^']*\})'/.exec(command)[1]);
    assert.ok(shown.kbps <= had.reduce((a, b) => a + b) / had.length, `${shown.kbps} of ${had}`);
});

await test('what the daemon says at its start is that question', () => {
    const body = s => JSON.parse(/\/v1\/decide -d '(\{[^']*\})'/.exec(s)[1]);
    assert.deepEqual(body(d.output), body(codeBlock('README.md', '/v1/decide -d').text));
});

await test('the weights', () => {
    const head = run(codeBlock('web/docs/own-player.md', '/v1/policy/weights').text);
    assert.match(head, /^HTTP\/1.1 200/);
    assert.match(head, /^ETag: /mi);
    assert.equal(statSync(join(folder, 'weights')).size, Number(/^Content-Length: (\d+)/mi.exec(head)[1]));
});

await test('a stock player', () => {
    const [{ command, output }] = dialogue(codeBlock('web/docs/stock-players.md', 'CMCD-Object'));
    const same = s => s.trim().replaceAll('\r', '').replace(/Session: \w{32}/, 'Session: ID');
    assert.equal(same(run(command)), same(output));
});

await test('a test bed of Pensieve', () => {
    const [{ command, output }] = dialogue(codeBlock('web/docs/pensieve.md', 'lastquality'));
    assert.equal(run(command).trim(), output.trim());
});

await test('a profile that grows', () => {
    const { text: command } = codeBlock('web/docs/learning.md', 'profiles/cycling');
    assert.match(run(command, { TOKEN: readFileSync(token, 'utf8').trim() }), /"cycling"/);
    assert.match(run(command, { TOKEN: 'wrong' }), /Bearer TOKEN/);
});

await test('the question of the tutorial, and what its changes give', () => {
    const [{ command, output }] = dialogue(codeBlock('web/docs/tutorial.md', 'grep -o'));
    assert.equal(run(command).trim(), output.trim());
    assert.match(run(swap(command, '"news"', '"documentary"')), /"kbps":1850\b/);
    for (const profile of ['"news"', '"documentary"'])
        assert.match(run(swap(swap(command, '"news"', profile), '"buffer_s":34', '"buffer_s":4')), /"kbps":1200\b/);
});

await test('a session of a player of your own', async () => {
    const { session } = JSON.parse(run(codeBlock('web/docs/own-player.md', '/v1/sessions -d').text));
    const [question, last] = ['"last"', '"final"'].map(words => JSON.parse(codeBlock('web/docs/own-player.md', words).text));
    const ask = () => d.call('POST', `/v1/sessions/${session}/decisions`, question);
    const { status, json } = await ask();
    assert.deepEqual([status, json.chunk], [200, 1]);
    assert.deepEqual((await ask()).json, json);
    assert.equal((await d.call('POST', `/v1/sessions/${session}/rewards`, last)).status, 200);
    assert.equal((await d.call('DELETE', `/v1/sessions/${session}`)).status, 204);
    assert.equal((await ask()).status, 404);
});

await test('weights for one session, and a profile that is added', () => {
    const { qoe } = JSON.parse(run(codeBlock('web/docs/profiles.md', '"weights":{"stalls":2},"ladder_kbps"').text));
    assert.equal(qoe.weights.stalls, 2);
    const { text: put } = codeBlock('web/docs/profiles.md', 'profiles/kids');
    assert.match(run(put, { TOKEN: readFileSync(token, 'utf8').trim() }), /first picture within 2 s/);
});

await test('the built-in profiles are those of the daemon', async () => {
    const { profiles } = (await d.call('GET', '/v1/profiles')).json;
    const rows = [...text['web/docs/profiles.md'].matchAll(/^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|/gm)];
    const builtin = profiles.filter(p => p.builtin && p.qoe.utility === 'points');
    assert.deepEqual(rows.map(r => r[1]).sort(), builtin.map(p => p.name).sort());
    for (const [, name, ...weights] of rows)
        assert.deepEqual(Object.values(builtin.find(p => p.name === name).qoe.weights), weights.map(Number), name);
});

await test('a player in C is built of files that there are', () => {
    const { text: command } = codeBlock('web/docs/own-player.md', 'pkg-config'); // install.sh builds and runs it
    const files = command.match(/\b(?:deploy|traces)\/\S+/g);
    assert.equal(files.length, 3);
    for (const f of files) assert.ok(existsSync(f), f);
});

await test('other servers: the options start a daemon', async () => {
    const [serve] = codeBlock('web/docs/origins.md', 'abrd serve --origin').text.split('\n');
    const [, , ...args] = serve.split(' ');
    const other = await new Daemon(['--port', '0', '--policy', SHIPPED, '--data', join(folder, 'other'), ...args]).ready;
    assert.ok(other.url, other.output);
    const head = await other.call('HEAD', '/o/none/film/manifest.mpd');
    assert.equal(head.status, 404);
});

await test('the reference is what the program prints', () => {
    assert.equal(execFileSync('bash', ['test/lint/reference.sh'], { encoding: 'utf8', env: { ...process.env, ABRD } }), '');
});

/* ----- what is only named ----- */

/** Every command in blocks and between backticks: [file, command]. */
function* commands() {
    for (const f of FILES) {
        const blocks = codeBlocks(f).filter(b => !['html', 'js', 'ts', 'xml', 'c', 'json', 'text', 'promql'].includes(b.lang));
        const inline = [...text[f].replace(/^```[^]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(m => m[1]);
        for (const c of [...blocks.flatMap(b => b.text.replaceAll('\\\n', ' ').split('\n')), ...inline])
            yield [f, c.replace(/\s#\s.*/, '').trim()];
    }
}

const helps = new Map();
/** The options that a command of abrd has, by its help; null: there is no such command. */
function optionsOf(words) {
    const key = words.join(' ');
    if (!helps.has(key)) {
        try {
            const read = option => execFileSync(ABRD, [...words, option], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
            const help = read('--help');
            const all = help.includes('--help-all') ? read('--help-all') : help;
            helps.set(key, new Set([...all.matchAll(/--([a-z0-9-]+)/g)].map(m => m[1])));
        } catch {
            helps.set(key, null);
        }
    }
    return helps.get(key);
}

await test('every command of abrd is one, with options that there are', () => {
    const wrong = [];
    let n = 0;
    for (const [f, c] of commands())
        for (const [, rest] of c.matchAll(/(?:^(?:\$ )?|[;&|] |-- |exec [\w-]+ )(?:build\/)?abrd ([a-z].*?)(?= && |$)/g)) {
            const all = rest.split(/\s+/), end = all.findIndex(w => !/^[a-z]+$/.test(w));
            const words = (end < 0 ? all : all.slice(0, end)).slice(0, 2);
            if (optionsOf(words) === null) words.pop();
            const has = words.length && optionsOf(words);
            n++;
            if (!has) wrong.push(`${f}: ${c}`);
            else for (const [, o] of rest.matchAll(/(?:^|\s)--([a-z0-9-]+)/g)) if (!has.has(o)) wrong.push(`${f}: ${c}: --${o}`);
        }
    assert.deepEqual(wrong, []);
    assert.ok(n > 40, `${n} commands`);
});

await test('every target of make is one', () => {
    const make = readFileSync('Makefile', 'utf8'), wrong = [];
    let n = 0;
    for (const [f, c] of commands())
        for (const [, rest] of c.matchAll(/(?:^|[\s;&|(])make (?:-\S+ (?:\S*[./]\S* )?)*([^;&|]*)/g)) {
            const [target] = rest.split(/\s+/).filter(w => w && !w.includes('='));
            if (!target || !/^[a-z][\w-]*$/.test(target)) continue;
            n++;
            if (!new RegExp(`^${target}:|^\\.PHONY:.* ${target}\\b`, 'm').test(make)) wrong.push(`${f}: ${c}`);
        }
    assert.deepEqual(wrong, []);
    assert.ok(n > 25, `${n} targets`);
});

await test('every script and every page that is linked is there', () => {
    const wrong = [];
    let n = 0;
    for (const [f, c] of commands())
        for (const [, file] of c.matchAll(/^(?:node|bash|sh) (?:-\S+ )*((?:test|web|deploy)\/\S+\.(?:m?js|sh))/g)) {
            n++;
            if (!existsSync(file)) wrong.push(`${f}: ${file}`);
        }
    for (const f of FILES)
        for (const [, to] of text[f].matchAll(/\]\(([^)\s:]+?)(?:#[^)]*)?\)/g)) {
            n++;
            if (to[0] !== '#' && !existsSync(join(dirname(f), to))) wrong.push(`${f}: ${to}`);
        }
    assert.deepEqual(wrong, []);
    assert.ok(n > 40, `${n} files`);
});

await test('every link into a page leads to a heading of it', () => {
    const slug = h => h.toLowerCase().replace(/[^\w\s-]/g, '').trim().replace(/\s/g, '-'), wrong = [];
    const headings = file => new Set([...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(m => slug(m[1])));
    for (const f of FILES)
        for (const [, to, at] of text[f].matchAll(/\]\(([^)\s:#]*)#([^)]*)\)/g)) {
            const file = to ? join(dirname(f), to) : f;
            if (/\.md$/.test(file) && !headings(file).has(at)) wrong.push(`${f}: ${to}#${at}`);
        }
    assert.deepEqual(wrong, []);
});

await d.stop();
done();
