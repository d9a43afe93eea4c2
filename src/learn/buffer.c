#include "learn/buffer.h"

#include "learn/bound.h"
#include "learn/gae.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    int capacity, n, cuts;
    size_t dim;
    float *obs, *logp, *reward, *value, *boot, *advantage, *target, *cut_obs, *scratch;
    uint64_t *client, *source, *sorted; /* sorted: scratch */
    float *weight;
    uint32_t *mask;
    int *action, *tag, *cut_row; /* cut_row[i]: the step that cut_obs row i follows */
    uint8_t *last;
    int joined, actions; /* rows behind n */
    float *q, *prob,
        *shown; /* (capacity, actions), NaN where a row has none; NULL: no room */
};

struct buffer *buffer_new(int capacity, int obs_dim, struct err *e)
{
    assert(capacity > 0 && obs_dim > 0);
    struct buffer *b = calloc(1, sizeof *b);
    if (!b) goto failed;
    size_t n = (size_t)capacity, dim = (size_t)obs_dim;
    b->capacity = capacity;
    b->dim = dim;
    b->obs = calloc(n * dim, sizeof *b->obs);
    b->cut_obs = calloc(n * dim, sizeof *b->cut_obs);
    b->logp = calloc(n, sizeof *b->logp);
    b->reward = calloc(n, sizeof *b->reward);
    b->value = calloc(n, sizeof *b->value);
    b->boot = calloc(n, sizeof *b->boot);
    b->advantage = calloc(n, sizeof *b->advantage);
    b->target = calloc(n, sizeof *b->target);
    b->mask = calloc(n, sizeof *b->mask);
    b->action = calloc(n, sizeof *b->action);
    b->tag = calloc(n, sizeof *b->tag);
    b->cut_row = calloc(n, sizeof *b->cut_row);
    b->last = calloc(n, sizeof *b->last);
    b->scratch = calloc(n, sizeof *b->scratch);
    b->client = calloc(n, sizeof *b->client);
    b->source = calloc(n, sizeof *b->source);
    b->sorted = calloc(n, sizeof *b->sorted);
    b->weight = calloc(n, sizeof *b->weight);
    if (b->obs && b->cut_obs && b->logp && b->reward && b->value && b->boot &&
        b->advantage && b->target && b->mask && b->action && b->tag && b->cut_row &&
        b->last && b->scratch && b->client && b->source && b->sorted && b->weight)
        return b;

failed:
    err_set(e, ERR_MEMORY, "no memory for %d steps", capacity);
    buffer_free(b);
    return NULL;
}

void buffer_free(struct buffer *b)
{
    if (!b) return;
    void *const arrays[] = {
        b->obs,       b->cut_obs, b->logp,   b->reward, b->value,   b->boot, b->mask,
        b->advantage, b->target,  b->action, b->tag,    b->cut_row, b->last, b->scratch,
        b->client,    b->source,  b->sorted, b->weight, b->q,       b->prob, b->shown};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(b);
}

int buffer_add(struct buffer *b, const struct online_trajectory *t)
{
    assert(t->n > 0 && (!t->truncated || t->last_obs));
    if (t->n > b->capacity - b->n) return ERR_FULL;

    size_t n = (size_t)t->n, at = (size_t)b->n;
    memcpy(b->obs + at * b->dim, t->obs, n * b->dim * sizeof *b->obs);
    memcpy(b->mask + at, t->mask, n * sizeof *b->mask);
    memcpy(b->action + at, t->action, n * sizeof *b->action);
    memcpy(b->logp + at, t->logp, n * sizeof *b->logp);
    memcpy(b->reward + at, t->reward, n * sizeof *b->reward);
    for (size_t i = 0; i < n; i++) {
        b->tag[at + i] = t->tag;
        b->client[at + i] = t->client;
        b->source[at + i] = t->source;
        b->weight[at + i] = 1.0f;
        b->last[at + i] = i == n - 1;
        b->boot[at + i] = 0.0f;
    }
    b->n += t->n;
    if (t->truncated) {
        memcpy(b->cut_obs + (size_t)b->cuts * b->dim, t->last_obs,
               b->dim * sizeof *b->cut_obs);
        b->cut_row[b->cuts++] = b->n - 1;
    }
    return 0;
}

int buffer_steps(const struct buffer *b)
{
    return b->n;
}

int buffer_join_init(struct buffer *b, int actions, struct err *e)
{
    size_t n = (size_t)b->capacity * (size_t)actions;
    b->actions = actions;
    b->q = malloc(n * sizeof *b->q);
    b->prob = malloc(n * sizeof *b->prob);
    b->shown = malloc(n * sizeof *b->shown);
    if (b->q && b->prob && b->shown) return 0;
    return err_set(e, ERR_MEMORY, "no memory for %d emulated steps", b->capacity);
}

/* NULL: NaN. */
static void join_actions(float *to, const float *from, size_t n)
{
    if (from)
        memcpy(to, from, n * sizeof *to);
    else
        for (size_t i = 0; i < n; i++)
            to[i] = NAN;
}

int buffer_join(struct buffer *b, const struct ppo_batch *rows)
{
    assert(b->q);
    int first = b->n + b->joined;
    if (rows->n > b->capacity - first) return ERR_FULL;
    size_t at = (size_t)first, n = (size_t)rows->n, wide = (size_t)b->actions;
    if (!b->joined) { /* the viewers' rows */
        join_actions(b->q, NULL, at * wide);
        join_actions(b->prob, NULL, at * wide);
        join_actions(b->shown, NULL, at * wide);
    }
    memcpy(b->obs + at * b->dim, rows->obs, n * b->dim * sizeof *b->obs);
    memcpy(b->mask + at, rows->mask, n * sizeof *b->mask);
    memcpy(b->action + at, rows->action, n * sizeof *b->action);
    memcpy(b->tag + at, rows->tag, n * sizeof *b->tag);
    for (size_t i = 0; i < n; i++)
        b->weight[at + i] = 1.0f;
    memcpy(b->logp + at, rows->logp, n * sizeof *b->logp);
    memcpy(b->advantage + at, rows->advantage, n * sizeof *b->advantage);
    memcpy(b->target + at, rows->target, n * sizeof *b->target);
    join_actions(b->q + at * wide, rows->q, n * wide);
    join_actions(b->prob + at * wide, rows->prob, n * wide);
    join_actions(b->shown + at * wide, rows->shown, n * wide);
    b->joined += rows->n;
    return 0;
}

void buffer_clear(struct buffer *b)
{
    b->n = b->cuts = b->joined = 0;
}

void buffer_advantages(struct buffer *b,
                       void (*value)(void *ctx, float *v, const float *obs, int n),
                       void *ctx, double gamma, double lambda)
{
    for (int at = 0; at < b->n; at += BUFFER_ROWS) {
        int n = b->n - at < BUFFER_ROWS ? b->n - at : BUFFER_ROWS;
        value(ctx, b->value + at, b->obs + (size_t)at * b->dim, n);
    }
    for (int at = 0; at < b->cuts; at += BUFFER_ROWS) {
        float v[BUFFER_ROWS];
        int n = b->cuts - at < BUFFER_ROWS ? b->cuts - at : BUFFER_ROWS;
        value(ctx, v, b->cut_obs + (size_t)at * b->dim, n);
        for (int i = 0; i < n; i++)
            b->boot[b->cut_row[at + i]] = v[i];
    }
    gae_compute(b->advantage, b->target, b->reward, b->value, b->boot, b->last, b->n,
                gamma, lambda);
}

int buffer_bound(struct buffer *b, double sigmas)
{
    return bound_advantages(b->advantage, b->target, b->tag, b->n, sigmas, b->scratch);
}

static int ascending_source(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* One source among the sorted ones: its rows begin at *at; returns their number. */
static int source_run(const struct buffer *b, int at)
{
    int n = 1;
    while (at + n < b->n && b->sorted[at + n] == b->sorted[at])
        n++;
    return n;
}

static void sort_sources(struct buffer *b)
{
    memcpy(b->sorted, b->source, (size_t)b->n * sizeof *b->sorted);
    qsort(b->sorted, (size_t)b->n, sizeof *b->sorted, ascending_source);
}

static void weigh_source(struct buffer *b, uint64_t source, float weight)
{
    for (int i = 0; i < b->n; i++)
        if (b->source[i] == source) b->weight[i] = weight;
}

int buffer_weigh(struct buffer *b, int most)
{
    int bounded = 0;
    sort_sources(b);
    for (int at = 0, n; at < b->n; at += n) {
        n = source_run(b, at);
        if (!b->sorted[at] || n <= most) continue;
        weigh_source(b, b->sorted[at], (float)most / (float)n);
        bounded++;
    }
    return bounded;
}

uint64_t buffer_suspect(const struct buffer *b)
{
    uint64_t suspect = 0;
    double worst = 0;
    for (int at = 0, n; at < b->n; at += n) {
        n = source_run(b, at);
        uint64_t source = b->sorted[at];
        if (!source || n > b->n / 2) continue;
        double sum = 0;
        bool excluded = false;
        for (int i = 0; i < b->n; i++) {
            if (b->source[i] != source) continue;
            double a = (double)b->advantage[i];
            sum += (double)b->weight[i] * a * a;
            excluded = b->weight[i] <= 0.0f;
        }
        if (excluded || sum <= worst) continue;
        worst = sum;
        suspect = source;
    }
    return suspect;
}

void buffer_exclude(struct buffer *b, uint64_t source)
{
    weigh_source(b, source, 0.0f);
}

int buffer_client(const struct buffer *b, uint64_t client)
{
    int n = 0;
    for (int i = 0; i < b->n; i++)
        n += b->client[i] == client;
    return n;
}

void buffer_batch(struct ppo_batch *out, const struct buffer *b)
{
    assert(b->n > 0);
    *out = (struct ppo_batch){
        .n = b->n + b->joined,
        .obs = b->obs,
        .mask = b->mask,
        .action = b->action,
        .tag = b->tag,
        .logp = b->logp,
        .advantage = b->advantage,
        .target = b->target,
        .q = b->joined ? b->q : NULL,
        .prob = b->joined ? b->prob : NULL,
        .weight = b->weight,
        .shown = b->joined ? b->shown : NULL,
    };
}
