#include "serve/players/steer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "serve/session/limits.h"
#include "serve/session/sound.h"

enum { RECENT = 5, LATE_CHUNKS = 6 };
static const double BUFFER_MAX_S = 60;
static const double LEAST_STALL_S = 0.1; /* it starved, but nothing explains it */
static const double LEAST_DOWNLOAD_S = 1e-3;

/* A player and the chunk that it requested last. */
struct player {
    char session[SERVICE_ID];
    bool live;
    int chunk;            /* -1: none yet */
    uint32_t file;        /* CRC of its name */
    int64_t from;         /* first byte in the file; -1: the whole */
    uint32_t ladder, cid; /* CRC of the video's; cid 0: not reported */
    int level;
    int64_t bytes;
    double asked_s, sent_s; /* sent: the last byte; < 0 not yet */
    double arrived_s;       /* the download time it reports; < 0 none */
    double buffer_s;        /* at the request */
    double later_s;         /* expected after the chunk */
    double starved_s;       /* reported since; < 0 nothing */
    bool ended;          /* its last chunk was sent, and the outcome is in the session */
    double kbps;         /* the cap */
    double top_kbps;     /* largest tpb, or else tb, that it sent */
    double audio_kbps;   /* requested last; 0: none, or within the video's */
    int64_t other_bytes; /* of sound that came since the chunk was requested */
    double rate[RECENT]; /* kbit/s, newest last */
    double took_s[RECENT]; /* download times */
    int rates;
};

struct clients *steer_clients(int n, uint64_t seed, struct err *e)
{
    return clients_new(n, sizeof(struct player), seed, e);
}

void steer_key(unsigned char key[CLIENTS_KEY], const struct clients *clients,
               const char *sid)
{
    clients_key(key, clients, "", 0, sid);
}

static uint32_t name_crc(const char *file)
{
    return bytes_crc32(0, file, strlen(file));
}

/* ---- what is known of a segment ---- */

static uint32_t cid_crc(const struct cmcd *c)
{
    return c->cid[0] ? name_crc(c->cid) : 0;
}

/* Does the player request another video than that of its session? */
static bool is_other(const struct player *p, const struct video *v, const struct cmcd *c)
{
    if (c->kind == CMCD_AUDIO) return false;
    uint32_t cid = cid_crc(c);
    return p->ladder != video_ladder_crc(v) || (p->cid && cid && p->cid != cid);
}

/* The last number in a file's name without its extension; -1: none. */
static int number_in(const char *file)
{
    const char *end = strrchr(file, '.');
    if (!end) end = file + strlen(file);
    while (end > file && !(end[-1] >= '0' && end[-1] <= '9'))
        end--;
    int n = 0, digits = 0;
    for (int unit = 1; end > file && end[-1] >= '0' && end[-1] <= '9' && digits < 9;
         unit *= 10, digits++)
        n += (*--end - '0') * unit;
    return digits ? n : -1;
}

static int chunk_of(const struct steer_segment *q, const struct player *p,
                    const struct video *v)
{
    int n = (q->number ? q->number : number_in(q->file)) - 1, next = p->chunk + 1;
    if (n >= 0 && (p->live || n < v->chunks)) return n;
    bool same = p->file == name_crc(q->file) && p->from == q->from;
    if (q->number < 0 && p->chunk >= 0 && same) return p->chunk;
    return p->live || next < v->chunks ? next : v->chunks - 1;
}

/* A request of a session that ended, for a chunk that the last one overtook. Playback is not beyond it. */
static bool is_late(const struct player *p, const struct steer_segment *q,
                    const struct video *v)
{
    if (!p->ended || q->cmcd->kind == CMCD_AUDIO) return false;
    int chunk = chunk_of(q, p, v);
    return chunk > 0 && chunk >= v->chunks - LATE_CHUNKS &&
           q->now_s - p->sent_s < BUFFER_MAX_S;
}

static bool same_kbps(double a, double b)
{
    return fabs(a - b) <= 1;
}

/* Players of HLS state a level's peak or its mean, rounded. */
static int level_of(double kbps, const struct video *v)
{
    int best = 0;
    for (int k = 0; k < v->levels; k++)
        if (same_kbps(v->peak_kbps[k], kbps)) return k;
    for (int k = 1; k < v->levels; k++)
        if (fabs(v->ladder_kbps[k] - kbps) < fabs(v->ladder_kbps[best] - kbps)) best = k;
    return best;
}

/* The cap that the player itself has; 0: none. dash.js lowers tb and tpb by the cap that it was told, so the
 * largest so far is its own: *most. */
static double own_cap(double *most, const struct cmcd *c, const struct video *v)
{
    double top = c->playable_kbps > 0 ? c->playable_kbps : c->top_kbps;
    top = *most = fmax(*most, top);
    if (!(top > 0)) return 0;
    for (int k = v->levels - 1; k >= 0; k--)
        if (same_kbps(v->peak_kbps[k], top)) return v->ladder_kbps[k];
    return fmin(fmax(top + 1, VIEW_KBPS_MIN), VIEW_KBPS_MAX);
}

/* ---- the outcome of the chunk before ---- */

static double throughput(const struct player *p)
{
    double sum = 0;
    for (int i = 0; i < p->rates; i++)
        sum += 1 / p->rate[i];
    return p->rates ? p->rates / sum : 0;
}

static void push_rate(struct player *p, double kbps, double took_s)
{
    if (p->rates == RECENT) {
        p->rates--;
        memmove(p->rate, p->rate + 1, sizeof p->rate[0] * RECENT - sizeof p->rate[0]);
        memmove(p->took_s, p->took_s + 1, sizeof p->rate[0] * RECENT - sizeof p->rate[0]);
    }
    p->rate[p->rates] = kbps;
    p->took_s[p->rates++] = took_s;
}

static double download_s(const struct player *p, double mtp_kbps, double now_s)
{
    double s = now_s - p->asked_s;
    if (p->arrived_s > 0)
        s = p->arrived_s;
    else if (p->sent_s >= 0)
        s = p->sent_s - p->asked_s;
    else if (mtp_kbps > 0)
        s = (double)p->bytes * 8e-3 / mtp_kbps;
    return fmin(fmax(s, LEAST_DOWNLOAD_S), LIMITS_SECONDS);
}

/* Before playback starts nothing counts as a stall. */
static double rebuffer_s(const struct player *p, const struct cmcd *c, double took_s,
                         unsigned *estimated)
{
    double reported = fmax(c->starved_s, p->starved_s);
    if (reported >= 0) return fmin(reported, LIMITS_SECONDS);
    if (!c->starved || p->buffer_s <= 0) return 0;
    *estimated |= STEER_REBUFFER;
    return fmax(took_s - p->buffer_s, LEAST_STALL_S);
}

static struct outcome outcome_of(const struct player *p, const struct cmcd *c,
                                 double now_s, unsigned *estimated)
{
    double took = download_s(p, c->throughput_kbps, now_s);
    if (p->arrived_s <= 0) *estimated |= STEER_DOWNLOAD;
    return (struct outcome){.chunk = p->chunk,
                            .level = p->level,
                            .bytes = p->bytes,
                            .download_s = took,
                            .rebuffer_s = rebuffer_s(p, c, took, estimated),
                            .has_other = p->audio_kbps > 0,
                            .other_bytes = p->other_bytes,
                            .other_kbps = p->audio_kbps};
}

/* ---- the question ---- */

static double buffer_now(const struct player *p, const struct cmcd *c, double now_s)
{
    if (c->buffer_s >= 0) return fmin(c->buffer_s, LIMITS_BUFFER_S);
    return p->chunk < 0 ? 0 : fmax(p->later_s - (now_s - p->asked_s), 0);
}

/* The buffer after the requested chunk has come. */
static double buffer_later(double now_buffer_s, int64_t bytes, double kbps,
                           double chunk_s)
{
    double takes = kbps > 0 ? (double)bytes * 8e-3 / kbps : 0;
    return fmin(fmax(now_buffer_s - takes, 0) + chunk_s, LIMITS_BUFFER_S);
}

static struct question question_of(struct player *p, const struct video *v,
                                   const struct cmcd *c)
{
    struct question q = {.chunk = p->chunk + 1,
                         .buffer_s = p->later_s,
                         .max_kbps = own_cap(&p->top_kbps, c, v)};
    q.has_next = q.chunk < v->chunks;
    if (!q.has_next) return q;
    const int64_t *bytes = video_chunk(v, q.chunk);
    for (int k = 0; k < v->levels; k++)
        q.next_bytes[k] = (double)bytes[k];
    q.has_next_quality = v->points != NULL;
    if (q.has_next_quality) video_points(q.next_quality, v, q.chunk);
    return q;
}

/* Asks with the outcome, and without it if the session has another outcome for that chunk. */
static int decide(struct player *p, struct service *s, struct service_worker *w,
                  const struct video *v, const struct cmcd *c, const struct outcome *last,
                  struct err *e)
{
    struct question q = question_of(p, v, c);
    struct answer a;
    struct err mine = {0};
    if (last) {
        q.has_last = true;
        q.last = *last;
    }
    int rc = service_ask(&a, s, w, p->session, &q, &mine);
    if (rc == ERR_CONFLICT && last) {
        q.has_last = false;
        mine = (struct err){0};
        rc = service_ask(&a, s, w, p->session, &q, &mine);
    }
    if (rc == ERR_CONFLICT) return 0; /* decided before a seek back: the cap stays */
    if (rc < 0) return err_field(e, rc, mine.field, "%s", mine.detail);
    p->kbps = a.kbps;
    return 0;
}

static int report(struct service *s, const struct player *p, const struct outcome *o,
                  bool final, struct err *e)
{
    struct reward_in in = {.final = final};
    struct reward_out unused;
    in.has_outcome = o != NULL;
    if (o) in.outcome = *o;
    int rc = service_reward(&unused, s, p->session, &in, e);
    return rc == ERR_CONFLICT || rc == ERR_ABSENT ? 0 : rc;
}

static void fill_told(struct steer_told *told, const struct player *p, unsigned estimated)
{
    memcpy(told->session, p->session, sizeof told->session);
    told->max_kbps = p->kbps > 0 ? p->kbps + p->audio_kbps : 0;
    told->throughput_kbps = throughput(p);
    told->estimated = estimated;
}

/* Video of chunk n: reports the outcome of the chunk before and asks about the next one. */
static int ask_video(struct player *p, unsigned *estimated, struct service *s,
                     struct service_worker *w, const struct video *v,
                     const struct steer_segment *in, struct err *e)
{
    const struct cmcd *c = in->cmcd;
    int chunk = chunk_of(in, p, v);
    bool again = chunk == p->chunk, before = p->chunk >= 0 && !again && !p->ended;
    int number = in->number ? in->number : number_in(in->file);
    if (number != chunk + 1) *estimated |= STEER_CHUNK;

    struct outcome last;
    if (before) {
        last = outcome_of(p, c, in->now_s, estimated);
        int64_t all = p->bytes + p->other_bytes;
        if (p->bytes > 0)
            push_rate(p, (double)all * 8e-3 / last.download_s, last.download_s);
    }
    double buffer = buffer_now(p, c, in->now_s), rate = throughput(p);
    bool stated = c->chunk_s >= VIEW_CHUNK_S_MIN && c->chunk_s <= VIEW_CHUNK_S_MAX;
    double chunk_s = stated ? c->chunk_s : v->chunk_s;
    if (rate <= 0 && c->throughput_kbps > 0) rate = c->throughput_kbps;

    p->chunk = chunk;
    p->file = name_crc(in->file);
    p->from = in->from;
    p->level = in->level >= 0 ? in->level : level_of(c->kbps, v);
    p->bytes = in->bytes;
    if (!again) p->other_bytes = 0;
    if (v->sound || c->kind == CMCD_MUXED) p->audio_kbps = 0;
    p->asked_s = in->now_s;
    p->sent_s = p->arrived_s = p->starved_s = -1;
    p->buffer_s = buffer;
    p->later_s = buffer_later(buffer, in->bytes, rate, chunk_s);
    p->ended = false;
    *estimated |= STEER_BUFFER;
    if (again) return 0;
    if (p->live || chunk + 1 < v->chunks)
        return decide(p, s, w, v, c, before ? &last : NULL, e);
    return before ? report(s, p, &last, false, e) : 0;
}

/* A chunk of sound counts for the chunk of video that is being sent at that time: its last byte has not been
 * sent. */
static void take_sound(struct player *p, const struct video *v,
                       const struct steer_segment *q)
{
    p->audio_kbps = v->sound ? 0 : q->cmcd->kbps;
    bool meanwhile = p->chunk >= 0 && p->sent_s < 0;
    if (meanwhile) p->other_bytes += q->bytes;
}

/* One request of one player; the caller puts p back. */
static int answer_request(struct steer_told *told, struct player *p, struct service *s,
                          struct service_worker *w, const struct video *v,
                          const struct steer_segment *q, struct err *e)
{
    const struct cmcd *c = q->cmcd;
    struct err why = {0};
    unsigned estimated = 0;
    int rc = 0;
    if (c->kind == CMCD_AUDIO && c->kbps > 0)
        take_sound(p, v, q);
    else if ((c->kind == CMCD_VIDEO || c->kind == CMCD_MUXED) && c->kbps > 0)
        rc = ask_video(p, &estimated, s, w, v, q, &why);
    if (rc == ERR_ABSENT) return rc;
    if (rc) return err_field(e, rc, why.field, "%s", why.detail);
    fill_told(told, p, estimated);
    return 0;
}

/* What is kept of a player after its video ended: what is known of its link. */
static struct player left_behind(const struct player *p, const struct cmcd *c,
                                 double now_s)
{
    struct player left = {.chunk = -1,
                          .later_s = buffer_now(p, c, now_s),
                          .audio_kbps = p->audio_kbps,
                          .rates = p->rates};
    memcpy(left.rate, p->rate, sizeof left.rate);
    memcpy(left.took_s, p->took_s, sizeof left.took_s);
    return left;
}

uint32_t steer_ladder(struct clients *clients, const char *sid)
{
    unsigned char key[CLIENTS_KEY];
    struct player p;
    steer_key(key, clients, sid);
    return clients_get(&p, clients, key) ? p.ladder : 0;
}

int steer_ask(struct steer_told *told, struct clients *clients, struct service *s,
              struct service_worker *w, const struct video *video,
              const struct steer_segment *q, struct err *e)
{
    unsigned char key[CLIENTS_KEY];
    struct player p;
    steer_key(key, clients, q->cmcd->sid);
    for (;;) {
        *told = (struct steer_told){0};
        uint64_t since = clients_get(&p, clients, key);
        if (!since) return 1;
        if (!p.session[0]) return 1;
        if (is_other(&p, video, q->cmcd)) {
            struct player left = left_behind(&p, q->cmcd, q->now_s);
            if (!clients_put(clients, key, &left, since)) continue;
            (void)!service_close(s, p.session, NULL, NULL);
            return 1;
        }
        if (is_late(&p, q, video)) {
            fill_told(told, &p, 0);
            return 0;
        }
        int rc = answer_request(told, &p, s, w, video, q, e);
        if (rc == ERR_ABSENT) { /* the session expired */
            if (clients_forget(clients, key, since)) return 1;
        } else if (rc || clients_put(clients, key, &p, since)) {
            return rc;
        }
    }
}

/* What the manifest, or the video's own files, say of the quality. */
static void open_quality(struct session_open *in, const struct video *v)
{
    in->quality_from = v->quality == QUALITY_CURVE ? QUALITY_CURVE : QUALITY_LEVEL;
    if (in->quality_from == QUALITY_LEVEL)
        memcpy(in->quality, v->level_points, sizeof in->quality);
    if (in->has_next_quality) video_points(in->next_quality, v, 0);
}

/* The session continues one whose link is known. */
static void open_link(struct session_open *in, const struct player *before)
{
    in->continues = true;
    in->buffer_s = before->later_s;
    in->link.n = before->rates;
    for (int i = 0; i < before->rates; i++) {
        double kbps = sound_left_kbps(before->rate[i], before->audio_kbps);
        in->link.kbps[i] = fmin(kbps, LIMITS_THROUGHPUT_KBPS);
        in->link.download_s[i] = before->took_s[i];
    }
}

static int open_session(struct clients *clients, struct service *s,
                        struct service_worker *w, const struct video *video,
                        const struct cmcd *c, struct err *e)
{
    unsigned char key[CLIENTS_KEY];
    struct player p;
    steer_key(key, clients, c->sid);
    uint64_t since = clients_get(&p, clients, key);
    if (since && p.session[0]) return 0;

    bool live = c->live || video->live;
    double top_kbps = 0;
    struct session_open in = {.levels = video->levels,
                              .chunk_s = video->chunk_s,
                              .chunks = live ? 0 : video->chunks,
                              .buffer_max_s = fmax(BUFFER_MAX_S, video->chunk_s),
                              .has_next = true,
                              .has_next_quality = video->points != NULL,
                              .max_kbps = own_cap(&top_kbps, c, video)};
    open_quality(&in, video);
    if (since) open_link(&in, &p);
    memcpy(in.ladder_kbps, video->ladder_kbps, sizeof in.ladder_kbps);
    snprintf(in.content_id, sizeof in.content_id, "%s", c->cid);
    const int64_t *bytes = video_chunk(video, 0);
    for (int k = 0; k < video->levels; k++)
        in.next_bytes[k] = (double)bytes[k];
    struct session_opened opened;
    int rc = service_open(&opened, s, w, &in, e);
    if (rc) return rc;

    struct player begun = {.chunk = -1,
                           .live = live,
                           .ladder = video_ladder_crc(video),
                           .cid = cid_crc(c),
                           .from = -1,
                           .sent_s = -1,
                           .arrived_s = -1,
                           .starved_s = -1,
                           .kbps = opened.first.kbps,
                           .top_kbps = top_kbps};
    if (since) {
        begun.audio_kbps = p.audio_kbps;
        begun.rates = p.rates;
        memcpy(begun.rate, p.rate, sizeof begun.rate);
        memcpy(begun.took_s, p.took_s, sizeof begun.took_s);
    }
    memcpy(begun.session, opened.session, sizeof begun.session);
    if (clients_put(clients, key, &begun, since)) return 0;
    /* a session that ended meanwhile left its link; if closing fails, this one expires */
    (void)!service_close(s, opened.session, NULL, NULL);
    return 0;
}

int steer_open(struct clients *clients, struct service *s, struct service_worker *w,
               const struct video *video, const struct cmcd *c, struct err *e)
{
    clients_open_lock(clients);
    int rc = open_session(clients, s, w, video, c, e);
    clients_open_unlock(clients);
    return rc;
}

void steer_sent(struct clients *clients, struct service *s, const struct video *video,
                const char *sid, const char *file, double now_s)
{
    unsigned char key[CLIENTS_KEY];
    struct player p;
    uint64_t since;
    steer_key(key, clients, sid);
    do {
        since = clients_get(&p, clients, key);
        if (!since || !p.session[0] || p.file != name_crc(file)) return;
        p.sent_s = now_s;
        if (!p.live && p.chunk == video->chunks - 1 && !p.ended) {
            struct cmcd nothing;
            unsigned unused = 0;
            int rc = cmcd_parse(&nothing, "", 0, NULL);
            struct outcome last = outcome_of(&p, &nothing, now_s, &unused);
            p.ended = !rc && !report(s, &p, &last, true, NULL);
        }
    } while (!clients_put(clients, key, &p, since));
}

/* The viewer watched to the end, or stopped. */
static int end_session(struct service *s, const struct player *p, const struct cmcd *c,
                       bool watched, double now_s, struct err *e)
{
    struct err why = {0};
    unsigned unused = 0;
    struct outcome last = outcome_of(p, c, now_s, &unused);
    bool due = p->chunk >= 0 && !p->ended;
    int rc = watched ? report(s, p, due ? &last : NULL, true, &why)
                     : service_close(s, p->session, NULL, &why);
    if (!rc || rc == ERR_ABSENT || rc == ERR_CONFLICT) return 0;
    return err_field(e, rc, why.field, "%s", why.detail);
}

static void note_report(struct player *p, const struct cmcd *c)
{
    bool response = strcmp(c->event, "rr") == 0;
    bool is_video = c->kind == CMCD_VIDEO || c->kind == CMCD_MUXED;
    if (c->file[0] ? p->file != name_crc(c->file) : response) return;
    if (c->starved_s >= 0) p->starved_s = fmax(p->starved_s, 0) + c->starved_s;
    if (response && is_video && c->arrived_s > 0) p->arrived_s = c->arrived_s;
}

int steer_event(struct clients *clients, struct service *s, const struct cmcd *c,
                double now_s, struct err *e)
{
    unsigned char key[CLIENTS_KEY];
    struct player p;
    bool watched = strcmp(c->state, "e") == 0;
    bool over = watched || strcmp(c->state, "q") == 0 || strcmp(c->state, "f") == 0;
    steer_key(key, clients, c->sid);
    for (;;) {
        uint64_t since = clients_get(&p, clients, key);
        if (!since || !p.session[0]) return 0;
        note_report(&p, c);
        if (!over) {
            if (clients_put(clients, key, &p, since)) return 0;
            continue;
        }
        int rc = end_session(s, &p, c, watched, now_s, e);
        if (rc || clients_forget(clients, key, since)) return rc;
    }
}
