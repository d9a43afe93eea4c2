/* Grown profiles among nodes: taken as they were published, and told to who publishes them. */
#include "added_priv.h"

#include <stdlib.h>
#include <string.h>

static struct entry *added_nodes_find(struct added *g, uint64_t id)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g);
    for (int i = 0; i < n; i++)
        if (at[i]->id == id) return at[i];
    return NULL;
}

/* Newer weights of one that is here. */
static int renew(struct added *g, struct entry *e, const struct added_taken *t,
                 struct err *err)
{
    struct policy base = policy_frozen(added_policy(e));
    struct policy *p = policy_clone(&base, err);
    if (!p) return ERR_MEMORY;
    int rc = policy_add_copy(p, t->graft, err);
    if (rc) {
        policy_free(p);
        return rc;
    }
    rc = published_swap(e->training.published, p, t->published_at, t->score, err);
    if (rc) return rc;
    e->score = t->score;
    e->position = t->position;
    e->training.unsaved = true;
    added_describe(g, e);
    return 0;
}

static int added_nodes_make(struct added *g, const struct added_taken *t, double now,
                            struct err *e)
{
    added_remove(g, t->name);
    int rc = added_reserve(g, t->name, e);
    if (rc) {
        policy_free(t->base);
        return rc < 0 ? rc : err_set(e, ERR_CONFLICT, "%s is being grown", t->name);
    }
    struct added_making how = {.name = t->name,
                               .id = t->id,
                               .qoe = t->qoe,
                               .policy = t->base,
                               .score = t->score,
                               .base_score = t->base_score,
                               .now = now};
    struct entry *made = NULL;
    if (g->cfg.learn) how.exam = exam_new_profile(&t->base->cfg, t->qoe, e);
    if (g->cfg.learn && !how.exam)
        policy_free(t->base);
    else
        made = added_entry_new(g, &how, e);
    rc = made ? added_keep_shape(g, added_policy(made), e) : ERR_MEMORY;
    if (!rc) {
        made->position = made->read = t->position;
        if (made->training.online && t->state &&
            online_state_put(made->training.online, t->state, t->state_n, NULL))
            log_event(g->cfg.log, LOG_WARN, "grown",
                      "%s: the optimiser is of another configuration: starting anew",
                      t->name);
        /* a file that cannot be written now is tried again with the next ones */
        made->training.unsaved = added_write(g, made, NULL) != 0;
    }
    added_enter(g, rc ? NULL : made);
    if (rc) added_entry_free(made);
    return rc;
}

int added_take(struct added *g, const struct added_taken *t, double now, struct err *e)
{
    struct entry *is = g->cfg.learn ? NULL : added_nodes_find(g, t->id);
    if (is) {
        policy_free(t->base);
        return renew(g, is, t, e);
    }
    if (!t->base) return err_set(e, ERR_ABSENT, "are of weights that are not here");
    int rc = policy_add_copy(t->base, t->graft, e);
    if (!rc) return added_nodes_make(g, t, now, e);
    policy_free(t->base);
    return rc;
}

void added_rewind(struct added *g, uint64_t place)
{
    g->place = place;
}

void added_forget(struct added *g)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g);
    for (int i = 0; i < n; i++)
        at[i]->position = at[i]->read = 0;
}

int added_look(struct added_one out[SERVICE_ADDED], struct added *g)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g);
    for (int i = 0; i < n; i++) {
        struct entry *e = at[i];
        const struct policy *now = added_policy(e);
        struct online_stats s = {.check_score = e->score};
        if (e->training.online) online_stats(e->training.online, &s);
        e->base = policy_frozen(now);
        out[i] = (struct added_one){.id = e->id,
                                    .version = now->added->version,
                                    .position = e->position,
                                    .score = s.check_score,
                                    .base_score = e->base_score,
                                    .base = &e->base,
                                    .graft = now->added};
        memcpy(out[i].name, e->name, sizeof out[i].name);
    }
    return n;
}

int added_state(void **out, size_t *n, struct added *g, uint64_t id, struct err *e)
{
    const struct entry *of = added_nodes_find(g, id);
    if (!of || !of->training.online) return err_set(e, ERR_ABSENT, "nothing learns");
    return training_state(out, n, &of->training, e);
}

void added_christen(struct added *g, const char *name, uint64_t id)
{
    pthread_mutex_lock(&g->lock);
    struct entry *e = added_by_name(g, name);
    if (e && !e->id) {
        e->id = id;
        e->training.unsaved = true;
    }
    pthread_mutex_unlock(&g->lock);
}
