#include "ckpt_priv.h"

#include "base/text.h"
#include "policy/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- metadata */

static const char *const RESERVED[] = {
    "format",        "obs_dim",        "actions",      "hidden",      "layers", "route",
    "critic_hidden", "critic_experts", "critic_route", "experts",     "crc32",  "version",
    "ret_mean",      "ret_std",        "actor_busy",   "critic_busy",
};

static bool is_reserved(const char *key)
{
    for (size_t i = 0; i < sizeof RESERVED / sizeof *RESERVED; i++)
        if (strcmp(key, RESERVED[i]) == 0) return true;
    return strncmp(key, "graft_", 6) == 0;
}

void ckpt_meta_set(struct ckpt_meta *m, const char *key, const char *fmt, ...)
{
    int i = 0;
    while (i < m->n && strcmp(m->key[i], key) != 0)
        i++;
    assert(i < CKPT_META_MAX && strlen(key) < sizeof m->key[i]);
    if (i == m->n) strcpy(m->key[m->n++], key);

    char raw[2 * sizeof m->value[i]];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    text_clean(m->value[i], sizeof m->value[i], raw);
}

const char *ckpt_meta_get(const struct ckpt_meta *m, const char *key)
{
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->key[i], key) == 0) return m->value[i];
    return NULL;
}

/* Nothing when all are idle, so that most files say nothing of it. */
static int add_busy(json_t *meta, const char *key, uint64_t busy, struct err *e)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, busy);
    return busy ? ckpt_add_text(meta, key, text, e) : 0;
}

int ckpt_add_policy(json_t *meta, const struct policy *p, struct err *e)
{
    const struct policy_cfg *c = &p->cfg;
    char version[24];
    snprintf(version, sizeof version, "%" PRIu64, p->version);

    int rc = ckpt_add_number(meta, "obs_dim", c->obs_dim, e);
    if (!rc) rc = ckpt_add_number(meta, "actions", c->actions, e);
    if (!rc) rc = ckpt_add_number(meta, "hidden", c->hidden, e);
    if (!rc) rc = ckpt_add_number(meta, "layers", c->layers, e);
    if (!rc) rc = ckpt_add_number(meta, "experts", c->experts, e);
    if (!rc) rc = ckpt_add_text(meta, "route", mix_route_word(c->route), e);
    if (!rc) rc = ckpt_add_number(meta, "critic_hidden", c->critic_hidden, e);
    if (!rc) rc = ckpt_add_number(meta, "critic_experts", c->critic_experts, e);
    if (!rc) rc = ckpt_add_text(meta, "critic_route", mix_route_word(c->critic_route), e);
    if (!rc) rc = ckpt_add_text(meta, "version", version, e);
    if (!rc) rc = ckpt_add_number(meta, "ret_mean", (double)p->ret_mean, e);
    if (!rc) rc = ckpt_add_number(meta, "ret_std", (double)p->ret_std, e);
    if (!rc) rc = add_busy(meta, "actor_busy", p->actor->busy, e);
    if (!rc) rc = add_busy(meta, "critic_busy", p->critic->busy, e);
    return rc;
}

static bool is_clean(const char *text)
{
    char clean[sizeof(struct ckpt_meta){0}.value[0]];
    text_clean(clean, sizeof clean, text);
    return strcmp(clean, text) == 0;
}

int ckpt_add_caller(json_t *meta, const struct ckpt_meta *from, struct err *e)
{
    for (int i = 0; from && i < from->n; i++) {
        if (is_reserved(from->key[i]))
            return err_field(e, ERR_INVALID, from->key[i],
                             "the metadata key is one of the checkpoint's own");
        if (!is_clean(from->key[i]) || !is_clean(from->value[i]))
            return err_field(e, ERR_INVALID, from->key[i],
                             "the metadata is not printable UTF-8");
        int rc = ckpt_add_text(meta, from->key[i], from->value[i], e);
        if (rc) return rc;
    }
    return 0;
}

int ckpt_need_meta(struct ckpt_meta *out, const struct ckpt_file *f, struct err *e)
{
    const char *key;
    json_t *value;
    out->n = 0;
    json_object_foreach((json_t *)f->meta, key, value)
    {
        const char *text = json_string_value(value);
        if (is_reserved(key)) continue;
        if (out->n == CKPT_META_MAX || strlen(key) >= sizeof out->key[0] ||
            strlen(text) >= sizeof out->value[0])
            return err_field(e, ERR_RANGE, f->what,
                             "metadata '%.40s' is too long, or one of more than %d", key,
                             CKPT_META_MAX);
        text_clean(out->key[out->n], sizeof out->key[0], key);
        text_clean(out->value[out->n++], sizeof out->value[0], text);
    }
    return 0;
}

/* ---- tensors */

int ckpt_list_policy(struct ckpt_tensor **out, int *n, const struct policy_cfg *cfg,
                     struct policy *p, const char *prefix, int spare, struct err *e)
{
    int count = parts_count(cfg);
    struct ckpt_tensor *t = calloc((size_t)count + (size_t)spare, sizeof *t);
    if (!t) return ckpt_no_memory(e);
    struct parts_part part;
    for (int i = 0; parts_get(&part, cfg, i); i++) {
        t[i].rows = part.rows;
        t[i].cols = part.cols;
        t[i].at = p ? parts_view(p, &part) : NULL;
        snprintf(t[i].name, sizeof t[i].name, "%s%s", prefix, part.name);
    }
    *out = t;
    *n = count;
    return 0;
}

/* A file of such weights could not be loaded, and would replace one that can. */
static int check_finite(const struct policy *p, struct err *e)
{
    bool finite = isfinite(p->ret_mean) && isfinite(p->ret_std) && p->ret_std > 0.0f;
    if (finite && ckpt_finite(p->actor->theta, p->actor->n) &&
        ckpt_finite(p->critic->theta, p->critic->n))
        return 0;
    return err_set(e, ERR_NUMERIC, "the policy's weights are not finite: not saved");
}

int ckpt_encode(void **out, size_t *n, const struct policy *p,
                const struct ckpt_meta *meta, const void *extra, size_t extra_n,
                struct err *e)
{
    int rc = check_finite(p, e), count;
    if (rc) return rc;
    struct ckpt_tensor *t;
    /* the list is read only: writing takes the weights out, nothing in */
    rc = ckpt_list_policy(&t, &count, &p->cfg, (struct policy *)p, "", 0, e);
    if (rc) return rc;

    json_t *m = json_object();
    rc = m ? ckpt_add_text(m, "format", CKPT_FORMAT, e) : ckpt_no_memory(e);
    if (!rc) rc = ckpt_add_policy(m, p, e);
    if (!rc) rc = ckpt_add_caller(m, meta, e);
    if (!rc) rc = ckpt_pack(out, n, m, t, count, extra, extra_n, e);
    json_decref(m);
    free(t);
    return rc;
}

int ckpt_save(const char *path, const struct policy *p, const struct ckpt_meta *meta,
              const void *extra, size_t extra_n, struct err *e)
{
    void *file;
    size_t n;
    int rc = ckpt_encode(&file, &n, p, meta, extra, extra_n, e);
    if (rc) return rc;
    rc = text_write_file(path, file, n, e);
    free(file);
    return rc;
}
