/**
 * overview.js - what viewers see, tiles, decisions per second, sessions, and the experts of each profile.
 *
 * @module dashboard/overview
 */
import { $ } from '../page.js';
import { Chart } from './charts.js';
import { el, metric, number, rows, sample, text } from './dom.js';
import { grouped, seen, specialisation, together } from './series.js';

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

/** what viewers see: a chart each, over the last minute */
const SEEN = {
    median: { label: 'start-up, median', unit: 's', digits: 1 },
    p90: { label: 'start-up, 90th percentile', unit: 's', digits: 1 },
    stalls: { label: 'stall ratio', unit: '%', digits: 1, scale: 100 },
    quality: { label: 'quality', digits: 0 },
    switches: { label: 'switches per minute', digits: 1 },
    player: { label: 'decided by the player', unit: '%', digits: 0, scale: 100 },
};

export class Overview {
    /** weights of quality, by profile: rewards divided by them are on one scale */
    units = {};
    /** number of experts of the actor */
    experts = 1;

    constructor() {
        this.seen = Object.entries(SEEN).map(([key, how]) => [key, how.scale ?? 1,
            new Chart($(`chart-${key}`), { x: 'time', zero: true, series: [],
                empty: 'A line for each profile appears here when its players report chunks.', ...how })]);
        this.rate = new Chart($('chart-rate'), { label: 'decisions per second', x: 'time', zero: true, digits: 1,
            series: [{ name: 'decisions / s', colour: '--abrd', fill: '--abrd-soft' }] });
        this.live = new Chart($('chart-live'), { label: 'live sessions', x: 'time', zero: true,
            series: [{ name: 'sessions', colour: '--buffer', fill: '--buffer-fill', step: true }] });
        this.reward = new Chart($('chart-reward'), { label: 'mean reward per chunk by profile', x: 'time',
            zero: true, digits: 2, series: [], empty: 'A line for each profile appears here when its players report chunks.' });
    }

    /** @param {import('./series.js').Series} series @param {object} s the newest stats */
    show(series, s) {
        const { t, rate, live, reward } = series.columns;
        this.#viewers(series, s);
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
        this.#matrix(s.profiles);
    }

    /** The charts by profile over the last minute; table and tiles over the chosen time, by profile or label. */
    #viewers(series, s) {
        const { t, seen: columns } = series.columns;
        const watched = s.profiles.filter(p => p.rewards);
        const names = watched.map(p => p.name);
        for (const [key, scale, chart] of this.seen) {
            chart.lines(names.map((name, i) => ({ name, colour: look(i)[0], dash: look(i)[1] })));
            chart.draw([t, ...names.map(name => columns.get(name)
                .map(v => v === null || v[key] === null ? null : scale * v[key]))]);
        }
        const by = $('by').value, range = Number($('range').value), then = range ? series.before(range) : null;
        this.#choices(s);
        const before = name => (range ? grouped(then ?? s, by).find(p => p.name === name) ?? null : null);
        const now = grouped(s, by).filter(p => p.rewards > (before(p.name)?.rewards ?? 0));
        text($('by-head'), by || 'profile');
        text($('startup-head'), by ? 'mean start-up, s' : 'start-up, s');
        this.#profiles(now, s.startup_bounds_s, before, !by && !range);
        const all = seen(together(s.profiles), range ? together((then ?? s).profiles) : null, s.startup_bounds_s);
        text($('tile-startup'), all.median === null ? '–' : `${number(all.median, 1)} s`);
        text($('tile-stalls'), all.stalls === null ? '–' : `${number(100 * all.stalls, 2)} %`);
        text($('tile-quality'), number(all.quality, 0));
        text($('tile-player'), all.player === null ? '–' : `${number(100 * all.player, 1)} %`);
    }

    /** The label of the setting metrics-label. */
    #choices(s) {
        const keys = [...new Set((s.labels ?? []).map(l => l.key))], select = $('by');
        const wanted = ['', ...keys];
        if ([...select.options].map(o => o.value).join() !== wanted.join()) {
            const { value } = select;
            select.replaceChildren(...wanted.map(k => new Option(k || 'profile', k)));
            select.value = keys.includes(value) ? value : '';
        }
        text($('by-note'), keys.length ? '' : 'A label appears in this list on a daemon with --metrics-label, when sessions have ended.');
    }

    /** exact: the figures are those of /metrics. */
    #profiles(profiles, bounds, before, exact) {
        if (!profiles.length) {
            // the name of no group: "none" is the group of viewers without the label
            rows($('profiles'), [''], () => el('tr', {}, el('td', { colspan: 9, class: 'empty' },
                'Start-up, stalls, quality and switches appear here when players report chunks.')));
            return;
        }
        const lines = rows($('profiles'), profiles.map(p => p.name), name =>
            el('tr', {}, el('th', { scope: 'row' }, name), ...Array.from({ length: 8 }, () => el('td'))));
        profiles.forEach((p, i) => {
            const [, chunks, median, p90, stalls, quality, switches, player, mbps] = lines[i].children;
            const of = (name, labels) => sample(`abrd_profile_${name}`, { profile: p.name, ...labels });
            const by = ['other-level', 'player', 'daemon'].map(who => of('chunks_by_total', { by: who }));
            const then = before(p.name), v = seen(p, then, bounds);
            if (!exact) {
                const n = p.rewards - (then?.rewards ?? 0), kbps = (p.kbps_sum - (then?.kbps_sum ?? 0)) / n;
                const percent = share => (share === null ? null : 100 * share);
                [[chunks, n, 0], [median, v.mean ?? v.median, 1], [p90, v.p90, 1], [stalls, percent(v.stalls), 2], [quality, v.quality, 1],
                    [switches, v.switches, 2], [player, percent(v.player), 1], [mbps, kbps / 1000, 2]].forEach(([e, value, digits]) => {
                    for (const name of ['metric', 'over', 'scale']) delete e.dataset[name];
                    text(e, number(value, digits));
                });
                return;
            }
            const count = [of('chunks_total')], played = of('played_seconds_total'), stalled = of('stall_seconds_total');
            metric(chunks, p.rewards, { metric: count[0] });
            text(median, number(v.median, 1));
            text(p90, number(v.p90, 1));
            metric(stalls, v.stalls, { metric: stalled, over: [stalled, played], digits: 2, scale: 100 });
            metric(quality, v.quality, { metric: of('quality_points_total'), over: count, digits: 1 });
            metric(switches, v.switches / 60, { metric: of('switches_total'), over: [played], digits: 2, scale: 60 });
            metric(player, v.player, { metric: by.slice(0, 2).join(' '), over: by, digits: 1, scale: 100 });
            metric(mbps, p.kbps_sum / p.rewards, { metric: of('kbps_total'), over: count, digits: 2, scale: 0.001 });
            p90.classList.toggle('over', p.startup_max_s > 0 && v.p90 > p.startup_max_s);
            stalls.classList.toggle('over', p.stall_ratio_max > 0 && v.stalls > p.stall_ratio_max);
            p90.title = p.startup_max_s ? `ceiling: ${p.startup_max_s} s` : '';
            stalls.title = p.stall_ratio_max ? `ceiling: ${number(100 * p.stall_ratio_max, 2)} %` : '';
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
