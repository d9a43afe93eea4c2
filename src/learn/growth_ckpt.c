#include "learn/growth_ckpt.h"

#include "base/text.h"
#include "ckpt_priv.h"
#include "nn/mlp.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "abrd-grown-1"

/* ---- tensors */

static int growth_ckpt_count_of(const struct norga_cfg *c)
{
    return 3 + 2 * (c->layers + 1) * c->experts;
}

/* One network's, from t on; g NULL: names and shapes alone. Returns their number. */
static int list_net(struct ckpt_tensor *t, const char *who, const struct norga_cfg *c,
                    const struct norga *g)
{
    struct mlp_cfg ec = {c->in, c->hidden, c->layers, c->out};
    float *theta = g ? g->theta : NULL;
    size_t scores = norga_scores(c).at, biases = (size_t)c->experts * (size_t)c->in;
    int n = 0;
    t[n++] = (struct ckpt_tensor){.rows = 2, .at = theta};
    t[n++] = (struct ckpt_tensor){
        .rows = c->experts, .cols = c->in, .at = g ? theta + scores : NULL};
    t[n++] = (struct ckpt_tensor){.rows = c->experts,
                                  .at = g ? theta + scores + biases : NULL};
    snprintf(t[0].name, sizeof t[0].name, "%s.shape", who);
    snprintf(t[1].name, sizeof t[1].name, "%s.score.weight", who);
    snprintf(t[2].name, sizeof t[2].name, "%s.score.bias", who);

    for (int j = 0; j < c->experts; j++) {
        size_t at = norga_expert(c, j).at;
        for (int l = 0; l <= c->layers; l++) {
            struct mlp_layer v = mlp_layer(&ec, l);
            t[n] = (struct ckpt_tensor){
                .rows = v.out, .cols = v.in, .at = g ? theta + at + v.w : NULL};
            snprintf(t[n].name, sizeof t[n].name, "%s.new.%d.%d.weight", who, j, l);
            n++;
            t[n] = (struct ckpt_tensor){.rows = v.out, .at = g ? theta + at + v.b : NULL};
            snprintf(t[n].name, sizeof t[n].name, "%s.new.%d.%d.bias", who, j, l);
            n++;
        }
    }
    assert(n == growth_ckpt_count_of(c));
    return n;
}

/* *out (*n) owned by the caller; base and g NULL: names and shapes alone. */
static int list_all(struct ckpt_tensor **out, int *n, const struct graft_cfg *cfg,
                    struct policy *base, const struct graft *g, struct err *e)
{
    struct norga_cfg actor = graft_actor_cfg(cfg), critic = graft_critic_cfg(cfg);
    int rc =
        ckpt_list_policy(out, n, &cfg->base, base, "base.",
                         growth_ckpt_count_of(&actor) + growth_ckpt_count_of(&critic), e);
    if (rc) return rc;
    *n += list_net(*out + *n, "actor", &actor, g ? g->actor : NULL);
    *n += list_net(*out + *n, "critic", &critic, g ? g->critic : NULL);
    return 0;
}

/* ---- writing */

static int add_u64(json_t *meta, const char *key, uint64_t value, struct err *e)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return ckpt_add_text(meta, key, text, e);
}

static int add_graft(json_t *meta, const struct graft *g, struct err *e)
{
    int rc = add_u64(meta, "graft_experts", (uint64_t)g->cfg.experts, e);
    if (!rc) rc = ckpt_add_text(meta, "graft_gate", norga_sigma_word(g->cfg.sigma), e);
    if (!rc) rc = add_u64(meta, "graft_version", g->version, e);
    if (!rc) rc = add_u64(meta, "graft_learns_shape", g->shape_learns, e);
    if (!rc) rc = add_u64(meta, "graft_base_crc", g->base_crc, e);
    return rc;
}

static int check_finite(const struct ckpt_tensor *t, int n, struct err *e)
{
    for (int i = 0; i < n; i++)
        if (!ckpt_finite(t[i].at,
                         (size_t)t[i].rows * (size_t)(t[i].cols ? t[i].cols : 1)))
            return err_set(e, ERR_NUMERIC, "tensor '%s' is not finite: not saved",
                           t[i].name);
    return 0;
}

int growth_ckpt_encode(void **out, size_t *n, const struct policy *base,
                       const struct graft *g, const struct ckpt_meta *meta,
                       const void *extra, size_t extra_n, struct err *e)
{
    assert(graft_fits(g, base));
    struct ckpt_tensor *t;
    int count, rc = list_all(&t, &count, &g->cfg, (struct policy *)base, g, e);
    if (rc) return rc;

    json_t *m = json_object();
    rc = check_finite(t, count, e);
    if (!rc) rc = m ? ckpt_add_text(m, "format", FORMAT, e) : ckpt_no_memory(e);
    if (!rc) rc = ckpt_add_policy(m, base, e);
    if (!rc) rc = add_graft(m, g, e);
    if (!rc) rc = ckpt_add_caller(m, meta, e);
    if (!rc) rc = ckpt_pack(out, n, m, t, count, extra, extra_n, e);
    json_decref(m);
    free(t);
    return rc;
}

int growth_ckpt_save(const char *path, const struct policy *base, const struct graft *g,
                     const struct ckpt_meta *meta, const void *extra, size_t extra_n,
                     struct err *e)
{
    void *file;
    size_t n;
    int rc = growth_ckpt_encode(&file, &n, base, g, meta, extra, extra_n, e);
    if (rc) return rc;
    rc = text_write_file(path, file, n, e);
    free(file);
    return rc;
}

/* ---- reading */

static int need_cfg(struct graft_cfg *out, const struct ckpt_file *f, struct err *e)
{
    const char *gate;
    struct graft_cfg cfg = {0};
    struct err why = {0};
    int rc = ckpt_need_policy_cfg(&cfg.base, f, e);
    if (!rc) rc = ckpt_need_int(&cfg.experts, f, "graft_experts", e);
    if (!rc) rc = ckpt_need_text(&gate, f, "graft_gate", e);
    if (rc) return rc;
    if (norga_sigma_parse(&cfg.sigma, gate, &why))
        return ckpt_blame(f, "graft_gate", &why, e);
    if (graft_cfg_check(&cfg, &why)) return ckpt_blame(f, "graft_experts", &why, e);
    *out = cfg;
    return 0;
}

/* What is no tensor, of both. */
static int need_rest(struct graft *g, struct policy *base, const struct ckpt_file *f,
                     struct err *e)
{
    uint64_t learns = 0, crc = 0;
    int rc = ckpt_need_policy(base, f, e);
    if (!rc) rc = ckpt_need_u64(&g->version, f, "graft_version", e);
    if (!rc) rc = ckpt_need_u64(&learns, f, "graft_learns_shape", e);
    if (!rc) rc = ckpt_need_u64(&crc, f, "graft_base_crc", e);
    if (rc) return rc;
    g->shape_learns = learns != 0;
    g->base_version = base->version;
    g->base_crc = (uint32_t)crc;
    if (crc <= UINT32_MAX && graft_fits(g, base)) return 0;
    return err_field(
        e, ERR_CORRUPT, f->what,
        "its new experts were grown on other weights than those beside them");
}

/* Checked as a whole before anything is allocated for it. */
static int read_all(struct policy **base, struct graft **g, const struct ckpt_file *f,
                    struct err *e)
{
    struct graft_cfg cfg;
    struct ckpt_tensor *t;
    int n, rc = need_cfg(&cfg, f, e);
    if (!rc) rc = list_all(&t, &n, &cfg, NULL, NULL, e);
    if (rc) return rc;
    rc = ckpt_check(f, t, n, e);
    free(t);
    if (rc) return rc;

    struct policy *p = policy_new(&cfg.base, e);
    struct graft *made = p ? graft_new(&cfg, e) : NULL;
    rc = made ? list_all(&t, &n, &cfg, p, made, e) : ERR_MEMORY;
    if (!rc) {
        rc = ckpt_fill(f, t, n, e);
        free(t);
    }
    if (!rc) rc = need_rest(made, p, f, e);
    if (!rc) {
        *base = p;
        *g = made;
        return 0;
    }
    graft_free(made);
    policy_free(p);
    return rc;
}

static int decode(struct policy **base, struct graft **g, const char *what,
                  const void *data, size_t n, struct ckpt_meta *meta, void **extra,
                  size_t *extra_n, struct err *e)
{
    struct ckpt_file f = {.what = what};
    struct policy *p = NULL;
    struct graft *made = NULL;
    int rc = ckpt_open(&f, data, n, FORMAT, e);
    if (!rc) rc = read_all(&p, &made, &f, e);
    if (!rc) rc = ckpt_need_rest(meta, extra, extra_n, &f, e);
    if (rc) {
        graft_free(made);
        policy_free(p);
    } else {
        *base = p;
        *g = made;
    }
    ckpt_close(&f);
    return rc;
}

int growth_ckpt_decode(struct policy **base, struct graft **g, const void *data, size_t n,
                       struct ckpt_meta *meta, void **extra, size_t *extra_n,
                       struct err *e)
{
    return decode(base, g, "checkpoint", data, n, meta, extra, extra_n, e);
}

int growth_ckpt_load(struct policy **base, struct graft **g, const char *path,
                     struct ckpt_meta *meta, void **extra, size_t *extra_n, struct err *e)
{
    size_t n;
    char *file = text_read_file(path, CKPT_FILE_MAX, &n, e);
    if (!file) return e && e->code ? e->code : ERR_IO;
    int rc = decode(base, g, path, file, n, meta, extra, extra_n, e);
    free(file);
    return rc;
}
