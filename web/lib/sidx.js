/**
 * sidx.js - the index of a file with all chunks (SegmentBase): their lengths and sizes.
 *
 * @module abrd/sidx
 */

/**
 * The segment index box of ISO/IEC 14496-12, 8.16.3.
 * @param {ArrayBuffer} data data that begins with the box
 * @returns {{chunkS: number, sizes: number[]}|null} null: not an index, truncated, or refers to other indexes
 * @throws {RangeError} shorter than the head of the box
 */
export function readIndex(data) {
    const view = new DataView(data);
    if (view.getUint32(4) !== 0x73696478) return null; // "sidx"
    const timescale = view.getUint32(16);
    // version 0 has earliest time and first offset in 32 bits each, version 1 in 64
    let at = view.getUint8(8) ? 36 : 28;
    const count = view.getUint16(at + 2);
    at += 4;
    if (!count || view.byteLength < at + 12 * count) return null;
    const sizes = [];
    const chunkS = view.getUint32(at + 4) / timescale;
    for (let i = 0; i < count; i++, at += 12) {
        const size = view.getUint32(at);
        if (size >= 2 ** 31) return null;
        sizes.push(size);
    }
    return { chunkS, sizes };
}

/** Fetches the indexes of a track's levels and stores their lengths and sizes; never fails. */
export async function fetchIndexes(track, signal) {
    await Promise.all(track.levels.filter(l => l.index).map(async level => {
        const { url, range } = level.index;
        try {
            const answer = await fetch(url, { headers: { range: `bytes=${range}` }, signal });
            const index = answer.status === 206 && readIndex(await answer.arrayBuffer());
            if (!index || track.chunks && track.chunks !== index.sizes.length) return;
            level.sizes ??= index.sizes;
            track.chunkS ??= index.chunkS;
            track.chunks ||= index.sizes.length;
        } catch {
            // then the player chooses the first chunk
        }
    }));
}
