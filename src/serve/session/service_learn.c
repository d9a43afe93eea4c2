/* The policy, its learner, and what operators and dashboards see of both. */
#include "serve/session/core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abr/deciders/forecast_own.h"
#include "base/bytes.h"
#include "learn/ckpt.h"
#include "serve/learner/bus_local.h"
#include "serve/learner/cells.h"
#include "serve/learner/curve.h"

enum { BUS_SLOTS = 1024 };            /* trajectories waiting for the learner */
static const double BUS_WAIT_S = .04; /* for a turn without threads */

/* ---- start ---- */

static int open_bus(struct service *s, struct err *e)
{
    const struct service_parts *parts = &s->cfg.parts;
    return parts->bus ? parts->bus(&s->bus, parts->ctx, e)
                      : bus_local_init(&s->bus, BUS_SLOTS, e);
}

/* Adds the stored versions to the curve; *out is the newest of them, if any. */
static int earlier_versions(struct store_version *newest, struct service *s,
                            struct err *e)
{
    enum { EARLIER = CURVE_POINTS / 4 };
    if (!s->writer) return 0;
    struct store_version *v = calloc(EARLIER, sizeof *v);
    if (!v) return err_set(e, ERR_MEMORY, "no memory for the policy's versions");
    const struct store *store = writer_store(s->writer);
    int n, rc = store->versions(store->self, v, EARLIER, &n, e);
    for (int i = rc ? 0 : n; i-- > 0;)
        curve_add(s->curve, &(struct curve_point){.kind = CURVE_EARLIER,
                                                  .at = v[i].published_at,
                                                  .version = v[i].version,
                                                  .score = v[i].check_score,
                                                  .best = NAN});
    if (!rc && n) *newest = v[0];
    free(v);
    return rc;
}

/* Checksum of what a version decides by: its weights and its disabled experts. */
static uint32_t version_crc(const struct policy *p)
{
    uint64_t busy[2] = {p->actor->busy, p->critic->busy};
    uint32_t crc = policy_crc32(p);
    if (p->input_n)
        crc = bytes_crc32(crc, p->input, sizeof *p->input * (size_t)p->input_n);
    return busy[0] || busy[1] ? bytes_crc32(crc, busy, sizeof busy) : crc;
}

/* Versions never decrease: the same weights keep their number, other weights get the next one. A
 * checkpoint may have a later version than the store, which lost its record. state: p is of a
 * checkpoint, whose learner knows the disabled experts; they are part of a version. */
static int choose_version(struct service *s, struct policy *p, bool state, struct err *e)
{
    if (s->peers) { /* the learner node numbers the versions */
        if (!p->version) p->version = 1;
        return 0;
    }
    struct store_version newest = {0};
    int rc = earlier_versions(&newest, s, e);
    if (rc) return rc;
    uint64_t held = p->version;
    if (!newest.version)
        p->version = held ? held : 1;
    else if (held <= newest.version) {
        bool same = newest.crc == version_crc(p) && (!state || held == newest.version);
        p->version = same ? newest.version : newest.version + 1;
    }
    if (!held)
        held = 1; /* weights that were never published have no number in their file */
    if (newest.version && p->version != newest.version)
        log_event(
            s->cfg.log, LOG_WARN, "policy",
            "version %llu was the last one published; version %llu continues as %llu%s",
            (unsigned long long)newest.version, (unsigned long long)held,
            (unsigned long long)p->version,
            state ? ""
                  : ": restore policy.safetensors from a backup, or the learner "
                    "starts again");
    s->folder.missing += newest.version && p->version != newest.version && !state &&
                         s->folder.lock >= 0 && access(s->folder.policy, F_OK);
    return 0;
}

/* A version is in the store before it is published, so that versions never decrease after a crash. */
static int store_version(void *ctx, const struct policy *p, double now, double score,
                         struct err *e)
{
    struct service *s = ctx;
    if (s->peers) return s->peers->announce(s->peers->self, p, score, e);
    if (!s->writer) return 0;
    struct store_rec r = {.kind = STORE_VERSION,
                          .version = {p->version, version_crc(p), now, score}};
    int rc = writer_reserve(s->writer, 1, e);
    if (rc) return rc;
    writer_put(s->writer, &r, 1, 1);
    return writer_flush(s->writer, e);
}

/* A store that fails now does not prevent the start: the version is stored when it works again. */
static void store_start(struct service *s)
{
    const struct weights *w = published_get(s->published);
    struct err why = {0};
    if (!s->peers && store_version(s, w->policy, w->published_at, w->check_score, &why))
        log_err(s->cfg.log, LOG_ERROR, "store", &why);
    published_put(s->published, w);
}

/* The weights of --policy, for the exam of a learner that continues from a checkpoint. NULL: they are gone,
 * or of another configuration; the checkpoint is then the measure. */
static struct policy *shipped_policy(const struct service *s, const struct policy *p)
{
    struct policy *shipped =
        s->cfg.policy_path ? ckpt_load(s->cfg.policy_path, NULL, NULL, NULL, NULL) : NULL;
    if (shipped) (void)forecast_own_drop_foreign(shipped);
    if (shipped) (void)online_drop_input(&s->cfg.online, shipped);
    if (shipped && policy_cfg_same_mixture(&shipped->cfg, &p->cfg) && !shipped->added)
        return shipped;
    policy_free(shipped);
    return NULL;
}

/* --forecast-steps 0. A node without a learner follows the one that numbers the versions. Called before the
 * version is chosen, since the policy decides differently then. */
static void drop_correction(const struct service *s, struct policy *p)
{
    if (s->peers && s->cfg.learn != LEARN_ON) return;
    if (online_drop_input(&s->cfg.online, p))
        log_event(s->cfg.log, LOG_INFO, "policy",
                  "the learned correction of the forecast is not used "
                  "(--forecast-steps 0)");
}

/* Loads the weights, and creates the learner that continues from them. */
int service_open_policy(struct service *s, struct err *e)
{
    void *state = NULL;
    size_t state_n = 0;
    struct ckpt_meta *meta = calloc(1, sizeof *meta); /* too large for the stack */
    if (!meta) return err_set(e, ERR_MEMORY, "no memory for the policy");
    struct policy *p = folder_policy(&s->folder, s->cfg.policy_path, meta, &state,
                                     &state_n, s->cfg.log, e);
    if (!p) {
        free(meta);
        return ERR_IO;
    }

    drop_correction(s, p);
    s->policy_cfg = p->cfg;
    double score = NAN;
    bool fresh = false;
    struct learner_cfg lc = {.online = s->cfg.online,
                             .others = s->others,
                             .curve = s->curve,
                             .ckpt_path = s->folder.lock >= 0 ? s->folder.policy : NULL,
                             .announce = store_version,
                             .announce_ctx = s};
    struct policy *published = NULL, *shipped = state ? shipped_policy(s, p) : NULL;
    lc.shipped = shipped;
    int rc = choose_version(s, p, state != NULL, e);
    if (rc) goto out;
    /* the number that the API shows, not that of the file */
    log_event(s->cfg.log, LOG_INFO, "policy", "version %llu from %s",
              (unsigned long long)p->version, s->folder.from);

    rc = ERR_MEMORY;
    struct exam *exam = exam_new(&p->cfg, e);
    if (!exam) goto out;
    score = exam_score(exam, p);
    exam_free(exam);
    published = policy_clone(p, e);
    if (!published) goto out;
    s->published = published_new(published, service_now(s), score, e);
    if (!s->published) goto out;
    rc = 0;
    if (s->cfg.learn != LEARN_ON) goto out;

    rc = s->bus.self ? 0 : open_bus(s, e);
    if (rc) goto out;
    s->learner = learner_new(&lc, p, state, state_n, &fresh, s->published, &s->bus, e);
    if (!s->learner) rc = ERR_MEMORY;
    if (s->learner && fresh) learner_gates(s->learner, meta);
    if (s->learner && fresh && state)
        log_event(
            s->cfg.log, LOG_WARN, "learner",
            "the checkpoint's optimiser has another configuration: it starts again");
out:
    policy_free(shipped);
    policy_free(p);
    free(meta);
    free(state);
    return rc;
}

void service_begun(struct service *s)
{
    store_start(s);
    struct online_stats l = {0};
    if (s->learner) learner_stats(s->learner, &l);
    const struct weights *w = published_get(s->published);
    struct curve_point p = {.kind = CURVE_START,
                            .at = w->published_at,
                            .version = w->policy->version,
                            .steps = l.steps,
                            .score = w->check_score,
                            .best = s->learner ? l.check_best : w->check_score};
    published_put(s->published, w);
    curve_add(s->curve, &p);
}

/* ---- turns ---- */

bool service_learning(struct service *s)
{
    return s->learner && (!s->peers || s->peers->leads(s->peers->self));
}

/* If an update passed only without the steps of one address, logs the keyed hash of that address. */
static void log_rescue(struct service *s)
{
    struct online_stats l;
    learner_stats(s->learner, &l);
    if (l.judged.rescued == s->rescued) return;
    s->rescued = l.judged.rescued;
    log_event(s->cfg.log, LOG_WARN, "learner",
              "an update passed the exam only without the steps of client %016llx",
              (unsigned long long)l.judged.excluded);
}

static uint64_t rollbacks_now(struct service *s)
{
    struct online_stats l;
    learner_stats(s->learner, &l);
    return l.rollbacks;
}

void service_checkpoint(struct service *s, bool now)
{
    double at = service_now(s);
    if (!s->learner || (!now && at < s->checkpoint_at)) return;
    s->checkpoint_at = at + s->checkpoint_s;
    struct err why = {0};
    if (learner_checkpoint(s->learner, &why))
        log_err(s->cfg.log, LOG_ERROR, "checkpoint", &why);
}

/* One turn of the learner. New weights are saved at once, so that a crash takes back nothing that was served. A
 * rolled-back update is only logged and returned. If a turn has another result, too, such as a published
 * correction, both are logged. */
int service_turn(struct service *s, double wait_s, struct err *e)
{
    struct err why = {0};
    bool logged = !learner_published(s->learner); /* a retry of the last turn */
    uint64_t before = rollbacks_now(s);
    int rc = learner_turn(s->learner, wait_s, service_now(s), &why);
    log_rescue(s);
    if (rc != ERR_NUMERIC && rollbacks_now(s) != before)
        log_event(s->cfg.log, LOG_WARN, "learner",
                  "new weights were not finite or clearly worse: rolled back");
    if (rc == 1) {
        const struct weights *w = published_get(s->published);
        log_event(s->cfg.log, LOG_INFO, "policy", "version %llu, check %.4f",
                  (unsigned long long)w->policy->version, w->check_score);
        published_put(s->published, w);
        service_checkpoint(s, true);
    }
    if (rc < 0 || why.code)
        log_err(s->cfg.log, logged ? LOG_DEBUG : LOG_WARN, "learner", &why);
    if (rc < 0) err_field(e, why.code, why.field, "%s", why.detail);
    return rc;
}

int service_learn(struct service *s, struct err *e)
{
    if (s->peers && !s->threads) s->peers->turn(s->peers->self, BUS_WAIT_S);
    if (!s->learner || s->threads || s->peers) return 0;
    int rc = service_turn(s, 0, e);
    service_checkpoint(s, false);
    return rc;
}

/* ---- orders of operators: reset gates, disable an expert ---- */

static int need_learner(const struct service *s, struct err *e)
{
    if (s->learner) return 0;
    return err_set(e, ERR_CONFLICT, "this daemon does not learn (--learn off)");
}

/* Ends the learner's wait for trajectories. */
static void wake_learner(struct service *s)
{
    if (s->threads) s->bus.wake(s->bus.self);
}

int service_gate_reset(struct service *s, struct err *e)
{
    int rc = need_learner(s, e);
    if (rc) return rc;
    learner_reset_gates(s->learner);
    wake_learner(s);
    return 0;
}

int service_set_aside(struct service *s, bool critic, int expert, int updates,
                      struct err *e)
{
    int rc = need_learner(s, e);
    if (!rc && (updates < 0 || updates > SERVICE_ASIDE_MAX))
        rc = err_field(e, ERR_RANGE, "updates", "%d is not within 0 .. %d", updates,
                       SERVICE_ASIDE_MAX);
    if (!rc)
        rc = learner_disable_expert(s->learner, critic ? PPO_CRITIC : PPO_ACTOR, expert,
                                    updates, e);
    if (!rc) wake_learner(s);
    return rc;
}

/* ---- policy ---- */

void service_policy_info(struct policy_info *out, struct service *s)
{
    const struct weights *w = published_get(s->published);
    *out = (struct policy_info){.version = w->policy->version,
                                .published_at = w->published_at,
                                .cfg = w->policy->cfg,
                                .parameters = w->policy->actor->n + w->policy->critic->n,
                                .check_score = w->check_score,
                                .online = s->cfg.online};
    published_put(s->published, w);
}

int service_policy_weights(void **out, size_t *n, struct service *s, struct err *e)
{
    const struct weights *w = published_get(s->published);
    int rc = ckpt_encode(out, n, w->policy, NULL, NULL, 0, e);
    published_put(s->published, w);
    return rc;
}

/* ---- figures ---- */

/* Those of "custom" are those of `standard`. */
static void put_ceilings(struct service_profile_stats *out, struct profiles *profiles)
{
    struct profile p = {.qoe = *qoe_standard()};
    (void)!profiles_get(&p, NULL, profiles, out->name, NULL);
    out->stall_ratio_max = p.qoe.stall_ratio_max;
    out->startup_max_s = p.qoe.startup_max_s;
}

void service_stats(struct service_stats *out, struct service *s)
{
    *out = (struct service_stats){.at = service_now(s),
                                  .sessions_opened = atomic_load(&s->opened),
                                  .sessions_closed = atomic_load(&s->closed),
                                  .sessions_expired = atomic_load(&s->expired),
                                  .conflicts = atomic_load(&s->conflicts),
                                  .underway = atomic_load(&s->underway),
                                  .abandoned = atomic_load(&s->abandoned),
                                  .not_finite = atomic_load(&s->numeric),
                                  .draining = atomic_load(&s->draining),
                                  .store_ok = true};
    memcpy(out->startup_bounds_s, viewing_bounds_s, sizeof out->startup_bounds_s);
    struct session_stats ss;
    sessions_stats(&ss, s->sessions);
    out->observed_opened = atomic_load(&s->observed);
    out->observed = (struct service_observed){ss.observed.kbps_sum, ss.observed.viewing};
    out->sessions_live = ss.live;
    out->decisions = ss.decisions;
    out->repeats = ss.repeats;
    out->rewards = ss.rewards;
    out->not_followed = ss.not_followed;
    out->bus_dropped = ss.starved;

    struct experience_stats seen;
    experience_stats(&seen, s->experience);
    memcpy(out->forecast_downloads, seen.seen, sizeof seen.seen);
    memcpy(out->forecast_missed, seen.missed, sizeof seen.missed);
    memcpy(out->forecast_margin, seen.margin, sizeof seen.margin);
    out->networks = networks_count(s->networks);
    out->n_labels = label_sums_read(out->labels, &s->labels);
    if (out->n_labels) out->label = labels_keys[s->labels.key];

    for (int i = 0; i < SERVICE_PROFILE_STATS; i++) {
        const struct session_slot *slot = &ss.slot[i];
        for (int k = 0; k < 16; k++)
            out->expert_decisions[k] += slot->expert[k];
        int at = out->n_profiles;
        if (!profiles_slot_name(out->profile[at].name, s->profiles, i)) continue;
        out->n_profiles++;
        out->profile[at].rewards = slot->rewards;
        out->profile[at].reward_sum = slot->reward_sum;
        out->profile[at].kbps_sum = slot->kbps_sum;
        out->profile[at].viewing = slot->viewing;
        put_ceilings(&out->profile[at], s->profiles);
        bool ceiling = out->profile[at].stall_ratio_max > 0;
        out->profile[at].stall_weight = ceiling ? seen.stall_weight[i] : 1;
        memcpy(out->profile[at].expert, slot->expert, sizeof slot->expert);
    }

    if (s->writer) {
        struct writer_stats ws;
        writer_stats(s->writer, &ws);
        out->store_queue = ws.queued;
        out->store_errors = ws.errors;
        out->checkpoints_refused = s->folder.refused;
        out->files_missing = s->folder.missing;
        out->store_ok = ws.ok;
        out->store_lag_s = ws.lag_s;
    }
    if (s->bus.self) {
        struct bus_stats bs;
        s->bus.stats(s->bus.self, &bs);
        out->bus_queue = bs.queued;
        out->bus_dropped += bs.dropped;
    }
    if (s->learner) {
        learner_stats(s->learner, &out->learner);
        learner_vitals(s->learner, &out->vitals);
        out->misfits = learner_misfits(s->learner);
    }
    out->learning = service_learning(s);

    const struct weights *w = published_get(s->published);
    out->policy_version = w->policy->version;
    out->actor_busy = packed_actor_busy(w->packed);
    out->critic_busy = packed_critic_busy(w->packed);
    published_put(s->published, w);
}

bool service_exam(struct cells_report *out, struct service *s)
{
    return s->learner && learner_exam(s->learner, out);
}

int service_curve(struct curve_point *out, int max, struct service *s, uint64_t after)
{
    return curve_read(out, max, s->curve, after);
}
