/**
 * charts.js - the four charts (uPlot), over one time axis and with one cursor.
 *
 * Bands behind the lines: amber where the player's own rules decided, red for stalls, grey for the wait
 * before the first picture.
 *
 * @module demo/charts
 */
import { $, axis, css, fit, onScheme } from '../page.js';

const HEIGHT = 178;

const number = (digits, unit) => (_, v) =>
    v === null || v === undefined || isNaN(v) ? '–' : `${v.toFixed(digits)} ${unit}`;

/** Paints {from, to} bands of the recording behind the series. */
function bands(recording) {
    return {
        hooks: {
            drawClear: u => {
                const { ctx, bbox } = u;
                const paint = (from, to, colour) => {
                    const a = Math.max(u.valToPos(from, 'x', true), bbox.left);
                    const b = Math.min(u.valToPos(to, 'x', true), bbox.left + bbox.width);
                    if (b <= a) return;
                    ctx.fillStyle = colour;
                    ctx.fillRect(a, bbox.top, Math.max(b - a, 2), bbox.height);
                };
                const now = u.data[0].at(-1) ?? 0;
                const { chunks, stalls, start } = recording();
                ctx.save();
                chunks.forEach((c, i) => {
                    if (c.by === 'player')
                        paint(c.requested_s, chunks[i + 1]?.requested_s ?? now, css('--band-player'));
                });
                if (u.data[0].length) paint(start.from, start.to ?? now, css('--band-start'));
                for (const s of stalls) paint(s.from, s.to ?? now, css('--band-stall'));
                ctx.restore();
            },
        },
    };
}

const stepped = align => window.uPlot.paths.stepped({ align });

const DEFINITIONS = {
    bitrate: {
        unit: 'Mbit/s', range: (u, lo, hi) => [0, Math.max(hi ?? 0, 1) * 1.08],
        series: () => [
            { label: 'decided', stroke: css('--abrd'), width: 2, paths: stepped(1),
                value: number(2, 'Mbit/s') },
            { label: 'on the screen', stroke: css('--ink-2'), width: 1.5, dash: [4, 3],
                paths: stepped(1), value: number(2, 'Mbit/s') },
        ],
        data: s => [s.decided.map(mega), s.played.map(mega)],
    },
    buffer: {
        unit: 's', range: (u, lo, hi) => [0, Math.max(hi ?? 0, 8) * 1.08],
        series: () => [{ label: 'buffer', stroke: css('--buffer'), fill: css('--buffer-fill'),
            width: 2, value: number(1, 's') }],
        data: s => [s.buffer],
    },
    throughput: {
        unit: 'Mbit/s', range: (u, lo, hi) => [0, Math.max(hi ?? 0, 1) * 1.08],
        series: () => [
            { label: 'link', stroke: css('--ink-3'), fill: css('--link-fill'), width: 1,
                paths: stepped(-1), value: number(2, 'Mbit/s') },
            { label: 'measured', stroke: css('--measured'), width: 2.5, paths: stepped(-1),
                points: { show: true, size: 3, fill: css('--measured') },
                value: number(2, 'Mbit/s') },
        ],
        data: s => [s.link.map(v => isNaN(v) ? null : v), s.measured],
    },
    quality: {
        unit: 'points', range: () => [0, 104],
        series: () => [
            { label: 'on the screen', stroke: css('--abrd'), width: 2, paths: stepped(1), value: number(0, 'points') },
            { label: 'mean so far', stroke: css('--ink'), width: 1.5, dash: [4, 3], paths: stepped(1),
                value: number(0, 'points') },
        ],
        data: s => [s.points, s.mean],
    },
};

const mega = kbps => kbps === null ? null : kbps / 1000;

export class Charts {
    #plots = new Map();
    #recording;
    #ends = 60; // right end of the time axis [s]

    /** @param {() => import('./record.js').Recording} recording */
    constructor(recording) {
        this.#recording = recording;
        this.#build();
        onScheme(() => this.#build());
        const boxes = new ResizeObserver(() => {
            for (const [name, plot] of this.#plots) fit(plot, slot(name), HEIGHT);
        });
        for (const name of Object.keys(DEFINITIONS)) boxes.observe(slot(name));
    }

    /** A new playback. */
    reset() {
        this.#ends = 60;
        this.draw();
    }

    draw() {
        const { samples } = this.#recording();
        const last = samples.t.at(-1) ?? 0;
        while (last > this.#ends) this.#ends += 30;
        for (const [name, plot] of this.#plots) {
            const data = samples.t.length ? DEFINITIONS[name].data(samples) : [];
            const empty = DEFINITIONS[name].series().map(() => []);
            plot.setData([samples.t.length ? samples.t : [], ...(data.length ? data : empty)]);
        }
    }

    #build() {
        if (!window.uPlot) return;
        for (const plot of this.#plots.values()) plot.destroy();
        const look = axis('--ink-3');
        for (const [name, d] of Object.entries(DEFINITIONS)) {
            const options = {
                width: slot(name).clientWidth || 400, height: HEIGHT,
                cursor: { sync: { key: 'abrd' }, y: false, points: { size: 6 } },
                legend: { show: true, live: true },
                scales: { x: { time: false, range: () => [0, this.#ends] }, y: { range: d.range } },
                axes: [
                    { ...look, size: 26, values: (_, ticks) => ticks.map(v => `${v} s`) },
                    { ...look, size: 40, splits: undefined },
                ],
                series: [{ label: 'time', value: number(1, 's') },
                    ...d.series().map(s => ({ points: { show: false }, ...s }))],
                plugins: [bands(this.#recording)],
            };
            this.#plots.set(name, new window.uPlot(options, [[], ...d.series().map(() => [])], slot(name)));
        }
        this.draw();
    }
}

const slot = name => $(`chart-${name}`);
