#include "learn/safetensors.h"

#include "base/bytes.h"
#include "base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int safetensors_no_memory(struct err *e)
{
    return err_set(e, ERR_MEMORY, "no memory for a checkpoint");
}

static size_t tensor_bytes(const struct safetensors_tensor *t)
{
    return sizeof(float) * (size_t)t->rows * (size_t)(t->cols ? t->cols : 1);
}

/* ---- metadata and its CRC */

int safetensors_add_text(json_t *meta, const char *key, const char *value, struct err *e)
{
    json_t *v = json_string(value);
    return !v || json_object_set_new(meta, key, v) ? safetensors_no_memory(e) : 0;
}

int safetensors_add_number(json_t *meta, const char *key, double value, struct err *e)
{
    char text[32];
    snprintf(text, sizeof text, "%.9g", value); /* 9 digits give a float back exactly */
    return safetensors_add_text(meta, key, text, e);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* *crc continued over the metadata (ckpt.h); all values are strings. */
static int crc_meta(uint32_t *crc, const json_t *meta, struct err *e)
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

/* ---- writing */

static int add_tensor(json_t *header, const char *name, const char *dtype, int64_t rows,
                      int64_t cols, size_t begin, size_t end, struct err *e)
{
    json_int_t r = rows, c = cols, from = (json_int_t)begin, to = (json_int_t)end;
    json_t *t = cols ? json_pack("{s:s, s:[I, I], s:[I, I]}", "dtype", dtype, "shape", r,
                                 c, "data_offsets", from, to)
                     : json_pack("{s:s, s:[I], s:[I, I]}", "dtype", dtype, "shape", r,
                                 "data_offsets", from, to);
    if (!t) return safetensors_no_memory(e);
    return json_object_set_new(header, name, t) ? safetensors_no_memory(e) : 0;
}

static int add_tensors(json_t *header, const struct safetensors_tensor *t, int count,
                       size_t extra_n, struct err *e)
{
    size_t at = 0;
    for (int i = 0; i < count; i++) {
        size_t n = tensor_bytes(&t[i]);
        int rc =
            add_tensor(header, t[i].name, "F32", t[i].rows, t[i].cols, at, at + n, e);
        if (rc) return rc;
        at += n;
    }
    if (extra_n == 0) return 0;
    return add_tensor(header, "trainer", "U8", (int64_t)extra_n, 0, at, at + extra_n, e);
}

static int add_crc(json_t *meta, const struct safetensors_tensor *t, int count,
                   const void *extra, size_t extra_n, struct err *e)
{
    uint32_t crc = 0;
    for (int i = 0; i < count; i++)
        crc = bytes_crc32(crc, t[i].at, tensor_bytes(&t[i]));
    if (extra_n) crc = bytes_crc32(crc, extra, extra_n);
    int rc = crc_meta(&crc, meta, e);
    if (rc) return rc;
    char text[16];
    snprintf(text, sizeof text, "%08" PRIx32, crc);
    return safetensors_add_text(meta, "crc32", text, e);
}

/* json_dumpb, not json_dumps: the latter loses parts of keys when memory runs out, and
 * does not say so (jansson 2.14) */
static int write_all(void **out, size_t *n, const json_t *header,
                     const struct safetensors_tensor *t, int count, const void *extra,
                     size_t extra_n, struct err *e)
{
    size_t header_n = json_dumpb(header, NULL, 0, JSON_COMPACT);
    size_t padded = (header_n + 7) / 8 * 8, data_n = 0;
    for (int i = 0; i < count; i++)
        data_n += tensor_bytes(&t[i]);
    *n = 8 + padded + data_n + extra_n;
    unsigned char *file = header_n ? malloc(*n) : NULL, *at = file;
    if (!file) return safetensors_no_memory(e);

    bytes_put_u64(at, padded), at += 8;
    if (json_dumpb(header, (char *)at, header_n, JSON_COMPACT) != header_n) {
        free(file);
        return safetensors_no_memory(e);
    }
    memset(at + header_n, ' ', padded - header_n), at += padded;
    for (int i = 0; i < count; i++) {
        memcpy(at, t[i].at, tensor_bytes(&t[i]));
        at += tensor_bytes(&t[i]);
    }
    if (extra_n) memcpy(at, extra, extra_n);
    *out = file;
    return 0;
}

int safetensors_pack(void **out, size_t *n, json_t *meta,
                     const struct safetensors_tensor *t, int count, const void *extra,
                     size_t extra_n, struct err *e)
{
    static_assert(sizeof(float) == 4, "F32");
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors' byte order");
    json_t *header = json_object();
    int rc = header && !json_object_set(header, "__metadata__", meta)
                 ? 0
                 : safetensors_no_memory(e);
    if (!rc) rc = add_tensors(header, t, count, extra_n, e);
    if (!rc) rc = add_crc(meta, t, count, extra, extra_n, e);
    if (!rc) rc = write_all(out, n, header, t, count, extra, extra_n, e);
    json_decref(header);
    return rc;
}

/* ---- reading */

int safetensors_open(struct safetensors *f, const void *file, size_t n, struct err *e)
{
    const unsigned char *bytes = file;
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
        return safetensors_no_memory(e);
    if (!f->header)
        return err_field(e, ERR_CORRUPT, f->what, "its header is not JSON: %.120s",
                         why.text);
    if (!json_is_object(f->header))
        return err_field(e, ERR_CORRUPT, f->what, "its header is not a JSON object");
    f->data = bytes + 8 + header_n;
    f->data_n = n - 8 - (size_t)header_n;
    return 0;
}

static const char *first_tensor(const struct safetensors *f)
{
    const char *key;
    json_t *value;
    json_object_foreach(f->header, key,
                        value) if (strcmp(key, "__metadata__") != 0) return key;
    return "";
}

int safetensors_need_format(struct safetensors *f, const char *want, struct err *e)
{
    f->meta = json_object_get(f->header, "__metadata__");
    const char *key, *format = safetensors_format(f);
    if (!format)
        return err_field(e, ERR_INVALID, f->what,
                         "is a safetensors file of something else (first tensor "
                         "'%.40s'): its metadata has no format '%s'",
                         first_tensor(f), want);
    if (strcmp(format, want) != 0)
        return err_field(e, ERR_INVALID, f->what,
                         "has format '%.40s', this program reads '%s'", format, want);
    json_t *value;
    json_object_foreach((json_t *)f->meta, key, value) if (
        !json_is_string(value)) return err_field(e, ERR_INVALID, f->what,
                                                 "metadata '%.60s' is not a string", key);
    return 0;
}

const char *safetensors_format(const struct safetensors *f)
{
    const json_t *meta = json_object_get(f->header, "__metadata__");
    return json_string_value(json_object_get(meta, "format"));
}

void safetensors_close(struct safetensors *f)
{
    json_decref(f->header);
    f->header = NULL;
}

int safetensors_text(const char **out, const struct safetensors *f, const char *key,
                     struct err *e)
{
    *out = json_string_value(json_object_get(f->meta, key));
    if (*out) return 0;
    return err_field(e, ERR_INVALID, f->what, "its metadata lacks '%s'", key);
}

int safetensors_blame(const struct safetensors *f, const char *key, const struct err *why,
                      struct err *e)
{
    return err_field(e, why->code, f->what, "metadata '%s': %.180s", key, why->detail);
}

int safetensors_int(int *out, const struct safetensors *f, const char *key, struct err *e)
{
    const char *text;
    int64_t value;
    struct err why = {0};
    int rc = safetensors_text(&text, f, key, e);
    if (rc) return rc;
    if (text_int(&value, text, 0, INT32_MAX, key, &why))
        return safetensors_blame(f, key, &why, e);
    *out = (int)value;
    return 0;
}

int safetensors_u64(uint64_t *out, const struct safetensors *f, const char *key,
                    struct err *e)
{
    const char *text;
    struct err why = {0};
    int rc = safetensors_text(&text, f, key, e);
    if (rc) return rc;
    return text_u64(out, text, key, &why) ? safetensors_blame(f, key, &why, e) : 0;
}

static bool int_at(int64_t *out, const json_t *array, size_t i)
{
    const json_t *v = json_array_get(array, i);
    *out = json_integer_value(v);
    return json_is_integer(v) && *out >= 0;
}

/* One tensor of the header: its type and shape are as expected (cols 0: a vector; rows
 * -1: any length) and its bytes lie within the data. */
static int find_tensor(size_t *begin, size_t *end, const struct safetensors *f,
                       const char *name, const char *dtype, int64_t rows, int64_t cols,
                       struct err *e)
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
static int check_extents(const struct safetensors *f, struct extent *x, size_t n,
                         struct err *e)
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

static bool is_expected(const struct safetensors_tensor *t, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(t[i].name, name) == 0) return true;
    return strcmp(name, "trainer") == 0 || strcmp(name, "__metadata__") == 0;
}

static int check_tensors(const struct safetensors *f, struct extent *x,
                         const struct safetensors_tensor *t, int count, struct err *e)
{
    size_t n = 0;
    for (; n < (size_t)count; n++) {
        int rc = find_tensor(&x[n].begin, &x[n].end, f, t[n].name, "F32", t[n].rows,
                             t[n].cols, e);
        if (rc) return rc;
    }
    if (json_object_get(f->header, "trainer")) {
        int rc = find_tensor(&x[n].begin, &x[n].end, f, "trainer", "U8", -1, 0, e);
        if (rc) return rc;
        n++;
    }

    const char *key;
    json_t *value;
    if (n + 1 < json_object_size(f->header))
        json_object_foreach(
            f->header, key,
            value) if (!is_expected(t, count,
                                    key)) return err_field(e, ERR_INVALID, f->what,
                                                           "has a foreign tensor '%.60s'",
                                                           key);
    return check_extents(f, x, n, e);
}

static int check_crc(const struct safetensors *f, struct err *e)
{
    const char *want;
    uint32_t crc = bytes_crc32(0, f->data, f->data_n);
    int rc = safetensors_text(&want, f, "crc32", e);
    if (!rc) rc = crc_meta(&crc, f->meta, e);
    if (rc) return rc;

    char have[16];
    snprintf(have, sizeof have, "%08" PRIx32, crc);
    if (strcmp(have, want) == 0) return 0;
    return err_field(e, ERR_CORRUPT, f->what,
                     "its CRC is %s, its metadata says %.16s: the file is damaged", have,
                     want);
}

int safetensors_check_tensors(const struct safetensors *f,
                              const struct safetensors_tensor *t, int count,
                              struct err *e)
{
    struct extent *x = calloc((size_t)count + 1, sizeof *x); /* and the trainer's */
    if (!x) return safetensors_no_memory(e);
    int rc = check_tensors(f, x, t, count, e);
    free(x);
    return rc;
}

int safetensors_check(const struct safetensors *f, const struct safetensors_tensor *t,
                      int count, struct err *e)
{
    int rc = safetensors_check_tensors(f, t, count, e);
    return rc ? rc : check_crc(f, e);
}

int safetensors_fill(const struct safetensors *f, const struct safetensors_tensor *t,
                     int count, struct err *e)
{
    for (int i = 0; i < count; i++) {
        size_t begin, end;
        int rc = find_tensor(&begin, &end, f, t[i].name, "F32", t[i].rows, t[i].cols, e);
        if (rc) return rc;
        memcpy(t[i].at, f->data + begin, end - begin);
        for (size_t j = 0; j < (end - begin) / sizeof(float); j++)
            if (!isfinite(t[i].at[j]))
                return err_field(e, ERR_NUMERIC, f->what,
                                 "tensor '%s' holds %s at place %zu", t[i].name,
                                 isnan(t[i].at[j]) ? "NaN" : "infinity", j);
    }
    return 0;
}

int safetensors_trainer(void **out, size_t *out_n, const struct safetensors *f,
                        struct err *e)
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
    if (!*out) return safetensors_no_memory(e);
    memcpy(*out, f->data + begin, end - begin);
    *out_n = end - begin;
    return 0;
}
