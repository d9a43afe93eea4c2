#include "cli/emulate/backend.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct local {
    struct service *service;
    struct service_worker *worker;
    double now_s;
    struct rng ids;
    struct backend_exams exams;
    uint64_t version; /* last one seen */
};

/* a fixed epoch: stored times are the same in every run */
static const double EPOCH_S = 1.6e9;

static double local_clock(void *ctx)
{
    return ((const struct local *)ctx)->now_s;
}

/* The learner keeps sessions back by their id (serve/learner/forecaster.h), so a run is repeated only if ids
 * follow from the seed. This service has no clients from which an id must be hidden. */
static int local_ids(void *ctx, void *out, size_t n, struct err *e)
{
    struct local *d = ctx;
    (void)e;
    for (size_t at = 0; at < n; at += sizeof(uint64_t)) {
        uint64_t next = rng_u64(&d->ids);
        size_t left = n - at;
        memcpy((uint8_t *)out + at, &next, left < sizeof next ? left : sizeof next);
    }
    return 0;
}

static int local_open(void *self, struct session_opened *out,
                      const struct session_open *in, struct err *e)
{
    struct local *d = self;
    return service_open(out, d->service, d->worker, in, e);
}

static void local_from(void *self, uint64_t address)
{
    struct local *d = self;
    service_worker_from(d->worker, address, 0);
}

static int local_ask(void *self, struct answer *out, const char *session,
                     const struct question *q, struct err *e)
{
    struct local *d = self;
    return service_ask(out, d->service, d->worker, session, q, e);
}

static int local_reward(void *self, struct reward_out *out, const char *session,
                        const struct reward_in *in, struct err *e)
{
    struct local *d = self;
    return service_reward(out, d->service, session, in, e);
}

static int local_weights(void *self, const char *added, void **out, size_t *n,
                         struct err *e)
{
    struct local *d = self;
    return added ? service_profile_weights(out, n, d->service, added, e)
                 : service_policy_weights(out, n, d->service, e);
}

static int local_grow(void *self, const struct profile *p, struct err *e)
{
    struct local *d = self;
    int rc = service_profile_put(d->service, p, e);
    return rc < 0 ? rc : 0;
}

static void note_exam(struct local *d)
{
    struct policy_info p;
    struct backend_exams *x = &d->exams;
    service_policy_info(&p, d->service);
    if (p.version == d->version) return;
    if (!d->version) x->first = x->best = p.check_score;
    d->version = p.version;
    x->last = p.check_score;
    x->fall = fmax(x->fall, (x->best - x->last) / fabs(x->best));
    x->best = fmax(x->best, x->last);
}

static int local_exams(void *self, struct backend_exams *out, struct err *e)
{
    struct local *d = self;
    struct service_stats s;
    (void)e;
    service_stats(&s, d->service);
    d->exams.updates = s.learner.updates;
    d->exams.held = s.learner.judged.held;
    d->exams.rollbacks = s.learner.rollbacks;
    *out = d->exams;
    return 0;
}

static int local_turn(void *self, double seconds, struct err *e)
{
    struct local *d = self;
    d->now_s += seconds;
    service_tick(d->service);
    int rc = service_learn(d->service, e);
    note_exam(d);
    /* the service counts a rolled-back update; it is no failure of the run */
    return rc < 0 && rc != ERR_NUMERIC ? rc : 0;
}

static void local_free(void *self)
{
    struct local *d = self;
    if (!d) return;
    service_worker_free(d->worker);
    service_free(d->service);
    free(d);
}

int backend_local(struct backend *out, const struct service_cfg *cfg, struct err *e)
{
    struct local *d = calloc(1, sizeof *d);
    if (!d) return err_set(e, ERR_MEMORY, "out of memory");
    d->now_s = EPOCH_S;

    struct service_cfg c = *cfg;
    c.clock = local_clock;
    c.clock_ctx = d;
    rng_init(&d->ids, c.seed, 0x696473);
    c.parts.entropy = (struct entropy){local_ids, d};
    struct err why = {0};
    d->service = service_new(&c, &why);
    if (d->service) d->worker = service_worker_new(d->service, &why);
    if (!d->worker) {
        local_free(d);
        return err_field(e, why.code, why.field, "%s", why.detail);
    }

    *out = (struct backend){.self = d,
                            .open = local_open,
                            .ask = local_ask,
                            .reward = local_reward,
                            .weights = local_weights,
                            .grow = local_grow,
                            .exams = local_exams,
                            .from = local_from,
                            .turn = local_turn,
                            .free = local_free};
    note_exam(d);
    return 0;
}

void backend_free(struct backend *b)
{
    if (b->free) b->free(b->self);
    b->free = NULL;
}
