/**
 * overview.js - tiles, decisions per second, sessions, and the results of each profile.
 *
 * @module dashboard/overview
 */
import { $ } from '../page.js';
import { Chart } from './charts.js';
import { el, metric, number, rows, sample, text } from './dom.js';
import { specialisation } from './series.js';

/** colour and dash of each profile, the same in every chart */
const LOOKS = [['--c0'], ['--c1'], ['--c2'], ['--c3'], ['--c4', [6, 3]], ['--c5', [6, 3]], ['--c6', [2, 3]]];
const look = i => LOOKS[Math.min(i, LOOKS.length - 1)];

const TILES = {
    live: [s => s.sessions_live, 'abrd_sessions_live'],
    decisions: [s => s.decisions, 'abrd_decisions_total'],
    rewards: [s => s.rewards, 'abrd_rewards_total'],
    'not-followed': [s => s.not_followed, 'abrd_not_followed_total'],
    version: [s => s.policy, 'abrd_policy_version'],
    updates: [s => s.learner.updates, 'abrd_learner_updates_total'],
    rollbacks: [s => s.learner.rollbacks, 'abrd_learner_rollbacks_total'],
    store: [s => s.store_queue, 'abrd_store_queue'],
    dropped: [s => s.bus_dropped, 'abrd_bus_dropped_total'],
};

export class Overview {
    /** weights of quality, by profile: rewards divided by them are on one scale */
    units = {};
    /** number of experts of the actor */
    experts = 1;

    constructor() {
        this.rate = new Chart($('chart-rate'), { label: 'decisions per second', x: 'time', zero: true, digits: 1,
            series: [{ name: 'decisions / s', colour: '--abrd', fill: '--abrd-soft' }] });
        this.live = new Chart($('chart-live'), { label: 'live sessions', x: 'time', zero: true,
            series: [{ name: 'sessions', colour: '--buffer', fill: '--buffer-fill', step: true }] });
        this.reward = new Chart($('chart-reward'), { label: 'mean reward per chunk by profile', x: 'time',
            zero: true, digits: 2, series: [] });
    }

    /** @param {import('./series.js').Series} series @param {object} s the newest stats */
    show(series, s) {
        const { t, rate, live, reward } = series.columns;
        for (const [id, [value, name]] of Object.entries(TILES))
            metric($(`tile-${id}`), value(s), { metric: name });
        text($('tile-rate'), number(rate.at(-1), 1));
        this.rate.draw([t, rate]);
        this.live.draw([t, live]);
        // counters remain after a profile is deleted
        const names = [...reward.keys()].filter(name => name in this.units || name === 'custom');
        this.reward.lines(names.map((name, i) => ({ name, colour: look(i)[0], dash: look(i)[1] })));
        this.reward.draw([t, ...names.map(name => reward.get(name)
            .map(v => v === null ? null : v / (this.units[name] || 1)))]);
        this.#profiles(s.profiles);
        this.#matrix(s.profiles);
    }

    #profiles(profiles) {
        const lines = rows($('profiles'), profiles.map(p => p.name), name =>
            el('tr', {}, el('th', { scope: 'row' }, name), ...[0, 1, 2, 3].map(() => el('td'))));
        profiles.forEach((p, i) => {
            const [, chunks, reward, mbps, stall] = lines[i].children;
            const of = name => sample(name, { profile: p.name });
            const mean = (e, name, sum, digits, scale) => metric(e, p.rewards ? sum / p.rewards : null,
                { metric: of(name), over: [of('abrd_profile_chunks_total')], digits, scale });
            metric(chunks, p.rewards, { metric: of('abrd_profile_chunks_total') });
            mean(reward, 'abrd_profile_reward', p.reward_sum, 3);
            mean(mbps, 'abrd_profile_kbps_total', p.kbps_sum, 2, 0.001);
            mean(stall, 'abrd_profile_stall_seconds_total', p.stall_sum_s, 3);
        });
    }

    #matrix(profiles) {
        const experts = Math.max(this.experts, ...profiles.map(p => p.expert.length));
        const table = $('matrix');
        if (table.dataset.experts !== String(experts)) {
            table.dataset.experts = experts;
            const heads = Array.from({ length: experts }, (_, k) => el('th', { scope: 'col' }, `expert ${k}`));
            table.replaceChildren(el('thead', {}, el('tr', {}, el('th', {}, 'profile'), ...heads,
                el('th', {}, 'decisions'))), el('tbody'));
        }
        const body = table.tBodies[0];
        const lines = rows(body, profiles.map(p => p.name), name => el('tr', {},
            el('th', { scope: 'row' }, name), ...Array.from({ length: experts }, () => el('td', { class: 'heat' })), el('td')));
        profiles.forEach((p, i) => {
            const cells = [...lines[i].children].slice(1), total = p.expert.reduce((a, b) => a + b, 0);
            const of = k => sample('abrd_profile_expert_decisions_total', { profile: p.name, expert: k });
            const all = p.expert.map((n, k) => n ? of(k) : null).filter(Boolean);
            for (let k = 0; k < experts; k++) {
                const n = p.expert[k] ?? 0, share = total ? n / total : 0;
                cells[k].style.setProperty('--share', share.toFixed(3));
                if (n) metric(cells[k], share, { metric: of(k), over: all, digits: 1, scale: 100, unit: '%' });
                else {
                    delete cells[k].dataset.metric;
                    text(cells[k], total ? '0 %' : '–');
                }
            }
            text(cells[experts], number(total));
        });
        const s = specialisation(profiles.map(p => Array.from({ length: experts }, (_, k) => p.expert[k] ?? 0)));
        text($('matrix-note'), s === null ? 'no decisions by an expert yet' :
            `specialisation ${number(100 * s)} %: how much of the choice of expert the profile explains. Merges are not counted.`);
    }
}
