#include "ckpt_priv.h"

#include "base/bytes.h"
#include "base/text.h"
#include "moe/parts.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct file {
    const char *what; /* the path, for messages */
    json_t *header;   /* owned */
    const json_t *meta;
    const unsigned char *data;
    size_t data_n;
    struct policy_cfg cfg;
};

static int open_header(struct file *f, const unsigned char *bytes, size_t n,
                       struct err *e)
{
    if (n < 8)
        return err_field(e, ERR_CORRUPT, f->what,
                         "is %zu bytes long, too short for a checkpoint", n);
    uint64_t header_n = bytes_get_u64(bytes);
    if (header_n > n - 8)
        return err_field(e, ERR_CORRUPT, f->what,
                         "its first 8 bytes promise a header of %" PRIu64
                         " bytes, but only %zu follow: truncated, or no safetensors file",
                         header_n, n - 8);

    json_error_t why;
    f->header = json_loadb((const char *)bytes + 8, (size_t)header_n,
                           JSON_REJECT_DUPLICATES, &why);
    if (!f->header && why.text[0] == '\0') /* it ran out of memory, and says nothing */
        return ckpt_no_memory(e);
    if (!f->header)
        return err_field(e, ERR_CORRUPT, f->what, "its header is not JSON: %.120s",
                         why.text);
    if (!json_is_object(f->header))
        return err_field(e, ERR_CORRUPT, f->what, "its header is not a JSON object");
    f->data = bytes + 8 + header_n;
    f->data_n = n - 8 - (size_t)header_n;
    return 0;
}

static const char *first_tensor(const struct file *f)
{
    const char *key;
    json_t *value;
    json_object_foreach(f->header, key,
                        value) if (strcmp(key, "__metadata__") != 0) return key;
    return "";
}

static int open_meta(struct file *f, struct err *e)
{
    f->meta = json_object_get(f->header, "__metadata__");
    const char *key, *format = json_string_value(json_object_get(f->meta, "format"));
    if (!format)
        return err_field(e, ERR_INVALID, f->what,
                         "is a safetensors file of something else (first tensor "
                         "'%.40s'): its metadata has no format '%s'",
                         first_tensor(f), CKPT_FORMAT);
    if (strcmp(format, CKPT_FORMAT) != 0)
        return err_field(e, ERR_INVALID, f->what,
                         "has format '%.40s', this program reads '%s'", format,
                         CKPT_FORMAT);
    json_t *value;
    json_object_foreach((json_t *)f->meta, key, value) if (
        !json_is_string(value)) return err_field(e, ERR_INVALID, f->what,
                                                 "metadata '%.60s' is not a string", key);
    return 0;
}

static int need_text(const char **out, const struct file *f, const char *key,
                     struct err *e)
{
    *out = json_string_value(json_object_get(f->meta, key));
    if (*out) return 0;
    return err_field(e, ERR_INVALID, f->what, "its metadata lacks '%s'", key);
}

/* an err of a value in the metadata, told as one of the file */
static int blame_meta(const struct file *f, const char *key, const struct err *why,
                      struct err *e)
{
    return err_field(e, why->code, f->what, "metadata '%s': %.180s", key, why->detail);
}

static int need_int(int *out, const struct file *f, const char *key, struct err *e)
{
    const char *text;
    int64_t value;
    struct err why = {0};
    int rc = need_text(&text, f, key, e);
    if (rc) return rc;
    if (text_int(&value, text, 0, INT32_MAX, key, &why))
        return blame_meta(f, key, &why, e);
    *out = (int)value;
    return 0;
}

static int need_float(float *out, const struct file *f, const char *key, double lo,
                      struct err *e)
{
    const char *text;
    double value;
    struct err why = {0};
    int rc = need_text(&text, f, key, e);
    if (rc) return rc;
    if (text_double(&value, text, lo, (double)FLT_MAX, key, &why))
        return blame_meta(f, key, &why, e);
    *out = (float)value;
    return 0;
}

static int need_route(enum mix_route *out, const struct file *f, const char *key,
                      struct err *e)
{
    const char *text;
    struct err why = {0};
    int rc = need_text(&text, f, key, e);
    if (rc) return rc;
    return mix_route_parse(out, text, &why) ? blame_meta(f, key, &why, e) : 0;
}

static int read_config(struct file *f, struct err *e)
{
    struct policy_cfg *c = &f->cfg;
    int rc = need_int(&c->obs_dim, f, "obs_dim", e);
    if (!rc) rc = need_int(&c->actions, f, "actions", e);
    if (!rc) rc = need_int(&c->hidden, f, "hidden", e);
    if (!rc) rc = need_int(&c->layers, f, "layers", e);
    if (!rc) rc = need_int(&c->experts, f, "experts", e);
    if (!rc) rc = need_route(&c->route, f, "route", e);
    if (!rc) rc = need_int(&c->critic_hidden, f, "critic_hidden", e);
    if (!rc) rc = need_int(&c->critic_experts, f, "critic_experts", e);
    if (!rc) rc = need_route(&c->critic_route, f, "critic_route", e);
    if (rc) return rc;

    struct err why = {0};
    return policy_cfg_check(c, &why) ? blame_meta(f, why.field, &why, e) : 0;
}

static bool int_at(int64_t *out, const json_t *array, size_t i)
{
    const json_t *v = json_array_get(array, i);
    *out = json_integer_value(v);
    return json_is_integer(v) && *out >= 0;
}

/* One tensor of the header: its type and shape are as expected (cols 0: a vector; rows
 * -1: any length) and its bytes lie within the data. */
static int find_tensor(size_t *begin, size_t *end, const struct file *f, const char *name,
                       const char *dtype, int64_t rows, int64_t cols, struct err *e)
{
    const json_t *t = json_object_get(f->header, name);
    if (!t) return err_field(e, ERR_INVALID, f->what, "tensor '%s' is missing", name);

    const char *type = json_string_value(json_object_get(t, "dtype"));
    if (!type || strcmp(type, dtype) != 0)
        return err_field(e, ERR_INVALID, f->what, "tensor '%s' has type %.16s, not %s",
                         name, type ? type : "none", dtype);

    const json_t *shape = json_object_get(t, "shape");
    int64_t r = -1, c = 0;
    bool fits = json_array_size(shape) == (cols ? 2u : 1u) && int_at(&r, shape, 0) &&
                (!cols || int_at(&c, shape, 1));
    if (!fits || (rows >= 0 && r != rows) || c != cols)
        return err_field(e, ERR_INVALID, f->what,
                         "tensor '%s' has the wrong shape; the metadata's configuration "
                         "gives (%" PRId64 ", %" PRId64 ")",
                         name, rows, cols ? cols : 1);

    const json_t *offsets = json_object_get(t, "data_offsets");
    int64_t from, to;
    if (json_array_size(offsets) != 2 || !int_at(&from, offsets, 0) ||
        !int_at(&to, offsets, 1) || to < from || (uint64_t)to > f->data_n)
        return err_field(e, ERR_CORRUPT, f->what,
                         "tensor '%s' does not lie within the file's %zu bytes of data: "
                         "truncated, or damaged",
                         name, f->data_n);
    int64_t want = rows < 0 ? r : r * (cols ? cols : 1) * (int64_t)sizeof(float);
    if (to - from != want)
        return err_field(e, ERR_CORRUPT, f->what,
                         "tensor '%s' has %" PRId64 " bytes instead of %" PRId64, name,
                         to - from, want);
    *begin = (size_t)from;
    *end = (size_t)to;
    return 0;
}

struct extent {
    size_t begin, end;
};

static int by_begin(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* The tensors fill the data without gap, overlap or remainder. */
static int check_extents(const struct file *f, struct extent *x, size_t n, struct err *e)
{
    size_t at = 0;
    qsort(x, n, sizeof *x, by_begin);
    for (size_t i = 0; i < n; i++) {
        if (x[i].begin != at)
            return err_field(e, ERR_CORRUPT, f->what,
                             "its tensors leave a gap or overlap at byte %zu of the data",
                             at);
        at = x[i].end;
    }
    if (at == f->data_n) return 0;
    return err_field(e, ERR_CORRUPT, f->what, "%zu bytes follow its last tensor",
                     f->data_n - at);
}

static bool is_expected(const struct policy_cfg *cfg, const char *name)
{
    struct parts_part part;
    for (int i = 0; parts_get(&part, cfg, i); i++)
        if (strcmp(part.name, name) == 0) return true;
    return strcmp(name, "trainer") == 0 || strcmp(name, "__metadata__") == 0;
}

static int check_tensors(const struct file *f, struct extent *x, size_t x_n,
                         struct err *e)
{
    struct parts_part part;
    size_t n = 0;
    for (int i = 0; parts_get(&part, &f->cfg, i); i++, n++) {
        int rc = find_tensor(&x[n].begin, &x[n].end, f, part.name, "F32", part.rows,
                             part.cols, e);
        if (rc) return rc;
    }
    if (json_object_get(f->header, "trainer")) {
        int rc = find_tensor(&x[n].begin, &x[n].end, f, "trainer", "U8", -1, 0, e);
        if (rc) return rc;
        n++;
    }
    assert(n <= x_n);

    const char *key;
    json_t *value;
    if (n + 1 < json_object_size(f->header))
        json_object_foreach(
            f->header, key,
            value) if (!is_expected(&f->cfg,
                                    key)) return err_field(e, ERR_INVALID, f->what,
                                                           "has a foreign tensor '%.60s'",
                                                           key);
    return check_extents(f, x, n, e);
}

static int check_layout(const struct file *f, struct err *e)
{
    size_t n = (size_t)parts_count(&f->cfg) + 1; /* and the trainer's */
    struct extent *x = calloc(n, sizeof *x);
    if (!x) return ckpt_no_memory(e);
    int rc = check_tensors(f, x, n, e);
    free(x);
    return rc;
}

static int check_crc(const struct file *f, struct err *e)
{
    const char *want;
    uint32_t crc = bytes_crc32(0, f->data, f->data_n);
    int rc = need_text(&want, f, "crc32", e);
    if (!rc) rc = ckpt_crc_meta(&crc, f->meta, e);
    if (rc) return rc;

    char have[16];
    snprintf(have, sizeof have, "%08" PRIx32, crc);
    if (strcmp(have, want) == 0) return 0;
    return err_field(e, ERR_CORRUPT, f->what,
                     "its CRC is %s, its metadata says %.16s: the file is damaged", have,
                     want);
}

static int read_weights(struct policy *p, const struct file *f, struct err *e)
{
    struct parts_part part;
    for (int i = 0; parts_get(&part, &p->cfg, i); i++) {
        size_t n = parts_size(&part), begin, end;
        int rc = find_tensor(&begin, &end, f, part.name, "F32", part.rows, part.cols, e);
        if (rc) return rc;
        float *to = parts_view(p, &part);
        memcpy(to, f->data + begin, end - begin);
        for (size_t j = 0; j < n; j++)
            if (!isfinite(to[j]))
                return err_field(e, ERR_NUMERIC, f->what,
                                 "tensor '%s' holds %s at place %zu", part.name,
                                 isnan(to[j]) ? "NaN" : "infinity", j);
    }

    const char *version;
    struct err why = {0};
    int rc = need_text(&version, f, "version", e);
    if (!rc && text_u64(&p->version, version, "version", &why))
        rc = blame_meta(f, "version", &why, e);
    if (!rc) rc = need_float(&p->ret_mean, f, "ret_mean", -(double)FLT_MAX, e);
    if (!rc) rc = need_float(&p->ret_std, f, "ret_std", (double)FLT_MIN, e);
    return rc;
}

static int read_meta(struct ckpt_meta *out, const struct file *f, struct err *e)
{
    const char *key;
    json_t *value;
    out->n = 0;
    json_object_foreach((json_t *)f->meta, key, value)
    {
        const char *text = json_string_value(value);
        if (ckpt_reserved(key)) continue;
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

static int read_extra(void **out, size_t *out_n, const struct file *f, struct err *e)
{
    size_t begin = 0, end = 0;
    *out = NULL;
    *out_n = 0;
    if (json_object_get(f->header, "trainer")) {
        int rc = find_tensor(&begin, &end, f, "trainer", "U8", -1, 0, e);
        if (rc) return rc;
    }
    if (begin == end) return 0;
    *out = malloc(end - begin);
    if (!*out) return ckpt_no_memory(e);
    memcpy(*out, f->data + begin, end - begin);
    *out_n = end - begin;
    return 0;
}

static struct policy *decode(const char *what, const void *data, size_t n,
                             struct ckpt_meta *meta, void **extra, size_t *extra_n,
                             struct err *e)
{
    struct file f = {.what = what};
    struct policy *p = NULL;
    struct ckpt_meta *m = NULL;
    void *x = NULL;
    size_t x_n = 0;

    int rc = open_header(&f, data, n, e);
    if (!rc) rc = open_meta(&f, e);
    if (!rc) rc = read_config(&f, e);
    if (!rc) rc = check_layout(&f, e);
    if (!rc) rc = check_crc(&f, e);
    if (!rc) {
        p = policy_new(&f.cfg, e);
        rc = p ? read_weights(p, &f, e) : ERR_MEMORY;
    }
    if (!rc && meta) {
        m = malloc(sizeof *m);
        rc = m ? read_meta(m, &f, e) : ckpt_no_memory(e);
    }
    if (!rc && extra) rc = read_extra(&x, &x_n, &f, e);

    /* all is well or nothing is given out */
    if (rc) {
        policy_free(p);
        p = NULL;
    } else {
        if (meta) *meta = *m;
        if (extra) *extra = x;
        if (extra && extra_n) *extra_n = x_n;
    }
    free(m);
    json_decref(f.header);
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
