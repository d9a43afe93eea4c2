/* Turns of the daemon's threads, what its operator does, and how it ends and begins again. */
#include "sim/world.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "serve/store/store_sqlite.h"

/* ---- turns ---- */

void turns_commit(struct world *w)
{
    struct err e = {0};
    uint64_t put = world_put(w), failed = w->disk.failures;
    w->in_store = true;
    int rc = service_commit(w->service, &e);
    w->in_store = false;
    world_note(w, "commit: %d", rc);
    world_mix(w, (uint64_t)rc, w->disk.written);
    if (w->doomed) return;
    w->out->counts.commits += !rc;
    if (rc && failed == w->disk.failures)
        world_finding(w, SIM_REFUSAL, "a commit failed without a reason: %s", e.detail);
    if (!rc && w->disk.written < put)
        world_finding(w, SIM_ONCE, "%llu of %llu records are durable after a commit",
                      (unsigned long long)w->disk.written, (unsigned long long)put);
}

void turns_learn(struct world *w)
{
    struct err e = {0};
    struct service_stats s;
    world_stats(&s, w);
    uint64_t failed = w->disk.failures;
    int failed_files = w->watch.failed;
    int rc = service_learn(w->service, &e);
    world_note(w, "learn: %d %s", rc, e.detail);
    world_mix(w, (uint64_t)rc, 2);
    if (w->doomed) return;
    w->out->counts.updates += rc == 1;
    /* a version that cannot be stored is not published, nor one whose file cannot be written */
    bool unstored = (rc == ERR_IO && (!s.store_ok || failed != w->disk.failures ||
                                      failed_files != w->watch.failed)) ||
                    (rc == ERR_FULL && s.store_queue + 8 > (uint64_t)w->sc.store_queue);
    if (rc < 0 && rc != ERR_NUMERIC && !unstored)
        world_finding(w, SIM_START, "the learner: code %d %s", rc, e.detail);
    check_version(w);
}

/* Is it still live? A question that is never allowed changes nothing. */
static bool lives(struct world *w, const struct model_session *s)
{
    struct question q = {.chunk = -1};
    struct answer a;
    int rc = service_ask(&a, w->service, w->worker[0], s->out.session, &q, NULL);
    if (rc == ERR_FULL || rc == ERR_IO) {
        w->disk.fail_writes = 0;
        turns_commit(w);
        rc = service_ask(&a, w->service, w->worker[0], s->out.session, &q, NULL);
    }
    return rc != ERR_ABSENT;
}

static void find_expired(struct world *w, uint64_t put, int n)
{
    for (int i = 0; i < w->sessions && n && !w->doomed; i++) {
        struct model_session *s = w->session[i];
        if (s->closed || s->forgotten || lives(w, s)) continue;
        n--;
        if (w->now - s->word <= w->sc.session_ttl_s)
            world_finding(w, SIM_BOUNDED, "%.6s is closed after %.3f s, not after %g",
                          s->out.session, w->now - s->word, w->sc.session_ttl_s);
        (void)!model_close(s, "", true, put);
        s->closed_at = w->now;
        w->count.closed++;
        check_end(w, s);
        w->count.expired++;
        w->out->counts.expired++;
    }
    if (n && !w->doomed)
        world_finding(w, SIM_COUNTS, "%d more sessions are counted as expired than have",
                      n);
}

static void check_idle(struct world *w, bool can_close)
{
    for (int i = 0; i < w->sessions; i++) {
        struct model_session *s = w->session[i];
        if (s->closed || s->forgotten) continue;
        double passed = fmax(w->now - (s->fresh ? s->word : w->tick_at), 0);
        /* after a jump the next tick may still be needed */
        s->idle_s = can_close ? s->idle_s + fmin(passed, w->sc.session_ttl_s) : 0;
        s->fresh = false;
        s->word = fmin(s->word, w->now);
        if (s->idle_s > 2 * w->sc.session_ttl_s + 1)
            world_finding(w, SIM_BOUNDED, "%.6s is silent for %.0f s and still live",
                          s->out.session, s->idle_s);
    }
    w->tick_at = w->now;
}

void turns_periodic(struct world *w)
{
    struct service_stats before, after;
    struct parts_stats begun, parts;
    world_stats(&before, w);
    parts_stats(&begun, w->service);
    if (w->cfg->broken != BREAK_EXPIRY) service_periodic(w->service);
    if (w->doomed) return;
    world_stats(&after, w);
    parts_stats(&parts, w->service);
    int n = (int)(after.sessions_expired - before.sessions_expired);
    w->out->counts.slots += parts.hintless.slots - begun.hintless.slots;
    world_note(w, "tick: %d expired, %llu slots", n,
               (unsigned long long)parts.hintless.slots);
    world_mix(w, (uint64_t)n, parts.hintless.slots);
    find_expired(w, world_put(w), n);
    if (w->doomed) return;
    check_mix(w);
    /* who falls silent waits while more than that is to be written (writer_pressed) */
    check_idle(w, after.store_ok && (int)after.store_queue <= w->sc.store_queue / 4);
}

/* ---- the operator ---- */

static void put_profile(struct world *w, struct world_profile *p)
{
    struct profile in = {.grow = world_chance(w, .35)};
    strcpy(in.name, p->name);
    in.qoe = (struct qoe){
        .mu_quality = 1, .mu_switch = world_below(w, 3), .mu_stall = world_below(w, 5)};
    bool sure = p->state != PROFILE_UNSURE, was = p->state == PROFILE_THERE;
    struct world_profile old = *p;
    p->state = PROFILE_UNSURE;
    struct err e = {0};
    int rc = service_profile_put(w->service, &in, &e);
    world_note(w, "put profile %s%s: %d %s", p->name, in.grow ? " to grow" : "", rc,
               e.detail);
    world_mix(w, (uint64_t)rc, 3);
    if (w->doomed) return;
    if (rc == ERR_CONFLICT) {
        *p = old;
        return;
    }
    if (rc < 0 && rc != ERR_IO && rc != ERR_FULL)
        world_finding(w, SIM_PROFILE, "put %s: code %d %s", p->name, rc, e.detail);
    if (rc >= 0 && sure && (rc == 0) != was)
        world_finding(w, SIM_PROFILE, "put %s: %s", p->name, rc ? "created" : "replaced");
    if (rc < 0) return;
    p->state = PROFILE_THERE;
    p->qoe = in.qoe;
    struct profile is;
    p->added = !service_profile_get(&is, w->service, p->name, NULL) && is.grow;
    if (in.grow && !p->added)
        world_finding(w, SIM_PROFILE, "%s was to grow and has not", p->name);
    w->out->counts.added += in.grow;
}

static void delete_profile(struct world *w, struct world_profile *p)
{
    struct world_profile old = *p;
    p->state = PROFILE_UNSURE;
    int rc = service_profile_delete(w->service, p->name, NULL);
    world_note(w, "delete profile %s: %d", p->name, rc);
    world_mix(w, (uint64_t)rc, 4);
    if (w->doomed) return;
    int want = old.state == PROFILE_THERE ? 0 : ERR_ABSENT;
    if (old.state != PROFILE_UNSURE && rc != want && rc != ERR_IO && rc != ERR_FULL)
        world_finding(w, SIM_PROFILE, "delete %s: code %d", p->name, rc);
    if (!rc || rc == ERR_ABSENT) {
        p->state = PROFILE_ABSENT;
        p->added = false;
    }
}

void turns_operator(struct world *w)
{
    struct world_profile *p = &w->profile[world_below(w, WORLD_PROFILES)];
    struct err e = {0};
    int rc;
    switch (world_below(w, 8)) {
    case 0:
    case 1:
        put_profile(w, p);
        return;
    case 2:
        delete_profile(w, p);
        return;
    case 3:
        rc = service_set_aside(w->service, world_chance(w, .3), world_below(w, 4),
                               world_below(w, 4), &e);
        world_note(w, "set aside: %d", rc);
        if (rc && rc != ERR_RANGE && rc != ERR_CONFLICT)
            world_finding(w, SIM_SESSION, "set aside: code %d", rc);
        return;
    case 4:
        rc = service_gate_reset(w->service, &e);
        if (rc) world_finding(w, SIM_SESSION, "reset of the gates: code %d", rc);
        return;
    default:
        for (int i = world_below(w, w->sessions + 1); i < w->sessions; i++)
            if (!w->session[i]->gone) {
                check_history(w, w->session[i]);
                return;
            }
    }
}

/* ---- what goes wrong ---- */

static void jump(struct world *w)
{
    static const double BY[] = {30, 600, 3600, 86400, 40 * 86400.0};
    double by = BY[world_below(w, 5)] * rng_uniform(&w->rng);
    w->now += world_chance(w, .5) ? by : -by;
    w->out->counts.jumps++;
    world_note(w, "the clock jumps to %.3f", w->now);
}

void turns_fault(struct world *w)
{
    int what = world_below(w, 5);
    /* a strict answer that is refused may have been taken all the same: not in this model */
    if (w->sc.strict && (what == 1 || what == 2)) return;
    switch (what) {
    case 0:
        jump(w);
        break;
    case 1:
        w->disk.fail_writes = 1 + world_below(w, 3);
        world_note(w, "the next %d writes fail", w->disk.fail_writes);
        break;
    case 2:
        w->disk.fail_writes = w->disk.fail_writes ? 0 : -1;
        world_note(w, "the disk is %s", w->disk.fail_writes ? "full" : "well again");
        break;
    default:
        w->watch.fail_from = w->watch.calls + 1 + world_below(w, 4);
        w->watch.fail_n = 1 + world_below(w, 12);
        world_note(w, "files fail from call %d", w->watch.fail_from);
    }
}

/* ---- ends and beginnings ---- */

static int open_store(struct store *out, void *ctx, const char *path, struct err *e)
{
    struct world *w = ctx;
    struct store_sqlite_cfg cfg = {.path = path, .reserve = -1};
    int rc = w->sqlite ? store_sqlite_open(&w->disk.inner, &cfg, e) : 0;
    if (!rc) *out = disk_store(&w->disk);
    return rc;
}

static int draw_bytes(void *ctx, void *out, size_t n, struct err *e)
{
    struct world *w = ctx;
    if (w->refuse_entropy) return err_set(e, ERR_IO, "no random bytes");
    for (size_t at = 0; at < n; at += 8) {
        uint64_t u = rng_u64_at(w->cfg->seed, ~(uint64_t)0, w->bytes++);
        memcpy((unsigned char *)out + at, &u, n - at < 8 ? n - at : 8);
    }
    return 0;
}

static double ask_clock(void *ctx)
{
    struct world *w = ctx;
    world_meanwhile(w);
    return w->now;
}

static void configure(struct world *w)
{
    struct service_cfg *c = &w->sc;
    c->clock = ask_clock;
    c->clock_ctx = w;
    c->parts = (struct service_parts){open_store, lane_bus, w, {draw_bytes, w}};
    if (world_chance(w, .3))
        w->optional.hintless.mode = (enum hintless_mode)world_below(w, 3);
}

void turns_start(struct world *w)
{
    configure(w);
    w->disk.fail_writes = 0;
    w->disk.fail_reads = world_chance(w, .04);
    if (w->cfg->broken == BREAK_START && w->out->counts.crashes) w->disk.fail_reads = 2;
    struct err e = {0};
    w->starts++;
    w->service = service_new(&w->sc, &e);
    if (!w->service && (w->disk.fail_reads || e.code != ERR_IO) && !w->watch.failed)
        world_finding(w, SIM_START, "code %d: %s %s", e.code, e.field, e.detail);
    if (!w->service) {
        world_note(w, "start: %d %s %s", e.code, e.field, e.detail);
        w->disk.fail_reads = w->cfg->broken == BREAK_START;
        w->watch.fail_from = 0;
        e = (struct err){0};
        w->starts++;
        w->service = service_new(&w->sc, &e);
    }
    if (!w->service)
        world_finding(w, SIM_START, "code %d: %s %s", e.code, e.field, e.detail);
    for (int i = 0; i < WORLD_DEPTH && w->service; i++) {
        w->worker[i] = service_worker_new(w->service, &e);
        if (w->one_address && w->worker[i]) service_worker_from(w->worker[i], 77, 0);
        assert(w->worker[i]);
    }
    memset(&w->count, 0, sizeof w->count);
    w->tick_at = w->now;
    world_note(w, "start");
}

void turns_stop(struct world *w)
{
    for (int i = 0; i < WORLD_DEPTH; i++)
        service_worker_free(w->worker[i]);
    memset(w->worker, 0, sizeof w->worker);
    service_free(w->service);
    w->service = NULL;
}

/* From now on nothing counts but what is remembered here. */
void turns_doom(struct world *w)
{
    if (w->doomed) return;
    w->doomed = true;
    world_note(w, "-- it is killed here");
    files_remember(&w->kept, w->data, &w->rng);
    if (w->sqlite)
        w->kept_disk = w->disk;
    else
        disk_copy(&w->kept_disk, &w->disk);
}

static void reset_faults(struct world *w)
{
    w->disk.fail_writes = w->disk.fail_reads = 0;
    w->watch = (struct files_watch){.before = w->watch.before, .ctx = w};
    w->in_store = w->dying = w->lively = false;
}

static void damage(struct world *w)
{
    char name[96];
    if (!files_damage(name, w->data, &w->rng)) return;
    w->damaged = true;
    w->out->counts.damaged++;
    world_note(w, "%s is damaged", name);
    if (!strcmp(name, "untagged.state")) w->slot = 0;
}

static void begin_again(struct world *w)
{
    uint64_t durable = w->disk.written;
    w->damaged = false;
    if (w->cfg->broken == BREAK_BACK) {
        files_remove(w->data, "policy.safetensors");
        files_remove(w->data, "policy.safetensors.prev");
    }
    if (w->cfg->broken == BREAK_SLOT) files_remove(w->data, "untagged.state");
    if (world_chance(w, .12)) damage(w);
    lane_forget(w, durable);
    turns_start(w);
    if (w->service) check_restart(w, durable);
}

void turns_crash(struct world *w)
{
    turns_doom(w);
    w->out->counts.crashes++;
    turns_stop(w);
    files_put_back(&w->kept, w->data);
    files_release(&w->kept);
    if (!w->sqlite) disk_release(&w->disk);
    w->kept_disk.inner = (struct store){0};
    w->disk = w->kept_disk;
    w->doomed = w->drained = false;
    reset_faults(w);
    begin_again(w);
}

void turns_drain(struct world *w)
{
    struct err e = {0};
    w->lively = false; /* whoever comes now is refused */
    int rc = service_drain(w->service, &e);
    world_note(w, "drain: %d %s", rc, e.detail);
    if (w->doomed) return;
    w->drained = !rc && !w->watch.failed;
    w->out->counts.drains++;
    struct session_open in = {
        .levels = 2, .ladder_kbps = {300, 600}, .chunk_s = 4, .buffer_max_s = 60};
    struct session_opened out;
    int late = service_open(&out, w->service, w->worker[0], &in, NULL);
    if (late != ERR_FULL)
        world_finding(w, SIM_REFUSAL, "a session after the drain: code %d", late);
    turns_stop(w);
    reset_faults(w);
    begin_again(w);
}
