/**
 * charts.js - line charts over time, chunks or updates (uPlot), with a key that shows values.
 *
 * The key shows the values under the cursor, else the last ones. Colours are read when a chart is built,
 * and again when the system changes between dark and light. A chart has the size of its box. The style
 * sheet fixes this size, so data never moves the page.
 *
 * @module dashboard/charts
 */
import { axis, css, fit, onScheme } from '../page.js';
import { el, number, text } from './dom.js';

const charts = new Set();

onScheme(() => charts.forEach(c => c.build()));

const clock = s => new Date(s * 1000).toLocaleTimeString('en-GB');

/** null and NaN are gaps. */
const clean = column => column.map(v => Number.isFinite(v) ? v : null);

export class Chart {
    #plot = null;
    #data = [[]];
    #keys = [];
    #names = null; // labels of x

    /**
     * @param {Element} box
     * @param {{label: string, unit?: string, digits?: number, x: 'time'|'chunk'|'update'|'slot',
     *     zero?: boolean, empty?: string, series: {name: string, colour: string, fill?: string, dash?: number[],
     *     step?: boolean, points?: boolean}[]}} how colour, fill: variables of the style sheet
     */
    constructor(box, how) {
        this.box = box;
        this.how = { digits: 0, unit: '', ...how };
        this.key = el('p', { class: 'key' });
        this.canvas = el('div', { class: 'plot', role: 'img', 'aria-label': how.label });
        this.none = el('p', { class: 'empty', hidden: '' }, how.empty ?? 'A line appears here with the first figures.');
        box.append(this.key, this.canvas, this.none);
        charts.add(this);
        new ResizeObserver(() => { if (this.#plot) fit(this.#plot, this.canvas); }).observe(this.canvas);
        this.build();
    }

    /** Replaces the lines if their names differ. */
    lines(series) {
        if (series.map(s => s.name).join() === this.how.series.map(s => s.name).join()) return;
        this.how.series = series;
        this.build();
    }

    /** columns: x, ascending, then one per line; names: labels of x = 0, 1, 2, ... */
    draw(columns, names = null) {
        this.#names = names;
        this.#data = [columns[0], ...columns.slice(1).map(clean)];
        this.#plot?.setData(this.#data);
        this.none.hidden = !this.#plot || this.#data.slice(1).some(column => column.some(v => v !== null));
        this.#tell(null);
    }

    build() {
        const { how } = this, { series } = how;
        this.#plot?.destroy();
        this.#plot = null;
        this.#keys = series.map(() => el('b'));
        this.key.replaceChildren(...series.map((s, i) => el('span', {},
            el('i', { style: `background: var(${s.colour})` }), `${s.name} `, this.#keys[i])));
        while (this.#data.length <= series.length) this.#data.push(this.#data[0].map(() => null));
        this.#data.length = series.length + 1;
        if (window.uPlot) this.#plot = new window.uPlot(this.#options(), this.#data, this.canvas);
        this.none.hidden = !this.#plot || this.#data.slice(1).some(column => column.some(v => v !== null));
        if (!this.#plot) text(this.canvas, 'no chart: uPlot is not installed (make web)');
        this.#tell(null);
    }

    #options() {
        const { how } = this;
        const look = axis('--ink-2');
        const whole = v => Number.isInteger(v) ? this.#names ? this.#names[v] ?? '' : v : '';
        const ticks = (_, at) => at.map(how.x === 'time' ? clock : whole);
        return {
            width: this.canvas.clientWidth || 300, height: this.canvas.clientHeight || 120,
            cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
            legend: { show: false },
            scales: {
                x: { time: false, range: () => this.#span() },
                y: { range: (_, lo, hi) => this.#height(lo, hi) },
            },
            axes: [
                { ...look, size: 22, space: how.x === 'time' ? 80 : 40, values: ticks },
                { ...look, size: 46, space: 24, values: (_, at) => at.map(v => (+v.toPrecision(4)).toLocaleString('en', { maximumFractionDigits: 6 })) },
            ],
            series: [{}, ...how.series.map(s => ({
                stroke: css(s.colour), fill: s.fill && css(s.fill), width: s.points ? 0 : 2, dash: s.dash,
                paths: s.step ? window.uPlot.paths.stepped({ align: 1 }) : s.points ? () => null : undefined,
                // in a line of few points no two may be adjacent
                points: { show: !!s.points || (how.x !== 'time' && (u => u.data[0].length < 24)), size: s.points ? 8 : 5, fill: css(s.colour), stroke: css(s.colour) },
                spanGaps: false,
            }))],
            hooks: { setCursor: [u => this.#tell(u.cursor.idx)] },
        };
    }

    #span() {
        const x = this.#data[0], first = x[0], last = x.at(-1);
        if (this.how.x === 'time') {
            const end = last ?? Date.now() / 1000;
            return [Math.min(first ?? end, end - 60), end];
        }
        return [first ?? 0, Math.max(last ?? 0, (first ?? 0) + 10)];
    }

    #height(lo, hi) {
        if (lo === null || lo === undefined) return [0, 1];
        const bottom = this.how.zero ? Math.min(lo, 0) : lo, top = this.how.zero ? Math.max(hi, 0) : hi;
        const room = (top - bottom) * 0.08 || Math.abs(top) * 0.1 || 1;
        return [bottom < 0 || !this.how.zero ? bottom - room : 0, top + room];
    }

    #tell(at) {
        const values = this.#data.slice(1).map(column =>
            at === null || at === undefined ? column.findLast(v => v !== null) : column[at]);
        values.forEach((v, i) => text(this.#keys[i], number(v ?? null, this.how.digits)));
        if (at !== null && at !== undefined) return;
        const now = this.how.series.map((s, i) => `${s.name} ${number(values[i] ?? null, this.how.digits)}`);
        this.canvas.setAttribute('aria-label', `${this.how.label}: ${now.join(', ')} ${this.how.unit}`.trim());
    }
}
