#include "serve/players/cmcd.h"

#include <stddef.h>
#include <string.h>

#include "serve/players/sf.h"

enum type { NUMBER, MILLISECONDS, FLAG, TEXT, LIVE, FILE_OF };

static const double LARGEST = 1e9; /* of any number: kbit/s, ms */

static const struct row {
    const char *key;
    enum type type;
    size_t at, size; /* in struct cmcd; size of a text */
} ROWS[] = {
    {"bl", MILLISECONDS, offsetof(struct cmcd, buffer_s), 0},
    {"br", NUMBER, offsetof(struct cmcd, kbps), 0},
    {"bs", FLAG, offsetof(struct cmcd, starved), 0},
    {"bsd", MILLISECONDS, offsetof(struct cmcd, starved_s), 0},
    {"cid", TEXT, offsetof(struct cmcd, cid), CMCD_ID},
    {"d", MILLISECONDS, offsetof(struct cmcd, chunk_s), 0},
    {"e", TEXT, offsetof(struct cmcd, event), CMCD_WORD},
    {"mtp", NUMBER, offsetof(struct cmcd, throughput_kbps), 0},
    {"sid", TEXT, offsetof(struct cmcd, sid), CMCD_ID},
    {"st", LIVE, offsetof(struct cmcd, live), 0},
    {"sta", TEXT, offsetof(struct cmcd, state), CMCD_WORD},
    {"tb", NUMBER, offsetof(struct cmcd, top_kbps), 0},
    {"tpb", NUMBER, offsetof(struct cmcd, playable_kbps), 0},
    {"ttlb", MILLISECONDS, offsetof(struct cmcd, arrived_s), 0},
    {"url", FILE_OF, offsetof(struct cmcd, file), CMCD_FILE},
};

/* The value for the object's kind, else one without a kind; NULL: neither. */
static const struct sf_item *choose_item(const struct sf_member *m, enum cmcd_kind kind)
{
    const char *wanted = kind == CMCD_AUDIO ? "a" : kind == CMCD_MUXED ? "av" : "v";
    const struct sf_item *any = NULL;
    for (int i = 0; i < m->n; i++) {
        if (strcmp(m->item[i].param, wanted) == 0) return &m->item[i];
        if (!m->item[i].param[0] && !any) any = &m->item[i];
    }
    return any;
}

static int read_number(double *out, const struct sf_item *v, double per, const char *key,
                       struct err *e)
{
    if (v->kind != SF_NUMBER) return err_field(e, ERR_INVALID, key, "must be a number");
    if (v->number < 0 || v->number > LARGEST)
        return err_field(e, ERR_RANGE, key, "%g is not within 0 .. %g", v->number,
                         LARGEST);
    *out = v->number / per;
    return 0;
}

static int read_stream_type(bool *live, const struct sf_item *v, const char *key,
                            struct err *e)
{
    if (v->kind != SF_TOKEN) return err_field(e, ERR_INVALID, key, "must be a token");
    *live = v->n > 0 && v->at[0] == 'l';
    return 0;
}

static int read_file(char *out, size_t size, const struct sf_item *v, const char *key,
                     struct err *e)
{
    if (v->kind != SF_STRING) return err_field(e, ERR_INVALID, key, "must be a string");
    const char *from = v->at, *end = from;
    for (; end < v->at + v->n && *end != '?' && *end != '#'; end++)
        if (*end == '/') from = end + 1;
    size_t n = (size_t)(end - from);
    if (n >= size) n = 0;
    memcpy(out, from, n);
    out[n] = '\0';
    return 0;
}

static int read_row(struct cmcd *out, const struct row *r, const struct sf_item *v,
                    struct err *e)
{
    char *to = (char *)out + r->at;
    struct err why = {0};
    switch (r->type) {
    case NUMBER:
        return read_number((double *)(void *)to, v, 1, r->key, e);
    case MILLISECONDS:
        return read_number((double *)(void *)to, v, 1e3, r->key, e);
    case FLAG:
        if (v->kind != SF_TRUTH)
            return err_field(e, ERR_INVALID, r->key, "must be true or false");
        *(bool *)(void *)to = v->truth;
        return 0;
    case TEXT:
        if (sf_text(to, r->size, v, &why) == 0) return 0;
        to[0] = '\0';
        return err_field(e, why.code, r->key, "%s", why.detail);
    case LIVE:
        return read_stream_type((bool *)(void *)to, v, r->key, e);
    case FILE_OF:
        return read_file(to, r->size, v, r->key, e);
    }
    return 0;
}

static enum cmcd_kind parse_kind(const struct sf_item *v)
{
    static const struct {
        const char *word;
        enum cmcd_kind kind;
    } words[] = {{"v", CMCD_VIDEO}, {"a", CMCD_AUDIO}, {"av", CMCD_MUXED}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (v->kind == SF_TOKEN && v->n == strlen(words[i].word) &&
            memcmp(v->at, words[i].word, v->n) == 0)
            return words[i].kind;
    return CMCD_OTHER;
}

/* The kind selects from lists, and keys come in any order: so it is read first. */
static int read_kind(struct cmcd *out, struct sf in, struct err *e)
{
    struct sf_member m;
    int rc;
    while ((rc = sf_next(&m, &in, e)) == 1)
        if (strcmp(m.key, "ot") == 0 && !m.list) out->kind = parse_kind(&m.item[0]);
    return rc;
}

int cmcd_parse(struct cmcd *out, const char *text, size_t n, struct err *e)
{
    *out = (struct cmcd){.buffer_s = -1,
                         .chunk_s = -1,
                         .kbps = -1,
                         .top_kbps = -1,
                         .playable_kbps = -1,
                         .throughput_kbps = -1,
                         .starved_s = -1,
                         .arrived_s = -1};
    struct sf in = {text, text + n};
    int rc = read_kind(out, in, e);
    struct sf_member m;
    while (!rc && (rc = sf_next(&m, &in, e)) == 1) {
        const struct sf_item *v = choose_item(&m, out->kind);
        rc = 0;
        for (size_t i = 0; v && !rc && i < sizeof ROWS / sizeof *ROWS; i++)
            if (strcmp(m.key, ROWS[i].key) == 0) rc = read_row(out, &ROWS[i], v, e);
    }
    return rc;
}
