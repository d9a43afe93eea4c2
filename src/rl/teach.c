#include "rl/teach.h"

#include "nn/kern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct teach_ws {
    int teachers, max_rows;
    struct mix_ws *ws[TEACHERS_MAX];
    float *logits, *prob, *logp; /* (max_rows, actions) */
};

struct teach_ws *teach_ws_new(const struct teachers *t, int max_rows, struct err *e)
{
    assert(t->n >= 1 && t->n <= TEACHERS_MAX && max_rows >= 1);
    size_t size = (size_t)max_rows * (size_t)t->policy[0]->cfg.actions;
    struct teach_ws *w = calloc(1, sizeof *w);
    if (!w) goto memory;
    w->teachers = t->n;
    w->max_rows = max_rows;
    w->logits = malloc(3 * size * sizeof *w->logits);
    if (!w->logits) goto memory;
    w->prob = w->logits + size;
    w->logp = w->prob + size;
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
    free(ws->logits);
    free(ws);
}

/* How many of the teachers are of this tag. */
static int count_of(const struct teachers *t, int tag)
{
    int count = 0;
    for (int k = 0; k < t->n; k++)
        count += t->tag[k] == tag;
    return count;
}

void teach_show(float *shown, const struct teachers *t, struct teach_ws *ws,
                const float *obs, const uint32_t *mask, const int *tag, int n)
{
    assert(n >= 1 && n <= ws->max_rows && t->n == ws->teachers);
    const struct kern *kern = kern_best();
    int actions = t->policy[0]->cfg.actions;
    size_t size = (size_t)n * (size_t)actions;
    memset(shown, 0, size * sizeof *shown);
    for (int k = 0; k < t->n; k++) {
        mix_forward(ws->logits, NULL, NULL, t->policy[k]->actor, ws->ws[k], obs, NULL, n);
        kern->softmax(ws->prob, ws->logp, NULL, ws->logits, mask, n, actions);
        for (int i = 0; i < n; i++) {
            int own = count_of(t, tag[i]), others = count_of(t, TEACH_ALL);
            if (t->tag[k] != (own ? tag[i] : TEACH_ALL)) continue;
            float share = 1.0f / (float)(own ? own : others);
            for (int j = i * actions; j < (i + 1) * actions; j++)
                shown[j] += share * ws->logp[j];
        }
    }
    memcpy(ws->logits, shown, size * sizeof *shown);
    kern->softmax(shown, ws->logp, NULL, ws->logits, mask, n, actions);
}
