#include "serve/players/pensieve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/wire/wire.h"

static const double LADDER_KBPS[] = {300, 750, 1200, 1850, 2850, 4300};
enum { LEVELS = sizeof LADDER_KBPS / sizeof *LADDER_KBPS };

struct client {
    char session[SERVICE_ID];
    int chunk;        /* of the last post, -1: none yet */
    double stalled_s; /* in total, in that post */
    double before_s;  /* and in the one before it */
};

/* ---- a post as it is sent ---- */

#define HAS(tag, member) .has = FIELD_PLACE(tag, member)
#define LENGTH(tag, member) .n = FIELD_PLACE(tag, member)
struct pensieve_body {
    struct pensieve_post out;
    double begun_ms, ended_ms, stalled_ms;
    bool request, quality, buffer, stalled, begun, ended, size;
};
#define ROW(member) FIELD(struct pensieve_body, member)
static const struct field PENSIEVE[] = {
    {"nextChunkSize", ROW(out.next_bytes), HAS(struct pensieve_body, out.has_next),
     LENGTH(struct pensieve_body, out.n_next), .flags = FIELD_NULL_IS_ZERO},
    {"lastquality", ROW(out.level), HAS(struct pensieve_body, quality)},
    {"buffer", ROW(out.buffer_s), HAS(struct pensieve_body, buffer)},
    {"lastRequest", ROW(out.chunk), HAS(struct pensieve_body, request)},
    {"RebufferTime", ROW(stalled_ms), HAS(struct pensieve_body, stalled)},
    {"lastChunkFinishTime", ROW(ended_ms), HAS(struct pensieve_body, ended)},
    {"lastChunkStartTime", ROW(begun_ms), HAS(struct pensieve_body, begun)},
    {"lastChunkSize", ROW(out.bytes), HAS(struct pensieve_body, size)},
    {"pastThroughput", .type = FIELD_ANY, HAS(struct pensieve_body, out.summary)},
    /* old clients send more, which is ignored */
    {"*", .type = FIELD_ANY},
    {0}};
#undef ROW

int pensieve_read(struct pensieve_post *out, const char *body, size_t n, struct err *e)
{
    struct pensieve_body b;
    memset(&b, 0, sizeof b);
    int rc = wire_body(PENSIEVE, &b, body, n, e);
    memcpy(out, &b.out, sizeof *out);
    if (rc || out->summary) return rc;

    const char *missing = !b.request   ? "lastRequest"
                          : !b.quality ? "lastquality"
                          : !b.buffer  ? "buffer"
                          : !b.stalled ? "RebufferTime"
                          : !b.begun   ? "lastChunkStartTime"
                          : !b.ended   ? "lastChunkFinishTime"
                          : !b.size    ? "lastChunkSize"
                                       : NULL;
    if (missing) return err_field(e, ERR_INVALID, missing, "is missing");
    out->has_next = out->has_next && out->n_next > 0;
    out->stalled_s = b.stalled_ms / 1e3;
    out->download_s = (b.ended_ms - b.begun_ms) / 1e3;
    return 0;
}

/* ---- the questions ---- */

struct clients *pensieve_clients(int n, uint64_t seed, struct err *e)
{
    return clients_new(n, sizeof(struct client), seed, e);
}

static int pensieve_check(const struct pensieve_post *post, struct err *e)
{
    if (post->chunk < 0 || post->chunk >= PENSIEVE_CHUNKS)
        return err_field(e, ERR_RANGE, "lastRequest", "%d is not within 0 .. %d",
                         post->chunk, PENSIEVE_CHUNKS - 1);
    if (post->level < 0 || post->level >= LEVELS)
        return err_field(e, ERR_RANGE, "lastquality", "%d is not within 0 .. %d",
                         post->level, LEVELS - 1);
    if (post->download_s < 0)
        return err_field(e, ERR_INVALID, "lastChunkFinishTime",
                         "is before lastChunkStartTime");
    if (post->stalled_s < 0)
        return err_field(e, ERR_RANGE, "RebufferTime", "%g is negative",
                         post->stalled_s * 1e3);
    if (post->bytes < 0)
        return err_field(e, ERR_RANGE, "lastChunkSize", "%lld is negative",
                         (long long)post->bytes);
    if (post->has_next && post->n_next != LEVELS)
        return err_field(e, ERR_INVALID, "nextChunkSize",
                         "has %d entries, the video has %d levels", post->n_next, LEVELS);
    return 0;
}

/* Names the field as the client knows it. */
static void rename_field(struct err *e)
{
    static const char *const names[][2] = {{"chunk", "lastRequest"},
                                           {"buffer_s", "buffer"},
                                           {"last.level", "lastquality"},
                                           {"level", "lastquality"},
                                           {"last.bytes", "lastChunkSize"},
                                           {"bytes", "lastChunkSize"},
                                           {"last.download_s", "lastChunkFinishTime"},
                                           {"download_s", "lastChunkFinishTime"},
                                           {"last.rebuffer_s", "RebufferTime"},
                                           {"rebuffer_s", "RebufferTime"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(e->field, names[i][0]) == 0) {
            snprintf(e->field, sizeof e->field, "%s", names[i][1]);
            break;
        }
    if (strncmp(e->field, "next_bytes", 10) == 0)
        snprintf(e->field, sizeof e->field, "nextChunkSize");
}

static bool measured(const struct pensieve_post *post)
{
    return post->bytes > 0 && post->download_s > 0;
}

static struct outcome outcome_of(const struct pensieve_post *post, double before_s)
{
    return (struct outcome){.chunk = post->chunk,
                            .level = post->level,
                            .bytes = post->bytes,
                            .download_s = post->download_s,
                            .rebuffer_s = fmax(0, post->stalled_s - before_s)};
}

static int next_level(int *level, struct service *s, struct service_worker *w,
                      const struct client *c, const struct pensieve_post *post,
                      double before_s, double max_kbps, struct err *e)
{
    struct question q = {.chunk = post->chunk + 1,
                         .buffer_s = post->buffer_s,
                         .max_kbps = max_kbps,
                         .has_last = measured(post),
                         .has_next = post->has_next};
    if (q.has_last) q.last = outcome_of(post, before_s);
    memcpy(q.next_bytes, post->next_bytes, sizeof q.next_bytes);
    struct answer a;
    int rc = service_ask(&a, s, w, c->session, &q, e);
    if (rc < 0) return rc;
    *level = a.level;
    return 0;
}

static int end_of_video(int *level, struct service *s, const struct client *c,
                        const struct pensieve_post *post, double before_s, struct err *e)
{
    struct reward_in in = {.final = true, .has_outcome = measured(post)};
    struct reward_out unused;
    if (in.has_outcome) in.outcome = outcome_of(post, before_s);
    *level = PENSIEVE_REFRESH;
    return service_reward(&unused, s, c->session, &in, e);
}

/* As pensieve_ask; brings c up to date. */
static int answer_post(int *level, struct client *c, struct service *s,
                       struct service_worker *w, const struct pensieve_post *post,
                       double max_kbps, struct err *e)
{
    bool again = post->chunk == c->chunk && post->stalled_s == c->stalled_s;
    if (!again && (post->chunk <= c->chunk || post->stalled_s < c->stalled_s)) return 1;

    struct err why = {0};
    double before = again ? c->before_s : c->stalled_s;
    int rc = post->chunk + 1 < PENSIEVE_CHUNKS
                 ? next_level(level, s, w, c, post, before, max_kbps, &why)
                 : end_of_video(level, s, c, post, before, &why);
    if (rc == ERR_ABSENT) return 1; /* the session has ended meanwhile */
    /* chunk 0 of a page that was reloaded before chunk 1 */
    if (rc == ERR_CONFLICT && again && post->chunk == 0) return 1;
    if (rc) {
        rename_field(&why);
        return err_field(e, rc, why.field, "%s", why.detail);
    }
    if (!again) {
        c->before_s = c->stalled_s;
        c->stalled_s = post->stalled_s;
        c->chunk = post->chunk;
    }
    return 0;
}

int pensieve_ask(int *level, struct clients *clients, struct service *s,
                 struct service_worker *w, const unsigned char key[CLIENTS_KEY],
                 const struct pensieve_post *post, double max_kbps, struct err *e)
{
    struct client c;
    uint64_t since;
    int rc = pensieve_check(post, e);
    if (rc) return rc;
    do {
        since = clients_get(&c, clients, key);
        rc = since ? answer_post(level, &c, s, w, post, max_kbps, e) : 1;
    } while (!rc && !clients_put(clients, key, &c, since));
    return rc;
}

int pensieve_open(struct clients *clients, struct service *s, struct service_worker *w,
                  const unsigned char key[CLIENTS_KEY], const char *profile,
                  const struct pensieve_post *post, double max_kbps, struct err *e)
{
    struct client c;
    uint64_t since = clients_get(&c, clients, key);
    struct session_open in = {.levels = LEVELS,
                              .chunk_s = 4,
                              .chunks = PENSIEVE_CHUNKS,
                              .buffer_max_s = 60,
                              .max_kbps = max_kbps,
                              .content_id = "pensieve"};
    memcpy(in.ladder_kbps, LADDER_KBPS, sizeof LADDER_KBPS);
    snprintf(in.profile, sizeof in.profile, "%s", profile);
    struct session_opened opened;
    int rc = service_open(&opened, s, w, &in, e);
    if (rc) return rc;

    /* earlier stalls of a client that comes in the middle belong to no chunk here */
    double stalled = post->chunk > 0 ? post->stalled_s : 0;
    c = (struct client){.chunk = -1, .stalled_s = stalled, .before_s = stalled};
    memcpy(c.session, opened.session, sizeof c.session);
    if (clients_put(clients, key, &c, since)) return 0;
    /* another post of the client was faster; if this fails the session expires */
    (void)!service_close(s, opened.session, NULL, NULL);
    return 0;
}
