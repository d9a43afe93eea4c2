// abrd doctor --role: what it says of a real NATS server, in every state that a daemon may meet.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { ABRD, Daemon, done, folder, policy, test, until } from './lib/daemon.mjs';
import { Nats } from './lib/nats.mjs';
import { freePort } from './lib/tools.mjs';

/** The doctor's findings by name, and its exit code. */
function doctor(url, more = []) {
    const args = ['doctor', '--port', '0', '--untagged', 'default', '--policy', policy(), '--role', 'decide',
        '--bus', url, '--json', '-', ...more];
    return new Promise(resolve => execFile(ABRD, args, (error, stdout, stderr) => {
        const found = {};
        if (stdout) for (const r of JSON.parse(stdout).rows) found[r.check] ??= r;
        resolve({ found, code: error?.code ?? 0, said: stdout + stderr });
    }));
}

async function expect(url, checks, more) {
    const d = await doctor(url, more);
    for (const [check, verdict, words] of checks) {
        assert.ok(d.found[check], `nothing about ${check}: ${d.said}`);
        assert.equal(d.found[check].verdict, verdict, d.found[check].detail);
        assert.match(d.found[check].detail, words);
    }
    assert.equal(d.code, Object.values(d.found).some(f => f.verdict === 'fail') ? 1 : 0, d.said);
    return d;
}

/** Something published as it is, by NATS' own protocol. */
function publish(port, subject, bytes) {
    return new Promise((resolve, reject) => {
        const s = net.connect(port, '127.0.0.1', () => {
            s.write('CONNECT {"verbose":false}\r\n');
            s.write(`PUB ${subject} ${bytes.length}\r\n`);
            s.write(bytes);
            s.write('\r\nPING\r\n');
        });
        s.on('data', d => { if (String(d).includes('PONG')) { s.end(); resolve(); } });
        s.on('error', reject);
    });
}

const port = await freePort(), url = `nats://127.0.0.1:${port}`;

await test('nobody is there', async () => {
    const d = await expect(url, [['bus', 'fail', /no server answers.*nats-server -js/]]);
    assert.equal(d.found.stream, undefined);
    await expect('nats://:0x', [['bus', 'fail', /nats:\/\/host:port|no server/]]);
    const alone = await doctor(url, ['--role', 'standalone', '--bus', '']);
    assert.equal(alone.found.bus, undefined);
});

await test('a server without JetStream, and one that lets nobody in', async () => {
    const bare = await new Nats(port, []).start();
    await expect(url, [['bus', 'ok', /127\.0\.0\.1/], ['jetstream', 'fail', /-js and -sd/]]);
    await bare.kill();
    const shut = await new Nats(port, ['--user', 'abrd', '--pass', 'secret', '-js', '-sd', join(folder, 'shut')]).start();
    await expect(url, [['bus', 'fail', /refuses the connection.*--bus-creds/]]);
    const d = await expect(`nats://abrd:secret@127.0.0.1:${port}`, [['jetstream', 'ok', /on/]]);
    assert.doesNotMatch(d.said, /secret/);
    await shut.kill();
});

await test('a server that takes no message as large as the weights: doctor and log say so', async () => {
    const conf = join(folder, 'small.conf');
    writeFileSync(conf, `max_payload: 100KB\njetstream { store_dir: "${join(folder, 'small')}" }\n`);
    const small = await new Nats(port, ['-c', conf]).start();
    await expect(url, [['max_payload', 'fail', /accepts 101376 bytes per message.*raise max_payload.*to 1 MB/]], ['--role', 'learn']);
    assert.equal((await doctor(url)).found.max_payload, undefined); // who decides publishes nothing that large
    const l = await Daemon.start(['--role', 'learn', '--bus', url, '--node', 'l0']);
    await until('it to say so', () => /nothing can be published.*raise max_payload/.test(l.output));
    assert.equal((await l.stop()).code, 0);
    await small.kill();
});

const nats = await new Nats(port).start();

await test('before the first daemon nothing is there, and the doctor makes nothing', async () => {
    for (let i = 0; i < 2; i++)
        await expect(url, [['stream', 'ok', /abrd_traj does not exist yet: serve creates it/],
            ['bucket', 'ok', /abrd does not exist yet/]]);
    await expect(url, [['stream', 'warn', /3 servers must store it, but 1 is known/]], ['--bus-replicas', '3']);
});

await test('beside a learner', async () => {
    const l = await Daemon.start(['--role', 'learn', '--bus', url, '--node', 'l1', '--explore', '1']);
    await until('it to lead', async () => (await l.call('GET', '/readyz')).json.bus.leading);
    await until('its weights', async () => (await doctor(url)).found.weights);
    await expect(url, [['stream', 'ok', /0 trajectories wait, 0\.0 of 256\.0 MB/], ['bucket', 'ok', /bucket abrd/],
        ['weights', 'ok', /version 1 of term 1/], ['learner', 'ok', /l1, term 1/]]);
    await expect(url, [['max_payload', 'ok', /publishes \d+ of 1047552 bytes/]], ['--role', 'learn']);
    await expect(url, [['stream', 'warn', /stored by 1 server, not 3/]], ['--bus-replicas', '3']);

    const other = join(folder, 'other.safetensors');
    execFileSync(ABRD, ['train', '--steps', '2000', '--experts', '2', '--quiet', '--out', other], { stdio: 'ignore' });
    await expect(url, [['weights', 'fail', /another shape.*--policy/]], ['--policy', other]);
    assert.equal((await l.stop()).code, 0);
    await expect(url, [['learner', 'warn', /l1 has stopped, and no other learner leads/]]);
});

await test('what a newer abrd has put there', async () => {
    for (const [key, kind, check] of [['weights', 2, 'weights'], ['common', 3, 'common'], ['beat', 4, 'learner']]) {
        const head = Buffer.alloc(24);
        head.write('abrd-bus');
        head.writeUInt16LE(kind, 8);
        head.writeUInt16LE(999, 10);
        await publish(port, `$KV.abrd.${key}`, head);
        await expect(url, [[check, 'fail', /upgrade this/]]);
    }
});

await test('a stream of somebody else', async () => {
    const made = JSON.stringify({ name: 'other_traj', subjects: ['other.traj.>'], storage: 'file', num_replicas: 1,
        retention: 'limits', discard: 'old', max_consumers: -1, max_msgs: -1, max_bytes: 1000000 });
    await publish(port, '$JS.API.STREAM.CREATE.other_traj', Buffer.from(made));
    await until('the stream', async () => (await doctor(url, ['--bus-name', 'other'])).found.stream.verdict === 'fail');
    await expect(url, [['stream', 'fail', /was not created by abrd.*--bus-name/]], ['--bus-name', 'other']);
});

await nats.kill();
done();
