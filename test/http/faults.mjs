// faults.mjs - the real daemon among faults of the machine: a full disk, a folder that cannot be
// written, damaged files, a clock that is set.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync,
    writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ABRD, Daemon, PUBLISH_ALL, done, folder, policy, test, until } from './lib/daemon.mjs';

const video = { profile: 'live', ladder_kbps: [300, 750, 1200, 1850, 2850, 4300], chunk_s: 4 };
const outcome = (chunk, level) =>
    ({ chunk, level, bytes: 500000, download_s: 1.5, rebuffer_s: 0 });
const serve = ['--port', '0', '--policy', policy(), '--workers', '2', '--explore', '1'];

const metric = (d, name) => d.metric(name);
const stored = d => until('the store to have all', async () =>
    await metric(d, 'abrd_store_queue') === 0);

/** A daemon through another program: `argv` comes before `abrd serve`. */
const through = (argv, args, options) => new Daemon(args, ABRD, { before: argv, ...options }).ready;

/** Asks chunk after chunk until something else than 200 comes; that answer, and the chunk. */
async function askUntilRefused(d, session, chunk, level, most = 100000) {
    for (; chunk < most; chunk++) {
        const r = await d.call('POST', `/v1/sessions/${session}/decisions`,
            { chunk, buffer_s: 8, last: outcome(chunk - 1, level) });
        if (r.status !== 200) return { refused: r, chunk, level };
        level = r.json.level;
    }
    return { chunk, level };
}

const flip = (f, at) => {
    const bytes = readFileSync(f);
    for (let i = 0; i < 8; i++) bytes[at + i] ^= 0xff;
    writeFileSync(f, bytes);
};

// a small tmpfs where one may mount, else a limit on the size of files, which fails likewise
await test('a full disk: refused in its words, nothing acknowledged is lost, and on again', async () => {
    const disk = join(folder, 'disk');
    mkdirSync(disk);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=40m', 'none', disk]).status === 0;
    try {
        const data = join(disk, 'data');
        const filler = join(disk, 'filler');
        if (mounted) writeFileSync(filler, Buffer.alloc(22 << 20)); // and 16 are kept back
        // (an ignored signal stays ignored: the limit is then an error of the write)
        const limited = ['bash', '-c', 'trap "" XFSZ; ulimit -S -f 1900; exec "$@"', 'bash'];
        const args = [...serve, '--data', data, '--learn', 'off'];
        const d = await (mounted ? new Daemon(args).ready : through(limited, args));
        const s = (await d.call('POST', '/v1/sessions', video)).json;
        const end = await askUntilRefused(d, s.session, 1, s.level);
        assert.equal(end.refused?.status, 503);
        assert.match(end.refused.json.error.detail ?? end.refused.text, /disk is full|disk I\/O/);
        assert.ok(end.refused.headers.get('retry-after'));
        assert.ok(await metric(d, 'abrd_store_errors_total') > 0);
        assert.equal(await metric(d, 'abrd_store_up'), 0);
        assert.equal((await d.call('GET', '/healthz')).status, 200);

        if (mounted) rmSync(filler);
        else spawnSync('prlimit', [`--pid=${d.child.pid}`, '--fsize=unlimited']);
        await until('the store to work again', async () => await metric(d, 'abrd_store_up') === 1);
        const more = await askUntilRefused(d, s.session, end.chunk, end.level, end.chunk + 5);
        assert.equal(more.refused, undefined);
        await stored(d);
        const history = (await d.call('GET', `/v1/sessions/${s.session}`)).json;
        assert.equal(history.steps.length, end.chunk + 5);
        assert.deepEqual(await d.kill('SIGTERM'), { code: 0, signal: null });
    } finally {
        if (mounted) spawnSync('umount', ['-l', disk]);
    }
});

// What was answered before anybody knew that the disk is full goes where room was kept for it: it does
// not wait for room in the memory of a daemon that may be killed.
await test('a full disk, then a kill: every session that was acknowledged is there', async () => {
    const disk = join(folder, 'small');
    mkdirSync(disk);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'none', disk]).status !== 0) return;
    try {
        const data = join(disk, 'data');
        const filler = join(disk, 'filler');
        const args = [...serve, '--data', data, '--learn', 'off', '--open-rate', '0'];
        const d = await new Daemon(args).ready;
        const df = spawnSync('df', ['--output=avail', '-B1', disk], { encoding: 'utf8' });
        const free = Number(df.stdout.split('\n')[1]);
        writeFileSync(filler, Buffer.alloc(free - (1 << 20)));

        const acknowledged = [];
        let refused;
        await Promise.all(Array.from({ length: 16 }, async () => {
            while (!refused) {
                const r = await d.call('POST', '/v1/sessions', video);
                if (r.status === 201) acknowledged.push(r.json.session);
                else refused = r;
            }
        }));
        assert.equal(refused.status, 503);
        assert.match(refused.text, /disk is full/);
        // it is either written, or has been tried again in vain
        await until('the store to have all, or to fail again', async () =>
            await metric(d, 'abrd_store_queue') === 0 || await metric(d, 'abrd_store_errors_total') > 2);
        assert.equal(await metric(d, 'abrd_store_up'), 0);
        await d.kill('SIGKILL');

        rmSync(filler);
        const again = await new Daemon(args).ready;
        let missing = 0;
        for (const session of acknowledged)
            missing += (await again.call('GET', `/v1/sessions/${session}`)).status !== 200;
        assert.equal(missing, 0, `of ${acknowledged.length} acknowledged sessions`);
        assert.deepEqual(await again.stop(), { code: 0, signal: null });
    } finally {
        spawnSync('umount', ['-l', disk]);
    }
});

await test('a disk with too little room from the beginning: nothing is acknowledged', async () => {
    const disk = join(folder, 'full');
    mkdirSync(disk);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', disk]).status !== 0) return;
    try {
        const d = await new Daemon([...serve, '--data', join(disk, 'data'), '--learn', 'off']).ready;
        // less than what is kept back: nothing is acknowledged that might find no room
        const r = await d.call('POST', '/v1/sessions', video);
        assert.equal(r.status, 503);
        assert.match(r.text, /disk is full \(16 MB are kept free for what was acknowledged\): make room/);
        assert.deepEqual(await d.stop(), { code: 0, signal: null });
    } finally {
        spawnSync('umount', ['-l', disk]);
    }
});

/** A folder as a kill leaves it behind five acknowledged rewards. */
async function killed(name) {
    const data = join(folder, name);
    const args = [...serve, '--data', data, '--learn', 'off'];
    const d = await new Daemon(args).ready;
    const s = (await d.call('POST', '/v1/sessions', video)).json;
    const end = await askUntilRefused(d, s.session, 1, s.level, 5);
    const last = await d.call('POST', `/v1/sessions/${s.session}/rewards`,
        outcome(4, end.level));
    assert.equal(last.status, 200, last.text);
    await stored(d);
    await d.kill('SIGKILL');
    return { data, args, session: s.session };
}

for (const [how, damage, says] of [
    ['nothing', () => {}, null],
    ['a flipped bit in its log', f => flip(`${f}-wal`, 32 + 2 * 4120 + 100), /abrd\.db-wal is damaged at frame 3 of/],
    ['a log that is removed', f => rmSync(`${f}-wal`), /the last \d+ commits with \d+ acknowledged records are missing/],
    ['a log that is cut', f => truncateSync(`${f}-wal`, 5 * 4120), /acknowledged records are missing/],
    ['a database of 0 bytes', f => truncateSync(f, 0), /is empty, but it had \d+ commits with \d+ records/],
    ['a database that is removed', f => rmSync(f), /is missing, but it had \d+ commits/],
    ['both removed', f => { rmSync(f); rmSync(`${f}-wal`); }, /is missing, but it had \d+ commits/],
]) {
    await test(`a killed daemon and ${how}: all is there, or it is said what is not`, async () => {
        const { data, args, session } = await killed(`killed-${how.replaceAll(' ', '-')}`);
        damage(join(data, 'abrd.db'));
        let d = await new Daemon(args).ready;
        if (says) {
            assert.deepEqual(await d.exited, { code: 1, signal: null });
            assert.match(d.output, /abrd\.db/);
            assert.match(d.output, says);
            assert.match(d.output, /restore a backup, or give up what is lost with 'abrd doctor --data DIR --accept-loss'/);
            const doctor = (...more) =>
                spawnSync(ABRD, ['doctor', '--data', data, '--port', '0', '--policy', policy(), ...more]);
            assert.equal(doctor().status, 1);
            const given = doctor('--accept-loss');
            assert.equal(given.status, 0, String(given.stdout));
            assert.match(String(given.stdout), /kept as \S*abrd\.db\S*\.bad/);
            d = await new Daemon(args).ready;
            assert.equal((await d.call('POST', '/v1/sessions', video)).status, 201);
        } else {
            const history = (await d.call('GET', `/v1/sessions/${session}`)).json;
            assert.equal(history.steps.filter(step => 'reward' in step).length, 5);
        }
        assert.deepEqual(await d.stop(), { code: 0, signal: null });
    });
}

await test('a folder that cannot be written is named', async () => {
    const data = join(folder, 'readonly');
    mkdirSync(data);
    chmodSync(folder, 0o755);
    chmodSync(data, 0o555);
    chmodSync(policy(), 0o644);
    // the superuser may write everywhere
    const who = process.getuid() === 0 ? { uid: 65534, gid: 65534 } : {};
    const d = await through(['env'], [...serve, '--data', data], who);
    assert.deepEqual(await d.exited, { code: 1, signal: null });
    assert.match(d.output, /readonly\/lock: cannot be written: Permission denied/);
});

/** A folder as a daemon leaves it that has learned and written two checkpoints. */
async function leave(name) {
    const data = join(folder, name);
    const d = await new Daemon([...serve, '--data', data, '--batch', '64', '--checkpoint', '0.1',
        ...PUBLISH_ALL]).ready;
    const s = (await d.call('POST', '/v1/sessions', video)).json;
    let level = s.level, chunk = 1;
    await until('two checkpoints', async () => {
        ({ chunk, level } = await askUntilRefused(d, s.session, chunk, level, chunk + 80));
        // the next session teaches: one gives an update no more than its part
        await d.call('DELETE', `/v1/sessions/${s.session}`);
        Object.assign(s, (await d.call('POST', '/v1/sessions', video)).json);
        [chunk, level] = [1, s.level];
        return existsSync(join(data, 'policy.safetensors.prev'));
    });
    assert.deepEqual(await d.stop(), { code: 0, signal: null });
    return data;
}

const left = await leave('left');
const file = name => join(left, name);
for (const f of ['abrd.db', 'policy.safetensors', 'policy.safetensors.prev'])
    copyFileSync(file(f), `${file(f)}.good`);

for (const [how, damage] of [
    ['cut', f => truncateSync(f, 3 * 4096 + 100)],
    ['flipped in its header', f => flip(f, 20)],
    ['flipped in a page', f => flip(f, 4096)],
]) {
    await test(`a store that is ${how} is refused, and left as it is`, async () => {
        copyFileSync(file('abrd.db.good'), file('abrd.db'));
        damage(file('abrd.db'));
        const before = readFileSync(file('abrd.db'));
        const d = await new Daemon([...serve, '--data', left]).ready;
        assert.deepEqual(await d.exited, { code: 1, signal: null });
        assert.match(d.output, /abrd\.db.*(damaged|database of another).*: (restore a backup, or give up .*'abrd doctor --data DIR --accept-loss'|choose)/);
        assert.ok(readFileSync(file('abrd.db')).equals(before));
    });
}
copyFileSync(file('abrd.db.good'), file('abrd.db'));

for (const [how, damage] of [
    ['cut', f => truncateSync(f, readFileSync(f).length - 1000)],
    ['flipped', f => flip(f, readFileSync(f).length >> 1)],
]) {
    await test(`a checkpoint that is ${how}: the one before serves, told and counted`, async () => {
        copyFileSync(file('policy.safetensors.good'), file('policy.safetensors'));
        copyFileSync(file('policy.safetensors.prev.good'), file('policy.safetensors.prev'));
        damage(file('policy.safetensors'));
        const d = await new Daemon([...serve, '--data', left]).ready;
        assert.match(d.output, /error +policy .*policy\.safetensors/);
        assert.match(d.output, /version \d+ from .*policy\.safetensors\.prev/);
        assert.ok(existsSync(file('policy.safetensors.bad')));
        assert.equal(await metric(d, 'abrd_checkpoints_refused_total'), 1);
        assert.equal((await d.call('POST', '/v1/sessions', video)).status, 201);
        await d.stop();
        rmSync(file('policy.safetensors.bad'));
    });
}

await test('a clock that is set ends nobody\'s session', async () => {
    const source = join(folder, 'clock.c');
    const library = join(folder, 'clock.so');
    const offset = join(folder, 'offset');
    writeFileSync(source, `#define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <time.h>
        int clock_gettime(clockid_t id, struct timespec *t) {
            static int (*real)(clockid_t, struct timespec *);
            if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
            int rc = real(id, t);
            FILE *f = id == CLOCK_REALTIME ? fopen(getenv("CLOCK_OFFSET"), "r") : NULL;
            long seconds;
            if (f && fscanf(f, "%ld", &seconds) == 1) t->tv_sec += seconds;
            if (f) fclose(f);
            return rc;
        }
        time_t time(time_t *out) {
            struct timespec t;
            clock_gettime(CLOCK_REALTIME, &t);
            if (out) *out = t.tv_sec;
            return t.tv_sec;
        }`);
    const cc = spawnSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl']);
    assert.equal(cc.status, 0, String(cc.stderr));
    writeFileSync(offset, '0');
    const d = await through(['env', `LD_PRELOAD=${library}`, `CLOCK_OFFSET=${offset}`],
        [...serve, '--data', join(folder, 'clock'), '--session-ttl', '600',
            '--untagged', 'identify', '--slot', '1']);
    const s = (await d.call('POST', '/v1/sessions', video)).json;
    const date = async () => Date.parse((await d.call('GET', '/healthz')).headers.get('date'));
    const before = await date();
    for (const [hours, chunk] of [[5, 1], [-5, 2], [0, 3]]) {
        writeFileSync(offset, String(hours * 3600));
        if (hours) assert.ok(Math.abs(await date() - before) > 4 * 3600e3, 'the clock was not set');
        // whoever looks for silent sessions has done so: he ends the slots, too
        const slots = await metric(d, 'abrd_slots_total');
        await until('two slots', async () => await metric(d, 'abrd_slots_total') > slots + 1);
        const r = await d.call('POST', `/v1/sessions/${s.session}/decisions`,
            { chunk, buffer_s: 8, last: outcome(chunk - 1, s.level) });
        assert.equal(r.status, 200, r.text);
        s.level = r.json.level;
        assert.equal(await metric(d, 'abrd_sessions_expired_total'), 0);
    }
    assert.deepEqual(await d.kill('SIGTERM'), { code: 0, signal: null });
});

done();
