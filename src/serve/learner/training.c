#include "serve/learner/training.h"

#include <stdlib.h>

static double training_check(void *ctx, const struct policy *p)
{
    return exam_score(ctx, p);
}

int training_start(struct training *t, const struct online_cfg *cfg,
                   const struct policy *start, struct err *e)
{
    t->online = online_new(cfg, start, training_check, t->exam, e);
    return t->online ? 0 : ERR_MEMORY;
}

void training_release(struct training *t)
{
    online_free(t->online);
    exam_free(t->exam);
}

int training_publish(struct training *t, double now, struct err *e)
{
    struct online_stats s;
    online_stats(t->online, &s);
    const struct policy *new = online_policy(t->online);
    t->unpublished = true;
    int rc = t->announce ? t->announce(t->ctx, new, now, s.check_score, e) : 0;
    if (rc) return rc;
    struct policy *p = policy_clone(new, e);
    if (!p) return ERR_MEMORY;
    rc = published_swap(t->published, p, now, s.check_score, e);
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

int training_state(void **out, size_t *n, const struct training *t, struct err *e)
{
    *n = online_state_size(t->online);
    *out = malloc(*n);
    if (!*out) return err_set(e, ERR_MEMORY, "no memory for the learner's state");
    online_state_get(t->online, *out);
    return 0;
}
