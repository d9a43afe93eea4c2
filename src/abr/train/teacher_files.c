#include "abr/train/teacher_files.h"

#include "abr/train/recipe.h"
#include "base/bytes.h"
#include "learn/ckpt.h"

#include <string.h>

const char *teacher_files_players(const struct abr_env_cfg *cfg)
{
    if (cfg->players <= 0.0 && cfg->live <= 0.0) return "standard";
    return cfg->players >= 1.0 ? "drawn" : "any";
}

static int enrol(struct teacher_files *m, const struct policy *p, int tag,
                 const char *path, struct err *e)
{
    struct teachers *t = &m->teachers;
    if (t->n == TEACHERS_MAX)
        return err_field(
            e, ERR_FULL, path,
            "one kind of episode too many: all teachers together know at most %d",
            TEACHERS_MAX);
    t->policy[t->n] = p;
    t->tag[t->n++] = tag;
    return 0;
}

/* Enrols it as teacher of everything except shorter videos, which it never met. */
static int enrol_whole(struct teacher_files *m, const struct policy *p,
                       const struct abr_env_cfg *env, const char *path, struct err *e)
{
    int rc = 0;
    for (int tag = 0; tag < abr_env_tag_short(env, 0) && !rc; tag++)
        rc = enrol(m, p, tag, path, e);
    return rc;
}

/* Enrols it as teacher of its own profile (NULL: all), with these players. */
static int enrol_profiles(struct teacher_files *m, const struct policy *p,
                          const struct qoe_profile *own, bool standard, bool drawn,
                          const struct abr_env_cfg *env, const char *path, struct err *e)
{
    int known = 0, rc = 0;
    for (int i = 0; i < env->n_profiles && !rc; i++) {
        if (own && !qoe_same_weights(&env->profiles[i], &own->qoe)) continue;
        known++;
        if (standard) rc = enrol(m, p, i, path, e);
        if (drawn && !rc) rc = enrol(m, p, abr_env_tag_drawn(env, i), path, e);
    }
    if (rc || known) return rc;
    return err_field(e, ERR_CONFLICT, path, "was trained for %s, the student is not",
                     own ? own->name : "nothing");
}

static int enrol_all(struct teacher_files *m, const struct policy *p,
                     const struct ckpt_meta *meta, const struct abr_env_cfg *env,
                     const char *path, struct err *e)
{
    const char *name = ckpt_meta_get(meta, "profile");
    const char *players = ckpt_meta_get(meta, "players");
    if (name && !strcmp(name, recipe_profiles[RECIPE_DRAWN]))
        return enrol(m, p, env->n_profiles, path, e);
    const struct qoe_profile *own = name ? qoe_find(name) : NULL;
    bool standard = !players || strcmp(players, "drawn") != 0;
    bool drawn = !players || strcmp(players, "standard") != 0;
    if (!own && standard && drawn)
        return env->lengths > 0.0 && !ckpt_meta_get(meta, "lengths")
                   ? enrol_whole(m, p, env, path, e)
                   : enrol(m, p, TEACH_ALL, path, e);
    return enrol_profiles(m, p, own, standard, drawn, env, path, e);
}

/* Whether the teacher's observation, by its metadata, is that of the student. */
static int sees_the_same(const struct policy *p, const struct ckpt_meta *meta,
                         const struct policy_cfg *student, const struct abr_env_cfg *env,
                         const char *path, struct err *e)
{
    const char *theirs = ckpt_meta_get(meta, "layout");
    const char *ours = feat_layout_name(env->layout);
    if (theirs && !strcmp(theirs, ours) && p->cfg.obs_dim == student->obs_dim &&
        p->cfg.actions == student->actions)
        return 0;
    return err_field(e, ERR_CONFLICT, path,
                     "observes layout %s, the student %s: a teacher must see what its "
                     "student sees",
                     theirs ? theirs : "unknown", ours);
}

int teacher_files_add(struct teacher_files *m, const char *path,
                      const struct policy_cfg *student, const struct abr_env_cfg *env,
                      struct err *e)
{
    if (m->n == TEACHERS_MAX)
        return err_field(e, ERR_FULL, path, "more than %d teachers", TEACHERS_MAX);
    struct ckpt_meta meta = {0};
    struct policy *p = ckpt_load(path, &meta, NULL, NULL, e);
    if (!p) return e ? e->code : ERR_IO;
    m->policy[m->n++] = p;
    m->crc = bytes_crc32(m->crc, p->actor->theta, p->actor->n * sizeof *p->actor->theta);
    int rc = sees_the_same(p, &meta, student, env, path, e);
    return rc ? rc : enrol_all(m, p, &meta, env, path, e);
}

void teacher_files_free(struct teacher_files *m)
{
    for (int i = 0; i < m->n; i++)
        policy_free(m->policy[i]);
    *m = (struct teacher_files){0};
}
