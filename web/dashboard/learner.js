/**
 * learner.js - the results of each update, the versions of the policy, and the plasticity of the weights.
 *
 * @module dashboard/learner
 */
import { $ } from '../page.js';
import { Chart } from './charts.js';
import { paced } from './daemon.js';
import { el, metric, number, rows, sample, text } from './dom.js';
import { examined } from './series.js';

const KEPT = 512, LISTED = 60;

const line = (name, colour, more) => ({ name, colour, ...more });
const pair = [line('actor', '--c0'), line('critic', '--c1')];
const of = (network, what, scale = 1) => u => u[network] ? scale * u[network][what] : null;
const learned = what => u => u.learned?.[what] ?? null;

const CHARTS = {
    score: { digits: 4, series: [line('best', '--ink-3', { step: true, dash: [4, 3] }), line('score', '--abrd'),
        line('rolled back', '--stall', { points: true })],
    columns: [u => u.best, u => u.kind === 'rollback' ? null : u.score, u => u.kind === 'rollback' ? u.score : null] },
    entropy: { digits: 3, series: [line('entropy', '--c0')], columns: [learned('entropy')] },
    kl: { digits: 4, series: [line('KL', '--c1')], columns: [learned('approx_kl')] },
    explained: { digits: 3, series: [line('explained', '--c2')], columns: [learned('explained_variance')] },
    value: { digits: 4, series: [line('loss', '--c3')], columns: [learned('value_loss')] },
    dormant: { digits: 1, unit: '%', zero: true, series: pair, columns: [of('actor', 'dormant', 100), of('critic', 'dormant', 100)] },
    effective: { digits: 1, series: pair, columns: [of('actor', 'effective_rank'), of('critic', 'effective_rank')] },
    weights: { digits: 4, series: pair, columns: [of('actor', 'weight_rms'), of('critic', 'weight_rms')] },
};

const WHAT = {
    earlier: () => 'before this start',
    start: () => 'start of the daemon',
    update: () => 'learned',
    rollback: u => `rolled back to ${u.version}`,
    held: () => 'learned, not published',
    order: () => 'experts disabled or enabled',
};
/** Whether an update put its own weights into use. */
const isPublished = u => u.kind !== 'rollback' && u.kind !== 'held';

const VERDICTS = {
    worse: 'the update was refused',
    even: 'the update is not better yet; it was kept, but not published',
    better: 'the update was published',
    fallen: 'the published weights gave way to the shipped ones',
};

const when = at => {
    const d = new Date(at * 1000), today = new Date().toDateString() === d.toDateString();
    return today ? d.toLocaleTimeString('en-GB') : d.toISOString().slice(0, 10);
};

export class LearnerPanel {
    updates = [];
    #daemon;
    #seen = '';
    #life = 0; // counts starts of the daemon
    #charts;
    #load;

    /** @param {import('./daemon.js').Daemon} daemon */
    constructor(daemon) {
        this.#daemon = daemon;
        this.#charts = Object.entries(CHARTS).map(([name, how]) => [how,
            new Chart($(`chart-${name}`), { label: name, x: 'update',
                empty: 'A point appears here with each update of the learner.', ...how })]);
        this.#load = paced(() => this.#fetch(), 500);
    }

    /** The daemon may have restarted: its numbers begin again. */
    forget() {
        this.updates = [];
        this.exam = undefined;
        this.known = false;
        this.#seen = '';
        this.#life++;
    }

    show(s) {
        this.stats = s;
        const now = [s.policy, s.learner.updates, s.learner.rollbacks, s.learner.held].join();
        // after a start the weights are measured with a delay
        if (now !== this.#seen || !this.known) this.#load();
        this.#seen = now;
    }

    async #fetch() {
        const after = this.updates.at(-1)?.number ?? 0, life = this.#life;
        const [told, plasticity] = await Promise.all([
            this.#daemon.get(`/v1/policy/updates?after=${after}`), this.#daemon.get('/v1/policy/plasticity')]);
        if (life !== this.#life) return;
        if (told) {
            this.updates = [...this.updates, ...told.updates].slice(-KEPT);
            this.exam = told.exam; // the last one
            this.#curves();
            this.#versions();
            this.#cells();
        }
        if (plasticity) {
            this.known = plasticity.known || !this.stats.learning;
            for (const network of ['actor', 'critic'])
                showPlasticity($(network), network, plasticity[network], this.stats.learning);
        }
    }

    #curves() {
        const x = this.updates.map(u => u.number);
        for (const [how, chart] of this.#charts)
            chart.draw([x, ...how.columns.map(f => this.updates.map(u => f(u)))]);
    }

    /** The last exam by cells: worse ones first, then groups, then the other cells. */
    #cells() {
        const { exam } = this, note = $('exam-note');
        if (!exam) {
            text(note, '');
            rows($('cells'), [`none ${this.stats.learning}`], () => el('tr', {}, el('td', { colspan: 6, class: 'empty' }, this.stats.learning ?
                'Each update plays an exam before it is published. Its cells appear here after the first one.' :
                'Cells appear here on a daemon that learns; this daemon does not.')));
            return;
        }
        text(note, `Exam ${number(exam.exams)}: ${VERDICTS[exam.verdict]}. ` +
            `${number(exam.worse_cells)} of ${number(exam.cells.length)} cells are worse. ` +
            `${exam.better_in ? `It is better in ${exam.better_in}. ` : ''}` +
            `${number(exam.recorded_links)} links are those of viewers.`);
        const list = examined(exam);
        const lines = rows($('cells'), list.map(r => r.name), name => el('tr', {}, el('th', { scope: 'row' }, name),
            el('td', { class: 'words' }), el('td'), el('td'), el('td'), el('td')));
        list.forEach((r, i) => {
            const [, result, loss, bound, gain, links] = lines[i].children;
            lines[i].className = r.group ? 'group' : '';
            text(result, r.result);
            result.classList.toggle('over', r.worse);
            [[loss, r.loss], [bound, r.loss_bound], [gain, r.gain]].forEach(([e, share]) =>
                text(e, number(share === null ? null : 100 * share, 2)));
            text(links, number(r.links));
        });
    }

    #versions() {
        const list = this.updates.slice(-LISTED).reverse();
        const body = $('versions');
        const lines = rows(body, list.map(u => u.number), () => el('tr', {},
            el('th', { scope: 'row' }), el('td'), el('td', { class: 'words' }), el('td'), el('td')));
        // these two are in /metrics: the version in use, and the score of the last update
        const current = this.updates.findLast(isPublished);
        const last = this.updates.findLast(u => u.learned);
        const best = this.stats.learning ? this.stats.learner.check_best : null;
        list.forEach((u, i) => {
            const [version, at, what, score, off] = lines[i].children;
            lines[i].className = u.kind;
            for (const e of [version, score]) delete e.dataset.metric;
            if (u === current) metric(version, u.version, { metric: 'abrd_policy_version' });
            else text(version, isPublished(u) ? number(u.version) : '–');
            text(at, when(u.at));
            text(what, WHAT[u.kind](u));
            // a refused update may have no score here: then the metric is that of another
            if (u === last && u.score !== null && this.stats.learning) metric(score, u.score, { metric: 'abrd_learner_check_score', digits: 4 });
            else text(score, number(u.score, 4));
            // in tenths of a percent, and never -0
            const share = u.score !== null && best ? Math.round(1000 * (u.score - best) / Math.abs(best)) / 10 + 0 : null;
            text(off, share === null ? '–' : `${share > 0 ? '+' : ''}${number(share, 1)} %`);
        });
        const { learner: l } = this.stats, note = $('versions-note');
        if (!this.stats.learning) text(note, 'this daemon does not learn');
        else note.replaceChildren(`${number(l.updates)} published, ${number(l.rollbacks)} rolled back, from ${number(l.steps)} chunks; best score `,
            metric(el('b'), best, { metric: 'abrd_learner_check_best', digits: 4 }));
    }
}

const HEADS = ['expert', 'layer', 'dormant', 'rank', 'effective', 'weights'];

/** A row per layer of each expert. */
function showPlasticity(table, network, experts, learning) {
    if (!table.tHead) {
        table.append(el('thead', {}, el('tr', {}, ...HEADS.map(h => el('th', { scope: 'col' }, h)))), el('tbody'));
    }
    const body = table.tBodies[0];
    if (!experts.length) {
        rows(body, [`none ${learning}`], () => el('tr', {}, el('td', { colspan: HEADS.length, class: 'words' },
            learning ? 'not measured yet' : 'this daemon does not learn')));
        return;
    }
    const flat = experts.flatMap((x, k) => [...x.layers.map((l, i) => ({ x, k, i, l })),
        { x, k, i: 'head', l: { weight_rms: x.head_rms } }]);
    const lines = rows(body, flat.map(f => `${f.k} ${f.i}`), key => {
        const [k, i] = key.split(' ');
        return el('tr', i === '0' ? { class: 'first' } : {}, el('th', { scope: 'row' }), el('td', {}, i === 'head' ? 'head' : String(Number(i) + 1)),
            el('td', { class: 'meter' }), el('td'), el('td'), el('td', { title: `expert ${k}: root mean square` }));
    });
    flat.forEach(({ x, k, i, l }, r) => {
        const [name, , dormant, rank, effective, weights] = lines[r].children;
        if (i === 0) text(name, `${k}`);
        lines[r].title = x.reached ? `expert ${k} is chosen for ${number(100 * x.share, 1)} % of the states` :
            `expert ${k} is chosen for none of the states`;
        const at = what => sample(`abrd_policy_layer_${what}`, { network, expert: k, layer: i });
        const put = (e, v, what, how) => i === 'head' || v === undefined ? text(e, i === 'head' ? '' : '–') :
            metric(e, v, { metric: at(what), ...how });
        put(dormant, l.dormant, 'dormant_ratio', { digits: 1, scale: 100, unit: '%' });
        dormant.style.setProperty('--share', (l.dormant ?? 0).toFixed(3));
        put(rank, l.rank, 'rank', {});
        put(effective, l.rank_effective, 'rank_effective', { digits: 1 });
        if (i === 'head') text(weights, number(l.weight_rms, 4));
        else metric(weights, l.weight_rms, { metric: at('weight_rms'), digits: 4 });
    });
}
