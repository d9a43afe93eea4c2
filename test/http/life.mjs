// From start to end: configuration, what keeps a daemon from starting, signals, and that a second
// start finds what the first one knew.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { spawn, spawnSync } from 'node:child_process';
import net from 'node:net';
import { join } from 'node:path';
import { ABRD, Daemon, done, folder, policy, test, until } from './lib/daemon.mjs';

const video = { ladder_kbps: [300, 750, 1200], chunk_s: 4, chunks: 9, key: 5 };
const outcome = (chunk, level) => ({ chunk, level, bytes: 300000, download_s: 1.25, rebuffer_s: 0 });

/** A start that must fail: its exit code and what it said. */
async function fails(args) {
    const d = new Daemon(args);
    const { code } = await d.exited;
    return { code, said: d.output };
}

await test('a second start finds sessions and profiles again', async () => {
    const data = join(folder, 'again');
    const args = ['--data', data, '--seed', '9', '--explore', '1', '--learn', 'off'];
    let d = await Daemon.start(args);
    const s = (await d.call('POST', '/v1/sessions', video)).json;
    await d.call('PUT', '/v1/profiles/mine', { mu: [1, 2, 3] });
    const q1 = { chunk: 1, buffer_s: 4, last: outcome(0, s.level) };
    const first = (await d.call('POST', `/v1/sessions/${s.session}/decisions`, q1)).json;
    const before = (await d.call('GET', `/v1/sessions/${s.session}`)).json;
    assert.deepEqual(await d.stop(), { code: 0, signal: null }, d.output);

    d = await Daemon.start(args);
    assert.deepEqual((await d.call('GET', '/v1/profiles/mine')).json.qoe.mu, [1, 2, 3]);
    assert.deepEqual((await d.call('GET', `/v1/sessions/${s.session}`)).json, before);
    const again = (await d.call('POST', `/v1/sessions/${s.session}/decisions`, q1)).json;
    assert.equal(again.level, first.level);
    const q2 = { chunk: 2, buffer_s: 8, last: outcome(1, first.level) };
    const second = (await d.call('POST', `/v1/sessions/${s.session}/decisions`, q2)).json;
    assert.equal(second.chunk, 2);
    await d.stop();

    // a daemon that never stopped says the same: answers depend on seed, key and chunk
    d = await Daemon.start(['--seed', '9', '--explore', '1', '--learn', 'off']);
    const t = (await d.call('POST', '/v1/sessions', video)).json;
    await d.call('POST', `/v1/sessions/${t.session}/decisions`, q1);
    const straight = (await d.call('POST', `/v1/sessions/${t.session}/decisions`, q2)).json;
    assert.deepEqual({ ...straight, policy: 0 }, { ...second, policy: 0 });
});

await test('--json tells a script where it is, and nothing else', async () => {
    const child = spawn(ABRD, ['serve', '--port', '0', '--policy', policy(), '--json', '-',
        '--log-level', 'error'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    const row = await new Promise((resolve, reject) => {
        child.on('exit', () => reject(new Error(`ended: ${said}`)));
        child.stdout.on('data', data => {
            said += data;
            if (said.endsWith(']}\n')) resolve(JSON.parse(said).rows[0]);
        });
    });
    assert.equal(row.pid, child.pid);
    assert.equal(row.url, `http://127.0.0.1:${row.port}`);
    assert.equal((await fetch(`${row.url}/healthz`)).status, 200);
    const ended = new Promise(resolve => {
        child.removeAllListeners('exit');
        child.on('exit', resolve);
    });
    child.kill('SIGTERM');
    assert.equal(await ended, 0);
    assert.equal(JSON.parse(said).rows.length, 1);

    const { code, said: words } = await fails(['--port', '0', '--json', '/no/such/file']);
    assert.equal(code, 1);
    assert.match(words, /\/no\/such\/file: cannot be written/);
});

await test('draining: running sessions are answered, new ones are not', async () => {
    const d = await Daemon.start(['--drain', '60']);
    const s = (await d.call('POST', '/v1/sessions', video)).json;
    d.child.kill('SIGTERM');
    await until('the daemon to drain', async () => (await d.call('GET', '/readyz')).status === 503);
    const refused = await d.call('POST', '/v1/sessions', video);
    assert.equal(refused.status, 503);
    assert.ok(refused.headers.get('retry-after'));
    assert.equal((await d.call('POST', `/v1/sessions/${s.session}/decisions`,
        { chunk: 1, buffer_s: 4, last: outcome(0, s.level) })).status, 200);

    // when the last session is closed there is nothing to wait for
    assert.equal((await d.call('DELETE', `/v1/sessions/${s.session}`)).status, 204);
    assert.deepEqual(await d.exited, { code: 0, signal: null });
});

await test('a second signal ends it at once', async () => {
    const d = await Daemon.start(['--drain', '60']);
    await d.call('POST', '/v1/sessions', video);
    d.child.kill('SIGINT');
    await until('the daemon to drain', async () => (await d.call('GET', '/readyz')).status === 503);
    assert.deepEqual(await d.kill('SIGINT'), { code: 1, signal: null });
});

await test('open event streams do not keep it from stopping', async () => {
    const d = await Daemon.start();
    const r = await fetch(`${d.url}/v1/events`);
    const reader = r.body.getReader();
    await reader.read();
    const ended = (async () => { while (!(await reader.read()).done); })().catch(() => {});
    assert.deepEqual(await d.stop(), { code: 0, signal: null });
    await ended;
});

await test('a port in use is told', async () => {
    const other = net.createServer();
    await new Promise(r => other.listen(0, '127.0.0.1', r));
    const port = other.address().port;
    const { code, said } = await fails(['--port', String(port), '--policy', policy()]);
    assert.equal(code, 1);
    assert.match(said, new RegExp(`port: ${port} is in use.*--port`));
    other.close();
});

await test('two daemons do not share a data folder', async () => {
    const data = join(folder, 'shared');
    await Daemon.start(['--data', data]);
    const { code, said } = await fails(['--port', '0', '--policy', policy(), '--data', data]);
    assert.equal(code, 1);
    assert.match(said, /shared/);
});

await test('beyond this machine a token is needed, and made', async () => {
    const without = await fails(['--port', '0', '--bind', '0.0.0.0', '--policy', policy()]);
    assert.equal(without.code, 1);
    assert.match(without.said, /admin.token.file/);

    const file = join(folder, 'token');
    const d = await Daemon.start(['--bind', '0.0.0.0', '--admin-token-file', file]);
    const token = readFileSync(file, 'utf8').trim();
    assert.match(token, /^[0-9a-f]{32}$/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.ok(!d.output.includes(token));
    const put = headers => d.call('PUT', '/v1/profiles/mine', { mu: [1, 1, 1] }, headers);
    assert.equal((await put({})).status, 401);
    assert.equal((await put({ Authorization: `Bearer ${token}` })).status, 201);
    assert.ok(!/is readable for other users/.test(d.output));
    await d.stop();
    chmodSync(file, 0o644);
    const open = await Daemon.start(['--admin-token-file', file]);
    await open.stop();
    assert.match(open.output, /token .*is readable for other users \(mode 644\): chmod 600/);

    if (process.getuid() === 0) { // somebody else's: who starts the daemon cannot help it
        chownSync(file, 12345, 0);
        const says = async mode => {
            chmodSync(file, mode);
            const lent = await Daemon.start(['--admin-token-file', file]);
            await lent.stop();
            return lent.output;
        };
        assert.match(await says(0o444), /token .*is readable for other users \(mode 444\): its owner, user 12345, can change that/);
        assert.ok(!/is readable for other users/.test(await says(0o440)));
        chownSync(file, 0, 0);
    }

    writeFileSync(file, 'short\n');
    const bad = await fails(['--port', '0', '--policy', policy(), '--admin-token-file', file]);
    assert.equal(bad.code, 1);
    assert.match(bad.said, /token/);
});

await test('a configuration file; options win over it', async () => {
    const file = join(folder, 'abrd.conf');
    writeFileSync(file, `# a test\nport = 0\npolicy = "${policy()}"\ndefault_profile = live\n`
        + 'allow-origin = https://player.example\nexplore = 0\nlearn = off\nlog = json\n');
    let d = await (new Daemon(['--config', file]).ready);
    assert.equal((await d.call('GET', '/v1/profiles')).json.default, 'live');
    const cors = await d.call('GET', '/healthz', undefined, { Origin: 'https://player.example' });
    assert.equal(cors.headers.get('access-control-allow-origin'), 'https://player.example');
    assert.equal((await d.call('POST', '/v1/sessions', video)).json.profile, 'live');
    await d.stop();
    for (const line of d.output.split('\n').filter(l => l.startsWith('{"time"')))
        assert.ok(JSON.parse(line).event);
    assert.match(d.output, /"event":"stop"/);

    d = await (new Daemon(['--default-profile', 'news', `--config=${file}`]).ready);
    assert.equal((await d.call('GET', '/v1/profiles')).json.default, 'news');
});

await test('SIGHUP: what may change does, what may not is named, a bad file changes nothing', async () => {
    const file = join(folder, 'hup.conf');
    const token = join(folder, 'hup-token');
    writeFileSync(token, 'a-token-of-the-first-hour\n');
    const write = more => writeFileSync(file, `port = 0\npolicy = "${policy()}"\nlearn = off\n`
        + `admin-token-file = ${token}\n${more}`);
    write('allow-origin = https://one.example\nexplore = 0\nsession-ttl = 600\n');
    const d = await (new Daemon(['--config', file, '--workers', '2']).ready);
    const hup = async pattern => {
        const from = d.output.length;
        d.child.kill('SIGHUP');
        await until('the reload to be over', () => /reload .*(done|nothing was changed)/
            .test(d.output.slice(from)));
        assert.match(d.output.slice(from), pattern);
        return d.output.slice(from);
    };
    const allowed = async origin => (await d.call('GET', '/healthz', undefined, { Origin: origin }))
        .headers.get('access-control-allow-origin') === origin;
    const explores = async () => (await d.call('POST', '/v1/sessions', { ...video, profile: 'live' }))
        .json.explores;
    const put = async (name, word) => (await d.call('PUT', `/v1/profiles/${name}`, { mu: [1, 1, 1] },
        { Authorization: `Bearer ${word}` })).status;
    assert.ok(await allowed('https://one.example'));
    assert.equal(await explores(), false);
    const kept = (await d.call('POST', '/v1/sessions', video)).json;

    write('allow-origin = https://two.example\nexplore = 1\nlog-level = debug\nmax-sessions = 7\n');
    writeFileSync(token, 'a-token-of-the-second-hour\n');
    const said = await hup(/reload +done/);
    assert.match(said, /info +reload +explore has changed\n/);
    assert.match(said, /info +reload +allow-origin has changed\n/);
    assert.match(said, /warn +reload +max-sessions has changed, but only a restart/);
    assert.doesNotMatch(said, /(port|workers|learn) has changed/);
    assert.ok(await allowed('https://two.example'));
    assert.ok(!await allowed('https://one.example'));
    assert.equal(await explores(), true);
    assert.equal(await put('mine', 'a-token-of-the-first-hour'), 401);
    assert.equal(await put('mine', 'a-token-of-the-second-hour'), 201);
    assert.equal((await d.call('POST', `/v1/sessions/${kept.session}/decisions`,
        { chunk: 1, buffer_s: 4, last: outcome(0, kept.level) })).status, 200);

    for (const [text, pattern] of [
        ['explore = 0\nprot = 1\n', /error +reload +hup.conf:6: .*prot/],
        ['explore = 2\n', /error +reload +hup.conf:5: explore: 2 is/],
        ['explore = 0\nlearn = maybe\n', /error +reload +hup.conf:6|error +reload +--learn/],
        ['explore = 0\nallow-origin = two.example\n', /error +reload +allow-origin: 'two.example'/],
        ['explore = 0\nlog-level = loud\n', /error +reload +hup.conf:6: log-level/],
    ]) {
        write(text);
        assert.match(await hup(pattern), /nothing was changed/);
        assert.ok(await allowed('https://two.example'));
        assert.equal(await explores(), true);
    }
    write('allow-origin = https://one.example\n');
    await hup(/reload +done/);
    assert.ok(await allowed('https://one.example'));
    assert.deepEqual(await d.stop(), { code: 0, signal: null });
});

/** `abrd ARGS` under a limit of so many kB of address space, as soon as it serves or ends. */
async function limited(kB, args) {
    const child = spawn('bash', ['-c', `ulimit -v ${kB} && exec "$0" "$@"`, ABRD, ...args],
        { stdio: ['ignore', 'pipe', 'pipe'] });
    const it = { child, said: '', code: undefined, url: undefined };
    const hear = data => {
        it.said += data;
        it.url = /at (http:\/\/\S+)\/ /.exec(it.said)?.[1];
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('close', code => { it.code = code; });
    try {
        await until(`${args[0]} with ${kB} kB to serve or to end`, () => it.url || it.code !== undefined);
    } catch (e) {
        child.kill('SIGKILL');
        throw e;
    }
    return it;
}

await test('too little address space: it serves or says so, and never hangs', async () => {
    let served = 0, refused = 0;
    for (const kB of [60, 80, 90, 120, 150, 200, 250, 300, 350, 400, 450, 500, 600, 800, 1200, 4000]
        .map(mb => mb * 1000)) {
        const it = await limited(kB, ['serve', '--port', '0', '--policy', policy(), '--workers', '2']);
        if (it.url) {
            assert.equal((await fetch(`${it.url}/healthz`)).status, 200);
            it.child.kill('SIGTERM');
            await until('it to end', () => it.code !== undefined);
            assert.equal(it.code, 0, it.said);
            served++;
        } else if (it.code === 127) { // not even the libraries fit
            assert.match(it.said, /error while loading shared libraries/);
        } else {
            assert.equal(it.code, 1, `${kB} kB: ${it.said}`);
            assert.match(it.said, /address space.*ulimit -v/);
            refused++;
        }
    }
    assert.ok(served > 0 && refused > 0, `${served} served, ${refused} refused`);
});

await test('commands under a small address-space limit end, with a reason', async () => {
    assert.equal((await limited(120000, ['version'])).code, 0);
    for (const args of [['train', '--steps', '100', '--out', join(folder, 'small')],
        ['eval', '--policy', 'buffer'], ['emulate'], ['doctor'], ['lab', 'gates', '--out', folder],
        ['policy', 'import', policy(), '--out', join(folder, 'small')]]) {
        const it = await limited(120000, args);
        assert.equal(it.code, 1, `${args}: ${it.said}`);
        assert.match(it.said, /OpenBLAS needs \d+ MB more of address space.*ulimit -v/);
    }
});

await test('the BLAS library starts no threads, and leaves every processor to the daemon', async () => {
    const d = await Daemon.start();
    const names = readdirSync(`/proc/${d.child.pid}/task`)
        .map(id => readFileSync(`/proc/${d.child.pid}/task/${id}/comm`, 'utf8').trim());
    assert.equal(names.filter(name => name === 'abrd').length, 1, names.join());
    const allowed = pid => /Cpus_allowed:\s+(\S+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1];
    assert.equal(allowed(d.child.pid), allowed('self'));
});

await test('SIGTERM at any moment of the start ends it', async () => {
    for (let i = 0; i < 12; i++) {
        const d = new Daemon(['--port', '0', '--policy', policy(), '--data', join(folder, 'early')]);
        if (i % 3 === 1) await until('its first word', () => d.output || d.child.exitCode !== null);
        if (i % 3 === 2) await d.ready;
        const { code, signal } = await d.kill('SIGTERM');
        // before it catches signals, there is nothing to save
        assert.ok(code === 0 || (i % 3 === 0 && signal === 'SIGTERM'), `${code} ${signal} ${d.output}`);
    }
});

await test('reloads in quick succession: none is refused, the last one holds', async () => {
    const file = join(folder, 'quick.conf');
    const origin = i => `https://n${i}.example`;
    const write = i => {
        writeFileSync(`${file}.new`, `port = 0\npolicy = "${policy()}"\nlearn = off\n`
            + `allow-origin = ${origin(i)}\n`);
        renameSync(`${file}.new`, file);
    };
    write(0);
    const d = await (new Daemon(['--config', file, '--workers', '2']).ready);
    const allowed = async i => (await d.call('GET', '/healthz', undefined, { Origin: origin(i) }))
        .headers.get('access-control-allow-origin') === origin(i);
    const change = i => {
        write(i);
        d.child.kill('SIGHUP');
    };

    // the second comes while the workers still have the rules of before the first
    change(1);
    await until('the first reload', () => /reload +done/.test(d.output));
    change(2);
    await until('the second one to hold', () => allowed(2));
    assert.ok(!await allowed(1));
    for (let i = 3; i < 23; i++) change(i);
    await until('the last one to hold', () => allowed(22));
    assert.ok(!await allowed(21));
    assert.doesNotMatch(d.output, /nothing was changed/);

    change(23);
    change(24);
    assert.deepEqual(await d.stop(), { code: 0, signal: null }, d.output);
});

await test('who explores is a secret of the data folder, unless a seed is given', async () => {
    const keys = Array.from({ length: 200 }, (_, i) => i + 1);
    const explorers = async (d, profile = 'live') => {
        const found = [];
        for (const key of keys)
            if ((await d.call('POST', '/v1/sessions', { ...video, profile, key })).json.explores) found.push(key);
        return found.join();
    };
    const serve = (data, ...more) => Daemon.start(['--data', join(folder, data), '--learn', 'off', ...more]);
    const found = {};
    for (const data of ['secret-a', 'secret-b']) {
        let d = await serve(data);
        found[data] = await explorers(d);
        assert.equal(statSync(join(folder, data, 'secret')).mode & 0o777, 0o600);
        await d.kill('SIGKILL');
        d = await serve(data);
        assert.equal(await explorers(d), found[data]);
        await d.stop();
    }
    assert.notEqual(found['secret-a'], found['secret-b']);
    const share = found['secret-a'].split(',').length / keys.length;
    assert.ok(share > 0.05 && share < 0.45, `${share}`); // 0.2 is configured; 5 sigma

    // a restored backup goes on with the same draws
    const copy = join(folder, 'secret-copy');
    assert.equal(spawnSync(ABRD, ['backup', join(folder, 'secret-a'), copy]).status, 0);
    let d = await serve('secret-copy');
    assert.equal(await explorers(d), found['secret-a']);
    await d.stop();

    for (const text of ['too short\n', null]) {
        if (text) writeFileSync(join(copy, 'secret'), text);
        else rmSync(join(copy, 'secret'));
        d = await serve('secret-copy');
        assert.match(d.output, text ? /error +secret .*damaged/ : /warn +secret .*not there/);
        assert.notEqual(await explorers(d), found['secret-a']);
        await d.stop();
    }

    // with a seed it is as it always was
    for (const data of ['secret-a', 'secret-c']) {
        d = await serve(data, '--seed', '7');
        assert.equal(await explorers(d), '6,8,18,20,25,27,30,31,40,41,51,63,67,68,83,101,104,118,119,122,134,140,148,150,151,152,163,167,170,173,175,182,190,192');
        await d.stop();
    }
});

await test('mistakes are named', async () => {
    const file = join(folder, 'bad.conf');
    const at = async (text, pattern) => {
        writeFileSync(file, text);
        const { code, said } = await fails(['--config', file]);
        assert.equal(code, 2, said);
        assert.match(said, pattern);
    };
    await at('port = 80800\n', /bad.conf:1: port: 80800 is not within 0 .. 65535/);
    await at('\nprot = 8080\n', /bad.conf:2.*prot/);
    await at('port 8080\n', /bad.conf:1/);

    const usage = async (args, pattern) => {
        const { code, said } = await fails(args);
        assert.equal(code, 2, said);
        assert.match(said, pattern);
    };
    await usage(['--port', 'x'], /--port/);
    await usage(['--port', '70000'], /--port/);
    await usage(['--learn', 'maybe'], /--learn/);
    await usage(['--log', 'xml'], /--log/);
    await usage(['--nothing'], /nothing/);
    await usage(['extra'], /extra/);

    const fail = async (args, pattern) => {
        const { code, said } = await fails(['--port', '0', ...args]);
        assert.equal(code, 1, said);
        assert.match(said, pattern);
    };
    await fail(['--policy', join(folder, 'none.safetensors')], /none.safetensors/);
    await fail(['--policy', 'Makefile'], /Makefile/);
    await fail(['--policy', policy(), '--default-profile', 'nobody'], /nobody/);
    await fail(['--policy', policy(), '--web-dir', '/no/such'], /web.dir/);
    await fail(['--policy', policy(), '--allow-origin', 'player.example'], /allow.origin/);
    await fail(['--policy', policy(), '--data', '/proc/none'], /\/proc\/none/);
});

done();
