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

/* Newer weights of one that is there. */
static int renew(struct added *g, struct entry *e, const struct added_taken *t,
                 struct err *err)
{
    if (!graft_fits(t->graft, e->base))
        return err_set(err, ERR_CORRUPT, "were grown on other weights than those here");
    struct graft *copy = graft_clone(t->graft, err);
    if (!copy) return ERR_MEMORY;
    int rc = published_swap_added(e->published, copy, t->published_at, t->score, err);
    if (rc) {
        graft_free(copy);
        return rc;
    }
    graft_free(e->graft);
    e->graft = copy;
    e->score = t->score;
    e->position = t->position;
    e->unsaved = true;
    added_describe(g, e, copy);
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
                               .base = t->base,
                               .graft = t->graft,
                               .score = t->score,
                               .base_score = t->base_score,
                               .now = now};
    struct entry *made = NULL;
    if (g->cfg.learn) how.exam = exam_new_added(t->base, &t->graft->cfg, t->qoe, e);
    if (g->cfg.learn && !how.exam)
        policy_free(t->base);
    else
        made = added_entry_new(g, &how, e);
    rc = made ? added_keep_shape(g, t->graft, e) : ERR_MEMORY;
    if (!rc) {
        made->position = made->read = t->position;
        if (made->growth && t->state &&
            growth_state_put(made->growth, t->state, t->state_n, NULL))
            log_event(g->cfg.log, LOG_WARN, "grown",
                      "%s: the optimiser is of another configuration: starting anew",
                      t->name);
        /* a file that cannot be written now is tried again with the next ones */
        made->unsaved = added_write(g, made, t->graft, NULL) != 0;
    }
    added_enter(g, rc ? NULL : made, t->graft);
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
    if (graft_fits(t->graft, t->base)) return added_nodes_make(g, t, now, e);
    policy_free(t->base);
    return err_set(e, ERR_CORRUPT, "were grown on other weights than those with them");
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
        const struct entry *e = at[i];
        const struct graft *now = added_graft(e);
        struct growth_stats s = {.online.check_score = e->score};
        if (e->growth) growth_stats(e->growth, &s);
        out[i] = (struct added_one){.id = e->id,
                                    .version = now->version,
                                    .position = e->position,
                                    .score = s.online.check_score,
                                    .base_score = e->base_score,
                                    .base = e->base,
                                    .graft = now};
        memcpy(out[i].name, e->name, sizeof out[i].name);
    }
    return n;
}

int added_state(void **out, size_t *n, struct added *g, uint64_t id, struct err *e)
{
    const struct entry *of = added_nodes_find(g, id);
    if (!of || !of->growth) return err_set(e, ERR_ABSENT, "nothing learns");
    *n = growth_state_size(of->growth);
    *out = malloc(*n);
    if (!*out) return err_set(e, ERR_MEMORY, "no memory for a learner's state");
    growth_state_get(of->growth, *out);
    return 0;
}

void added_christen(struct added *g, const char *name, uint64_t id)
{
    pthread_mutex_lock(&g->lock);
    struct entry *e = added_by_name(g, name);
    if (e && !e->id) {
        e->id = id;
        e->unsaved = true;
    }
    pthread_mutex_unlock(&g->lock);
}
