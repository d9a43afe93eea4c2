/* trace_set_fcc.c - two tables of the FCC's Measuring Broadband America, raw data: webget
 * (pages fetched) and httpgetmt (download tests on several connections). */
#include "trace_set_priv.h"

#include <string.h>

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

/* As the data dictionaries list them. */
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

const struct trace_set_reader trace_set_fcc_webget = {
    "FCC webget", "fcc-web", webget_columns, read_webget, webget_published};
const struct trace_set_reader trace_set_fcc_httpgetmt = {
    "FCC httpgetmt", "fcc-get", httpgetmt_columns, read_httpgetmt, httpgetmt_published};
