#include "ckpt_priv.h"

#include "base/text.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static int need_float(float *out, const struct ckpt_file *f, const char *key, double lo,
                      struct err *e)
{
    const char *text;
    double value;
    struct err why = {0};
    int rc = ckpt_need_text(&text, f, key, e);
    if (rc) return rc;
    if (text_double(&value, text, lo, (double)FLT_MAX, key, &why))
        return ckpt_blame(f, key, &why, e);
    *out = (float)value;
    return 0;
}

static int need_route(enum mix_route *out, const struct ckpt_file *f, const char *key,
                      struct err *e)
{
    const char *text;
    struct err why = {0};
    int rc = ckpt_need_text(&text, f, key, e);
    if (rc) return rc;
    return mix_route_parse(out, text, &why) ? ckpt_blame(f, key, &why, e) : 0;
}

int ckpt_need_policy_cfg(struct policy_cfg *out, const struct ckpt_file *f, struct err *e)
{
    struct policy_cfg cfg = {0}, *c = &cfg;
    int rc = ckpt_need_int(&c->obs_dim, f, "obs_dim", e);
    if (!rc) rc = ckpt_need_int(&c->actions, f, "actions", e);
    if (!rc) rc = ckpt_need_int(&c->hidden, f, "hidden", e);
    if (!rc) rc = ckpt_need_int(&c->layers, f, "layers", e);
    if (!rc) rc = ckpt_need_int(&c->experts, f, "experts", e);
    if (!rc) rc = need_route(&c->route, f, "route", e);
    if (!rc) rc = ckpt_need_int(&c->critic_hidden, f, "critic_hidden", e);
    if (!rc) rc = ckpt_need_int(&c->critic_experts, f, "critic_experts", e);
    if (!rc) rc = need_route(&c->critic_route, f, "critic_route", e);
    if (rc) return rc;

    struct err why = {0};
    if (policy_cfg_check(c, &why)) return ckpt_blame(f, why.field, &why, e);
    *out = cfg;
    return 0;
}

/* Files that do not say have no busy experts. Somebody has to be idle. */
static int need_busy(struct mix *m, const struct ckpt_file *f, const char *key,
                     struct err *e)
{
    m->busy = 0;
    if (!json_object_get(f->meta, key)) return 0;
    uint64_t busy, all = UINT64_MAX >> (MIX_EXPERTS_MAX - m->cfg.experts);
    int rc = ckpt_need_u64(&busy, f, key, e);
    if (rc) return rc;
    struct err why = {0};
    if (busy > all || busy == all) {
        err_set(&why, ERR_RANGE, "%llu leaves none of %d experts idle, or is of more",
                (unsigned long long)busy, m->cfg.experts);
        return ckpt_blame(f, key, &why, e);
    }
    m->busy = busy;
    return 0;
}

int ckpt_need_policy(struct policy *p, const struct ckpt_file *f, struct err *e)
{
    int rc = ckpt_need_u64(&p->version, f, "version", e);
    if (!rc) rc = need_float(&p->ret_mean, f, "ret_mean", -(double)FLT_MAX, e);
    if (!rc) rc = need_float(&p->ret_std, f, "ret_std", (double)FLT_MIN, e);
    if (!rc) rc = need_busy(p->actor, f, "actor_busy", e);
    if (!rc) rc = need_busy(p->critic, f, "critic_busy", e);
    return rc;
}

/* Checked as a whole before anything is allocated for it. */
static int read_policy(struct policy **out, const struct ckpt_file *f, struct err *e)
{
    struct policy_cfg cfg;
    struct ckpt_tensor *t;
    int n, rc = ckpt_need_policy_cfg(&cfg, f, e);
    if (!rc) rc = ckpt_list_policy(&t, &n, &cfg, NULL, "", 0, e);
    if (rc) return rc;
    rc = ckpt_check(f, t, n, e);
    free(t);
    if (rc) return rc;

    struct policy *p = policy_new(&cfg, e);
    rc = p ? ckpt_list_policy(&t, &n, &cfg, p, "", 0, e) : ERR_MEMORY;
    if (!rc) {
        rc = ckpt_fill(f, t, n, e);
        free(t);
    }
    if (!rc) rc = ckpt_need_policy(p, f, e);
    if (!rc) {
        *out = p;
        return 0;
    }
    policy_free(p);
    return rc;
}

int ckpt_need_rest(struct ckpt_meta *meta, void **extra, size_t *extra_n,
                   const struct ckpt_file *f, struct err *e)
{
    struct ckpt_meta *m = meta ? malloc(sizeof *m) : NULL;
    void *x = NULL;
    size_t x_n = 0;
    int rc = 0;
    if (meta) rc = m ? ckpt_need_meta(m, f, e) : ckpt_no_memory(e);
    if (!rc && extra) rc = ckpt_need_extra(&x, &x_n, f, e);
    if (!rc) {
        if (m) *meta = *m;
        if (extra) *extra = x;
        if (extra && extra_n) *extra_n = x_n;
    }
    free(m);
    return rc;
}

static struct policy *decode(const char *what, const void *data, size_t n,
                             struct ckpt_meta *meta, void **extra, size_t *extra_n,
                             struct err *e)
{
    struct ckpt_file f = {.what = what};
    struct policy *p = NULL;
    int rc = ckpt_open(&f, data, n, CKPT_FORMAT, e);
    if (!rc) rc = read_policy(&p, &f, e);
    if (!rc) rc = ckpt_need_rest(meta, extra, extra_n, &f, e);
    if (rc) {
        policy_free(p);
        p = NULL;
    }
    ckpt_close(&f);
    return p;
}

struct policy *ckpt_decode(const void *data, size_t n, struct ckpt_meta *meta,
                           void **extra, size_t *extra_n, struct err *e)
{
    return decode("checkpoint", data, n, meta, extra, extra_n, e);
}

struct policy *ckpt_load(const char *path, struct ckpt_meta *meta, void **extra,
                         size_t *extra_n, struct err *e)
{
    size_t n;
    char *file = text_read_file(path, CKPT_FILE_MAX, &n, e);
    if (!file) return NULL;
    struct policy *p = decode(path, file, n, meta, extra, extra_n, e);
    free(file);
    return p;
}
