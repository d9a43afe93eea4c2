/**
 * session.js - one session: its buffer and its levels per chunk.
 *
 * @module dashboard/session
 */
import { $ } from '../page.js';
import { Chart } from './charts.js';
import { paced } from './daemon.js';
import { el, number, text } from './dom.js';
import { Roster, watched } from './series.js';

const short = id => id.slice(0, 8);
const CELLS = 60; // chunks in the strip and in the charts
const CHANGING = 8; // last steps, whose outcomes may still arrive
const SILENT_S = 3; // no event reports a close: a session without events for so long is read again

export class SessionPanel {
    roster = new Roster();
    watched = null; // id
    #daemon;
    #load;
    #known = null; // the history read so far
    #reading = false;
    #fixed = new URLSearchParams(location.search).get('session');

    /** @param {import('./daemon.js').Daemon} daemon */
    constructor(daemon) {
        this.#daemon = daemon;
        this.buffer = new Chart($('chart-buffer'), { label: 'buffer in seconds', x: 'chunk', zero: true, digits: 1,
            unit: 's', series: [{ name: 'buffer', colour: '--buffer', fill: '--buffer-fill', step: true }] });
        this.level = new Chart($('chart-level'), { label: 'bitrate and throughput', x: 'chunk', zero: true, digits: 2,
            unit: 'Mbit/s', series: [
                { name: 'decided', colour: '--abrd', step: true },
                { name: 'throughput', colour: '--measured', dash: [4, 3] }] });
        this.#load = paced(() => this.#fetch(), 1000);
        $('session').addEventListener('change', () => {
            this.#fixed = $('session').value || null;
            this.#choose();
            this.#load();
        });
        daemon.addEventListener('withheld', () => text($('session-facts'), 'sessions are shown on the daemon\'s own ' +
            'machine (ssh -L 8080:localhost:8080 HOST), or with its token: add #token=TOKEN to the address of this page'));
        for (const type of ['session', 'decision', 'reward'])
            daemon.addEventListener(type, e => this.#heard(e.detail));
        if (this.#fixed) this.roster.hear(performance.now() / 1000, { session: this.#fixed });
        this.#choose();
        if (this.watched) this.#load();
    }

    #heard(e) {
        this.roster.hear(performance.now() / 1000, e, this.watched);
        const before = this.watched;
        this.#choose();
        if (e.session === this.watched || this.watched !== before) this.#load();
    }

    #choose() {
        this.watched = this.#fixed ?? this.roster.follow(this.watched, performance.now() / 1000);
    }

    /** Once per second: reads a silent session again, and renews the list unless it has the focus. */
    tick() {
        const now = performance.now() / 1000, watched = this.roster.get(this.watched);
        if (watched && !watched.over && !this.#reading && watched.at < now - SILENT_S) this.#load();
        const select = $('session');
        if (document.activeElement === select) return;
        const list = this.roster.list();
        if (this.#fixed && !list.some(s => s.id === this.#fixed)) list.unshift({ id: this.#fixed });
        const wanted = [['', 'the latest session'], ...list.map(s => [s.id,
            [short(s.id), s.profile, s.over ? 'over' : s.chunk !== undefined && `chunk ${s.chunk}`].filter(Boolean).join(' · ')])];
        while (select.options.length > wanted.length) select.remove(select.options.length - 1);
        wanted.forEach(([value, label], i) => {
            const option = select.options[i] ?? select.appendChild(el('option'));
            option.value = value;
            text(option, label);
        });
        select.value = this.#fixed ?? '';
    }

    /** Reads the history of a session; pages that were read before are not read again. */
    async #history(id) {
        const known = this.#known?.session === id ? this.#known : null;
        let steps = known?.steps.slice(0, -CHANGING) ?? [], first = known?.first ?? 0;
        let page, after = first + steps.length;
        do {
            page = await this.#daemon.get(`/v1/sessions/${id}${after ? `?after=${after}` : ''}`);
            if (!page) return page;
            if (page.first !== first + steps.length) { // a daemon without a store drops the oldest steps
                steps = [];
                first = page.first;
            }
            steps = steps.concat(page.steps);
            after = page.next;
        } while (after !== null);
        this.#known = { ...page, first, steps };
        return this.#known;
    }

    async #fetch() {
        const id = this.watched;
        this.#reading = true;
        const h = id && await this.#history(id);
        this.#reading = false;
        if (id !== this.watched) return;
        if (!h) text($('session-facts'), id ? `${short(id)}: the daemon does not know it` : 'no requests yet');
        else this.show(h);
        const known = this.roster.get(id);
        if (known && h) Object.assign(known, { profile: h.profile, over: h.closed });
        if (known && h === false) known.over = true; // the session is lost or never existed
        this.#choose();
        if (this.watched !== id) this.#load();
    }

    /** @param {object} h the session's history, as the daemon sends it */
    show(h) {
        const { steps, at, chunk, buffer, mbps, measured } = watched(h, CELLS);
        // the wait for the first chunk is the start-up, not a stall
        const [first] = h.steps, start = first?.reported && first.chunk === 0 ? first : null;
        const later = h.steps.filter(s => s.reported && s !== start);
        const last = steps.at(-1);
        text($('session-facts'), [
            `${short(h.session)} · ${h.profile}${h.hinted ? '' : ' (assumed)'}${h.explores ? ', explores' : ''}`,
            last && `chunk ${last.chunk}${h.chunks ? ` of ${h.chunks}` : ''}`,
            last && `level ${last.shown}`,
            last && `buffer ${number(buffer.at(-1), 1)} s`,
            start && `started after ${number(Math.max(start.rebuffer_s, start.download_s), 1)} s`,
            later.length && `stalled ${number(later.reduce((sum, s) => sum + s.rebuffer_s, 0), 1)} s`,
            h.closed && 'over',
        ].filter(Boolean).join(' · '));
        this.buffer.draw([at, buffer], chunk);
        this.level.draw([at, mbps, measured], chunk);
        this.#strip(h, steps);
    }

    /** One cell per chunk: the height is its level, the colour its expert. */
    #strip(h, steps) {
        const top = h.ladder_kbps.at(-1);
        $('strip').replaceChildren(...steps.map(s => {
            const cell = el('li', { class: s.expert >= 0 && s.expert < 4 ? `e${s.expert}` : 'ex',
                title: `chunk ${s.chunk}: level ${s.shown}, ` +
                    (s.decided_level < 0 ? 'the player' : s.expert >= 0 ? `expert ${s.expert}` : s.by ?? 'fallback') +
                    (s.reported && s.rebuffer_s > 0 ? `, waited ${number(s.rebuffer_s, 1)} s` : '') });
            cell.style.height = `${10 + 90 * h.ladder_kbps[s.shown] / top}%`;
            if (s.rebuffer_s > 0) cell.classList.add('stalled');
            return cell;
        }));
    }
}
