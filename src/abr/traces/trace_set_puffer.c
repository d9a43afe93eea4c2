/* trace_set_puffer.c - a day of Puffer (Yan et al., NSDI 2020): video_sent and video_acked
 * joined chunk by chunk. */
#include "trace_set_priv.h"

#include "base/text.h"

#include <stdlib.h>

static const char *const sent_columns[] = {"time (ns GMT)", "session_id", "index",
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
    int at[5], rc = trace_set_csv_columns(at, c, sent_columns, 5, e);
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

/* Chunks are acknowledged in the order in which they were sent. A chunk that is not among
 * those sent (before the day began) is passed over. */
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
    int at[4], rc = trace_set_csv_columns(at, c, sent_columns, 4, e);
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

const struct trace_set_reader trace_set_puffer = {"Puffer", "puffer", sent_columns,
                                                  read_puffer, NULL};
