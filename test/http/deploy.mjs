// What lies in deploy/compose and deploy/kubernetes fits the program of this tree: options, metrics,
// paths of probes, names of files, numbers that stand in two places. Schemas: make manifests.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ABRD, Daemon, done, folder, lasting, test } from './lib/daemon.mjs';

const compose = 'deploy/compose', kubernetes = 'deploy/kubernetes';
const walk = dir => readdirSync(dir).flatMap(f => {
    const path = join(dir, f);
    return statSync(path).isDirectory() ? (f === 'secrets' ? [] : walk(path)) : [path];
});
const files = [compose, kubernetes].flatMap(walk);
const text = path => readFileSync(path, 'utf8');
/** A file without its comments. */
const bare = path => text(path).replace(/^\s*#.*$|\s#\s.*$/gm, '');
const all = (path, pattern) => [...bare(path).matchAll(pattern)].map(m => m[1]);
const ofKind = end => files.filter(f => f.endsWith(end));

const help = execFileSync(ABRD, ['serve', '--help-all'], { encoding: 'utf8' });
const options = new Set([...help.matchAll(/^ {2}--([a-z0-9-]+)/gm)].map(m => m[1]));

await test('the files are there', () => {
    assert.ok(options.size > 50 && options.has('node-number') && !options.has('nothing'));
    for (const f of ['compose.yaml', 'cluster.yaml', 'nats.conf', 'haproxy.cfg', 'prometheus.yml'])
        assert.ok(files.includes(join(compose, f)), f);
    for (const f of ['decide.yaml', 'learn.yaml', 'balancer.yaml', 'autoscale.yaml', 'kustomization.yaml'])
        assert.ok(files.includes(join(kubernetes, f)), f);
});

await test('commands have options that there are', () => {
    let commands = 0;
    for (const f of [...ofKind('.yaml'), 'Dockerfile']) {
        for (const list of bare(f).replace(/\\\n\s*/g, '').matchAll(/\b(?:command:|CMD) (\["abrd", .*\])/g)) {
            const [program, command, ...args] = JSON.parse(list[1]);
            assert.deepEqual([program, command], ['abrd', 'serve'], f);
            for (const a of args.filter(x => x.startsWith('--')))
                assert.ok(options.has(a.slice(2)), `${f}: ${a}`);
            commands++;
        }
    }
    assert.ok(commands >= 9, `${commands} commands`);
    for (const line of text('deploy/README.md').matchAll(/abrd (?:serve|doctor) ([^`\n#]*)/g))
        for (const o of line[1].matchAll(/--([a-z0-9-]+)/g))
            assert.ok(options.has(o[1]) || ['json', 'accept-loss'].includes(o[1]), `deploy/README.md: --${o[1]}`);
    // compose.yaml gives the daemon its names beside the file: the doctor is to look at the same
    const names = /"--host", "([^"]+),\$\{ABRD_HOST/.exec(text(`${compose}/compose.yaml`))[1];
    assert.match(text('deploy/README.md'), new RegExp(`exec abrd abrd doctor .* --host ${names}\n`));
});

const started = [];
await test('configurations start the daemon', async () => {
    for (const f of ofKind('.conf').filter(x => !x.endsWith('nats.conf'))) {
        const name = f.replaceAll(/[/.]/g, '-');
        const d = lasting(await Daemon.start(['--config', f, '--bind', '127.0.0.1', '--data', join(folder, name),
            '--admin-token-file', join(folder, `${name}.token`),
            ...(/^role/m.test(text(f)) ? ['--bus', 'nats://127.0.0.1:1'] : [])]));
        assert.ok(d.url, `${f}: ${d.output}`);
        started.push({ f, d, role: /^role = (.*)$/m.exec(text(f))?.[1] ?? 'standalone' });
    }
    assert.deepEqual(started.map(s => s.role).sort(), ['decide', 'decide', 'learn', 'learn', 'standalone']);
});

await test('probes ask what is answered', async () => {
    let probes = 0;
    for (const f of ['decide', 'learn']) {
        const { d } = started.find(s => s.role === f);
        for (const path of all(join(kubernetes, `${f}.yaml`), /httpGet: \{path: ([^,]+),/g)) {
            const r = await d.call('GET', path);
            assert.equal(r.status, 200, `${f}: ${path}: ${r.text}`);
            probes++;
        }
    }
    assert.equal(probes, 6);
});

await test('metrics are those that there are', async () => {
    const there = new Set();
    for (const { d } of started) {
        if (d === started.find(s => s.role === 'decide').d)
            await d.call('POST', '/v1/sessions', { ladder_kbps: [300, 750], chunk_s: 4 });
        for (const m of (await d.call('GET', '/metrics')).text.matchAll(/^# TYPE (\S+)/gm)) there.add(m[1]);
    }
    // names that a rule of the adapter gives
    const made = new Set(files.flatMap(f => all(f, /\bas: (abrd_\w+)/g)));
    let named = 0;
    for (const f of files.filter(x => /\.ya?ml$/.test(x)))
        for (const m of all(f, /\b((?:abrd|process)_[a-z_]+)\b/g)) {
            assert.ok(there.has(m.replace(/_(bucket|sum|count)$/, '')) || made.has(m), `${f}: ${m}`);
            named++;
        }
    assert.ok(named >= 3 && made.has('abrd_decisions_per_second'));
    // the rules know us by the name of the job
    assert.match(text('deploy/alerts.yml'), /job="abrd"/);
    for (const f of ['prometheus.yml', 'prometheus-cluster.yml'])
        assert.deepEqual(all(join(compose, f), /job_name: (\S+)/g), ['abrd']);
});
for (const { d } of started) assert.equal((await d.stop()).code, 0);

await test('what is mounted is there, and no secret is', () => {
    let mounted = 0;
    for (const f of ofKind('.yaml').filter(x => x.startsWith(compose)))
        for (const [, from] of bare(f).matchAll(/[\s"[](\.\.?\/[^:\s"]+)/g)) {
            if (from.startsWith('./secrets/')) continue;
            assert.ok(existsSync(join(dirname(f), from)), `${f}: ${from}`);
            mounted++;
        }
    assert.ok(mounted >= 15, `${mounted}`);
    assert.match(text('.gitignore'), /^deploy\/compose\/secrets\/$/m);
    assert.match(text('.dockerignore'), /^deploy\/compose\/secrets$/m);
    for (const f of files) assert.doesNotMatch(text(f), /^\s*(password|token):\s*\w{8,}/m, f);
});

await test('images are named with their versions', () => {
    const version = execFileSync(ABRD, ['version'], { encoding: 'utf8' }).split(' ')[1].trim();
    const images = ofKind('.yaml').flatMap(f => all(f, /\bimage: (\S+)/g)).filter(i => i !== 'abrd');
    assert.ok(images.length >= 6);
    for (const i of images) {
        assert.match(i, /:v?\d+\.\d+[^:]*$/, i);
        if (i.includes('abrd:')) assert.equal(i, `\${ABRD_IMAGE:-abrd:${version}}`);
    }
    assert.deepEqual(all(join(kubernetes, 'kustomization.yaml'), /newTag: (\S+)/g), [version]);
});

await test('numbers that stand in two places are equal', () => {
    const uid = /useradd .*--uid (\d+)/.exec(text('Dockerfile'))[1];
    for (const f of ['decide', 'learn'])
        for (const field of ['runAsUser', 'runAsGroup', 'fsGroup'])
            assert.deepEqual(all(join(kubernetes, `${f}.yaml`), new RegExp(`${field}: (\\d+)`, 'g')), [uid]);
    assert.match(text(join(compose, 'secrets.sh')), new RegExp(`chown ${uid}:${uid} `));
    const servers = all(join(kubernetes, 'haproxy.cfg'), /^ +server (s[0-9a-f]{2}) /gm);
    const most = Number(all(join(kubernetes, 'autoscale.yaml'), /maxReplicas: (\d+)/g)[0]);
    assert.deepEqual(servers, Array.from({ length: most }, (_, i) => `s${(i + 1).toString(16).padStart(2, '0')}`));
    for (const [, digits, number] of bare(join(kubernetes, 'haproxy.cfg')).matchAll(/server s(\w\w) abrd-decide-(\d+)\./g))
        assert.equal(parseInt(digits, 16), Number(number));
    const [namespace] = all(join(kubernetes, 'kustomization.yaml'), /^namespace: (\S+)/gm);
    for (const host of all(join(kubernetes, 'haproxy.cfg'), /^ +server \S+ (\S+):8080/gm))
        assert.ok(host.endsWith(`.abrd-decide.${namespace}.svc.cluster.local`), host);
    assert.match(text(join(kubernetes, 'decide.yaml')), /ordinals: \{start: 1\}/);
    const numbers = all(join(compose, 'cluster.yaml'), /"--node-number", "(\d+)"/g);
    assert.deepEqual(numbers, ['1', '2', '3']);
    assert.deepEqual(all(join(compose, 'haproxy.cfg'), /^ +server s0(\d) /gm), numbers);
    // the network that nodes believe is the one there is
    const [subnet] = all(join(compose, 'cluster.yaml'), /subnet: ([\d./]+)/g);
    assert.deepEqual(all(join(compose, 'decide.conf'), /trust-proxy = (\S+)/g), [subnet]);
});

await test('each HAProxy limits the connections of one address, but not those of proxies', () => {
    const rule = /^ +(stick-table .*conn_cur|tcp-request connection .*)$/gm;
    const here = all('deploy/haproxy.cfg', rule);
    assert.equal(here.length, 3);
    for (const folder of [compose, kubernetes]) {
        const [networks] = all(join(folder, 'decide.conf'), /^trust-proxy = (\S+)/gm);
        const but = ` unless { src ${networks.replaceAll(',', ' ')} }`;
        assert.deepEqual(all(join(folder, 'haproxy.cfg'), rule),
            here.map(line => line.includes('track-sc0') ? line + but : line));
    }
});

done();
