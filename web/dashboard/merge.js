/**
 * merge.js - viewers without a hint: the merge on the simplex, Tanbr's tree and the slots.
 *
 * @module dashboard/merge
 */
import { $ } from '../page.js';
import { Chart } from './charts.js';
import { paced } from './daemon.js';
import { el, metric, number, rows, sample, svg, text } from './dom.js';
import { icicle, onPlane } from './series.js';

const MODES = {
    default: 'the router decides, with the mean hint',
    identify: 'the router decides, with an estimated hint',
    merge: 'one expert decides, merged again in each slot',
};
const SIZE = 260, TRAIL = 12;

export class MergePanel {
    #daemon;
    #seen = '';
    #load;

    /** @param {import('./daemon.js').Daemon} daemon */
    constructor(daemon) {
        this.#daemon = daemon;
        this.slots = new Chart($('chart-slots'), { label: 'reward of the slots', x: 'slot', digits: 3, series: [
            { name: 'actual', colour: '--abrd', step: true },
            { name: 'expected', colour: '--ink-3', dash: [4, 3], step: true }] });
        this.#load = paced(() => this.#fetch(), 1000);
    }

    forget() { this.#seen = ''; }

    show(s) {
        const u = s.untagged;
        text($('merge-mode'), MODES[u.mode]);
        bars($('merge-weights'), u.experts, u.weights, k => sample('abrd_merge_weight', { expert: k }));
        bars($('merge-mix'), u.tasks, u.mix, v => sample('abrd_untagged_mix', { profile: u.tasks[v] }));
        this.stats = u;
        const now = `${u.mode} ${u.slots} ${u.weights.join()}`;
        if (now !== this.#seen) this.#load();
        this.#seen = now;
        this.#facts();
    }

    #facts() {
        const { stats: u, view: v } = this;
        const facts = [['sessions', u.sessions, 'abrd_untagged_sessions_total'], ['slots', u.slots, 'abrd_slots_total']];
        if (u.weights.length) facts.push(['expected', u.expected, 'abrd_merge_expected', 3]);
        if (u.weights.length && v?.nodes) {
            const leaves = v.nodes.filter(n => n.leaf && n.active);
            facts.push(['nodes', v.nodes.length, 'abrd_merge_tree_nodes'], ['leaves', leaves.length, 'abrd_merge_tree_leaves'],
                ['depth', Math.max(...leaves.map(n => n.depth)), 'abrd_merge_tree_depth']);
        }
        const exam = v?.exam;
        if (exam && u.weights.length) {
            facts.push(['largest loss', exam.loss, 'abrd_merge_exam_loss', 3], ['share of the learned merge', exam.merge_share, sample('abrd_untagged_served_share', { served: 'merge' }), 2]);
            if (exam.kept_slots) facts.push(['slots kept', exam.kept_slots, 'abrd_merge_kept_total']);
        }
        const spans = rows($('merge-facts'), facts.map(([name]) => name), name => el('span', {}, `${name} `, el('b')));
        facts.forEach(([, value, name, digits], i) => metric(spans[i].lastChild, value, { metric: name, digits }));
        text($('merge-known'), u.known ? 'as estimated' : 'not known yet');
    }

    async #fetch() {
        const view = await this.#daemon.get('/v1/untagged');
        if (!view) return;
        this.view = view;
        if (!view.nodes) {
            for (const id of ['simplex', 'tree']) $(id).replaceChildren(el('p', { class: 'note' }, 'no merge in this mode'));
            return;
        }
        $('simplex').replaceChildren(simplex(view));
        $('tree').replaceChildren(tree(view));
        this.slots.draw([view.slots.map(s => s.slot), view.slots.map(s => s.reward), view.slots.map(s => s.expected)]);
        this.#facts();
    }
}

/** One bar per share. */
function bars(list, names, shares, name) {
    const lines = rows(list, names, label => el('li', {}, el('span', {}, label),
        el('span', { class: 'bar' }, el('b')), el('span')));
    shares.forEach((share, i) => {
        const [, bar, value] = lines[i].children;
        bar.firstChild.style.width = `${(100 * share).toFixed(1)}%`;
        metric(value, share, { metric: name(i), digits: 0, scale: 100, unit: '%' });
    });
}

const weights = (names, x) => x.map((w, k) => [w, names[k]]).filter(([w]) => w > 0.005)
    .sort((a, b) => b[0] - a[0]).map(([w, name]) => `${name} ${number(100 * w)} %`).join(', ');

/** The simplex of the experts in the plane: leaves, the last slots and the current one. */
function simplex({ experts, nodes, chosen, slots, weights: now }) {
    const c = SIZE / 2, r = SIZE * (experts.length === 4 ? 0.5 : 0.4);
    const at = x => onPlane(x).map(v => c + r * v);
    const corners = experts.map((_, k) => at(experts.map((__, i) => Number(i === k))));
    const picture = svg('svg', { viewBox: `0 0 ${SIZE} ${SIZE}`, role: 'img',
        'aria-label': `merged now: ${weights(experts, now)}` });
    for (let a = 0; a < corners.length; a++)
        for (let b = a + 1; b < corners.length; b++) {
            const [[x1, y1], [x2, y2]] = [corners[a], corners[b]];
            picture.append(svg('line', { x1, y1, x2, y2, class: 'edge' }));
        }
    const leaves = nodes.filter(n => n.leaf && n.active), most = Math.max(1, ...leaves.map(n => n.visits));
    for (const n of leaves.sort((p, q) => q.visits - p.visits)) {
        const [cx, cy] = at(n.x);
        picture.append(svg('circle', { cx, cy, r: 1.5 + 6 * Math.sqrt(n.visits / most), class: 'leaf' },
            svg('title', {}, `${weights(experts, n.x)}: visited ${number(n.visits)} times`)));
    }
    const trail = [...slots.slice(-TRAIL).map(s => s.x), now].map(at);
    if (trail.length > 1)
        picture.append(svg('polyline', { points: trail.map(p => p.map(v => v.toFixed(1)).join()).join(' '), class: 'trail' }));
    const [cx, cy] = at(now);
    picture.append(svg('circle', { cx, cy, r: 6, class: 'now' },
        svg('title', {}, `now: ${weights(experts, now)}${chosen >= 0 ? `, node ${chosen}` : ''}`)));
    corners.forEach(([x, y], k) => {
        const side = x < c - 20 ? 'start' : x > c + 20 ? 'end' : 'middle';
        picture.append(svg('text', { x: { start: 4, end: SIZE - 4, middle: c }[side], y: y < c ? y - 12 : y + 20,
            'text-anchor': side }, experts[k]));
    });
    return picture;
}

/** Root at the top, leaves at the bottom. Darker nodes have more visits; the path to the choice is framed. */
function tree({ experts, nodes, chosen }) {
    const width = 520, height = SIZE, place = icicle(nodes);
    const depth = Math.max(...nodes.map(n => n.depth)) + 1, row = height / depth;
    const most = Math.log1p(Math.max(1, ...nodes.map(n => n.visits)));
    const way = new Set();
    for (let i = chosen; i >= 0; i = nodes[i].parent) way.add(i);
    const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img',
        'aria-label': `${nodes.length} nodes, ${depth} levels` + (chosen >= 0 ? `; the choice is at depth ${nodes[chosen].depth}` : '') });
    const rect = (n, i) => svg('rect', {
        x: (width * place[i].from).toFixed(2), y: (row * n.depth).toFixed(2),
        width: (width * (place[i].to - place[i].from)).toFixed(2), height: row.toFixed(2),
        class: way.has(i) ? 'way' : n.active ? 'node' : 'node dead',
        'fill-opacity': way.has(i) ? 1 : (0.08 + 0.82 * Math.log1p(n.visits) / most).toFixed(2),
    }, svg('title', {}, n.active ? `depth ${n.depth}, visited ${number(n.visits)} times: ${weights(experts, n.x)}` :
        `depth ${n.depth}: outside the simplex`));
    nodes.forEach((n, i) => picture.append(rect(n, i)));
    return picture;
}
