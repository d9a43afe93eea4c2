#include "lab/shift/shift_meter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct metered {
    struct env inner;
    struct shift_meter *meter;
};

void shift_meter_init(struct shift_meter *m, const struct recipe_world *world)
{
    *m = (struct shift_meter){.world = world};
}

void shift_meter_keep(struct shift_meter *m, float *obs, int rows, int obs_dim)
{
    m->obs = obs;
    m->obs_rows = rows;
    m->obs_dim = obs_dim;
    m->obs_n = 0;
}

/* Before a step: the observation it answers lies where the environment wrote it. */
static void keep_observation(struct shift_meter *m, const float *obs)
{
    if (!m->obs || m->obs_n == m->obs_rows) return;
    size_t dim = (size_t)m->obs_dim;
    memcpy(m->obs + (size_t)m->obs_n * dim, obs, dim * sizeof *obs);
    m->obs_n++;
}

static void close_episode(struct shift_meter *m)
{
    m->episode[m->episodes++ % SHIFT_EPISODES] = m->episode_sum / m->episode_steps;
    m->episode_sum = 0.0;
    m->episode_steps = 0;
}

static void note_step(struct shift_meter *m, const struct player *p, int level,
                      double reward)
{
    struct shift_reading *s = &m->sum;
    const struct view *v = &p->view;
    s->steps += 1.0;
    s->qoe += reward;
    s->quality += p->last.quality;
    s->change += p->last.change;
    s->stall_s += p->last.stall_s;
    s->buffer_s += p->result.buffer_s;
    s->throughput_kbps += v->throughput_kbps[v->n_history - 1];
    s->download_s += p->result.delay_ms / 1e3;
    s->sleep_s += p->result.sleep_ms / 1e3;
    s->level[level < SHIFT_LEVELS ? level : SHIFT_LEVELS - 1] += 1.0;
    s->mean_level += level;
    m->episode_sum += reward;
    m->episode_steps++;
}

static void reset(void *self, struct env_out *out)
{
    struct metered *t = self;
    t->inner.reset(t->inner.self, out);
}

static void shift_meter_step(void *self, int action, struct env_out *out)
{
    struct metered *t = self;
    keep_observation(t->meter, out->obs);
    t->inner.step(t->inner.self, action, out);
    note_step(t->meter, abr_env_player(&t->inner), action, (double)out->reward);
    if (out->done || out->truncated) close_episode(t->meter);
}

static void shift_meter_release(void *self)
{
    struct metered *t = self;
    t->inner.free(t->inner.self);
    free(t);
}

struct env shift_meter_env(void *ctx, uint64_t id, struct err *e)
{
    struct shift_meter *m = ctx;
    struct metered *t = calloc(1, sizeof *t);
    if (!t) {
        err_set(e, ERR_MEMORY, "no memory for an environment");
        return (struct env){0};
    }
    t->meter = m;
    t->inner = recipe_env((void *)m->world, id, e);
    if (!t->inner.self) {
        free(t);
        return (struct env){0};
    }
    return (struct env){.self = t,
                        .spec = t->inner.spec,
                        .reset = reset,
                        .step = shift_meter_step,
                        .free = shift_meter_release};
}

static double recent(const struct shift_meter *m)
{
    int n = m->episodes < SHIFT_EPISODES ? (int)m->episodes : SHIFT_EPISODES;
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += m->episode[i];
    return n ? sum / n : (double)NAN;
}

struct shift_reading shift_meter_take(struct shift_meter *m)
{
    struct shift_reading r = m->sum;
    double *const means[] = {&r.qoe,        &r.quality,  &r.change,
                             &r.stall_s,    &r.buffer_s, &r.throughput_kbps,
                             &r.download_s, &r.sleep_s,  &r.mean_level};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        *means[i] = r.steps > 0.0 ? *means[i] / r.steps : (double)NAN;
    for (int k = 0; k < SHIFT_LEVELS; k++)
        r.level[k] = r.steps > 0.0 ? r.level[k] / r.steps : (double)NAN;
    r.recent_qoe = recent(m);
    m->sum = (struct shift_reading){0};
    m->obs_n = 0;
    return r;
}
