#include "learn/teach.h"

#include "nn/simd/kern.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct teach_ws {
    int teachers, max_rows;
    struct mix_ws *ws[TEACHERS_MAX];
    float *logits, *logp, *sum; /* (max_rows, actions) */
    float *obs;                 /* (max_rows, obs_dim) of the teacher that is asked */
    uint32_t *mask;
    int *row, *asked; /* which rows these are; how many teachers each row had */
};

struct teach_ws *teach_ws_new(const struct teachers *t, int max_rows, struct err *e)
{
    assert(t->n >= 1 && t->n <= TEACHERS_MAX && max_rows >= 1);
    const struct policy_cfg *c = &t->policy[0]->cfg;
    size_t rows = (size_t)max_rows, size = rows * (size_t)c->actions;
    struct teach_ws *w = calloc(1, sizeof *w);
    if (!w) goto memory;
    w->teachers = t->n;
    w->max_rows = max_rows;
    w->logits = malloc((3 * size + rows * (size_t)c->obs_dim) * sizeof *w->logits);
    w->mask = malloc(rows * sizeof *w->mask);
    w->row = malloc(2 * rows * sizeof *w->row);
    if (!w->logits || !w->mask || !w->row) goto memory;
    w->logp = w->logits + size;
    w->sum = w->logp + size;
    w->obs = w->sum + size;
    w->asked = w->row + rows;
    for (int k = 0; k < t->n; k++) {
        w->ws[k] = mix_ws_new(&t->policy[k]->actor->cfg, max_rows, e);
        if (!w->ws[k]) goto memory;
    }
    return w;

memory:
    err_set(e, ERR_MEMORY, "no memory for %d teachers", t->n);
    teach_ws_free(w);
    return NULL;
}

void teach_ws_free(struct teach_ws *ws)
{
    if (!ws) return;
    for (int k = 0; k < ws->teachers; k++)
        mix_ws_free(ws->ws[k]);
    free(ws->row);
    free(ws->mask);
    free(ws->logits);
    free(ws);
}

/* A tag is taught by its own teachers; without any, by the teachers of all tags. */
static int tag_taught(const struct teachers *t, int tag)
{
    for (int k = 0; k < t->n; k++)
        if (t->tag[k] == tag) return tag;
    return TEACH_ALL;
}

/* Collects the rows that teacher k teaches, with their observations and masks. */
static int teach_gather(struct teach_ws *ws, const struct teachers *t, int k,
                        const float *obs, const uint32_t *mask, const int *tag, int n)
{
    size_t wide = (size_t)t->policy[0]->cfg.obs_dim;
    int rows = 0;
    for (int i = 0; i < n; i++) {
        if (tag_taught(t, tag[i]) != t->tag[k]) continue;
        memcpy(ws->obs + (size_t)rows * wide, obs + (size_t)i * wide, wide * sizeof *obs);
        ws->mask[rows] = mask[i];
        ws->row[rows++] = i;
    }
    return rows;
}

void teach_show(float *shown, const struct teachers *t, struct teach_ws *ws,
                const float *obs, const uint32_t *mask, const int *tag, int n)
{
    assert(n >= 1 && n <= ws->max_rows && t->n == ws->teachers);
    const struct kern *kern = kern_best();
    int actions = t->policy[0]->cfg.actions;
    memset(ws->sum, 0, (size_t)n * (size_t)actions * sizeof *ws->sum);
    memset(ws->asked, 0, (size_t)n * sizeof *ws->asked);
    for (int k = 0; k < t->n; k++) {
        int rows = teach_gather(ws, t, k, obs, mask, tag, n);
        if (!rows) continue;
        mix_forward(ws->logits, NULL, NULL, t->policy[k]->actor, ws->ws[k], ws->obs, NULL,
                    rows);
        kern->softmax(ws->logits, ws->logp, NULL, ws->logits, ws->mask, rows, actions);
        for (int i = 0; i < rows; i++) {
            ws->asked[ws->row[i]]++;
            for (int j = 0; j < actions; j++)
                ws->sum[ws->row[i] * actions + j] += ws->logp[i * actions + j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = i * actions; j < (i + 1) * actions; j++)
            ws->sum[j] = ws->asked[i] ? ws->sum[j] / (float)ws->asked[i] : 0.0f;
    kern->softmax(shown, NULL, NULL, ws->sum, mask, n, actions);
    for (int i = 0; i < n; i++)
        for (int j = 0; !ws->asked[i] && j < actions; j++)
            shown[i * actions + j] = NAN;
}
