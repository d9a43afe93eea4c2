/**
 * charts.js - the charts of both players (uPlot), over one time axis and with one cursor.
 *
 * The key above a chart shows the values under the cursor, else the last ones. Behind the lines: a cut of
 * the link. On top of the buffer: a bar for each player, red for stalls, grey for the wait before the first
 * picture, amber while the daemon is away.
 *
 * @module demo/charts
 */
import { $, axis, css, fit, onScheme } from '../page.js';

const HEIGHT = { buffer: 128, quality: 170, bitrate: 170, throughput: 170 };
const LANE = 9, AHEAD_S = 60;

const mega = kbps => kbps === null ? null : kbps / 1000;
const stepped = align => window.uPlot.paths.stepped({ align });
const both = (paths, width = 2) => [
    { label: 'own', stroke: '--player', width, paths },
    { label: 'abrd', stroke: '--abrd', width: width + 0.5, paths },
];

const DEFINITIONS = {
    buffer: {
        unit: 's', digits: 1, range: (u, lo, hi) => [0, Math.max(hi ?? 0, 8) * 1.3],
        series: () => both(),
        data: (own, abrd) => [own.buffer, abrd.buffer],
    },
    quality: {
        unit: 'points', digits: 0, range: () => [0, 104],
        series: () => both(stepped(1)),
        data: (own, abrd) => [own.points, abrd.points],
    },
    bitrate: {
        unit: 'Mbit/s', digits: 2, range: (u, lo, hi) => [0, Math.max(hi ?? 0, 1) * 1.08],
        series: () => both(stepped(1)),
        data: (own, abrd) => [own.asked.map(mega), abrd.asked.map(mega)],
    },
    throughput: {
        unit: 'Mbit/s', digits: 2, range: (u, lo, hi) => [0, Math.max(hi ?? 0, 1) * 1.08],
        series: () => [
            { label: 'link', stroke: '--ink-3', fill: '--link-fill', width: 1, paths: stepped(-1) },
            ...both(stepped(-1), 1.5),
        ],
        data: (own, abrd) => [abrd.link.map(v => isNaN(v) ? null : v), own.measured, abrd.measured],
    },
};

/** Paints cuts behind the lines, and with `lanes` a bar for each player on top. */
function bands(story, lanes) {
    return {
        hooks: {
            drawClear: u => {
                const { ctx, bbox } = u, lane = LANE * devicePixelRatio;
                const paint = (from, to, colour, top = bbox.top, height = bbox.height) => {
                    const a = Math.max(u.valToPos(from, 'x', true), bbox.left);
                    const b = Math.min(u.valToPos(to, 'x', true), bbox.left + bbox.width);
                    if (b <= a) return;
                    ctx.fillStyle = css(colour);
                    ctx.fillRect(a, top, Math.max(b - a, 2), height);
                };
                const { now, sides, cuts, away } = story();
                ctx.save();
                for (const [from, to] of cuts) paint(from, to, '--band-cut');
                if (lanes) sides.forEach(({ recording: { start, stalls }, side }, i) => {
                    const top = bbox.top + i * (lane + 3 * devicePixelRatio);
                    ctx.fillStyle = css('--grid');
                    ctx.fillRect(bbox.left, top, bbox.width, lane);
                    if (side === 'abrd') for (const [from, to] of away) paint(from, to ?? now, '--lane-away', top, lane);
                    if (now > 0) paint(start.from, start.to ?? now, '--lane-start', top, lane);
                    for (const s of stalls) paint(s.from, s.to ?? now, '--stall', top, lane);
                });
                ctx.restore();
            },
        },
    };
}

export class Charts {
    #plots = new Map(); // name -> {plot, keys}
    #story;
    #ends = AHEAD_S; // right end of the time axis [s]

    /** @param {() => {now: number, sides: object[], cuts: number[][], away: number[][], names: object}} story */
    constructor(story) {
        this.#story = story;
        this.#build();
        onScheme(() => this.#build());
        const boxes = new ResizeObserver(() => {
            for (const [name, { plot }] of this.#plots) fit(plot, slot(name), HEIGHT[name]);
        });
        for (const name of Object.keys(DEFINITIONS)) boxes.observe(slot(name));
    }

    /** A new playback. */
    reset() {
        this.#ends = AHEAD_S;
        this.#build();
    }

    draw() {
        const { sides } = this.#story(), [own, abrd] = ['own', 'abrd'].map(n => sides.find(s => s.side === n)?.recording.samples);
        const t = abrd?.t ?? [];
        while ((t.at(-1) ?? 0) > this.#ends) this.#ends += 30;
        const none = { buffer: [], points: [], asked: [], link: [], measured: [] };
        for (const [name, { plot, keys }] of this.#plots) {
            const columns = DEFINITIONS[name].data(own ?? none, abrd ?? none)
                .map(c => (c.length === t.length ? c : t.map((_, i) => c[i] ?? null)));
            plot.setData([t, ...columns]);
            this.#tell(name, keys, columns, null);
        }
    }

    /** Values under the cursor, or the last ones. */
    #tell(name, keys, columns, at) {
        const { digits, unit } = DEFINITIONS[name];
        columns.forEach((c, i) => {
            const v = at === null || at === undefined ? c.findLast(x => x !== null && !isNaN(x)) : c[at];
            const words = v === null || v === undefined || isNaN(v) ? '–' : `${v.toFixed(digits)} ${unit}`;
            if (keys[i].textContent !== words) keys[i].textContent = words;
        });
    }

    #build() {
        if (!window.uPlot) return;
        for (const { plot } of this.#plots.values()) plot.destroy();
        const { names, sides } = this.#story(), look = axis('--ink-2');
        for (const [name, d] of Object.entries(DEFINITIONS)) {
            const box = slot(name), series = d.series().map(s => ({ points: { show: false }, ...s,
                stroke: css(s.stroke), fill: s.fill && css(s.fill), show: s.label !== 'own' || sides.length > 1 }));
            const key = document.createElement('p'), keys = [];
            key.className = 'key';
            series.forEach(s => {
                const item = document.createElement('span'), mark = document.createElement('i'), value = document.createElement('b');
                mark.style.background = s.stroke;
                item.hidden = !s.show;
                item.append(mark, `${names[s.label] ?? s.label} `, value);
                key.append(item);
                keys.push(value);
            });
            const options = {
                width: box.clientWidth || 400, height: HEIGHT[name],
                cursor: { sync: { key: 'abrd' }, y: false, points: { size: 6 } },
                legend: { show: false },
                scales: { x: { time: false, range: () => [0, this.#ends] }, y: { range: d.range } },
                axes: [
                    { ...look, size: 26, values: (_, ticks) => ticks.map(v => `${v} s`) },
                    { ...look, size: 40 },
                ],
                series: [{}, ...series],
                plugins: [bands(this.#story, name === 'buffer')],
                hooks: { setCursor: [u => this.#tell(name, keys, u.data.slice(1), u.cursor.idx)] },
            };
            box.replaceChildren(key);
            this.#plots.set(name, { plot: new window.uPlot(options, [[], ...series.map(() => [])], box), keys });
        }
        this.draw();
    }
}

const slot = name => $(`chart-${name}`);
