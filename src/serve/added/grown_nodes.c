/* Grown profiles among nodes: taken as they were published, and told to who publishes them. */
#include "grown_priv.h"

#include <stdlib.h>
#include <string.h>

static struct entry *grown_nodes_find(struct grown *g, uint64_t id)
{
    struct entry *at[SERVICE_GROWN];
    int n = grown_list(at, g);
    for (int i = 0; i < n; i++)
        if (at[i]->id == id) return at[i];
    return NULL;
}

/* Newer weights of one that is there. */
static int renew(struct grown *g, struct entry *e, const struct grown_taken *t,
                 struct err *err)
{
    if (!graft_fits(t->graft, e->base))
        return err_set(err, ERR_CORRUPT, "were grown on other weights than those here");
    struct graft *copy = graft_clone(t->graft, err);
    if (!copy) return ERR_MEMORY;
    int rc = snap_publish_grown(e->snap, copy, t->published_at, t->score, err);
    if (rc) {
        graft_free(copy);
        return rc;
    }
    graft_free(e->graft);
    e->graft = copy;
    e->score = t->score;
    e->position = t->position;
    e->unsaved = true;
    grown_describe(g, e, copy);
    return 0;
}

static int grown_nodes_make(struct grown *g, const struct grown_taken *t, double now,
                            struct err *e)
{
    grown_remove(g, t->name);
    int rc = grown_reserve(g, t->name, e);
    if (rc) {
        policy_free(t->base);
        return rc < 0 ? rc : err_set(e, ERR_CONFLICT, "%s is being grown", t->name);
    }
    struct grown_making how = {.name = t->name,
                               .id = t->id,
                               .qoe = t->qoe,
                               .base = t->base,
                               .graft = t->graft,
                               .score = t->score,
                               .base_score = t->base_score,
                               .now = now};
    struct entry *made = NULL;
    if (g->cfg.learn) how.exam = exam_new_grown(t->base, &t->graft->cfg, t->qoe, e);
    if (g->cfg.learn && !how.exam)
        policy_free(t->base);
    else
        made = grown_entry_new(g, &how, e);
    rc = made ? grown_keep_shape(g, t->graft, e) : ERR_MEMORY;
    if (!rc) {
        made->position = made->read = t->position;
        if (made->growth && t->state &&
            growth_state_put(made->growth, t->state, t->state_n, NULL))
            log_event(g->cfg.log, LOG_WARN, "grown",
                      "%s: the optimiser is of another configuration: starting anew",
                      t->name);
        /* a file that cannot be written now is tried again with the next ones */
        made->unsaved = grown_write(g, made, t->graft, NULL) != 0;
    }
    grown_enter(g, rc ? NULL : made, t->graft);
    if (rc) grown_entry_free(made);
    return rc;
}

int grown_take(struct grown *g, const struct grown_taken *t, double now, struct err *e)
{
    struct entry *is = g->cfg.learn ? NULL : grown_nodes_find(g, t->id);
    if (is) {
        policy_free(t->base);
        return renew(g, is, t, e);
    }
    if (!t->base) return err_set(e, ERR_ABSENT, "are of weights that are not here");
    if (graft_fits(t->graft, t->base)) return grown_nodes_make(g, t, now, e);
    policy_free(t->base);
    return err_set(e, ERR_CORRUPT, "were grown on other weights than those with them");
}

void grown_rewind(struct grown *g, uint64_t place)
{
    g->place = place;
}

void grown_forget(struct grown *g)
{
    struct entry *at[SERVICE_GROWN];
    int n = grown_list(at, g);
    for (int i = 0; i < n; i++)
        at[i]->position = at[i]->read = 0;
}

int grown_look(struct grown_one out[SERVICE_GROWN], struct grown *g)
{
    struct entry *at[SERVICE_GROWN];
    int n = grown_list(at, g);
    for (int i = 0; i < n; i++) {
        const struct entry *e = at[i];
        const struct graft *now = grown_graft(e);
        struct growth_stats s = {.online.check_score = e->score};
        if (e->growth) growth_stats(e->growth, &s);
        out[i] = (struct grown_one){.id = e->id,
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

int grown_state(void **out, size_t *n, struct grown *g, uint64_t id, struct err *e)
{
    const struct entry *of = grown_nodes_find(g, id);
    if (!of || !of->growth) return err_set(e, ERR_ABSENT, "nothing learns");
    *n = growth_state_size(of->growth);
    *out = malloc(*n);
    if (!*out) return err_set(e, ERR_MEMORY, "no memory for a learner's state");
    growth_state_get(of->growth, *out);
    return 0;
}

void grown_christen(struct grown *g, const char *name, uint64_t id)
{
    pthread_mutex_lock(&g->lock);
    struct entry *e = grown_by_name(g, name);
    if (e && !e->id) {
        e->id = id;
        e->unsaved = true;
    }
    pthread_mutex_unlock(&g->lock);
}
