// alone.mjs - what a link gives at best: a player on it that fetches the lowest level only.
import { capacity } from '../../web/demo/record.js';

const STEP_S = 0.02, WARMUP_S = 0.3; // a player decodes its first picture

/** When a request of `bytes` at `from` on the link's clock has arrived. */
function arrives(link, from, bytes) {
    let t = from + link.rtt_s;
    for (let left = bytes * 8e-6; left > 0; t += STEP_S) left -= STEP_S * (link.mbps ? capacity(link, t) : Infinity);
    return t;
}

/**
 * Plays chunks of `chunkS` seconds for `seconds`, fetched one after the other with at most `buffer_s` ahead.
 * @param {{time_s: number[], mbps: number[], rtt_s: number}} link as link.json has it
 * @param {number[]} before bytes of what is fetched first: manifest, initialization
 * @param {number[]} sizes bytes of the chunks
 * @returns {{first_s: number, seen_s: number}} when the first picture is there, and the video that was seen
 */
export function alone(link, before, sizes, { chunkS = 4, seconds = 60, buffer_s = 24 } = {}) {
    let t = before.reduce((at, bytes) => arrives(link, at, bytes), 0), first_s = NaN, seen = 0, since = 0, held = 0;
    for (const bytes of sizes) {
        const asked = t;
        t = arrives(link, t, bytes);
        if (isNaN(first_s)) {
            first_s = t + WARMUP_S;
            held = chunkS;
            since = first_s;
            continue;
        }
        // played while the chunk arrived; a buffer that is full delays the next request
        const played = Math.min(held, Math.max(Math.min(t, seconds) - Math.max(asked, since), 0));
        seen += played;
        held += chunkS - played;
        const full = Math.max(held - buffer_s, 0);
        if (full) {
            const more = Math.min(full, Math.max(seconds - t, 0));
            seen += more;
            held -= full;
            t += full;
        }
        if (t >= seconds) break;
    }
    return { first_s, seen_s: Math.min(seen, Math.max(seconds - first_s, 0)) };
}
