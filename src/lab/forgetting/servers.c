#include "lab/forgetting/servers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void servers_init(struct servers *s, int n, struct rng *r)
{
    assert(n >= 1 && n <= RECALL_EXPERTS);
    memset(s, 0, sizeof *s);
    s->n = n;
    s->next = 1;
    for (int m = 0; m < n; m++) {
        s->idle[m] = true;
        s->power[m] = 1 + (int)rng_below(r, 3);
    }
}

void servers_arrive(struct servers_task *k, const struct servers *s, struct rng *r)
{
    k->near = (int)rng_below(r, (uint32_t)s->n);
    k->travel = rng_uniform(r);
    k->jitter = rng_uniform(r);
}

static bool any_idle(const struct servers *s)
{
    for (int m = 0; m < s->n; m++)
        if (s->idle[m]) return true;
    return false;
}

bool servers_busy(const struct servers *s)
{
    for (int m = 0; m < s->n; m++)
        if (!s->idle[m]) return true;
    return false;
}

bool servers_ready(const struct servers *s, int t, int slots)
{
    return s->next <= (t < slots ? t : slots) && any_idle(s);
}

static int hops(int a, int b, int n)
{
    int apart = abs(a - b);
    return apart < n - apart ? apart : n - apart;
}

/* the idle server with the least first key, then the least second */
static int least(const struct servers *s, const struct servers_task *k, bool power_first)
{
    int best = -1, low = 0;
    for (int m = 0; m < s->n; m++) {
        if (!s->idle[m]) continue;
        int away = hops(k->near, m, s->n);
        int key = power_first ? s->power[m] * RECALL_EXPERTS + away
                              : away * RECALL_EXPERTS + s->power[m];
        if (best < 0 || key < low) {
            best = m;
            low = key;
        }
    }
    return best;
}

int servers_nearest(const struct servers *s, const struct servers_task *k)
{
    return least(s, k, false);
}

int servers_powerful(const struct servers *s, const struct servers_task *k)
{
    return least(s, k, true);
}

static int delay_of(const struct servers *s, const struct servers_task *k, int m)
{
    double far = s->n > 1 ? 2.0 * hops(k->near, m, s->n) / s->n : 0;
    int transmission = 1 + (int)(5 * far * k->travel);
    int execution = s->power[m] + (k->jitter >= .6) + (k->jitter >= .9);
    assert(transmission + execution <= SERVERS_DELAY);
    return transmission + execution;
}

int servers_start(struct servers *s, int m, const struct servers_task *k, int t)
{
    assert(s->idle[m] && s->next <= t);
    int delay = delay_of(s, k, m), wait = t - s->next;
    s->idle[m] = false;
    s->done[m] = t + delay;
    s->next++;
    s->waited += wait > 0;
    s->wait += wait;
    s->delay += delay;
    return wait;
}

bool servers_finish(struct servers *s, int m, int t)
{
    if (s->idle[m] || s->done[m] > t) return false;
    s->idle[m] = true;
    return true;
}
