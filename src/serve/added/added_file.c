/* The files of grown profiles: written, read again, put aside. */
#include "added_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "learn/ckpt.h"

bool added_path(char out[ADDED_PATH], const struct added *g, const char *name)
{
    return g->cfg.dir && snprintf(out, ADDED_PATH, "%s/grown-%s.safetensors", g->cfg.dir,
                                  name) < ADDED_PATH;
}

int added_write(struct added *g, const struct entry *e, struct err *err)
{
    char path[ADDED_PATH];
    if (!added_path(path, g, e->name)) return 0;
    size_t n = 0;
    void *state = NULL;
    if (e->training.online && training_state(&state, &n, &e->training, err))
        return ERR_MEMORY;

    struct ckpt_meta *meta = calloc(1, sizeof *meta); /* 18 kB: too much for a stack */
    if (!meta) {
        free(state);
        return err_set(err, ERR_MEMORY, "no memory for a checkpoint");
    }
    ckpt_meta_set(meta, "made_by", "abrd serve");
    ckpt_meta_set(meta, "profile", "%s", e->name);
    ckpt_meta_set(meta, "mu", "%.9g,%.9g,%.9g", e->qoe.mu_quality, e->qoe.mu_switch,
                  e->qoe.mu_stall);
    ckpt_meta_set(meta, "grown_at", "%.3f", e->since);
    if (e->id) {
        ckpt_meta_set(meta, "growth", "%016llx", (unsigned long long)e->id);
        ckpt_meta_set(meta, "growth_position", "%llu", (unsigned long long)e->position);
        ckpt_meta_set(meta, "check_score", "%.9g", e->score);
        ckpt_meta_set(meta, "base_score", "%.9g", e->base_score);
    }
    int rc = ckpt_save(path, added_policy(e), meta, state, n, err);
    free(meta);
    free(state);
    return rc;
}

/* Saved, unless it is removed meanwhile: then its file goes again. */
int added_keep(struct added *g, struct entry *e, struct err *err)
{
    pthread_mutex_lock(&g->lock);
    bool gone = e->gone;
    g->saving = gone ? NULL : e;
    pthread_mutex_unlock(&g->lock);
    if (gone) return 0;

    int rc = added_write(g, e, err);
    e->training.unsaved = rc != 0;
    pthread_mutex_lock(&g->lock);
    gone = e->gone;
    if (!gone) g->saving = NULL; /* from here on who removes it takes its file as well */
    pthread_mutex_unlock(&g->lock);
    if (!gone) return rc;
    char path[ADDED_PATH];
    if (added_path(path, g, e->name)) unlink(path);
    pthread_mutex_lock(&g->lock);
    g->saving = NULL;
    pthread_mutex_unlock(&g->lock);
    return rc;
}

int added_save(struct added *g, struct err *e)
{
    struct entry *at[SERVICE_ADDED];
    int n = added_list(at, g), rc = 0;
    for (int i = 0; i < n; i++) {
        int failed = at[i]->training.unsaved ? added_keep(g, at[i], e) : 0;
        if (failed) rc = failed;
    }
    return rc;
}

int added_encode(void **out, size_t *n, struct added *g, const char *name, struct err *e)
{
    pthread_mutex_lock(&g->lock);
    const struct entry *found = added_by_name(g, name);
    pthread_mutex_unlock(&g->lock);
    if (!found) return err_field(e, ERR_ABSENT, "profile", "'%.63s' has not grown", name);
    return ckpt_encode(out, n, added_policy(found), NULL, NULL, 0, e);
}

/* ---- restart */

struct read {
    struct policy *policy;
    void *state;
    size_t state_n;
    double since, score, base_score;
    uint64_t id, position;
};

static void put_aside(const char *path)
{
    char bad[ADDED_PATH + 8];
    snprintf(bad, sizeof bad, "%s.bad", path);
    rename(path, bad);
}

static double real_of(const struct ckpt_meta *meta, const char *key)
{
    const char *at = ckpt_meta_get(meta, key);
    return at ? strtod(at, NULL) : 0;
}

static uint64_t u64_of(const struct ckpt_meta *meta, const char *key, int base)
{
    const char *at = ckpt_meta_get(meta, key);
    return at ? strtoull(at, NULL, base) : 0;
}

static int load_file(struct read *r, const char *path, struct err *e)
{
    struct ckpt_meta *meta = calloc(1, sizeof *meta);
    if (!meta) return err_set(e, ERR_MEMORY, "no memory for a grown profile");
    struct err why = {0};
    r->policy = ckpt_load_any(path, meta, &r->state, &r->state_n, &why);
    if (r->policy && !r->policy->added) {
        err_field(&why, ERR_INVALID, path, "is of a policy without added experts");
        policy_free(r->policy);
        r->policy = NULL;
    }
    int rc = r->policy ? 0 : err_field(e, why.code, why.field, "%s", why.detail);
    if (!rc) {
        r->since = real_of(meta, "grown_at");
        r->score = real_of(meta, "check_score");
        r->base_score = real_of(meta, "base_score");
        r->id = u64_of(meta, "growth", 16);
        r->position = u64_of(meta, "growth_position", 10);
    }
    free(meta);
    return rc;
}

/* r->policy is taken. What is of other nodes was examined by who learned it. */
static int added_file_make(struct entry **made, struct added *g, const char *name,
                           const struct qoe *qoe, const struct read *r, double now,
                           struct err *e)
{
    bool mine = g->cfg.learn || !r->id;
    struct added_making how = {.name = name,
                               .id = r->id,
                               .qoe = qoe,
                               .policy = r->policy,
                               .score = r->score,
                               .base_score = r->base_score,
                               .now = now};
    if (mine) {
        how.exam = exam_new_profile(&r->policy->cfg, qoe, e);
        if (!how.exam) {
            policy_free(r->policy);
            return ERR_MEMORY;
        }
    }
    *made = added_entry_new(g, &how, e);
    if (!*made) return ERR_MEMORY;
    (*made)->position = r->position;
    (*made)->since = r->since;
    return added_keep_shape(g, added_policy(*made), e);
}

int added_restore(struct added *g, const char *name, const struct qoe *qoe,
                  const struct policy_cfg *serving, double now, struct err *e)
{
    char path[ADDED_PATH];
    if (!added_path(path, g, name) || access(path, F_OK)) return 0;
    int rc = added_reserve(g, name, e);
    if (rc) return rc;

    struct read r = {0};
    struct entry *made = NULL;
    rc = load_file(&r, path, e);
    if (!rc && (r.policy->cfg.obs_dim != serving->obs_dim ||
                r.policy->cfg.actions != serving->actions)) {
        rc = err_field(e, ERR_INVALID, path,
                       "was grown on a policy of %d inputs and %d levels; the one served "
                       "has %d and %d",
                       r.policy->cfg.obs_dim, r.policy->cfg.actions, serving->obs_dim,
                       serving->actions);
        policy_free(r.policy);
    } else if (!rc) {
        rc = added_file_make(&made, g, name, qoe, &r, now, e);
    }
    if (made && made->training.online && r.state &&
        online_state_put(made->training.online, r.state, r.state_n, NULL))
        log_event(g->cfg.log, LOG_WARN, "grown",
                  "%s: the optimiser is of another configuration: starting anew", name);
    if (rc && rc != ERR_MEMORY) put_aside(path);
    added_enter(g, rc ? NULL : made);
    if (rc) added_entry_free(made);
    free(r.state);
    return rc ? rc : 1;
}
