#include "trace_set_priv.h"

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROWS_MAX = 20000000, SESSIONS_MAX = 1000000 };

static const struct trace_set_reader *const formats[] = {
    &trace_set_fcc_httpgetmt, &trace_set_fcc_webget, &trace_set_puffer, &trace_set_lumos};
enum { FORMATS = sizeof formats / sizeof *formats };

struct trace_set_cfg trace_set_cfg_default(void)
{
    return (struct trace_set_cfg){.min_s = 60.0, .max = 10000, .max_rows = ROWS_MAX};
}

/* ------------------------------------------------------------------------- sessions */

/* A table has a fixed capacity: a larger one takes its place. */
static int index_grow(struct trace_set_sessions *s, int capacity, struct err *e)
{
    struct table *t = table_new(capacity, TRACE_SET_KEY, sizeof(int), 1, e);
    if (!t) return ERR_MEMORY;
    for (int i = 0; i < s->n; i++)
        *(int *)table_put(t, s->at[i].key, NULL) = i;
    table_free(s->index);
    s->index = t;
    return 0;
}

static int sessions_grow(struct trace_set_sessions *s, struct err *e)
{
    int cap = s->cap ? 2 * s->cap : 64;
    struct trace_set_session *more = realloc(s->at, (size_t)cap * sizeof *more);
    if (!more) return err_set(e, ERR_MEMORY, "no memory for %d sessions", cap);
    s->at = more;
    s->cap = cap;
    return index_grow(s, cap, e);
}

int trace_set_session(struct trace_set_session **out, struct trace_set_sessions *s,
                      const char *key, int line, struct err *e)
{
    char padded[TRACE_SET_KEY] = "";
    snprintf(padded, sizeof padded, "%s", key);
    const int *known = s->index ? table_get(s->index, padded) : NULL;
    *out = known ? &s->at[*known] : NULL;
    if (known) return 0;

    if (s->n == SESSIONS_MAX)
        return text_refuse(s->name, line, ERR_RANGE, e, "more than %d sessions",
                           SESSIONS_MAX);
    int rc = s->n == s->cap ? sessions_grow(s, e) : 0;
    if (rc) return rc;
    struct trace_set_session *one = &s->at[s->n];
    *one = (struct trace_set_session){.sequence = -1};
    memcpy(one->key, padded, sizeof padded);
    one->rows = (struct trace_rows){.name = s->name, .rtt_s = -1.0};
    *(int *)table_put(s->index, padded, NULL) = s->n++;
    *out = one;
    return 0;
}

int trace_set_count(int64_t *kept, const struct trace_set_sessions *s, int line,
                    struct err *e)
{
    if (*kept == s->max_rows)
        return text_refuse(s->name, line, ERR_RANGE, e, "more than %lld rows in all",
                           (long long)s->max_rows);
    ++*kept;
    return 0;
}

int trace_set_session_slot(struct trace_set_sessions *s, struct trace_set_session *one,
                           int line, double length_s, double mbps, struct err *e)
{
    int rc = trace_set_count(&s->rows, s, line, e);
    if (!rc && !one->rows.n) rc = trace_rows_add(&one->rows, line, 0.0, mbps, e);
    one->end_s += length_s;
    return rc ? rc : trace_rows_add(&one->rows, line, one->end_s, mbps, e);
}

static void sessions_free(struct trace_set_sessions *s)
{
    for (int i = 0; i < s->n; i++) {
        free(s->at[i].rows.time_s);
        free(s->at[i].rows.mbps);
        free(s->at[i].chunks);
    }
    free(s->at);
    table_free(s->index);
}

/* -------------------------------------------------------------------------- formats */

static bool has_column(char *const *heading, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(heading[i], name)) return true;
    return false;
}

static const struct trace_set_reader *format_of(char *const *heading, int columns)
{
    for (int f = 0; f < FORMATS; f++) {
        const char *const *want = formats[f]->columns;
        while (*want && has_column(heading, columns, *want))
            want++;
        if (!*want) return formats[f];
    }
    return NULL;
}

/* "2016-01-31 23:59:59" */
static bool is_time(const char *s)
{
    for (const char *form = "0000-00-00 00:00:00"; *form; form++, s++)
        if (*form == '0' ? !isdigit((unsigned char)*s) : *s != *form) return false;
    return !*s;
}

static int count(const char *columns)
{
    int n = 1;
    for (const char *s = columns; (s = strchr(s, ',')); s++)
        n++;
    return n;
}

/* The FCC publishes files whose first line is a row: unit, time and so on in the order of its
 * data dictionaries, of which location_id, the last one, came later. */
static const struct trace_set_reader *format_of_row(char *const *cell, int columns)
{
    if (columns < 2 || !is_time(cell[1])) return NULL;
    for (int f = 0; f < FORMATS; f++) {
        int most = formats[f]->published ? count(formats[f]->published) : 0;
        if (most && (columns == most || columns == most - 1)) return formats[f];
    }
    return NULL;
}

/* Of the file that was opened, whose columns have names then; NULL: none. */
static const struct trace_set_reader *recognise(struct trace_set_csv *c)
{
    const struct trace_set_reader *f = format_of(c->heading, c->columns);
    if (f) return f;
    f = format_of_row(c->heading, c->columns);
    if (f) trace_set_csv_name(c, f->published);
    return f;
}

const char *trace_set_format(const char *first)
{
    char line[TRACE_SET_LINE], *cell[TRACE_CELLS];
    if (snprintf(line, sizeof line, "%s", first) >= (int)sizeof line) return NULL;
    line[strcspn(line, "\r\n")] = '\0';
    int n = trace_split(cell, line);
    if (n > TRACE_CELLS) return NULL;
    const struct trace_set_reader *f = format_of(cell, n);
    if (!f) f = format_of_row(cell, n);
    return f ? f->name : NULL;
}

bool trace_set_is(const char *path)
{
    struct trace_set_csv *c = malloc(sizeof *c);
    FILE *f = fopen(path, "rb");
    bool is = c && f && !trace_set_csv_open(c, f, path, NULL) && recognise(c) != NULL;
    if (f) fclose(f);
    free(c);
    return is;
}

/* --------------------------------------------------------------------------- traces */

/* "fcc-00012-4711-www.example.org": a file name anywhere. */
static void name_trace(char *out, size_t n, const char *prefix, int place,
                       const char *key)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789._-";
    int at = snprintf(out, n, "%s-%05d-", prefix, place);
    snprintf(out + at, n - (size_t)at, "%s", key);
    for (char *c = out; *c; c++)
        if (!strchr(plain, *c)) *c = '_';
}

static int make_traces(struct trace_set *out, const struct trace_set_sessions *s,
                       const struct trace_set_reader *format,
                       const struct trace_set_cfg *cfg, struct err *e)
{
    out->format = format->name;
    out->sessions = s->n;
    out->traces = calloc((size_t)s->n + 1, sizeof(struct trace *));
    if (!out->traces) return err_set(e, ERR_MEMORY, "no memory for %d traces", s->n);
    for (int i = 0; i < s->n && out->n < cfg->max; i++) {
        const struct trace_rows *rows = &s->at[i].rows;
        if (rows->n < 2 || rows->time_s[rows->n - 1] < cfg->min_s) continue;
        char name[128];
        name_trace(name, sizeof name, format->prefix, i, s->at[i].key);
        struct err why = {0};
        struct trace *t = trace_of_rows(rows, name, &why);
        if (!t && why.code == ERR_MEMORY) return err_set(e, ERR_MEMORY, "%s", why.detail);
        if (t) out->traces[out->n++] = t;
    }
    if (out->n) return 0;
    return text_refuse(s->name, 0, ERR_ABSENT, e,
                       "%s: none of %d sessions is a trace of %g s or more; ask for "
                       "shorter ones with --min-s",
                       format->name, s->n, cfg->min_s);
}

/* Bytes of a file; 0: that cannot be told. */
static double size_of(FILE *f)
{
    struct stat st;
    return f && fileno(f) >= 0 && !fstat(fileno(f), &st) ? (double)st.st_size : 0;
}

static int read_set(struct trace_set *out, FILE *f, FILE *acked_file, const char *name,
                    const struct trace_set_cfg *cfg, struct err *e)
{
    struct trace_set_sessions s = {
        .name = name, .max_rows = cfg->max_rows > 0 ? cfg->max_rows : ROWS_MAX};
    const struct trace_set_reader *format = NULL;
    struct trace_set_csv *c = calloc(2, sizeof *c);
    if (!c) return err_set(e, ERR_MEMORY, "no memory to read lines");

    int rc = trace_set_csv_open(&c[0], f, name, e);
    if (!rc) format = recognise(&c[0]);
    if (!rc && !format)
        rc = text_refuse(name, 1, ERR_INVALID, e,
                         "the columns are not those of FCC webget or httpgetmt, Puffer "
                         "video_sent or Lumos5G");
    if (!rc && acked_file) rc = trace_set_csv_open(&c[1], acked_file, "video_acked", e);
    struct trace_set_meter meter = {.cfg = cfg,
                                    .total = size_of(f) + size_of(acked_file)};
    if (!rc && cfg->progress && meter.total > 0) c[0].meter = c[1].meter = &meter;
    if (!rc) rc = format->read(&s, &c[0], acked_file ? &c[1] : NULL, e);
    if (!rc) rc = make_traces(out, &s, format, cfg, e);
    sessions_free(&s);
    free(c);
    return rc;
}

void trace_set_free(struct trace_set *s)
{
    for (int i = 0; i < s->n; i++)
        trace_free(s->traces[i]);
    free(s->traces);
    *s = (struct trace_set){0};
}

int trace_set_parse(struct trace_set *out, const char *text, const char *acked,
                    const char *name, const struct trace_set_cfg *cfg, struct err *e)
{
    const struct trace_set_cfg usual = trace_set_cfg_default();
    *out = (struct trace_set){0};
    /* fmemopen only reads what it is given to read */
    FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "rb");
    FILE *g = acked ? fmemopen((void *)(uintptr_t)acked, strlen(acked), "rb") : NULL;
    int rc = f && (g || !acked) ? read_set(out, f, g, name, cfg ? cfg : &usual, e)
                                : text_refuse(name, 0, ERR_INVALID, e,
                                              "cannot be read: %s", strerror(errno));
    if (g) fclose(g);
    if (f) fclose(f);
    return rc;
}

/* Puffer's second file: video_acked_X beside video_sent_X. False: no such name. */
static bool acked_path(char *out, size_t n, const char *path)
{
    static const char sent[] = "video_sent", acked[] = "video_acked";
    const char *slash = strrchr(path, '/');
    const char *at = strstr(slash ? slash : path, sent);
    if (!at) return false;
    int len =
        snprintf(out, n, "%.*s%s%s", (int)(at - path), path, acked, at + sizeof sent - 1);
    return len > 0 && len < (int)n;
}

int trace_set_load(struct trace_set *out, const char *path,
                   const struct trace_set_cfg *cfg, struct err *e)
{
    const struct trace_set_cfg usual = trace_set_cfg_default();
    *out = (struct trace_set){0};
    char beside[4096], name[256];
    FILE *f = fopen(path, "rb");
    if (!f)
        return err_field(e, errno == ENOENT ? ERR_ABSENT : ERR_IO, path, "%s",
                         strerror(errno));
    FILE *acked = acked_path(beside, sizeof beside, path) ? fopen(beside, "rb") : NULL;
    text_last_component(name, sizeof name, path);
    int rc = read_set(out, f, acked, name, cfg ? cfg : &usual, e);
    if (acked) fclose(acked);
    fclose(f);
    return rc;
}
