#include "serve/session/traj.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "abr/deciders/window.h"

void traj_measure(struct traj_measured *m, uint32_t bytes, double download_s)
{
    if (!bytes) return;
    if (m->n == VIEW_HISTORY) {
        memmove(m->bytes, m->bytes + 1, sizeof m->bytes - sizeof *m->bytes);
        memmove(m->download_s, m->download_s + 1,
                sizeof m->download_s - sizeof *m->download_s);
        m->n--;
    }
    m->bytes[m->n] = bytes;
    m->download_s[m->n] = download_s;
    m->n++;
    view_past_add(&m->past, view_kbps(bytes, download_s), download_s);
}

void traj_measured_view(struct view *v, const struct traj_measured *m)
{
    v->n_history = m->n;
    for (int i = 0; i < m->n; i++)
        v->throughput_kbps[i] = view_kbps(m->bytes[i], m->download_s[i]);
    memcpy(v->download_s, m->download_s, sizeof m->download_s);
    v->past = m->past;
}

uint16_t traj_points_code(double points)
{
    return isnan(points) ? 0 : (uint16_t)(lround(points * 100) + 1);
}

double traj_points_of(uint16_t code, double level)
{
    return code ? (code - 1) / 100.0 : level;
}

void traj_points_view(struct view *v, const struct traj_points *p, const double *level)
{
    for (int k = 0; k < v->levels; k++)
        v->points[k] = traj_points_of(p->next[k], level[k]);
    v->last_points =
        v->last_level < 0 ? 0 : traj_points_of(p->last, level[v->last_level]);
}

int traj_states(const struct traj *t)
{
    return t->n + t->truncated;
}

bool traj_observe(float *obs, uint32_t *mask, int *action, const struct traj *t,
                  enum feat_layout layout)
{
    size_t dim = (size_t)feat_dim(layout);
    struct view v = t->view;
    traj_measured_view(&v, &t->before);

    int states = traj_states(t);
    assert(states <= TRAJ_STEPS + 1);
    for (int i = 0; i < states; i++) {
        const struct traj_step *s = &t->step[i];
        v.chunk = s->chunk;
        v.buffer_s = s->buffer_s;
        v.last_level = s->last_level;
        for (int k = 0; k < v.levels; k++)
            v.next_bytes[k] = s->next_bytes[k];
        traj_points_view(&v, &s->points, t->view.points);
        struct window w;
        uint32_t offered = feat_mask(&v);
        feat_observe(obs + (size_t)i * dim, layout, window_see(&w, &v, offered));
        mask[i] = window_mask(&w, offered);
        action[i] = window_place(&w, s->action);
        if (action[i] < 0) return false;
        if (s->bytes > 0) view_push(&v, s->bytes, s->download_s);
    }
    return true;
}

/* Mean throughput of the trajectory's downloads; 0: nothing arrived. */
static double traj_kbps(const struct traj *t)
{
    double bytes = 0, seconds = 0;
    for (int i = 0; i < t->n; i++) {
        bytes += t->step[i].bytes;
        seconds += t->step[i].download_s;
    }
    return seconds > 0 ? bytes * 8e-3 / seconds : 0;
}

float traj_reward(const struct traj *t, int i, enum feat_layout layout)
{
    double scale = layout == FEAT_PLAN ? feat_link_scale(&t->view, traj_kbps(t))
                                       : feat_reward_scale(&t->view);
    double scaled = t->step[i].reward / scale;
    return (float)fmax(-TRAJ_REWARD, fmin(TRAJ_REWARD, scaled));
}
