/**
 * main.js - the dashboard: passes the daemon's events to the parts of the page.
 *
 * It is two pages: operations, and ?page=learner. Both read the same events.
 *
 * Other parameters of the address: ?server=http://other:8080 (it must allow this origin), ?session=ID.
 *
 * @module dashboard/main
 */
import { $, reachable } from '../page.js';
import { Daemon, paced } from './daemon.js';
import { ErrorPanel } from './errors.js';
import { LearnerPanel } from './learner.js';
import { MergePanel } from './merge.js';
import { Overview } from './overview.js';
import { Series } from './series.js';
import { SessionPanel } from './session.js';

const daemon = new Daemon(new URLSearchParams(location.search).get('server') ?? '');
const series = new Series();
const overview = new Overview(), session = new SessionPanel(daemon);
const errors = new ErrorPanel(daemon), learner = new LearnerPanel(daemon), merge = new MergePanel(daemon);
const FRAME_MS = 10000;
const view = new URLSearchParams(location.search).get('page') === 'learner' ? 'learner' : 'operations';
let first = true;

/** Shows the sections of this page; its links keep the server, the session and the token. */
function choose() {
    document.body.dataset.view = view;
    for (const a of document.querySelectorAll('nav a[data-view]')) {
        if (a.dataset.view === view) a.setAttribute('aria-current', 'page');
        const url = new URL(location.href);
        if (a.dataset.view === 'learner') url.searchParams.set('page', 'learner'); else url.searchParams.delete('page');
        a.href = url.href;
    }
    document.title = `abrd ${view}`;
}
choose();

function show(up, line) {
    reachable(up, line);
    $('main').dataset.stale = up ? 'no' : 'yes';
}

/**
 * The weight of quality of each profile, and the number of experts. Profiles change at any time without
 * an event, so they are read again every ten seconds.
 */
const frame = paced(async () => {
    const [told, policy] = await Promise.all([daemon.get('/v1/profiles'), daemon.get('/v1/policy')]);
    if (told) overview.units = Object.fromEntries(told.profiles.map(p => [p.name, p.qoe.mu?.[0] ?? 1]));
    overview.experts = policy?.actor.experts ?? overview.experts;
}, FRAME_MS);

daemon.addEventListener('open', () => {
    learner.forget();
    merge.forget();
});
daemon.addEventListener('stats', async ({ detail: s }) => {
    const framed = frame(), wait = first;
    first = false;
    if (wait) await framed;
    s.labels = errors.labels;
    series.add(s.at, s); // by the daemon's clock: the page may receive it late
    overview.show(series, s);
    learner.show(s);
    merge.show(s);
    session.tick();
    errors.show();
    show(true, s.draining ? 'the daemon is stopping' : !s.store_ok ? 'the store refuses writes' :
        `policy version ${s.policy}${s.learning ? ', learning' : ', not learning'}`);
});
daemon.addEventListener('gone', () => show(false, 'the daemon does not answer; reconnecting'));
daemon.open();

for (const id of ['by', 'range'])
    $(id).addEventListener('change', () => { if (series.readings.length) overview.show(series, series.readings.at(-1).s); });

/** For the console of the browser, and for the tests. */
window.dashboard = { series, overview, session, learner, merge };
