#include "ckpt_priv.h"

#include "base/bytes.h"
#include "base/text.h"
#include "moe/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- metadata */

static const char *const RESERVED[] = {
    "format", "obs_dim",       "actions",        "hidden",       "layers",
    "route",  "critic_hidden", "critic_experts", "critic_route", "experts",
    "crc32",  "version",       "ret_mean",       "ret_std",
};

bool ckpt_reserved(const char *key)
{
    for (size_t i = 0; i < sizeof RESERVED / sizeof *RESERVED; i++)
        if (strcmp(key, RESERVED[i]) == 0) return true;
    return false;
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

static int by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int ckpt_crc_meta(uint32_t *crc, const json_t *meta, struct err *e)
{
    const char **keys = malloc(sizeof *keys * (json_object_size(meta) + 1));
    if (!keys) return err_set(e, ERR_MEMORY, "no memory for the metadata");

    size_t n = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)meta, key, value) if (strcmp(key, "crc32") != 0)
        keys[n++] = key;
    qsort(keys, n, sizeof *keys, by_key);
    for (size_t i = 0; i < n; i++) {
        const char *v = json_string_value(json_object_get(meta, keys[i]));
        *crc = bytes_crc32(*crc, keys[i], strlen(keys[i]));
        *crc = bytes_crc32(*crc, "=", 1);
        *crc = bytes_crc32(*crc, v, strlen(v));
        *crc = bytes_crc32(*crc, "\n", 1);
    }
    free(keys);
    return 0;
}

/* ---- encoding */

int ckpt_no_memory(struct err *e)
{
    return err_set(e, ERR_MEMORY, "no memory for a checkpoint");
}

static int add_text(json_t *meta, const char *key, const char *value, struct err *e)
{
    json_t *v = json_string(value);
    return !v || json_object_set_new(meta, key, v) ? ckpt_no_memory(e) : 0;
}

static int add_number(json_t *meta, const char *key, double value, struct err *e)
{
    char text[32];
    snprintf(text, sizeof text, "%.9g", value); /* 9 digits give a float back exactly */
    return add_text(meta, key, text, e);
}

static int add_tensor(json_t *header, const char *name, const char *dtype, int64_t rows,
                      int64_t cols, size_t begin, size_t end, struct err *e)
{
    json_int_t r = rows, c = cols, from = (json_int_t)begin, to = (json_int_t)end;
    json_t *t = cols ? json_pack("{s:s, s:[I, I], s:[I, I]}", "dtype", dtype, "shape", r,
                                 c, "data_offsets", from, to)
                     : json_pack("{s:s, s:[I], s:[I, I]}", "dtype", dtype, "shape", r,
                                 "data_offsets", from, to);
    if (!t) return ckpt_no_memory(e);
    return json_object_set_new(header, name, t) ? ckpt_no_memory(e) : 0;
}

static int add_config(json_t *meta, const struct policy *p, struct err *e)
{
    const struct policy_cfg *c = &p->cfg;
    char version[24];
    snprintf(version, sizeof version, "%" PRIu64, p->version);

    int rc = add_text(meta, "format", CKPT_FORMAT, e);
    if (!rc) rc = add_number(meta, "obs_dim", c->obs_dim, e);
    if (!rc) rc = add_number(meta, "actions", c->actions, e);
    if (!rc) rc = add_number(meta, "hidden", c->hidden, e);
    if (!rc) rc = add_number(meta, "layers", c->layers, e);
    if (!rc) rc = add_number(meta, "experts", c->experts, e);
    if (!rc) rc = add_text(meta, "route", mix_route_word(c->route), e);
    if (!rc) rc = add_number(meta, "critic_hidden", c->critic_hidden, e);
    if (!rc) rc = add_number(meta, "critic_experts", c->critic_experts, e);
    if (!rc) rc = add_text(meta, "critic_route", mix_route_word(c->critic_route), e);
    if (!rc) rc = add_text(meta, "version", version, e);
    if (!rc) rc = add_number(meta, "ret_mean", (double)p->ret_mean, e);
    if (!rc) rc = add_number(meta, "ret_std", (double)p->ret_std, e);
    return rc;
}

static bool is_clean(const char *text)
{
    char clean[sizeof(struct ckpt_meta){0}.value[0]];
    text_clean(clean, sizeof clean, text);
    return strcmp(clean, text) == 0;
}

static int add_caller_meta(json_t *meta, const struct ckpt_meta *from, struct err *e)
{
    for (int i = 0; from && i < from->n; i++) {
        if (ckpt_reserved(from->key[i]))
            return err_field(e, ERR_INVALID, from->key[i],
                             "the metadata key is one of the checkpoint's own");
        if (!is_clean(from->key[i]) || !is_clean(from->value[i]))
            return err_field(e, ERR_INVALID, from->key[i],
                             "the metadata is not printable UTF-8");
        int rc = add_text(meta, from->key[i], from->value[i], e);
        if (rc) return rc;
    }
    return 0;
}

static int add_tensors(json_t *header, const struct policy *p, size_t extra_n,
                       struct err *e)
{
    struct parts_part part;
    for (int i = 0; parts_get(&part, &p->cfg, i); i++) {
        size_t begin = sizeof(float) * part.at;
        int rc = add_tensor(header, part.name, "F32", part.rows, part.cols, begin,
                            begin + sizeof(float) * parts_size(&part), e);
        if (rc) return rc;
    }
    if (extra_n == 0) return 0;
    size_t begin = sizeof(float) * parts_floats(&p->cfg);
    return add_tensor(header, "trainer", "U8", (int64_t)extra_n, 0, begin,
                      begin + extra_n, e);
}

/* The header, owned by the caller, with the CRC of what will follow it. */
static int make_header(json_t **out, const struct policy *p, const struct ckpt_meta *meta,
                       const void *extra, size_t extra_n, struct err *e)
{
    json_t *header = json_object(), *m = json_object();
    char crc_text[16];
    int rc = header && m ? 0 : ckpt_no_memory(e);
    if (!rc && json_object_set(header, "__metadata__", m)) rc = ckpt_no_memory(e);
    if (!rc) rc = add_config(m, p, e);
    if (!rc) rc = add_caller_meta(m, meta, e);
    if (!rc) rc = add_tensors(header, p, extra_n, e);

    uint32_t crc = bytes_crc32(0, p->actor->theta, sizeof(float) * p->actor->n);
    crc = bytes_crc32(crc, p->critic->theta, sizeof(float) * p->critic->n);
    if (extra_n) crc = bytes_crc32(crc, extra, extra_n);
    if (!rc) rc = ckpt_crc_meta(&crc, m, e);
    snprintf(crc_text, sizeof crc_text, "%08" PRIx32, crc);
    if (!rc) rc = add_text(m, "crc32", crc_text, e);

    json_decref(m);
    if (rc) json_decref(header);
    *out = rc ? NULL : header;
    return rc;
}

/* json_dumpb, not json_dumps: the latter loses parts of keys when memory runs out, and
 * does not say so (jansson 2.14) */
static int write_all(unsigned char **out, size_t *n, const json_t *header,
                     const struct policy *p, const void *extra, size_t extra_n,
                     struct err *e)
{
    size_t header_n = json_dumpb(header, NULL, 0, JSON_COMPACT);
    size_t padded = (header_n + 7) / 8 * 8;
    size_t actor_n = sizeof(float) * p->actor->n, critic_n = sizeof(float) * p->critic->n;
    *n = 8 + padded + actor_n + critic_n + extra_n;
    unsigned char *at = *out = header_n ? malloc(*n) : NULL;
    if (!at) return ckpt_no_memory(e);

    bytes_put_u64(at, padded), at += 8;
    if (json_dumpb(header, (char *)at, header_n, JSON_COMPACT) != header_n) {
        free(*out);
        return ckpt_no_memory(e);
    }
    memset(at + header_n, ' ', padded - header_n), at += padded;
    memcpy(at, p->actor->theta, actor_n), at += actor_n;
    memcpy(at, p->critic->theta, critic_n), at += critic_n;
    if (extra_n) memcpy(at, extra, extra_n);
    return 0;
}

/* A file of such weights could not be loaded, and would replace one that can. */
static int check_finite(const struct policy *p, struct err *e)
{
    bool finite = isfinite(p->ret_mean) && isfinite(p->ret_std) && p->ret_std > 0.0f;
    for (size_t i = 0; i < p->actor->n; i++)
        finite = finite && isfinite(p->actor->theta[i]);
    for (size_t i = 0; i < p->critic->n; i++)
        finite = finite && isfinite(p->critic->theta[i]);
    if (finite) return 0;
    return err_set(e, ERR_NUMERIC, "the policy's weights are not finite: not saved");
}

int ckpt_encode(void **out, size_t *n, const struct policy *p,
                const struct ckpt_meta *meta, const void *extra, size_t extra_n,
                struct err *e)
{
    static_assert(sizeof(float) == 4, "F32");
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors' byte order");
    json_t *header;
    int rc = check_finite(p, e);
    if (!rc) rc = make_header(&header, p, meta, extra, extra_n, e);
    if (rc) return rc;

    unsigned char *file;
    rc = write_all(&file, n, header, p, extra, extra_n, e);
    if (!rc) *out = file;
    json_decref(header);
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
