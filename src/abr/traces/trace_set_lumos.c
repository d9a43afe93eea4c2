/* trace_set_lumos.c - Lumos5G (Narayanan et al., IMC 2020): throughput of 5G phones, second by
 * second, many runs in one CSV. */
#include "trace_set_priv.h"

#include <string.h>

static const char *const columns[] = {"run_num", "seq_num", "Throughput", NULL};

/* The same number may name a walk and a drive. */
static void key_of(char *key, size_t n, const struct trace_set_csv *c, int run)
{
    static const char *const more[] = {"mobility_mode", "trajectory_direction"};
    snprintf(key, n, "%.30s", c->cell[run]);
    for (int i = 0; i < 2; i++) {
        int at = trace_set_csv_column(c, more[i]);
        size_t used = strlen(key);
        if (at >= 0) snprintf(key + used, n - used, "-%.20s", c->cell[at]);
    }
}

/* The same key may name runs one after the other: seconds that go back begin another. */
static int run_of(struct trace_set_session **out, struct trace_set_sessions *s,
                  const struct trace_set_csv *c, int run, double second, struct err *e)
{
    char key[TRACE_SET_KEY], again[TRACE_SET_KEY + 24];
    key_of(key, sizeof key, c, run);
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
    int at[3], rc = trace_set_csv_columns(at, c, columns, 3, e);
    while (!rc && (rc = trace_set_csv_next(c, e)) > 0)
        rc = add_second(s, c, at, e);
    return rc;
}

const struct trace_set_reader trace_set_lumos = {"Lumos5G", "lumos5g", columns,
                                                 read_lumos, NULL};
