/**
 * main.js - the dashboard: what the daemon tells once a second goes to every part of the page.
 *
 * Address: ?server=http://other:8080 (which must allow this origin), ?session=ID.
 *
 * @module dashboard/main
 */
import { Daemon } from './daemon.js';
import { $, text } from './dom.js';
import { LearnerPanel } from './learner.js';
import { MergePanel } from './merge.js';
import { Overview } from './overview.js';
import { Series } from './series.js';
import { SessionPanel } from './session.js';

const daemon = new Daemon(new URLSearchParams(location.search).get('server') ?? '');
const series = new Series();
const overview = new Overview(), session = new SessionPanel(daemon);
const learner = new LearnerPanel(daemon), merge = new MergePanel(daemon);
let before = null;

function reachable(up, line) {
    $('daemon-line').dataset.up = up ? 'yes' : 'no';
    $('main').dataset.stale = up ? 'no' : 'yes';
    text($('daemon-line'), line);
}

/** What the figures are shown in: what quality is worth to each profile, and who the experts are. */
async function frame() {
    const [told, policy] = await Promise.all([daemon.get('/v1/profiles'), daemon.get('/v1/policy')]);
    for (const p of told?.profiles ?? []) overview.units[p.name] = p.qoe.mu[0];
    overview.experts = policy?.actor.experts ?? overview.experts;
}

daemon.addEventListener('stats', async ({ detail: s }) => {
    // counts that fell, or a silence in between, may be those of another process
    if (before && (s.decisions < before.decisions || s.sessions_opened < before.sessions_opened ||
        $('main').dataset.stale === 'yes')) {
        learner.forget();
        merge.forget();
    }
    if (!before || s.profiles.length !== before.profiles.length) await frame();
    before = s;
    series.add(s.at, s); // by the daemon's clock: a page may be late
    overview.show(series, s);
    learner.show(s);
    merge.show(s);
    session.tick();
    reachable(true, s.draining ? 'the daemon is stopping' : !s.store_ok ? 'the store refuses writes' :
        `policy version ${s.policy}${s.learning ? ', learning' : ', not learning'}`);
});
daemon.addEventListener('gone', () => reachable(false, 'the daemon does not answer; looking for it'));
daemon.open();

/** for the curious, and for tests */
window.dashboard = { series, session, learner, merge };
