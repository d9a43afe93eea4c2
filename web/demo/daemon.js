/**
 * daemon.js - the daemon's statistics, which it sends once per second (server-sent events).
 *
 * @module demo/daemon
 */
import { $, reachable } from '../page.js';
import { expertClass } from './view.js';

const LOG_LINES = 20;

function log(text) {
    const line = document.createElement('li');
    line.textContent = `${new Date().toLocaleTimeString()}  ${text}`;
    $('log').prepend(line);
    while ($('log').children.length > LOG_LINES) $('log').lastChild.remove();
}

/** Logs the important changes between two reports. */
function compare(before, s) {
    if (!before) return;
    const a = before.learner, b = s.learner;
    if (b.rollbacks > a.rollbacks) log('an update failed the safety check and was rolled back');
    if (s.policy !== before.policy)
        log(`policy version ${s.policy} is in use, after ${b.updates} updates from ${b.steps} chunks`);
    if (s.store_errors > before.store_errors) log('the store refused a write');
}

/** A row per profile with added experts. */
function showGrown(grown) {
    $('grown').hidden = !grown.length;
    $('grown-rows').replaceChildren(...grown.map(g => {
        const row = document.createElement('tr');
        const cells = [g.name, `${g.experts} + ${g.frozen_experts}`, g.version,
            `${(100 * g.share).toFixed(0)} %`, g.learner.steps.toLocaleString('en'),
            `${g.base_score.toFixed(3)} \u2192 ${(g.learner.check_best || g.base_score).toFixed(3)}`];
        row.append(...cells.map(text => {
            const cell = document.createElement('td');
            cell.textContent = text;
            return cell;
        }));
        row.title = `added to policy version ${g.base_version}; gate: alpha ${g.alpha.toFixed(3)}, tau ${g.tau.toFixed(3)}; ` +
            `${g.learner.updates} updates, ${g.learner.rollbacks} rolled back`;
        return row;
    }));
}

/** The state of a network's router, in words. */
function router(name, g, learning) {
    const state = g.latched ? 'has stopped' :
        !learning ? 'does not learn' : g.converged ? `learns, ${g.converged} converged` : 'learns';
    return `${name}\u2019s router ${state}` +
        (g.busy.length ? `, without expert ${g.busy.join(' and ')}` : '');
}

function showRouters(g, learning) {
    $('routers').textContent = g ? [
        router('actor', g.actor, learning), router('critic', g.critic, learning),
        g.routed && `${(1000 * g.rerouted / g.routed).toFixed(1)} of 1000 states changed their expert in the last update`,
    ].filter(Boolean).join(' \u00b7 ') : '';
}

const MODES = { default: 'the mean hint', identify: 'a guessed profile', merge: 'merged experts' };

/** One bar per share; classes colour them. */
function showBars(id, names, shares, classes) {
    $(id).replaceChildren(...shares.map((share, i) => {
        const row = document.createElement('li'), bar = document.createElement('span');
        const fill = document.createElement('b');
        fill.style.width = `${(100 * share).toFixed(1)}%`;
        if (classes) fill.className = classes(i);
        bar.className = 'bar';
        bar.append(fill);
        const label = document.createElement('span'), value = document.createElement('span');
        label.textContent = names[i];
        value.textContent = `${(100 * share).toFixed(0)} %`;
        row.append(label, bar, value);
        return row;
    }));
}

/** Viewers without a hint: the estimated mix of profiles, and the merge that decides for them. */
function showUntagged(u) {
    $('untagged').hidden = !u.sessions;
    if (!u.sessions) return;
    $('untagged-line').textContent = [
        `viewers without a hint: ${u.sessions.toLocaleString('en')}, decided by ${MODES[u.mode]}`,
        `slot ${u.slots + 1}`,
        !u.known && 'mix not known yet',
        u.weights.length && `${u.leaves} leaves, depth ${u.depth}`,
        u.weights.length && u.slots && `last slot ${u.reward.toFixed(2)}`,
        u.accuracy !== null && `${(100 * u.accuracy).toFixed(0)} % of profiles guessed`,
    ].filter(Boolean).join(' · ');
    showBars('untagged-mix', u.tasks, u.mix);
    showBars('untagged-weights', u.experts, u.weights, expertClass);
}

function show(s) {
    const facts = {
        'policy version': s.policy, 'sessions now': s.sessions_live,
        decisions: s.decisions, 'chunks reported': s.rewards, 'not followed': s.not_followed,
        'chunks learned from': s.learner.steps, updates: s.learner.updates,
        'rolled back': s.learner.rollbacks,
    };
    $('daemon').replaceChildren(...Object.entries(facts).map(([name, value]) => {
        const box = document.createElement('div');
        const dt = document.createElement('dt'), dd = document.createElement('dd');
        dt.textContent = name;
        dd.textContent = Number(value).toLocaleString('en');
        box.append(dt, dd);
        return box;
    }));
    $('daemon-learns').textContent = s.learning ? 'learns from sessions that explore' : 'does not learn';

    showUntagged(s.untagged);
    showGrown(s.grown);
    showRouters(s.gates, s.learning);

    const total = s.expert_decisions.reduce((x, y) => x + y, 0);
    $('shares').replaceChildren(...s.expert_decisions.map((n, k) => {
        const part = document.createElement('span');
        part.className = expertClass(k);
        part.style.width = `${100 * n / (total || 1)}%`;
        return part;
    }));
    $('shares-key').replaceChildren(...s.expert_decisions.flatMap((n, k) => {
        const mark = document.createElement('i');
        mark.className = expertClass(k);
        return [mark, `${k}: ${n.toLocaleString('en')} `];
    }));
}

export function watchDaemon(server) {
    let before = null;
    const events = new EventSource(`${server}/v1/events?only=stats`);
    events.addEventListener('stats', e => {
        const s = JSON.parse(e.data);
        if (before && $('daemon-line').dataset.up === 'no') {
            log('the daemon is back');
            before = null; // its counters may have restarted
        }
        compare(before, s);
        before = s;
        show(s);
        reachable(true, s.draining ? 'the daemon is stopping' : `daemon: policy version ${s.policy}`);
    });
    events.onerror = () => {
        if ($('daemon-line').dataset.up === 'yes') log('the daemon does not answer; reconnecting');
        reachable(false, 'the daemon does not answer');
        // EventSource reconnects after a lost connection, but not after a refusal
        if (events.readyState === EventSource.CLOSED) setTimeout(() => watchDaemon(server), 3000);
    };
}
