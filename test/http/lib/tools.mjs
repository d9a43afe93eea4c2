// tools.mjs - what scripts of every folder need: waiting, ports, numbers from a seed, checksums, one
// figure of many, a list with one entry replaced.
import net from 'node:net';

/** Seconds that a test waits. Only a test that fails should reach them, also on a busy machine. */
export const PATIENCE_S = 300;

/** The value of a condition, asked again until it holds; gives up after `limitS` seconds. */
export async function until(what, condition, limitS = PATIENCE_S) {
    for (const end = Date.now() + 1000 * limitS; ;) {
        const value = await condition();
        if (value) return value;
        if (Date.now() > end) throw new Error(`waited ${limitS} s for: ${what}`);
        await new Promise(done => setTimeout(done, 25));
    }
}

/** The answer of `ask`, which is asked again while the store is late (503), as on a disk that stalls for half a second. */
export const untilStored = ask => until('the store', async () => {
    const answer = await ask();
    return answer.status !== 503 && answer;
});

/**
 * A port that nobody listens on now. It lies below those that the system gives to connections and to port 0,
 * so a daemon that died finds it free again. Otherwise a client that connects to it meanwhile could take the port.
 */
export async function freePort() {
    for (;;) {
        const s = net.createServer(), port = 12000 + Math.floor(20000 * Math.random());
        const free = await new Promise(done => s.once('error', () => done(false)).listen(port, '127.0.0.1', () => done(true)));
        if (!free) continue;
        await new Promise(done => s.close(done));
        return port;
    }
}

/** Reproducible numbers in [0, 1): mulberry32. */
export function random(seed) {
    return () => {
        seed = seed + 0x6d2b79f5 | 0;
        let t = Math.imul(seed ^ seed >>> 15, 1 | seed);
        t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
        return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
    };
}

const TABLE = Uint32Array.from({ length: 256 }, (_, i) => {
    for (let k = 0; k < 8; k++) i = i & 1 ? 0xedb88320 ^ (i >>> 1) : i >>> 1;
    return i;
});

/** CRC-32 (base/bytes.h) of these bytes one after the other. */
export function crc32(...parts) {
    let crc = ~0;
    for (const part of parts) for (const byte of part) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
    return ~crc >>> 0;
}

/** A figure of /metrics, by its name and, if it has some, its labels as they stand there; else NaN. */
export function figure(text, name) {
    const line = text.split('\n').find(l => l.startsWith(`${name} `));
    return line === undefined ? NaN : Number(line.slice(name.length + 1));
}

/** A copy of a list with another value at one index; Array.prototype.with is not in Node 18. */
export const replaced = (list, index, value) => list.map((v, i) => (i === index ? value : v));
