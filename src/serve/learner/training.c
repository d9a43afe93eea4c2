#include "serve/learner/training.h"

#include <stdlib.h>

static double training_check(void *ctx, const struct policy *p)
{
    return exam_score(ctx, p);
}

static enum online_verdict training_judge(void *cells, const struct policy *challenger)
{
    static const enum online_verdict of[] = {
        [CELLS_WORSE] = ONLINE_WORSE,
        [CELLS_EVEN] = ONLINE_EVEN,
        [CELLS_BETTER] = ONLINE_BETTER,
        [CELLS_FALLEN] = ONLINE_FALLEN,
    };
    return of[cells_judge(cells, challenger)];
}

static void training_promote(void *cells)
{
    cells_promote(cells);
}

static void training_replace(void *cells, const struct policy *p)
{
    cells_champion(cells, p);
}

int training_start(struct training *t, const struct online_cfg *cfg,
                   const struct policy *start, struct err *e)
{
    t->online = online_new(cfg, start, training_check, t->exam, e);
    if (!t->online) return ERR_MEMORY;
    if (t->rehearsal) online_rehearse(t->online, rehearsal_collect, t->rehearsal);
    return 0;
}

void training_attach_judge(struct training *t)
{
    if (!t->cells) return;
    const struct online_judge judge = {.self = t->cells,
                                       .judge = training_judge,
                                       .publish = training_promote,
                                       .replace = training_replace,
                                       .home = cells_shipped(t->cells)};
    online_judge(t->online, &judge);
}

void training_release(struct training *t)
{
    online_free(t->online);
    forecaster_free(t->forecaster);
    rehearsal_free(t->rehearsal);
    cells_free(t->cells);
    exam_free(t->exam);
}

int training_publish(struct training *t, double now, struct err *e)
{
    const struct policy *new = online_policy(t->online);
    double score = online_score(t->online);
    t->unpublished = true;
    int rc = t->announce ? t->announce(t->ctx, new, now, score, e) : 0;
    if (rc) return rc;
    struct policy *p = policy_clone(new, e);
    if (!p) return ERR_MEMORY;
    rc = published_swap(t->published, p, now, score, e);
    t->unpublished = rc != 0;
    return rc;
}

int training_update(struct training *t, double now, int *failed, struct err *e)
{
    int rc = online_update(t->online);
    if (rc != 1) return rc;
    t->unsaved = true;
    *failed = training_publish(t, now, e);
    return 1;
}

int training_forecast(struct training *t, double now, int *failed, struct err *e)
{
    if (!t->forecaster || !forecaster_turn(t->forecaster)) return 0;
    const struct policy *served = online_policy(t->online);
    float offer[FORECAST_OWN];
    int rc = ERR_NUMERIC;
    /* a smaller correction may pass when a larger one was refused */
    for (int half = 0; half < FORECASTER_SCALES && rc == ERR_NUMERIC; half++)
        if (forecaster_offer(offer, t->forecaster, half,
                             served->input_n == FORECAST_OWN ? served->input : NULL))
            rc = online_offer(t->online, offer, FORECAST_OWN);
    if (rc != 1) return 0;
    t->unsaved = true;
    *failed = training_publish(t, now, e);
    return 1;
}

int training_state(void **out, size_t *n, const struct training *t, struct err *e)
{
    *n = online_state_size(t->online);
    *out = malloc(*n);
    if (!*out) return err_set(e, ERR_MEMORY, "no memory for the learner's state");
    online_state_get(t->online, *out);
    return 0;
}
