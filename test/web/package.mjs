// package.mjs - what npm would publish: complete, small, importable, and declared as it is.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

import { DOMParser, FakePlayer, manifest } from './fake.mjs';
import { test, until } from './harness.mjs';
import { Mock } from './mock.mjs';
import { attach } from '../../web/dashjs.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const WEB = path.join(HERE, '../../web');
const TOOLS = path.join(HERE, 'node_modules');
const ADAPTERS = ['dashjs', 'hlsjs', 'shaka'];
// Bytes of an adapter with the core: bundled, minified, gzipped. Of 8 kB the back-off, the reasons and the
// guards that keep a fault of the plugin from the player need 300 bytes, abandoned chunks 400, sound, several
// codecs and caps of the height 300.
const MOST = 8320; // gzip of Node 18 and 20 differ by a few bytes

function run(command, args, options) {
    try {
        return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options });
    } catch (e) {
        throw new Error(`${e.message}\n${e.stdout}`); // tsc complains there
    }
}

// what a page of its own has: dash.js from a script element, no types of it
const PLAIN = `
import { attach } from '@abrd/player/dashjs';
declare const dashjs: any;
attach(dashjs.MediaPlayer().create(), { profile: 'live' }).detach();
`;

// a user of every adapter; lines that must not compile are marked
const USER = `
import { MediaPlayer } from 'dashjs';
import { attachDashjs, attachHlsjs, attachShaka, localPolicy as local2, type Events, type HlsHandle } from '@abrd/player';
import { attach as dash, type Options, type Question } from '@abrd/player/dashjs';
import { attach as hls } from '@abrd/player/hlsjs';
import { attach as shaka } from '@abrd/player/shaka';
import { localPolicy } from '@abrd/player/policy';

const local = localPolicy({ server: 'http://127.0.0.1:8080' });
const options: Options = { server: '', profile: { mu: [1, 2, 3] }, timeoutMs: 100, abandon: false, fallback: local.fallback };
const player = MediaPlayer().create();
const abrd = dash(player, options);
const all: [typeof dash, typeof hls, typeof shaka, typeof localPolicy] = [attachDashjs, attachHlsjs, attachShaka, local2];
const handle: HlsHandle = attachHlsjs(class {});
const timeline: (keyof Events)[] = ['session', 'decision', 'request', 'abandon', 'chunk', 'report', 'state', 'error'];
void [all, handle, timeline];
// @ts-expect-error no dash.js player
dash({}, options);
const off: () => void = abrd.on('request', r => { const by: 'abrd' | 'local' | 'player' = r.by; void by; });
dash(player, { weights: { stalls: 2 }, quality: [40, 60, 80], bufferS: 30, maxHeight: levels => levels.at(-1)?.height });
dash(player, { bufferS: null });
hls(class {}, { profile: { weights: { startup: 0.5 } }, quality: (chunk, ladder) => (chunk ? ladder.map(() => 50) : null) });
abrd.on('chunk', c => void (c.download_s + c.rebuffer_s));
abrd.on('abandon', a => void (a.level - a.from + a.elapsed_s));
const own = shaka({}, { profile: null, fallback: async (q: Question) => q.ladder_kbps.length - 1 });
const controller: unknown = hls(class {}, { profile: 'news' }).controller;
void [off, own.state.startupS, controller];
// @ts-expect-error an option that is none
dash(player, { sever: '' });
// @ts-expect-error an event that is none
abrd.on('chunks', () => {});
// @ts-expect-error a weight is missing
shaka({}, { profile: { mu: [1, 2] } });
// @ts-expect-error a weight that is none
shaka({}, { weights: { sharpness: 2 } });
// @ts-expect-error the state is only read
abrd.state = own.state;
`;

export async function packageTests() {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'abrd-package-'));
    const installed = path.join(dir, 'node_modules/@abrd/player');
    const about = JSON.parse(fs.readFileSync(path.join(WEB, 'package.json'), 'utf8'));
    try {
        await test('package: npm packs what it names, and needs nothing at run time', () => {
            const [packed] = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dir], { cwd: WEB }));
            assert.equal(packed.name, '@abrd/player');
            assert.deepEqual(packed.files.map(f => f.path).sort(), [...about.files, 'package.json'].sort());
            assert.equal(about.dependencies, undefined);
            fs.mkdirSync(installed, { recursive: true });
            run('tar', ['xzf', path.join(dir, packed.filename), '-C', installed, '--strip-components=1']);
        });

        await test('package: it has the version of the daemon, of its API and of the newest changes', () => {
            const read = file => fs.readFileSync(path.join(WEB, '..', file), 'utf8');
            const versions = {
                package: about.version,
                lock: JSON.parse(read('web/package-lock.json')).version,
                api: JSON.parse(read('web/openapi.json')).info.version,
                changes: /^## (\d+\.\d+\.\d+)/m.exec(read('.github/CHANGELOG.md'))[1],
                daemon: run(path.join(WEB, '../build/abrd'), ['--version']).trim().split(' ').at(-1),
            };
            assert.deepEqual([...new Set(Object.values(versions))], [about.version], JSON.stringify(versions));
        });

        await test('package: every entry can be imported from the package alone', async () => {
            const names = Object.keys(about.exports);
            assert.deepEqual(names.sort(), ['.', './package.json', ...[...ADAPTERS, 'policy', 'memory'].map(n => `./${n}`)].sort());
            for (const name of names.filter(n => n !== './package.json')) {
                const { types, default: file } = about.exports[name];
                const module = await import(pathToFileURL(path.join(installed, file)));
                for (const fn of { '.': ['attachDashjs', 'attachHlsjs', 'attachShaka', 'localPolicy'],
                    './policy': ['localPolicy'], './memory': ['linkMemory'] }[name] ?? ['attach'])
                    assert.equal(typeof module[fn], 'function', `${name}: ${fn}`);
                for (const f of [types, file]) assert.ok(about.files.includes(f.slice(2)), `${f} is not in files`);
            }
        });

        await test('package: as node resolves its names, by import and by require', () => {
            const node = (file, code) => {
                fs.writeFileSync(path.join(dir, file), code);
                return run(process.execPath, [file], { cwd: dir });
            };
            const names = about => Object.keys(about.exports).map(n => `@abrd/player${n.slice(1)}`).filter(n => !n.endsWith('json'));
            for (const name of names(about))
                assert.equal(node('user.mjs', `import * as m from '${name}'; console.log(Object.keys(m).length > 0)`), 'true\n');
            // node 22 can require modules; older ones say what to write instead
            fs.writeFileSync(path.join(dir, 'probe.mjs'), 'export default 1;');
            const requires = node('probe.cjs', "try { require('./probe.mjs'); console.log('yes'); } catch { console.log('no'); }") === 'yes\n';
            for (const name of names(about))
                assert.match(node('user.cjs', `try { console.log(Object.keys(require('${name}')).length > 0 && 'loaded'); }
                    catch (e) { console.log(e.message); }`), requires ? /^loaded/ :
                    /^@abrd\/player is an ES module: write import .* await import\('@abrd\/player\/dashjs'\)$/m);
            assert.equal(node('own.cjs', "console.log(require('@abrd/player/package.json').version)").trim(), about.version);
        });

        await test('package: events come in the order that the README gives, with its reasons', async () => {
            const readme = fs.readFileSync(path.join(WEB, 'README.md'), 'utf8');
            const lines = /<!-- events -->\n```\n([^`]*)```/.exec(readme)[1].trim().split('\n').map(l => l.split(/\s{2,}/)[1]);
            const periods = [{ chunks: 3 }], player = new FakePlayer(periods), mock = await new Mock().start();
            globalThis.DOMParser = DOMParser;
            const abrd = attach(player, { server: mock.url, timeoutMs: 60e3 }), seen = [[]];
            try {
                for (const event of ['session', 'decision', 'request', 'abandon', 'chunk', 'report', 'state', 'error'])
                    abrd.on(event, () => seen.at(-1).push(event));
                await player.load(manifest(periods));
                for (let i = 0; i < 3; i++) {
                    seen.push([]);
                    await player.chunk(i);
                    if (i === 2) seen.push([]);
                }
                await until(() => seen.at(-1).length, 'the report');
                assert.deepEqual(seen.map(s => s.join(' ')), lines);
            } finally {
                abrd.detach();
                await mock.stop();
            }
            const core = fs.readFileSync(path.join(WEB, 'lib/core.js'), 'utf8');
            const reasons = readme.slice(readme.indexOf('### Reasons')).split('\n## ')[0];
            for (const [, said] of reasons.matchAll(/^\| `([^`]*)`/gm))
                assert.ok(core.replaceAll("\\'", "'").includes(said.split(' STATUS')[0]), `the plugin never says "${said}"`);
            const setting = core.split('\n').filter(l => /reason: by ===|by === 'player' && decided|#trouble = /.test(l)).join('\n');
            for (const [, said] of setting.replaceAll("\\'", '\u2019').matchAll(/['`]((?:the|no) [a-z \u2019]+)/g))
                assert.ok(reasons.includes(`\`${said.trim().replace('\u2019', "'")}`), `README.md has no reason "${said}"`);
        });

        await test('package: a bundler drops the adapters that a page does not use', () => {
            const bundle = (code, ...more) => {
                fs.writeFileSync(path.join(dir, 'page.js'), code);
                return run(process.execPath, [path.join(TOOLS, 'esbuild/bin/esbuild'), '--bundle', '--minify', '--format=esm',
                    '--log-level=error', ...more, 'page.js'], { cwd: dir });
            };
            const one = bundle("import { attachShaka } from '@abrd/player'; globalThis.a = attachShaka;");
            const same = bundle("import { attach } from '@abrd/player/shaka'; globalThis.a = attach;");
            assert.ok(Math.abs(one.length - same.length) < 100, `${one.length} and ${same.length} bytes`);
            // also a page that is CommonJS itself
            assert.match(bundle("globalThis.a = require('@abrd/player/dashjs').attach;"), /AbrdRule/);
        });

        await test(`package: each adapter has at most ${MOST} bytes: bundled, minified, gzipped`, () => {
            const sizes = Object.fromEntries(ADAPTERS.map(name => {
                const code = run(process.execPath, [path.join(TOOLS, 'esbuild/bin/esbuild'), '--bundle', '--minify',
                    '--format=esm', '--log-level=error', path.join(installed, `${name}.js`)]);
                return [name, gzipSync(code, { level: 9 }).length];
            }));
            console.log(`     ${JSON.stringify(sizes)}`);
            for (const name of ADAPTERS) assert.ok(sizes[name] <= MOST, JSON.stringify(sizes));
        });

        await test('package: the declarations compile, strictly, and refuse what is wrong', () => {
            fs.symlinkSync(path.join(WEB, 'node_modules/dashjs'), path.join(dir, 'node_modules/dashjs'));
            fs.writeFileSync(path.join(dir, 'user.mts'), USER);
            run(process.execPath, [path.join(TOOLS, 'typescript/bin/tsc'), '--noEmit', '--strict', '--target', 'es2022',
                '--module', 'nodenext', '--moduleResolution', 'nodenext', '--lib', 'es2022,dom', 'user.mts'], { cwd: dir });
            // a bundler's resolution, and that of old tools; without dash.js installed
            fs.rmSync(path.join(dir, 'node_modules/dashjs'));
            fs.writeFileSync(path.join(dir, 'plain.ts'), `${PLAIN}import { localPolicy } from '@abrd/player/policy';\nvoid localPolicy;`);
            for (const [resolution, module] of [['bundler', 'esnext'], ['node10', 'esnext']])
                run(process.execPath, [path.join(TOOLS, 'typescript/bin/tsc'), '--noEmit', '--strict', '--target', 'es2022', '--module',
                    module, '--moduleResolution', resolution, '--lib', 'es2022,dom', 'plain.ts'], { cwd: dir });
        });
    } finally {
        fs.rmSync(dir, { recursive: true, force: true });
    }
}
