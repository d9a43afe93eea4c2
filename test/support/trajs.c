#include "support/trajs.h"

#include "support/made.h"

#include <string.h>

#include "base/rng.h"

void trajs_make(struct traj *t, uint64_t seed, int levels, int n, bool truncated)
{
    memset(t, 0, sizeof *t);
    uint64_t i = 0;
    int rise = levels > FEAT_LEVELS ? 3 : 8; /* points from level to level */
#define DRAW(m) (rng_u64_at(seed, 77, i++) % (m))
    t->key = DRAW(UINT64_MAX);
    t->client = DRAW(UINT64_MAX);
    t->tag = (int)DRAW(5);
    t->truncated = truncated;
    t->n = n;
    t->view = view_default();
    t->view.levels = levels;
    for (int k = 0; k < levels; k++)
        t->view.ladder_kbps[k] = 300 * (k + 1);
    for (int k = 0; k < levels; k++)
        t->view.points[k] = rise * k + 1 / 3.0;
    t->view.chunk_s = 4;
    t->view.chunks = 200;
    t->view.buffer_max_s = 60;
    t->before = (struct traj_measured){0};
    int before = (int)DRAW(VIEW_HISTORY + 1);
    for (int m = 0; m < before; m++) {
        uint32_t bytes = (uint32_t)(1000 + DRAW(1000000));
        traj_measure(&t->before, bytes, .1 + (double)DRAW(1000) / 256);
    }
    for (int s = 0; s < traj_states(t); s++) {
        struct traj_step *d = &t->step[s];
        d->chunk = s + 1;
        d->action = (int8_t)DRAW((uint64_t)levels);
        d->last_level = (int8_t)((int)DRAW((uint64_t)levels + 1) - 1);
        if (levels > FEAT_LEVELS) /* these are in every window */
            d->action = d->action % 2 && d->last_level > 0 ? d->last_level : 0;
        d->logp = -(float)DRAW(1000) / 512;
        d->policy = 1 + DRAW(9);
        d->buffer_s = (double)DRAW(60000) / 1024;
        for (int k = 0; k < levels; k++)
            d->next_bytes[k] = (uint32_t)DRAW(4000000);
        for (int k = 0; k < levels && s % 3; k++)
            d->points.next[k] = (uint16_t)(k % 2 ? 0 : 100 * rise * k + s + 1);
        d->points.last = (uint16_t)(s % 3 == 2 ? 10001 - s : 0);
        if (s == n) break; /* a state without an outcome */
        d->bytes = (double)DRAW(4000000);
        d->download_s = .01 + (double)DRAW(9000) / 1024;
        d->reward = (double)DRAW(100000) / 1024 - 50;
    }
#undef DRAW
}

void trajs_downloads(struct traj *t, int n, float logp, uint64_t policy)
{
    *t = (struct traj){.n = n, .view = made_view(6)};
    t->view.chunks = n;
    for (int i = 0; i < n; i++)
        t->step[i] = (struct traj_step){.chunk = i,
                                        .action = (int8_t)(i % 3),
                                        .last_level = (int8_t)(i ? (i - 1) % 3 : -1),
                                        .logp = logp,
                                        .policy = policy,
                                        .buffer_s = 8,
                                        .bytes = i % 3 ? 450000 : 150000,
                                        .download_s = 3,
                                        .reward = i % 3};
}

bool pasts_equal(const struct view_past *p, const struct view_past *q)
{
    return p->n == q->n && p->kbit == q->kbit && p->download_s == q->download_s &&
           p->low == q->low && p->ln_mean == q->ln_mean &&
           p->ln_variance == q->ln_variance && p->ln_change == q->ln_change &&
           p->ln_last == q->ln_last;
}

bool trajs_equal(const struct traj *a, const struct traj *b)
{
    static float x[(TRAJ_STEPS + 1) * FEAT_FULL_DIM], y[(TRAJ_STEPS + 1) * FEAT_FULL_DIM];
    uint32_t mask[TRAJ_STEPS + 1], mask_b[TRAJ_STEPS + 1];
    if (a->n != b->n || a->truncated != b->truncated || a->key != b->key ||
        a->client != b->client || a->tag != b->tag)
        return false;
    if (!pasts_equal(&a->before.past, &b->before.past)) return false;
    size_t states = (size_t)traj_states(a);
    if (!qoe_same(&a->view.qoe, &b->view.qoe)) return false;
    for (size_t i = 0; i < states; i++)
        if (memcmp(&a->step[i].points, &b->step[i].points, sizeof a->step[i].points) != 0)
            return false;
    int action[TRAJ_STEPS + 1];
    if (!traj_observe(x, mask, action, a, FEAT_FULL) ||
        !traj_observe(y, mask_b, action, b, FEAT_FULL))
        return false;
    if (memcmp(mask, mask_b, states * sizeof *mask) != 0 ||
        memcmp(x, y, states * FEAT_FULL_DIM * sizeof *x) != 0)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->step[i].action != b->step[i].action ||
            a->step[i].logp != b->step[i].logp ||
            a->step[i].policy != b->step[i].policy ||
            traj_reward(a, i, FEAT_FULL) != traj_reward(b, i, FEAT_FULL))
            return false;
    return true;
}
