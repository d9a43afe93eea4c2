// The same viewers through both doors: in process and over HTTP the answers are the same.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { ABRD, Daemon, done, policy, test } from './lib/daemon.mjs';

const d = await Daemon.start(['--learn', 'off', '--seed', '5', '--explore', '0.5']);

/** Plays 24 viewers who sample half of the time; the rows and the checksum of all levels. */
function emulate(seed, ...door) {
    return emulateFor('all,untagged', seed, ...door);
}

function emulateFor(profiles, seed, ...door) {
    const args = ['emulate', '--viewers', '24', '--profile', profiles, '--seed', seed,
        '--explore', '0.5', '--kind', 'lte', '--links', '6', '--quiet', '--json', '-', ...door];
    const r = spawnSync(ABRD, args, { encoding: 'utf8' });
    assert.equal(r.status, 0, r.stderr);
    return { rows: JSON.parse(r.stdout).rows, crc: /levels crc ([0-9a-f]+)/.exec(r.stderr)[1] };
}

const inside = emulate('5', '--policy', policy());

await test('the same levels and the same figures through both doors', () => {
    const outside = emulate('5', '--server', d.url);
    assert.equal(outside.crc, inside.crc);
    assert.ok(outside.rows.length >= 5);
    outside.rows.forEach((row, i) => {
        assert.equal(row.door, 'http');
        assert.deepEqual({ ...row, door: inside.rows[i].door }, inside.rows[i]);
    });
});

// with ceilings, decisions depend on what other viewers have met before them
await test('another number of viewers at once changes nothing where there are no ceilings', () => {
    const one = emulateFor('papers', '5', '--server', d.url);
    assert.equal(emulateFor('papers', '5', '--server', d.url, '--at-once', '3').crc, one.crc);
});

await test('another seed is another play', () => {
    assert.notEqual(emulate('6', '--policy', policy()).crc, inside.crc);
});

await test('a sequence of phases is the same through both doors', () => {
    const play = (...door) => {
        const r = spawnSync(ABRD, ['emulate', '--sequence', 'kind=lte links=4 viewers=9 no-hint=.3; viewers=7 '
            + 'kind=wifi,outage links=3 profile=live:2,news ladder=300,900,2000; mu=2,1,4 viewers=4',
            '--seed', '5', '--explore', '0.5', '--quiet', '--json', '-', ...door], { encoding: 'utf8' });
        assert.equal(r.status, 0, r.stderr);
        return JSON.parse(r.stdout).rows;
    };
    const inside = play('--policy', policy()), outside = play('--server', d.url);
    assert.deepEqual([...new Set(inside.map(row => row.phase))], ['1', '2', '3']);
    assert.deepEqual(outside.map(row => [row.phase, row.profile, row.n]),
        inside.map(row => [row.phase, row.profile, row.n]));
});

await d.stop();

await test('a daemon that is gone is said, not waited for', () => {
    const r = spawnSync(ABRD, ['emulate', '--viewers', '2', '--quiet', '--server', d.url],
        { encoding: 'utf8' });
    assert.equal(r.status, 1);
    assert.match(r.stderr, new RegExp(String(d.port)));
});

done();
