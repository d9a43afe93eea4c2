#include "abr/emulator/view.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct view view_default(void)
{
    struct view v = {0};
    v.last_level = -1;
    v.qoe = *qoe_standard();
    return v;
}

void view_past_add(struct view_past *p, double kbps, double download_s)
{
    double logarithm = log(fmax(kbps, 1e-3));
    bool higher = p->n && p->low < logarithm;
    p->low = higher ? p->low + (logarithm - p->low) / VIEW_PAST : logarithm;
    if (p->n) p->ln_change += (fabs(logarithm - p->ln_last) - p->ln_change) / p->n;
    p->ln_last = logarithm;
    if (p->n < VIEW_PAST) p->n++;
    p->kbit += (kbps * download_s - p->kbit) / p->n;
    p->download_s += (download_s - p->download_s) / p->n;
    double off = logarithm - p->ln_mean, step = off / p->n;
    p->ln_mean += step;
    p->ln_variance += off * step;
    p->ln_variance -= p->ln_variance / p->n;
}

void view_push_kbps(struct view *v, double kbps, double download_s)
{
    if (v->n_history == VIEW_HISTORY) {
        size_t kept = (VIEW_HISTORY - 1) * sizeof(double);
        memmove(v->throughput_kbps, v->throughput_kbps + 1, kept);
        memmove(v->download_s, v->download_s + 1, kept);
        v->n_history--;
    }
    v->throughput_kbps[v->n_history] = kbps;
    v->download_s[v->n_history] = download_s;
    v->n_history++;
    view_past_add(&v->past, kbps, download_s);
}

double view_kbps(double bytes, double download_s)
{
    return bytes * 8.0 / 1000.0 / download_s;
}

void view_push(struct view *v, double bytes, double download_s)
{
    view_push_kbps(v, view_kbps(bytes, download_s), download_s);
}

double view_bytes(const struct view *v, int level)
{
    if (v->next_bytes[level] > 0.0) return v->next_bytes[level];
    return v->ladder_kbps[level] * 1000.0 / 8.0 * v->chunk_s;
}

struct qoe_ladder view_ladder(const struct view *v)
{
    return (struct qoe_ladder){v->ladder_kbps, v->points, v->levels, v->chunk_s};
}

struct qoe_level view_last(const struct view *v)
{
    if (v->last_level < 0) return (struct qoe_level){0, 0};
    return (struct qoe_level){v->ladder_kbps[v->last_level], v->last_points};
}

void view_rewards(double *reward, const struct view *v, int prev_level)
{
    struct qoe_ladder ladder = view_ladder(v);
    struct qoe_level prev = {0, 0};
    if (prev_level == VIEW_LAST)
        prev = view_last(v);
    else if (prev_level >= 0)
        prev = (struct qoe_level){v->ladder_kbps[prev_level], v->points[prev_level]};
    qoe_rewards(reward, &v->qoe, &ladder, prev);
}
