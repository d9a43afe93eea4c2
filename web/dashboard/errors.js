/**
 * errors.js - what goes wrong, from /metrics; and the figures by label, which only /metrics has.
 *
 * @module dashboard/errors
 */
import { $ } from '../page.js';
import { paced } from './daemon.js';
import { el, number, rows, text } from './dom.js';
import { errorsOf, labelsOf, samples } from './series.js';

const EVERY_MS = 5000, MINUTE_MS = 60000;

export class ErrorPanel {
    labels = []; // labelsOf the newest reading
    #readings = []; // {at, errors}, of the last minute
    #load;

    /** @param {import('./daemon.js').Daemon} daemon */
    constructor(daemon) {
        this.#load = paced(async () => {
            const metrics = await daemon.text('/metrics');
            if (metrics === null) return;
            const all = samples(metrics);
            this.labels = labelsOf(all);
            this.#add(performance.now(), errorsOf(all));
        }, EVERY_MS);
    }

    show() { this.#load(); }

    #add(at, errors) {
        const last = this.#readings.at(-1)?.errors;
        // counters that fell are those of a new process
        if (last && Object.keys(errors).some(k => errors[k] < last[k])) this.#readings = [];
        this.#readings.push({ at, errors });
        while (this.#readings[0].at < at - MINUTE_MS) this.#readings.shift();
        const then = this.#readings[0].errors, names = Object.keys(errors);
        const lines = rows($('errors'), names, name => el('tr', {}, el('th', { scope: 'row' }, name), el('td'), el('td')));
        names.forEach((name, i) => {
            const [, all, recent] = lines[i].children, more = errors[name] - then[name];
            text(all, number(errors[name]));
            text(recent, number(more));
            recent.classList.toggle('over', more > 0 && i !== names.length - 1);
        });
        const [five, many] = names;
        text($('tile-errors'), number(errors[five] + errors[many]));
        $('tile-errors').classList.toggle('over', errors[five] > then[five] || errors[many] > then[many]);
    }
}
