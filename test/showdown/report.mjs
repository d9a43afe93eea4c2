// report.mjs - the showdown as one self-contained page and as CSV.

const escape = text => String(text).replace(/[&<>"]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const fixed = (x, digits) => (Number.isFinite(x) ? x.toFixed(digits) : '–');

export function csv(rows) {
    if (!rows.length) return '';
    const names = Object.keys(rows[0]);
    const cell = v => typeof v === 'number' ? String(Number(v.toPrecision(9))) : String(v).replace(/[",]/g, '');
    return [names.join(','), ...rows.map(r => names.map(n => cell(r[n])).join(','))].join('\r\n') + '\r\n';
}

function standing({ profile, qoe, traces, rows }) {
    const line = r => `<tr${r.player === 'abrd' ? ' class="ours"' : ''}><th scope="row">${escape(r.player)}</th>` +
        `<td>${fixed(r.qoe, 3)}</td>` +
        (r.player === 'abrd' ? '<td></td><td></td>' :
            `<td>${r.gain.mean > 0 ? '+' : ''}${fixed(r.gain.mean, 3)}` +
            `${Number.isFinite(r.gain.low) ? ` <small>${fixed(r.gain.low, 2)} .. ${fixed(r.gain.high, 2)}</small>` : ''}</td>` +
            `<td>${r.wins} of ${traces.length}</td>`) +
        `<td>${fixed(r.stall_s, 2)}</td><td>${fixed(r.stalls, 1)}</td><td>${fixed(r.switches, 1)}</td>` +
        `<td>${fixed(r.startup_s, 2)}</td><td>${fixed(r.kbps, 0)}</td><td>${r.starved || ''}</td></tr>`;
    return `<section><h2>${escape(profile)} <small>weights ${qoe.mu.map(m => fixed(m, 1)).join(', ')} of quality, switches, stalls; ` +
        `means over ${traces.length} ${traces.length === 1 ? 'trace' : 'traces'}</small></h2>` +
        '<div class="wide"><table><thead><tr><th>player</th><th>QoE per chunk</th><th>abrd is better by <small>95 %</small></th>' +
        '<th>abrd better on</th><th>stalled, s</th><th>stalls</th><th>switches</th><th>startup, s</th><th>kbit/s</th><th>starved</th></tr></thead>' +
        `<tbody>${rows.map(line).join('')}</tbody></table></div></section>`;
}

/** QoE of every player on every trace; the best of a trace is bold. */
function details(profile, rows) {
    const mine = rows.filter(r => r.profile === profile);
    const players = [...new Set(mine.map(r => r.player))], traces = [...new Set(mine.map(r => r.trace))];
    const of = (p, t) => mine.find(r => r.player === p && r.trace === t);
    const line = t => {
        const best = Math.max(...players.map(p => of(p, t)?.qoe ?? -Infinity));
        return `<tr><th scope="row">${escape(t)}</th>` + players.map(p => {
            const r = of(p, t);
            if (!r) return '<td>–</td>';
            const text = `${fixed(r.qoe, 3)}${r.starved ? '*' : ''}`;
            const title = `${fixed(r.stall_s, 2)} s stalled, ${r.switches} switches, ${fixed(r.kbps, 0)} kbit/s, startup ${fixed(r.startup_s, 2)} s, ` +
                `attempt ${r.attempts}, CPU ${fixed(100 * r.busy_share, 0)} %, page late ${fixed(100 * r.late_share, 1)} %`;
            return `<td title="${escape(title)}">${r.qoe === best ? `<b>${text}</b>` : text}</td>`;
        }).join('') + '</tr>';
    };
    return `<details><summary>${escape(profile)}: every trace</summary><div class="wide"><table><thead><tr><th>trace</th>` +
        `${players.map(p => `<th>${escape(p)}</th>`).join('')}</tr></thead><tbody>${traces.map(line).join('')}</tbody></table></div></details>`;
}

export function page(tables, rows, { done, all }) {
    return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>abrd showdown</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem } small { font-weight: normal; opacity: .7 }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid color-mix(in srgb, currentColor 18%, transparent) }
th:first-child { text-align: left } tbody th { font-weight: normal } .ours { font-weight: 600; background: color-mix(in srgb, #2a7 16%, transparent) }
details { margin: .6rem 0 }
</style>
<h1>abrd and what players choose by themselves</h1>
<p>One headless Chromium, one run after another on the same links, 60 s of video at six bitrates, 24 s of buffer for everybody.
Measured in the page, alike for all: stalls of the picture from 100 ms on, the bitrate of every chunk as it was shown:
a copy that comes once the picture has reached its chunk is not.
Startup is the wait for the first picture and not part of QoE. ${done} of ${all} runs are done.
A run that lacked CPU is repeated; one that never had enough counts as it is and is marked (starved, *).</p>
${tables.map(standing).join('\n')}
<h2>Trace by trace <small>QoE per chunk</small></h2>
${tables.map(t => details(t.profile, rows)).join('\n')}
</html>
`;
}
