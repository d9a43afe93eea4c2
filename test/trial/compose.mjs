// compose.mjs - starts the services of deploy/compose/compose.yaml and cluster.yaml without a container engine:
// each in namespaces of its own (network, mounts, processes), with the command, files, volumes, secrets,
// environment, user and rights that the file states. `make compose` (root; packages iproute2, haproxy, nats-server
// and prometheus; IMAGE=NAME is an image that `make image` has built, default localhost/abrd-image).
//
// abrd runs from the image's files. Other programs are this machine's, since their images cannot be had without a
// registry: of these the test shows that the configuration works, not that the image does. Not covered: published
// ports, cgroup limits, restart policies, Grafana. The logs are in build/trial/compose.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { parse } from '../deploy/node_modules/yaml/dist/index.js';
import { until as waitFor } from '../http/lib/tools.mjs';

if (process.getuid() !== 0) throw new Error('make compose makes namespaces: it needs root');
const IMAGE = process.env.IMAGE || 'localhost/abrd-image', LIMIT_S = 90, LOGS = 'build/trial/compose', TAG = `co${process.pid % 10000}`;
const until = (what, condition) => waitFor(what, condition, LIMIT_S);
const run = (program, ...args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const ip = (...args) => run('ip', ...args);

fs.rmSync(LOGS, { recursive: true, force: true });
fs.mkdirSync(LOGS, { recursive: true });

let passed = 0, failed = 0;
async function check(what, fn) {
    try {
        await fn();
        passed++;
        console.log(`ok   ${what}`);
    } catch (e) {
        failed++;
        console.log(`FAIL ${what}\n     ${String(e.message).slice(0, 600).replaceAll('\n', '\n     ')}`);
    }
}

/* ---- what is undone at the end ---- */

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'abrd-compose-')), undo = [];
process.on('exit', () => {
    for (const f of undo.reverse()) try { f(); } catch { /* it is gone */ }
    fs.rmSync(dir, { recursive: true, force: true, maxRetries: 20 });
});
for (const s of ['SIGINT', 'SIGTERM']) process.on(s, () => process.exit(1));

/* ---- the image ---- */

const container = run('buildah', 'from', '--pull-never', IMAGE).trim();
undo.push(() => run('buildah', 'rm', container));
const imageFiles = run('buildah', 'mount', container).trim();
const { User: imageUser, Healthcheck: health } = JSON.parse(run('buildah', 'inspect', '--type', 'image', IMAGE)).Docker.config;

/** The program of an image, where compose.yaml states none or only its arguments; of abrd it is in the command. */
const PROGRAMS = { nats: ['nats-server'], haproxy: ['haproxy', '-W', '-db', '-f', '/usr/local/etc/haproxy/haproxy.cfg'],
    prometheus: ['prometheus', '--config.file=/etc/prometheus/prometheus.yml', '--storage.tsdb.path=/prometheus'], abrd: [] };
const nameOf = image => image.replace(/^.*\//, '').replace(/:.*/, '');

/* ---- names, as the engine's own server gives them ---- */

class Names {
    addresses = new Map(); // service -> [{network, address}]

    async listen(address) {
        const socket = dgram.createSocket('udp4');
        socket.on('message', (question, from) => socket.send(this.answer(question, from.address), from.port, from.address));
        await new Promise(done => socket.bind(53, address, done));
        undo.push(() => socket.close());
    }

    /** The address in a network that both have. */
    find(name, asker) {
        const theirs = [...this.addresses.values()].find(all => all.some(a => a.address === asker)) ?? [];
        return this.addresses.get(name)?.find(a => theirs.some(b => b.network === a.network))?.address;
    }

    answer(question, asker) {
        const labels = [];
        let at = 12;
        for (; question[at]; at += question[at] + 1) labels.push(question.toString('latin1', at + 1, at + 1 + question[at]));
        const end = at + 5, type = question.readUInt16BE(at + 1), found = this.find(labels.join('.').toLowerCase(), asker);
        const head = Buffer.from(question.subarray(0, 12));
        head.writeUInt16BE(found ? 0x8180 : 0x8183, 2); // no error, or no such name
        head.writeUInt16BE(1, 4);
        head.writeUInt16BE(found && type === 1 ? 1 : 0, 6);
        head.writeUInt32BE(0, 8);
        const record = found && type === 1 ? [Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...found.split('.').map(Number)])] : [];
        return Buffer.concat([head, question.subarray(12, end), ...record]);
    }
}

/* ---- one compose file ---- */

const interpolated = text => text.replace(/\$\{(\w+):-([^}]*)\}/g, (_, name, otherwise) => process.env[name] || otherwise);

class Stack {
    services = new Map();
    names = new Names();

    constructor(file, number) {
        this.folder = path.join(dir, `${number}`, 'compose');
        fs.cpSync('deploy', path.join(dir, `${number}`), { recursive: true });
        run('sh', path.join(this.folder, 'secrets.sh'));
        if (Number(run('sh', '-c', 'ulimit -Hn')) < 65536) { // HAProxy does not start where it gets fewer files than it wants
            const cfg = path.join(this.folder, 'haproxy.cfg');
            fs.writeFileSync(cfg, fs.readFileSync(cfg, 'utf8').replace('maxconn 20000', 'maxconn 2000'));
        }
        this.file = parse(interpolated(fs.readFileSync(path.join(this.folder, file), 'utf8')), { merge: true });
        this.number = number;
    }

    async up(...wanted) {
        const all = this.file.services, networks = this.file.networks ?? { default: {} };
        this.bridges = Object.entries(networks).map(([name, n], i) => ({ name, link: `${TAG}-${this.number}${i}`,
            net: (n?.ipam?.config[0].subnet ?? `10.${90 + 4 * this.number + i}.0.0/24`).replace(/\.0\/24$/, '') }));
        for (const { link, net } of this.bridges) {
            ip('link', 'add', link, 'type', 'bridge');
            undo.push(() => ip('link', 'del', link));
            ip('addr', 'add', `${net}.1/24`, 'dev', link);
            ip('link', 'set', link, 'up');
            await this.names.listen(`${net}.1`);
        }
        wanted.forEach((name, i) => this.services.set(name, new Service(this, name, this.extended(all[name]), 11 + i)));
        for (const s of this.services.values()) s.start();
    }

    /** A service with what it extends. */
    extended(service) {
        if (!service.extends) return service;
        const base = parse(interpolated(fs.readFileSync(path.join(this.folder, service.extends.file), 'utf8')), { merge: true }).services[service.extends.service];
        return { ...base, ...service, volumes: [...base.volumes ?? [], ...service.volumes ?? []] };
    }

    get(name) { return this.services.get(name); }

    async down() {
        const codes = await Promise.all([...this.services].map(async ([name, s]) => [name, await s.stop()]));
        return Object.fromEntries(codes);
    }
}

class Service {
    constructor(stack, name, service, n) {
        Object.assign(this, { stack, name, service, ns: `${TAG}-${stack.number}-${name}`, log: '' });
        this.own = nameOf(service.image) === 'abrd';
        this.root = path.join(dir, `${stack.number}`, `root-${name}`);
        fs.mkdirSync(this.root);
        ip('netns', 'add', this.ns);
        undo.push(() => ip('netns', 'del', this.ns));
        ip('-n', this.ns, 'link', 'set', 'lo', 'up');
        const mine = service.networks ?? ['default'];
        this.addresses = mine.map((network, i) => {
            const { link, net } = stack.bridges.find(b => b.name === network), address = `${net}.${n}`, veth = `${TAG}v${stack.number}${i}${n}`;
            ip('link', 'add', veth, 'type', 'veth', 'peer', 'name', `eth${i}`, 'netns', this.ns);
            ip('link', 'set', veth, 'master', link, 'up');
            ip('-n', this.ns, 'addr', 'add', `${address}/24`, 'dev', `eth${i}`);
            ip('-n', this.ns, 'link', 'set', `eth${i}`, 'up');
            return { network, address };
        });
        stack.names.addresses.set(name, this.addresses);
        this.address = (this.addresses.find(a => a.network === 'front') ?? this.addresses[0]).address;
    }

    /** Shell words that make its mounts and begin its program. */
    script() {
        const { service, stack, root, own } = this, words = [], quote = w => `'${String(w).replaceAll('\'', '\'\\\'\'')}'`;
        const say = (...w) => words.push(w.map(quote).join(' '));
        const bind = (from, to, readOnly) => {
            say('mkdir', '-p', path.dirname(root + to));
            if (fs.statSync(from).isDirectory()) say('mkdir', '-p', root + to); else say('touch', root + to);
            say('mount', '--bind', from, root + to);
            if (readOnly) say('mount', '-o', 'remount,bind,ro', root + to);
        };
        // the container's layer is on top of the image, or of this machine's files
        say('mount', '-t', 'tmpfs', 'tmpfs', root);
        for (const d of ['up', 'work', 'all']) say('mkdir', `${root}/${d}`);
        say('mount', '-t', 'overlay', 'overlay', '-o', `lowerdir=${own ? imageFiles : '/'},upperdir=${root}/up,workdir=${root}/work`, `${root}/all`);
        say('mount', '--move', `${root}/all`, root);
        const resolv = `${root}.resolv`;
        fs.writeFileSync(resolv, stack.bridges.filter(b => this.addresses.some(a => a.network === b.name)).map(b => `nameserver ${b.net}.1\n`).join(''));
        bind(resolv, '/etc/resolv.conf');
        for (const volume of service.volumes ?? []) {
            const [from, to, mode] = volume.split(':');
            const where = /^[./]/.test(from) ? path.join(stack.folder, from) : path.join(dir, `${stack.number}`, `volume-${from}`);
            if (!fs.existsSync(where)) { // as the engine does: with the owner that the image's folder has
                fs.mkdirSync(where);
                if (own) run('chown', '--reference', imageFiles + to, where);
            }
            bind(where, to, mode === 'ro');
        }
        for (const secret of service.secrets ?? []) bind(path.join(stack.folder, stack.file.secrets[secret].file), `/run/secrets/${secret}`, true);
        if (service.read_only) say('mount', '-o', 'remount,bind,ro', root);
        for (const t of service.tmpfs ?? []) say('mount', '-t', 'tmpfs', '-o', t.split(':')[1], 'tmpfs', root + t.split(':')[0]);
        say('mount', '-t', 'proc', 'proc', `${root}/proc`);
        say('mount', '--rbind', '/dev', `${root}/dev`);
        if (service.ulimits) words.push(`{ ulimit -n ${service.ulimits.nofile} 2>/dev/null || ulimit -n "$(ulimit -Hn)"; }`); // this machine may allow less
        words.push(`exec ${this.entering([...PROGRAMS[nameOf(service.image)], ...service.command ?? []], Object.entries(service.environment ?? {})).map(quote).join(' ')}`);
        return words.join(' && ');
    }

    /** The command that runs another as the service's user, with its rights. */
    entering(argv, environment = []) {
        const { service, own } = this, rights = [...own ? ['--reuid', imageUser, '--regid', imageUser, '--clear-groups'] : [],
            ...service.cap_drop?.includes('ALL') ? ['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all'] : [],
            ...service.security_opt?.includes('no-new-privileges:true') ? ['--no-new-privs'] : []];
        return ['chroot', this.root, 'setpriv', ...rights, 'env', '-i', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
            ...environment.map(([k, v]) => `${k}=${v}`), ...argv];
    }

    start() {
        const child = this.child = spawn('ip', ['netns', 'exec', this.ns, 'unshare', '--mount', '--pid', '--fork', '--kill-child',
            '--propagation', 'private', 'sh', '-c', this.script()], { stdio: ['ignore', 'pipe', 'pipe'] });
        for (const s of [child.stdout, child.stderr])
            s.on('data', d => {
                this.log += d;
                fs.appendFileSync(`${LOGS}/${this.stack.number}-${this.name}.log`, d);
            });
        this.gone = new Promise(done => child.on('exit', (code, signal) => done(code ?? signal)));
        undo.push(() => child.kill('SIGKILL'));
    }

    /** Its first process, as this machine numbers it. */
    get pid() { return Number(fs.readFileSync(`/proc/${this.child.pid}/task/${this.child.pid}/children`, 'utf8').trim().split(' ')[0]); }

    /** What `docker compose exec` does. Names are answered meanwhile. */
    async exec(...argv) {
        const child = spawn('nsenter', ['-t', `${this.pid}`, '-m', '-n', '-p', '--', ...this.entering(argv)], { stdio: ['ignore', 'pipe', 'pipe'] });
        let text = '';
        for (const s of [child.stdout, child.stderr]) s.on('data', d => { text += d; });
        const status = await new Promise(done => child.on('close', done));
        return { status, text };
    }

    async stop(signal = 'SIGTERM') {
        process.kill(this.pid, signal);
        return this.gone;
    }

    async ask(where, body, { method = body ? 'POST' : 'GET', port = 8080, headers = {} } = {}) {
        const r = await fetch(`http://${this.address}:${port}${where}`, { method, body: body && JSON.stringify(body), headers });
        return { status: r.status, text: await r.text() };
    }

    ready(where = '/readyz', port = 8080) {
        return until(`${this.name}: ${where}`, async () => {
            assert.equal(this.child.exitCode, null, `${this.name} has ended:\n${this.log.slice(-800)}`);
            return this.ask(where, undefined, { port }).then(r => r.status === 200, () => false);
        }).catch(e => { throw new Error(`${e.message}\n${this.log.slice(-800)}`); });
    }
}

const VIDEO = { profile: 'live', ladder_kbps: [300, 750, 1200], chunk_s: 4, chunks: 9 };
const LAST = { chunk: 0, level: 0, bytes: 150000, download_s: 1, rebuffer_s: 0.5 };

async function oneNode() {
    const stack = new Stack('compose.yaml', 0);
    await stack.up('abrd', 'prometheus');
    const abrd = stack.get('abrd'), at = (...a) => abrd.ask(...a);
    await check('compose.yaml: abrd is ready, and its health check passes', async () => {
        await abrd.ready();
        const { status, text } = await abrd.exec('sh', '-c', health.Test[1]);
        assert.equal(status, 0, text);
    });
    await check('compose.yaml: it runs as the image\'s user, without rights, and writes only its folder', async () => {
        const state = fs.readFileSync(`/proc/${abrd.pid}/status`, 'utf8');
        assert.match(state, /^Uid:\t999\t999/m);
        for (const set of ['CapPrm', 'CapEff', 'CapBnd']) assert.match(state, new RegExp(`^${set}:\t0+$`, 'm'));
        assert.match(state, /^NoNewPrivs:\t1$/m);
        assert.match((await abrd.exec('touch', '/usr/here')).text, /Read-only file system|Permission denied/);
        assert.equal((await abrd.exec('touch', '/var/lib/abrd/here', '/tmp/here')).status, 0);
    });
    await check('compose.yaml: abrd doctor, as the README calls it', async () => {
        const { status, text } = await abrd.exec('abrd', 'doctor', '--config', '/etc/abrd.conf', '--host', 'abrd,localhost');
        assert.equal(status, 0, text);
    });
    await check('compose.yaml: the demo, its stream and the manual', async () => {
        for (const where of ['/', '/docs/', '/dashboard.html', '/api.html', '/vendor/dash.mediaplayer.min.js', '/vendor/hls.min.js'])
            assert.equal((await at(where)).status, 200, where);
        const { traces } = JSON.parse((await at('/demo/links')).text);
        assert.match((await at(`/demo/${traces[0]}/me/manifest.mpd`)).text, /abrd:quality=/);
    });
    await check('compose.yaml: changes need the token of secrets.sh', async () => {
        const token = fs.readFileSync(path.join(stack.folder, 'secrets/token'), 'utf8').trim(), put = headers => at('/v1/profiles/kids', { weights: { stalls: 2 } },
            { method: 'PUT', headers });
        assert.equal((await put({})).status, 401);
        assert.ok([200, 201].includes((await put({ authorization: `Bearer ${token}` })).status));
    });
    await check('compose.yaml: a session lives on in the volume when the service is started again', async () => {
        const { session } = JSON.parse((await at('/v1/sessions', VIDEO)).text);
        const answer = () => at(`/v1/sessions/${session}/decisions`, { chunk: 1, buffer_s: 4, last: LAST });
        const before = JSON.parse((await answer()).text);
        assert.equal(await abrd.stop(), 0);
        abrd.start();
        await abrd.ready();
        assert.equal(JSON.parse((await answer()).text).level, before.level);
        assert.match((await at('/v1/profiles/kids')).text, /"kids"/);
    });
    await check('compose.yaml: Prometheus reads the metrics and the alerts', async () => {
        const prometheus = stack.get('prometheus'), api = async what => JSON.parse((await prometheus.ask(`/api/v1/${what}`, undefined, { port: 9090 })).text).data;
        await prometheus.ready('/-/ready', 9090);
        await until('a scrape', async () => (await api('targets')).activeTargets.some(t => t.health === 'up'));
        assert.ok((await api('rules')).groups.some(g => g.rules.length));
    });
    await check('compose.yaml: SIGTERM ends it with 0', async () => assert.equal((await stack.down()).abrd, 0));
}

async function cluster() {
    const stack = new Stack('cluster.yaml', 1), bus = ['nats1', 'nats2', 'nats3'], nodes = ['decide1', 'decide2', 'decide3'], learners = ['learn1', 'learn2'];
    await stack.up(...bus, ...nodes, ...learners, 'balancer', 'prometheus');
    const balancer = stack.get('balancer'), token = fs.readFileSync(path.join(stack.folder, 'secrets/token'), 'utf8').trim();
    await check('cluster.yaml: nodes, learners and the balancer are ready', async () => {
        for (const name of [...nodes, ...learners]) await stack.get(name).ready();
        await balancer.ready();
    });
    const doctor = () => stack.get('decide1').exec('abrd', 'doctor', '--config', '/etc/abrd.conf', '--host', 'decide1,localhost');
    const leads = async () => /\b(learn\d), term/.exec((await doctor()).text)?.[1];
    await check('cluster.yaml: abrd doctor on a node finds the bus and a learner that leads', async () => {
        await until('a leader', leads);
        const { status, text } = await doctor();
        assert.equal(status, 0, text);
    });
    const open = async () => JSON.parse((await balancer.ask('/v1/sessions', VIDEO)).text).session;
    await check('cluster.yaml: sessions go to all nodes, and each one back to its own', async () => {
        const seen = new Set();
        await until('sessions on each node', async () => {
            const id = await open();
            seen.add(id.slice(0, 2));
            const r = await balancer.ask(`/v1/sessions/${id}/decisions`, { chunk: 1, buffer_s: 4, last: LAST });
            assert.equal(r.status, 200, r.text);
            return seen.size === nodes.length;
        });
        assert.deepEqual([...seen].sort(), ['01', '02', '03']);
    });
    await check('cluster.yaml: a profile that is put through the balancer is on all nodes', async () => {
        const r = await balancer.ask('/v1/profiles/kids', { weights: { stalls: 2 } }, { method: 'PUT', headers: { authorization: `Bearer ${token}` } });
        assert.ok([200, 201].includes(r.status), r.text);
        for (const name of nodes) await until(`kids on ${name}`, async () => (await stack.get(name).ask('/v1/profiles/kids')).status === 200);
    });
    await check('cluster.yaml: a killed node is replaced by the others, and comes back', async () => {
        await stack.get('decide2').stop('SIGKILL');
        await until('answers of the other nodes only', async () => {
            const ids = await Promise.all(Array.from({ length: 6 }, open));
            return ids.every(id => id.slice(0, 2) !== '02');
        });
        stack.get('decide2').start();
        await stack.get('decide2').ready();
        await until('sessions on it', async () => (await open()).startsWith('02'));
    });
    await check('cluster.yaml: the leading learner may stop: the other leads', async () => {
        const first = await until('the name of the leader', leads);
        assert.equal(await stack.get(first).stop(), 0);
        const other = await until('another leader', async () => {
            const name = await leads();
            return name !== first && name;
        });
        assert.ok(learners.includes(other), other);
        stack.get(first).start();
        await stack.get(first).ready();
    });
    await check('cluster.yaml: Prometheus reads each node and learner; the balancer hides metrics', async () => {
        const prometheus = stack.get('prometheus');
        await prometheus.ready('/-/ready', 9090);
        const up = await until('five targets', async () => {
            const all = JSON.parse((await prometheus.ask('/api/v1/targets', undefined, { port: 9090 })).text).data.activeTargets;
            return all.filter(t => t.health === 'up').length >= 5 && all;
        });
        assert.ok(up.length >= 5);
        assert.equal((await balancer.ask('/metrics')).status, 403);
    });
    await check('cluster.yaml: SIGTERM ends nodes and learners with 0', async () => {
        const codes = await stack.down();
        for (const name of [...nodes, ...learners]) assert.equal(codes[name], 0, name);
    });
}

await oneNode();
await cluster();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
