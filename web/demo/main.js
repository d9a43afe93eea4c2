/**
 * main.js - the demo page: one player twice, by its own rules and with abrd, on two equal links.
 *
 * Parameters of the address: ?link=lte&player=hlsjs&profile=live&seed=3&do=cut@12.3 (what "Share this run"
 * writes), buffer=24, explore=1, mpd=URL, autoplay=0, rate=4, solo=1 (without the left player), server=URL,
 * timeout=MS.
 *
 * @module demo/main
 */
import { readManifest } from '../lib/manifest.js';
import { $ } from '../page.js';
import { Charts } from './charts.js';
import { watchDaemon } from './daemon.js';
import { install } from './gate.js';
import { KINDS, begin, prepare as load } from './players.js';
import { Recording, inCommon } from './record.js';
import { CUT_S, changes, factorAt, isGone, read, write } from './script.js';
import { verdict } from './verdict.js';
import { showDecision, showOwn, showStrip, showTiles, showVerdict, showWait, showWho } from './view.js';

const SAMPLE_MS = 250, CLOCK_MS = 100, RATE_S = 0.4; // RATE_S: until the first chunk's rate is known
const STRETCH_S = 37; // seed n begins n times that later in the trace
const SOON_S = 0.15, FILM_MS = 2000;

/** Traces that stand for what viewers have; other links follow in the list. */
const LINKS = {
    'broadband-07': 'slow 3G: 0.4 to 0.5 Mbit/s', '3g-commute-03': 'varying 3G: 0.2 to 2 Mbit/s',
    'lte-02': 'LTE: 1.3 to 5 Mbit/s', 'broadband-04': 'broadband: 5 to 6 Mbit/s',
};
/** The hint of the demo's manifest (tools/make-media.sh). */
const HINT = 'documentary';
const WEIGHTS = ['quality', 'switches', 'stalls', 'startup'];

const query = new URLSearchParams(location.search);
const server = query.get('server') ?? '';
const speed = Number(query.get('rate')) || 1;
const solo = query.get('solo') === '1';
const timeoutMs = Number(query.get('timeout')) || undefined;

/** One of the two players. */
class Side {
    recording = new Recording();
    offset = 0;     // time on the link's clock = t + offset
    run = null;     // of players.js
    over = false;
    settled = true; // false after a seek: what it takes is no stall
    error = '';
    first_s = NaN;  // time of the first byte of the first chunk

    constructor(side) {
        this.side = side;
        this.video = $(side === 'own' ? 'own-video' : 'video');
        this.video.addEventListener('playing', () => {
            if (this.video.playbackRate !== speed) this.video.playbackRate = speed;
            this.settled = true;
        });
        this.video.addEventListener('seeking', () => { this.settled = this.recording.start.to === null; });
        this.video.addEventListener('ended', () => ended(this));
    }

    clear() {
        Object.assign(this, { recording: new Recording(), run: null, over: false, settled: true, error: '', first_s: NaN });
    }
}

const abrd = new Side('abrd'), own = new Side('own'), sides = solo ? [abrd] : [own, abrd];

let run = null;     // {t0, kind, name, base, actions, stamp}; null: nothing plays
let last = null;    // the run before, for Replay and Share
let table = null;   // points of the film's chunks: kbps -> [points]
let means = new Map(); // what each profile means, by name
let names = { own: 'own rules', abrd: 'abrd' };

const now = () => (run ? (performance.now() - run.t0) / 1000 : 0);
/** Time on the clock of the links. */
const linkNow = () => now() + abrd.offset;
const actions = () => run?.actions ?? [];

install(() => run !== null && isGone(linkNow(), actions()));

/** What the charts draw. */
function story() {
    const t = abrd.recording.samples.t.at(-1) ?? 0, shift = a => a - abrd.offset;
    const away = [];
    for (const { kind, at } of actions()) {
        if (kind === 'gone' && away.at(-1)?.[1] !== null) away.push([shift(at), null]);
        if (kind === 'back' && away.at(-1)?.[1] === null) away.at(-1)[1] = shift(at);
    }
    return { now: t, sides, names, away: away.filter(([from]) => from <= t),
        cuts: actions().filter(a => a.kind === 'cut').map(a => [shift(a.at), shift(a.at) + CUT_S]) };
}
const charts = new Charts(story);

/** The option `profile` of attach() for `#profile`: undefined is the manifest's hint, null no hint. */
function chosenProfile() {
    const value = $('profile').value;
    if (value === 'mpd') return undefined;
    if (value === 'none') return null;
    if (value !== 'custom') return value;
    return { weights: Object.fromEntries(WEIGHTS.map(name => [name, Number($(`weight-${name}`).value)])) };
}

const chosen = () => ({ link: $('link').value, player: $('player').value, profile: $('profile').value,
    seed: Number($('seed').value) || 0, buffer: $('buffer').value, explore: $('explore').checked,
    mpd: $('mpd').value.trim() });

const linkUrl = side => `${run.base}-${side}/link.json`;

/** Gives both links the same changes; their answers have the trace and the clocks. */
function putLinks() {
    const body = JSON.stringify({ from_s: STRETCH_S * run.chosen.seed, ...changes(run.actions) });
    return Promise.all(sides.map(async ({ side }) => {
        const asked = performance.now();
        const answer = await fetch(linkUrl(side), { method: 'PUT', body });
        if (!answer.ok) throw new Error((await answer.json()).error);
        return { link: await answer.json(), asked, got: performance.now() };
    }));
}

/** Points of a chunk of the film. */
const pointsOf = (chunk, kbps) => table?.get(kbps)?.[chunk] ?? null;

/** @param {import('./script.js').Action[]} planned what happens by itself */
async function start(planned = []) {
    stop();
    for (const s of sides) s.clear();
    const c = chosen(), { name, manifest } = KINDS[c.player], stamp = {};
    const viewer = [...crypto.getRandomValues(new Uint8Array(6))].map(b => b.toString(16).padStart(2, '0')).join('');
    run = { t0: performance.now(), stamp, kind: c.player, name, chosen: c, actions: c.mpd ? [] : [...planned], ended: false,
        base: c.mpd ? null : new URL(`demo/${c.link}/${viewer}`, document.baseURI).href };
    notice('');
    names = { own: `${name}, own rules`, abrd: `${name} with abrd` };
    charts.reset();
    showDecision(null, abrd.recording);
    $('share-url').hidden = true;
    begun();
    show();
    try {
        await load(c.player);
        if (run?.stamp !== stamp) return;
        describe(c);
        if (run.base) await connect();
        if (run?.stamp !== stamp) return;
        await Promise.all(sides.map(s => play(s, c, c.mpd || `${run.base}-${s.side}/${manifest}`)));
    } catch (e) {
        if (run?.stamp !== stamp) return;
        notice(e.message);
        stop();
    }
}

/** Creates both links; their clocks begin now. */
async function connect() {
    const answers = await putLinks();
    run.t0 = performance.now();
    answers.forEach(({ link, asked, got }, i) => {
        const s = sides[i], { recording } = s;
        s.offset = link.now_s + (run.t0 - (asked + got) / 2) / 1000;
        recording.link = { ...link, offset: s.offset };
        recording.factor = t => factorAt(t, changes(actions()));
    });
}

async function play(s, c, url) {
    const mine = run, { recording } = s, isAbrd = s.side === 'abrd', alive = () => run === mine;
    recording.quality = c.mpd ? null : pointsOf;
    const on = {
        ladder: (kbps, chunkS) => recording.describe(kbps, chunkS),
        session: x => recording.open(x),
        decision: a => { recording.decision(a); showDecision(a, recording); },
        request: r => {
            if (!alive()) return;
            s.over = false; // a seek back after the end
            if (run.ended) begun();
            recording.request(now(), r);
            show();
        },
        chunk: o => {
            if (!alive()) return;
            recording.arrival(now(), o);
            $('csv').disabled = !abrd.recording.arrived().length;
            show();
        },
        state: show,
        stall: begins => { if (alive() && (!begins || s.settled)) recording.stall(now(), begins); },
        error: words => { s.error = `${run?.name ?? 'the player'} has stopped: ${words}`; show(); },
    };
    const player = await begin(c.player, { video: s.video, url, on, bufferS: Number(c.buffer) || null,
        options: isAbrd ? { server, profile: chosenProfile(), contentId: c.mpd ? undefined : 'demo', timeoutMs,
            ...(c.buffer && { bufferS: Number(c.buffer) }), ...(!c.explore && { explore: false }),
            // a playlist cannot state the quality of its chunks
            ...(c.player === 'hlsjs' && table && !c.mpd && { quality: (chunk, ladder) => ladder.map(k => pointsOf(chunk, k)) }),
        } : null });
    if (alive()) s.run = player; else player.stop();
}

function begun() {
    run.ended = false;
    clearInterval(run.timer);
    clearInterval(run.clock);
    run.timer = setInterval(tick, SAMPLE_MS);
    run.clock = setInterval(awaited, CLOCK_MS);
    $('start').textContent = 'Start again';
    buttons();
}

/** Which buttons there are to press. */
function buttons() {
    const playing = run !== null && !run.ended, ours = playing && run.base !== null;
    $('stop').disabled = !playing;
    for (const id of ['cut', 'halve', 'rate']) $(id).disabled = !ours;
    $('kill').disabled = !playing;
    const past = run ?? last; // a stopped run can still be played again
    $('replay').disabled = !past?.base || !past.actions.length;
    $('share').disabled = !past?.base;
    const gone = isGone(linkNow(), actions());
    $('kill').textContent = gone ? 'Restart the daemon' : 'Kill the daemon';
    $('kill').dataset.gone = gone ? 'yes' : 'no';
    const rate = run ? actions().findLast(a => a.kind === 'rate' && a.at <= linkNow())?.rate ?? 1 : 1;
    const words = `${Math.round(100 * rate)} %`;
    if ($('rate-value').textContent !== words) $('rate-value').textContent = words;
    if (document.activeElement !== $('rate')) $('rate').value = Math.log2(rate);
}

/** Something that the visitor does; it reaches both links at the same time on their clocks. */
function act(kind, rate) {
    const at = Math.round(100 * (linkNow() + (/gone|back/.test(kind) ? 0 : SOON_S))) / 100;
    run.actions = [...run.actions, { at, kind, ...(rate && { rate: Math.round(100 * rate) / 100 }) }];
    if (run.base && !/gone|back/.test(kind)) putLinks().catch(e => notice(e.message));
    buttons();
    charts.draw();
}

const halve = () => act('rate', Math.max((actions().findLast(a => a.kind === 'rate')?.rate ?? 1) / 2, 0.05));
const kill = () => act(isGone(linkNow(), actions()) ? 'back' : 'gone');

/** The address that plays this run again. */
function address() {
    const { chosen: { link, player, profile, seed, buffer, explore }, actions: done } = run ?? last;
    const all = { link, player, profile, seed, ...(buffer && { buffer }), ...(explore && { explore: 1 }),
        ...(done.length && { do: write(done) }) };
    const text = Object.entries(all).map(([k, v]) => `${k}=${encodeURIComponent(v).replace(/%2C/g, ',').replace(/%40/g, '@')}`).join('&');
    return new URL(`?${text}`, document.baseURI).href;
}

async function share() {
    const field = $('share-url');
    field.value = address();
    field.hidden = false;
    field.focus();
    field.select();
    const copied = await navigator.clipboard?.writeText(field.value).then(() => true, () => false);
    $('share').textContent = copied ? 'Copied' : 'Share this run';
    setTimeout(() => { $('share').textContent = 'Share this run'; }, 2000);
}

/** Seconds of video after the playhead. */
function bufferOf({ buffered, currentTime: t }) {
    for (let i = 0; i < buffered.length; i++)
        if (buffered.start(i) <= t + 0.3 && t < buffered.end(i)) return buffered.end(i) - t;
    return 0;
}

function tick() {
    const t = now();
    for (const s of sides) {
        const { recording, video, over } = s;
        // the end may come without its event
        if (!over && video.duration > 0 && video.currentTime >= video.duration - 0.05) ended(s);
        const shown = recording.onScreen(video.currentTime);
        recording.sample(t, over ? NaN : bufferOf(video), over ? null : shown, video.currentTime, speed);
        showTiles(s.side, recording, shown);
    }
    judge();
    buttons();
    charts.draw();
}

function judge() {
    const begun = run || own.recording.chunks.length;
    showVerdict(begun && !solo ? compared() : { winner: null, lead: '', text: begun ? '' : 'Press Start.' },
        !run || run.ended);
}

/** Quality is compared over the chunks that both have shown. */
function compared() {
    const [a, b] = inCommon(own.recording, abrd.recording);
    return verdict(names.own.split(',')[0], { ...own.recording.seen(), points: a }, { ...abrd.recording.seen(), points: b });
}

/** While no picture moves: how long it has taken, and how long the first one still takes. */
function awaited() {
    const t = now();
    for (const s of sides) {
        const { recording: r, video } = s, waits = r.start.to === null ? r.start : r.stalls.at(-1);
        if (s.over || s.error || !waits || waits.to !== null || (video.paused && waits !== r.start)) {
            showWait(s.side, null);
            continue;
        }
        const [done, all] = s.run?.progress() ?? [0, 0];
        if (done > 0 && isNaN(s.first_s)) s.first_s = t;
        const took = t - s.first_s, known = waits === r.start && took >= RATE_S && all > 0;
        showWait(s.side, { waited_s: t - waits.from, left_s: known ? took * (all - done) / done : NaN,
            first: waits === r.start });
    }
}

function show() {
    const handle = abrd.run?.abrd, state = handle?.state ?? { mode: 'idle', reason: '' };
    const over = abrd.over && abrd.recording.chunks.length > 0;
    showWho(abrd.error ? { mode: 'idle', reason: abrd.error } : over ? { mode: 'over' } : state, abrd.recording,
        run !== null, run?.name);
    const name = run?.name ?? KINDS[$('player').value].name;
    showOwn(`${name}, own rules`, own.error || (own.over ? 'played to the end' : `no plugin, settings as they come${
        run?.chosen.buffer ? `, ${run.chosen.buffer} s of buffer` : ''}`), own.error ? 'error' : 'own');
    for (const s of sides) showTiles(s.side, s.recording);
    showStrip(abrd.recording);
}

function ended(s) {
    const { video } = s;
    if (!run || !(video.currentTime >= video.duration - 1)) return; // the event may come early
    s.over = true;
    showWait(s.side, null);
    if (sides.every(x => x.over)) {
        clearInterval(run.timer);
        clearInterval(run.clock);
        run.ended = true;
        buttons();
        charts.draw();
        judge();
    }
    show();
}

function stop() {
    if (!run) return;
    const old = run;
    clearInterval(old.timer);
    clearInterval(old.clock);
    run = null;
    for (const s of sides) {
        showWait(s.side, null);
        s.run?.stop();
        s.run = null;
    }
    last = old;
    judge();
    buttons();
    show();
}

function reset() {
    stop();
    last = null;
    buttons();
    for (const s of sides) s.clear();
    names = { own: 'own rules', abrd: 'abrd' };
    charts.reset();
    showDecision(null, abrd.recording);
    $('csv').disabled = true;
    $('start').textContent = 'Start';
    judge();
    show();
}

function save() {
    const a = document.createElement('a');
    a.href = URL.createObjectURL(new Blob([abrd.recording.csv()], { type: 'text/csv' }));
    a.download = `abrd-${abrd.recording.session?.session ?? 'session'}.csv`;
    a.click();
    URL.revokeObjectURL(a.href);
}

function notice(text) {
    $('notice').textContent = text;
    $('notice').hidden = !text;
}

/** A group of a select; entries: [value, text] of each. */
function group(label, entries) {
    const e = document.createElement('optgroup');
    e.label = label;
    e.append(...entries.map(([value, text]) => new Option(text, value)));
    return e;
}

/** What the chosen profile means, in the daemon's words. */
function explain() {
    const { value } = $('profile');
    $('weights').hidden = value !== 'custom';
    if (value === 'custom') $('more').open = true;
    $('means').textContent = means.get(value === 'mpd' ? HINT : value) ??
        (value === 'custom' ? 'Weights relative to the profile standard.' : '');
    $('means').hidden = !$('means').textContent;
}

/** The card that says what is compared. */
function describe({ player, buffer, mpd }) {
    const { name, version, buffer: usual } = KINDS[player];
    const b = s => (buffer ? `${buffer} s` : s);
    $('fine-own').textContent = `Left: ${name} ${version()} without any plugin. All settings are its defaults, ` +
        `so its buffer is ${b(usual)}. ${player === 'dashjs' ? 'Two exceptions, on both sides: a request waits up to 120 s, and nothing is remembered from earlier runs.' :
            player === 'shaka' ? 'Two exceptions, on both sides: dropped pictures change no level, and after a network error the page tries again.' :
                'One exception, on both sides: after a network error the page tries again.'}`;
    $('fine-abrd').textContent = `Right: the same ${name} with abrd's plugin and its defaults, so its buffer is ${b('60 s')}. ` +
        `The session ${$('explore').checked ? 'may explore' : 'does not explore'}.` +
        (mpd ? ' Both load from the server of your manifest over your own connection, which they share.' : '');
}

/** The profiles of the daemon: the product's, in the page's order, its own ones, then those of the papers. */
function fillProfiles({ profiles = [] } = {}) {
    const select = $('profile'), known = new Set([...select.options].map(o => o.value));
    means = new Map(profiles.map(p => [p.name, p.means]).filter(([, text]) => text));
    const more = profiles.filter(p => !known.has(p.name)), isPaper = p => p.builtin && p.qoe.utility !== 'points';
    const entries = list => list.map(p => [p.name, p.help ? `${p.name}: ${p.help}` : p.name]);
    const theirs = more.filter(p => !isPaper(p)), papers = more.filter(isPaper);
    if (theirs.length) select.append(group('profiles of this daemon', entries(theirs)));
    if (papers.length) select.append(group('of the papers, in Mbit/s', entries(papers)));
    for (const o of select.options) o.title = means.get(o.value) ?? '';
}

function choose(id, value) {
    if (value === null) return;
    $(id).value = value;
    if (!$(id).value) $(id).selectedIndex = 0;
}

const readLinks = () => fetch('demo/links').then(r => r.ok ? r.json() : null, () => null);

/** The points of the film's chunks, from its manifest. */
async function readTable() {
    const url = new URL('demo/unlimited/page/manifest.mpd', document.baseURI).href;
    const text = await fetch(url).then(r => r.ok ? r.text() : '', () => '');
    const levels = text ? readManifest(text, url).periods[0]?.levels ?? [] : [];
    table = levels.length && levels.every(l => l.quality) ?
        new Map(levels.map(l => [l.kbps, l.quality])) : null;
}

/** Fills the selects; returns whether there is something to play. */
async function prepare() {
    if (!window.uPlot) {
        notice('The libraries of this page are not installed.\nRun `make web`, then reload this page.');
        return false;
    }
    let links = await readLinks();
    if (!links) {
        notice('The daemon that serves this page has no demo links.');
        return false;
    }
    const four = Object.entries(LINKS).filter(([name]) => links.traces.includes(name));
    const others = list => list.filter(name => !four.some(([n]) => n === name)).map(name => [name, name]);
    if (four.length) $('link').append(group('links', four));
    $('link').append(group('generated', others(links.kinds)));
    if (links.traces.length) $('link').append(group('traces', others(links.traces)));
    choose('link', query.get('link') ?? 'lte-02');
    choose('player', query.get('player'));
    choose('buffer', query.get('buffer') ?? '');
    $('seed').value = Number(query.get('seed')) || 0;
    $('mpd').value = query.get('mpd') ?? '';
    $('explore').checked = query.get('explore') === '1';

    fillProfiles(await fetch(`${server}/v1/profiles`).then(r => r.ok ? r.json() : undefined, () => undefined));
    choose('profile', query.get('profile') ?? 'mpd');
    explain();

    while (links && !links.media && !$('mpd').value) {
        notice('The film is not there yet.\n`make run` encodes it in the background, which takes a minute; this page then starts by itself.\n' +
            'Without make: `sh share/doc/abrd/make-media.sh DIR`, then `abrd serve --media-dir DIR`.');
        await new Promise(done => setTimeout(done, FILM_MS));
        links = await readLinks() ?? links;
    }
    notice('');
    await load($('player').value).catch(() => {}); // start() says what is wrong
    await readTable();
    return true;
}

$('form').addEventListener('submit', e => { e.preventDefault(); start(); });
$('stop').addEventListener('click', stop);
$('reset').addEventListener('click', reset);
$('csv').addEventListener('click', save);
$('cut').addEventListener('click', () => act('cut'));
$('halve').addEventListener('click', halve);
$('rate').addEventListener('input', () => { $('rate-value').textContent = `${Math.round(100 * 2 ** $('rate').value)} %`; });
$('rate').addEventListener('change', () => { act('rate', 2 ** $('rate').value); $('rate').blur(); });
$('kill').addEventListener('click', kill);
$('replay').addEventListener('click', () => start((run ?? last)?.actions ?? []));
$('share').addEventListener('click', share);
$('profile').addEventListener('change', explain);
for (const id of ['link', 'profile', 'player', 'buffer'])
    $(id).addEventListener('change', () => { if (run && $('profile').value !== 'custom') start(); else show(); });

$('stage').dataset.solo = solo ? 'yes' : 'no';
watchDaemon(server);
show();
const playable = await prepare();
$('start').disabled = !playable;
if (!playable) showWho({ mode: 'idle', reason: 'no video to play' }, abrd.recording, false);
if (playable && query.get('autoplay') !== '0') start(read(query.get('do')));

/** For the console of the browser, and for the tests. */
window.demo = {
    get recording() { return abrd.recording; },
    get other() { return own.recording; },
    get abrd() { return abrd.run?.abrd ?? null; },
    get player() { return abrd.run?.player ?? null; },
    get actions() { return actions(); },
    get address() { return address(); },
    start, stop, reset, act, charts, links: LINKS, verdict: compared,
};
