#include "abr/traces/trace_set.h"

#include "base/table.h"
#include "base/text.h"
#include "trace_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { TRACE_SET_LINE = 4096 };

/* Progress over the files that are read together. */
struct trace_set_meter {
    const struct trace_set_cfg *cfg;
    double read, total; /* bytes */
};

struct trace_set_csv {
    FILE *f;                       /* borrowed */
    struct trace_set_meter *meter; /* borrowed; NULL: no progress is wanted */
    double metered;                /* bytes of this file that the meter counted */
    const char *name;              /* for messages */
    int line, columns;
    bool held; /* `cell` already holds the next row */
    char header[TRACE_SET_LINE], text[TRACE_SET_LINE];
    char *heading[TRACE_CELLS], *cell[TRACE_CELLS];
};

enum { TRACE_SET_KEY = 96 };

struct trace_set_chunk { /* Puffer */
    int64_t video_ts, sent_ns, acked_ns, bytes;
};

struct trace_set_session {
    char key[TRACE_SET_KEY]; /* from the file, cut; any bytes */
    struct trace_rows rows;
    double end_s;        /* of the last slot */
    double start, clock; /* the file's own time: at 0 s, and at the last row */
    /* FCC: of the last row; Lumos5G: runs of this key, less 1; -1 before the first row */
    int64_t sequence;
    int n_chunks, cap_chunks;
    struct trace_set_chunk *chunks; /* (n_chunks) owned */
    int matched;                    /* chunk after the one acknowledged last */
};

struct trace_set_sessions {
    const char *name; /* of the file, for messages */
    int n, cap;
    struct trace_set_session *at; /* (n) in order of their first rows */
    struct table *index;          /* key -> place */
    int64_t rows, chunks;         /* of all */
    int64_t max_rows;             /* of each of the two */
};

struct trace_set_reader {
    const char *name, *prefix; /* the prefix of its traces' names */
    const char *const
        *columns; /* a file with all of these is of this format; ends with NULL */
    /* acked: Puffer's second file, or NULL */
    int (*read)(struct trace_set_sessions *s, struct trace_set_csv *c,
                struct trace_set_csv *acked, struct err *e);
    /* All columns in order, for files that were published without their names; NULL: none were. */
    const char *published;
};

enum { ROWS_MAX = 20000000, SESSIONS_MAX = 1000000 };

/* ---- a CSV, read line by line ---- */

/* 1: a line that is not blank is in text, 0: the end, < 0: refused. */
static int read_line(struct trace_set_csv *c, char *text, struct err *e)
{
    for (;;) {
        /* a NUL byte would end the text of fgets early; the newlines show where it ended */
        memset(text, '\n', TRACE_SET_LINE);
        errno = 0;
        if (!fgets(text, TRACE_SET_LINE, c->f))
            return ferror(c->f)
                       ? text_refuse(c->name, c->line, ERR_IO, e, "%s", strerror(errno))
                       : 0;
        c->line++;
        size_t len = strlen(text);
        bool ended = len && text[len - 1] == '\n';
        if (len + 1 == TRACE_SET_LINE && !ended)
            return text_refuse(c->name, c->line, ERR_INVALID, e, "a line over %d bytes",
                               TRACE_SET_LINE - 1);
        if (!ended && !feof(c->f))
            return text_refuse(c->name, c->line, ERR_INVALID, e,
                               "a NUL byte: this is not a text in UTF-8");
        while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
            text[--len] = '\0';
        if (text[strspn(text, " \t")]) return 1;
    }
}

/* The first line names the columns. */
static int trace_set_csv_open(struct trace_set_csv *c, FILE *f, const char *name,
                              struct err *e)
{
    *c = (struct trace_set_csv){.f = f, .name = name};
    int rc = read_line(c, c->text, e);
    if (rc < 0) return rc;
    if (!rc) return text_refuse(name, 0, ERR_INVALID, e, "is empty");
    size_t bom = strncmp(c->text, "\xef\xbb\xbf", 3) ? 0 : 3;
    memmove(c->text, c->text + bom, strlen(c->text + bom) + 1);
    strcpy(c->header, c->text); /* the text is cut when the line turns out to be a row */
    c->columns = trace_split(c->heading, c->header);
    if (c->columns <= TRACE_CELLS) return 0;
    return text_refuse(name, c->line, ERR_RANGE, e, "more than %d columns", TRACE_CELLS);
}

/* For a file whose first line is a row: these are the columns' names, or more. Call it right after
 * trace_set_csv_open. */
static void trace_set_csv_name(struct trace_set_csv *c, const char *columns)
{
    strcpy(c->header, columns);
    trace_split(c->heading, c->header);
    trace_split(c->cell, c->text);
    c->held = true;
}

static void tell_progress(struct trace_set_csv *c)
{
    struct trace_set_meter *m = c->meter;
    double at = (double)ftello(c->f);
    m->read += at - c->metered;
    c->metered = at;
    m->cfg->progress(m->cfg->progress_ctx, m->read / m->total);
}

/* 1: c->cell holds the next row, 0: the end, < 0: refused. */
static int trace_set_csv_next(struct trace_set_csv *c, struct err *e)
{
    if (c->held) {
        c->held = false;
        return 1;
    }
    if (c->meter && c->line % 4096 == 0) tell_progress(c);
    int rc = read_line(c, c->text, e);
    if (rc <= 0) return rc;
    int n = trace_split(c->cell, c->text);
    if (n == c->columns) return 1;
    return text_refuse(c->name, c->line, ERR_INVALID, e,
                       "%d cells where the first line has %d", n, c->columns);
}

/* The column's place, -1 without it. */
static int trace_set_csv_column(const struct trace_set_csv *c, const char *heading)
{
    for (int i = 0; i < c->columns; i++)
        if (!strcmp(c->heading[i], heading)) return i;
    return -1;
}

/* The places of n columns, in the order of their names. Refused when one is missing. */
static int trace_set_csv_columns(int *out, const struct trace_set_csv *c,
                                 const char *const *names, int n, struct err *e)
{
    for (int i = 0; i < n; i++) {
        out[i] = trace_set_csv_column(c, names[i]);
        if (out[i] < 0)
            return text_refuse(c->name, 1, ERR_INVALID, e, "there is no column '%s'",
                               names[i]);
    }
    return 0;
}

static int trace_set_csv_number(double *out, const struct trace_set_csv *c, int column,
                                double lo, double hi, struct err *e)
{
    if (!text_double(out, c->cell[column], lo, hi, "", NULL)) return 0;
    return text_refuse(c->name, c->line, ERR_INVALID, e,
                       "column %s: '%.40s' is not a number within %g .. %g",
                       c->heading[column], c->cell[column], lo, hi);
}

static int trace_set_csv_int(int64_t *out, const struct trace_set_csv *c, int column,
                             struct err *e)
{
    if (!text_int(out, c->cell[column], 0, INT64_MAX, "", NULL)) return 0;
    return text_refuse(c->name, c->line, ERR_INVALID, e,
                       "column %s: '%.40s' is not a whole number >= 0",
                       c->heading[column], c->cell[column]);
}

/* The cell is empty or NaN: nothing was measured. */
static bool trace_set_csv_empty(const struct trace_set_csv *c, int column)
{
    return !*c->cell[column] || !strcasecmp(c->cell[column], "nan");
}

/* ---- sessions ---- */

/* A table has a fixed capacity, so a larger one replaces it. */
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

/* The session of this key; a new key gets a new session. Valid until the next call. */
static int trace_set_session(struct trace_set_session **out, struct trace_set_sessions *s,
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

/* Counts one more row or chunk. Refused when there are too many. */
static int trace_set_count(int64_t *kept, const struct trace_set_sessions *s, int line,
                           struct err *e)
{
    if (*kept == s->max_rows)
        return text_refuse(s->name, line, ERR_RANGE, e, "more than %lld rows in all",
                           (long long)s->max_rows);
    ++*kept;
    return 0;
}

/* Appends a slot of length_s seconds at mbps. */
static int trace_set_session_slot(struct trace_set_sessions *s,
                                  struct trace_set_session *one, int line,
                                  double length_s, double mbps, struct err *e)
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

/* ---- FCC ---- */

/* Two tables of the raw data of the FCC's Measuring Broadband America: webget (pages fetched) and
 * httpgetmt (download tests on several connections). */

enum { UNIT, TARGET, RATE, FETCH_US, SEQUENCE };

static const double SLOT_S = 5.0;                 /* of a row of webget */
static const double BYTES_PER_S_MAX = 1e6 / 8e-6; /* 1e6 Mbit/s, as trace.h has it */
static const double FETCH_US_MAX = 1e10;

/* The session of a row, one unit and one target; *out is NULL when the row's test failed. */
static int session_of(struct trace_set_session **out, struct trace_set_sessions *s,
                      const struct trace_set_csv *c, const int *at, int successes,
                      struct err *e)
{
    *out = NULL;
    bool failed = successes >= 0 && !strcmp(c->cell[successes], "0");
    if (failed || trace_set_csv_empty(c, at[RATE])) return 0;
    char key[2 * TRACE_SET_KEY];
    snprintf(key, sizeof key, "%.30s-%.60s", c->cell[at[UNIT]], c->cell[at[TARGET]]);
    return trace_set_session(out, s, key, c->line, e);
}

static const char *const webget_columns[] = {"unit_id", "target", "bytes_sec",
                                             "fetch_time", NULL};

static int read_webget(struct trace_set_sessions *s, struct trace_set_csv *c,
                       struct trace_set_csv *acked, struct err *e)
{
    (void)acked;
    int at[3], rc = trace_set_csv_columns(at, c, webget_columns, 3, e);
    int successes = trace_set_csv_column(c, "successes");
    while (!rc && (rc = trace_set_csv_next(c, e)) > 0) {
        struct trace_set_session *one;
        double bytes_per_s;
        rc = session_of(&one, s, c, at, successes, e);
        if (!one) continue;
        rc = trace_set_csv_number(&bytes_per_s, c, at[RATE], 0.0, BYTES_PER_S_MAX, e);
        if (!rc)
            rc = trace_set_session_slot(s, one, c->line, SLOT_S, bytes_per_s * 8e-6, e);
    }
    return rc;
}

static const char *const httpgetmt_columns[] = {
    "unit_id", "target", "bytes_sec_interval", "fetch_time", "sequence", NULL};

/* fetch_time counts from the start of the test, sequence its intervals from 0. */
static int add_interval(struct trace_set_sessions *s, struct trace_set_session *one,
                        const struct trace_set_csv *c, const int *at, struct err *e)
{
    double bytes_per_s, fetch_us;
    int64_t sequence;
    int rc = trace_set_csv_number(&bytes_per_s, c, at[RATE], 0.0, BYTES_PER_S_MAX, e);
    if (!rc) rc = trace_set_csv_number(&fetch_us, c, at[FETCH_US], 0.0, FETCH_US_MAX, e);
    if (!rc) rc = trace_set_csv_int(&sequence, c, at[SEQUENCE], e);
    if (rc) return rc;

    bool follows = sequence > 0 && sequence - 1 == one->sequence;
    double length_us = follows ? fetch_us - one->clock : fetch_us;
    one->sequence = sequence;
    one->clock = fetch_us;
    if ((sequence > 0 && !follows) || length_us <= 0.0) return 0;
    return trace_set_session_slot(s, one, c->line, length_us * 1e-6, bytes_per_s * 8e-6,
                                  e);
}

static int read_httpgetmt(struct trace_set_sessions *s, struct trace_set_csv *c,
                          struct trace_set_csv *acked, struct err *e)
{
    (void)acked;
    int at[5], rc = trace_set_csv_columns(at, c, httpgetmt_columns, 5, e);
    int successes = trace_set_csv_column(c, "successes");
    while (!rc && (rc = trace_set_csv_next(c, e)) > 0) {
        struct trace_set_session *one;
        rc = session_of(&one, s, c, at, successes, e);
        if (one) rc = add_interval(s, one, c, at, e);
    }
    return rc;
}

/* In the order of the FCC's data dictionaries. */
static const char webget_published[] =
    "unit_id,dtime,target,address,fetch_time,bytes_total,bytes_sec,objects,threads,"
    "requests,"
    "connections,reused_connections,lookups,request_total_time,request_min_time,"
    "request_avg_time,request_max_time,ttfb_total,ttfb_min,ttfb_avg,ttfb_max,"
    "lookup_total_time,lookup_min_time,lookup_avg_time,lookup_max_time,successes,"
    "failures,"
    "location_id";
static const char httpgetmt_published[] =
    "unit_id,dtime,target,address,fetch_time,bytes_total,bytes_sec,bytes_sec_interval,"
    "warmup_time,warmup_bytes,sequence,threads,successes,failures,location_id";

/* ---- Lumos5G ---- */

/* Narayanan et al., IMC 2020: throughput of 5G phones, second by second, many runs in one CSV. */

static const char *const lumos_columns[] = {"run_num", "seq_num", "Throughput", NULL};

/* A run number may name both a walk and a drive, so mode and direction are part of the key. */
static void run_key(char *key, size_t n, const struct trace_set_csv *c, int run)
{
    static const char *const more[] = {"mobility_mode", "trajectory_direction"};
    snprintf(key, n, "%.30s", c->cell[run]);
    for (int i = 0; i < 2; i++) {
        int at = trace_set_csv_column(c, more[i]);
        size_t used = strlen(key);
        if (at >= 0) snprintf(key + used, n - used, "-%.20s", c->cell[at]);
    }
}

/* A key may name several runs, one after the other. Seconds that go back begin the next run. */
static int run_of(struct trace_set_session **out, struct trace_set_sessions *s,
                  const struct trace_set_csv *c, int run, double second, struct err *e)
{
    char key[TRACE_SET_KEY], again[TRACE_SET_KEY + 24];
    run_key(key, sizeof key, c, run);
    int rc = trace_set_session(out, s, key, c->line, e);
    if (rc) return rc;
    struct trace_set_session *first = *out;
    first->sequence += first->sequence < 0 || second < first->clock;
    int64_t count = first->sequence;
    first->clock = second;
    snprintf(again, sizeof again, "%.70s-%lld", key, (long long)count);
    return count ? trace_set_session(out, s, again, c->line, e) : 0;
}

static int add_second(struct trace_set_sessions *s, const struct trace_set_csv *c,
                      const int *at, struct err *e)
{
    if (trace_set_csv_empty(c, at[2])) return 0;
    struct trace_set_session *one = NULL;
    double second, mbps;
    int rc = trace_set_csv_number(&second, c, at[1], 0.0, 1e9, e);
    if (!rc) rc = trace_set_csv_number(&mbps, c, at[2], 0.0, 1e6, e);
    if (!rc) rc = run_of(&one, s, c, at[0], second, e);
    if (rc) return rc;

    /* a second that is missing makes the slot longer */
    if (!one->rows.n) one->start = second - 1.0;
    return trace_set_session_slot(s, one, c->line, second - one->start - one->end_s, mbps,
                                  e);
}

static int read_lumos(struct trace_set_sessions *s, struct trace_set_csv *c,
                      struct trace_set_csv *acked, struct err *e)
{
    (void)acked;
    int at[3], rc = trace_set_csv_columns(at, c, lumos_columns, 3, e);
    while (!rc && (rc = trace_set_csv_next(c, e)) > 0)
        rc = add_second(s, c, at, e);
    return rc;
}

/* ---- Puffer ---- */

/* A day of Puffer (Yan et al., NSDI 2020): video_sent and video_acked, joined chunk by chunk. */

static const char *const puffer_columns[] = {"time (ns GMT)", "session_id", "index",
                                             "video_ts",      "size",       NULL};
enum { TIME, SESSION, INDEX, VIDEO_TS, SIZE };

static int stream_of(struct trace_set_session **out, struct trace_set_sessions *s,
                     const struct trace_set_csv *c, const int *at, struct err *e)
{
    char key[TRACE_SET_KEY];
    snprintf(key, sizeof key, "%.70s-%.20s", c->cell[at[SESSION]], c->cell[at[INDEX]]);
    return trace_set_session(out, s, key, c->line, e);
}

static int add_chunk(struct trace_set_sessions *s, struct trace_set_session *one,
                     const struct trace_set_chunk *chunk, int line, struct err *e)
{
    int rc = trace_set_count(&s->chunks, s, line, e);
    if (rc) return rc;
    if (one->n_chunks == one->cap_chunks) {
        int cap = one->cap_chunks ? 2 * one->cap_chunks : 16;
        struct trace_set_chunk *more = realloc(one->chunks, (size_t)cap * sizeof *more);
        if (!more) return err_set(e, ERR_MEMORY, "no memory for %d chunks", cap);
        one->chunks = more;
        one->cap_chunks = cap;
    }
    one->chunks[one->n_chunks++] = *chunk;
    return 0;
}

static int read_sent(struct trace_set_sessions *s, struct trace_set_csv *c, struct err *e)
{
    int at[5], rc = trace_set_csv_columns(at, c, puffer_columns, 5, e);
    while (!rc && (rc = trace_set_csv_next(c, e)) > 0) {
        struct trace_set_chunk chunk = {.acked_ns = -1};
        rc = trace_set_csv_int(&chunk.sent_ns, c, at[TIME], e);
        if (!rc) rc = trace_set_csv_int(&chunk.video_ts, c, at[VIDEO_TS], e);
        if (!rc) rc = trace_set_csv_int(&chunk.bytes, c, at[SIZE], e);
        struct trace_set_session *one = NULL;
        if (!rc) rc = stream_of(&one, s, c, at, e);
        if (!rc) rc = add_chunk(s, one, &chunk, c->line, e);
    }
    return rc;
}

/* Chunks are acknowledged in the order in which they were sent. A chunk that was sent before the
 * day began is unknown and skipped. */
static void acknowledge(struct trace_set_session *one, int64_t video_ts, int64_t time_ns)
{
    for (int i = one->matched; i < one->n_chunks; i++)
        if (one->chunks[i].video_ts == video_ts) {
            one->chunks[i].acked_ns = time_ns;
            one->matched = i + 1;
            return;
        }
}

static int read_acked(struct trace_set_sessions *s, struct trace_set_csv *c,
                      struct err *e)
{
    int at[4], rc = trace_set_csv_columns(at, c, puffer_columns, 4, e);
    while (!rc && (rc = trace_set_csv_next(c, e)) > 0) {
        int64_t time_ns, video_ts;
        rc = trace_set_csv_int(&time_ns, c, at[TIME], e);
        if (!rc) rc = trace_set_csv_int(&video_ts, c, at[VIDEO_TS], e);
        struct trace_set_session *one = NULL;
        if (!rc) rc = stream_of(&one, s, c, at, e);
        if (!rc) acknowledge(one, video_ts, time_ns);
    }
    return rc;
}

static int make_slots(struct trace_set_sessions *s, struct trace_set_session *one,
                      struct err *e)
{
    int64_t before_ns = one->n_chunks ? one->chunks[0].sent_ns : 0;
    int rc = 0;
    for (int i = 0; i < one->n_chunks && !rc; i++) {
        const struct trace_set_chunk *k = &one->chunks[i];
        if (k->acked_ns <= k->sent_ns || k->acked_ns < before_ns) continue;
        double took_s = (double)(k->acked_ns - k->sent_ns) * 1e-9;
        double mbps = (double)k->bytes * 8e-6 / took_s;
        rc = trace_set_session_slot(s, one, 0, (double)(k->acked_ns - before_ns) * 1e-9,
                                    mbps, e);
        before_ns = k->acked_ns;
    }
    return rc;
}

static int read_puffer(struct trace_set_sessions *s, struct trace_set_csv *c,
                       struct trace_set_csv *acked, struct err *e)
{
    if (!acked)
        return text_refuse(s->name, 0, ERR_ABSENT, e,
                           "Puffer's video_acked file is needed too, beside this one and "
                           "named as it: video_sent_X.csv, video_acked_X.csv");
    int rc = read_sent(s, c, e);
    if (!rc) rc = read_acked(s, acked, e);
    for (int i = 0; i < s->n && !rc; i++)
        rc = make_slots(s, &s->at[i], e);
    return rc;
}

/* ---- formats ---- */

/* To add a format: a section like those above and its row here. */
static const struct trace_set_reader READERS[] = {
    {"FCC httpgetmt", "fcc-get", httpgetmt_columns, read_httpgetmt, httpgetmt_published},
    {"FCC webget", "fcc-web", webget_columns, read_webget, webget_published},
    {"Puffer", "puffer", puffer_columns, read_puffer, NULL},
    {"Lumos5G", "lumos5g", lumos_columns, read_lumos, NULL},
};
enum { N_READERS = sizeof READERS / sizeof *READERS };

static bool has_column(char *const *heading, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(heading[i], name)) return true;
    return false;
}

static const struct trace_set_reader *format_of(char *const *heading, int columns)
{
    for (int f = 0; f < N_READERS; f++) {
        const char *const *want = READERS[f].columns;
        while (*want && has_column(heading, columns, *want))
            want++;
        if (!*want) return &READERS[f];
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

static int count_columns(const char *columns)
{
    int n = 1;
    for (const char *s = columns; (s = strchr(s, ',')); s++)
        n++;
    return n;
}

/* Some of the FCC's files begin with a row: unit, time and so on, in the order of its data
 * dictionaries. location_id, the last column, was added later. */
static const struct trace_set_reader *format_of_row(char *const *cell, int columns)
{
    if (columns < 2 || !is_time(cell[1])) return NULL;
    for (int f = 0; f < N_READERS; f++) {
        int most = READERS[f].published ? count_columns(READERS[f].published) : 0;
        if (most && (columns == most || columns == most - 1)) return &READERS[f];
    }
    return NULL;
}

/* The format of the file that was just opened, or NULL. Afterwards its columns have names. */
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

/* ---- traces ---- */

struct trace_set_cfg trace_set_cfg_default(void)
{
    return (struct trace_set_cfg){.min_s = 60.0, .max = 10000, .max_rows = ROWS_MAX};
}

/* "fcc-00012-4711-www.example.org": a valid file name on every system. */
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
        name_trace(name, sizeof name, format->prefix, cfg->first + i, s->at[i].key);
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

/* Bytes of a file; 0: unknown. */
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

/* Puffer's second file, video_acked_X for video_sent_X. False when the name is another. */
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
