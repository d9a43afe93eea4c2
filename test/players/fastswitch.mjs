// fastswitch.mjs - shows the defect of dash.js that web/docs/players.md describes: with fastSwitchEnabled an
// up-switch requests the chunk on the screen again, although it cannot be shown any more.
//
//   node test/players/fastswitch.mjs [TRACE]    default: the first of the bundled traces
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { readTrace } from './link.mjs';
import { readVideo } from './media.mjs';
import { versionOf } from './page.mjs';
import { play } from './session.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));

/** Plays a session of dash.js with its own rules. Returns its requests for chunks that it had already. */
export async function fastSwitch({ video, trace, active = true }) {
    const at = new Map();
    const run = await play({ kind: 'dashjs', video, trace, own: { streaming: { buffer: { fastSwitchEnabled: active } } },
        during: ({ net, video: element }) => {
            // the playhead at each request
            const { push } = net.log;
            net.log.push = row => {
                at.set(row, element.currentTime);
                return push.call(net.log, row);
            };
        } });
    const had = new Map();
    const again = run.requests.flatMap(r => {
        const before = had.get(r.chunk);
        had.set(r.chunk, r);
        const from = r.chunk * video.chunkS, t = at.get(r);
        return before && !before.aborted ? [{ at: r.at, chunk: r.chunk, had: before.level, level: r.level, bytes: r.loaded, playhead: t,
            onScreen: t >= from && t < from + video.chunkS, shown: run.shown[r.chunk] === r.level }] : [];
    });
    return { run, again };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const traces = path.join(HERE, '../../traces');
    const file = process.argv[2] ?? path.join(traces, readdirSync(traces).filter(f => !f.endsWith('.md')).sort()[0]);
    const video = readVideo(path.join(HERE, '../golden/video'), { chunks: 48 });
    console.log(`dash.js ${versionOf('dashjs')} with its own rules on ${path.basename(file)}, ${video.sizes.length} chunks of ${video.chunkS} s`);
    for (const active of [true, false]) {
        const { run, again } = await fastSwitch({ video, trace: readTrace(file), active });
        console.log(`fastSwitchEnabled: ${active}: ${run.requests.length} requests, ${again.length} for a chunk that it had; ${
            (run.wasted / 1e6).toFixed(1)} of ${(run.bytes / 1e6).toFixed(1)} MB fetched and not shown`);
        for (const r of again)
            console.log(`  ${(r.at / 1000).toFixed(1).padStart(6)} s  chunk ${String(r.chunk).padStart(2)}, level ${r.had} -> ${r.level}; playhead ${
                r.playhead.toFixed(1)} s${r.onScreen ? ', on the screen' : ''}${r.shown ? '' : ', not shown'}`);
    }
}
