#include "abr/recorded/recorded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE_AHEAD = 60 /* chunks that a policy sees ahead of a live stream */ };
static const double EMPTY_BUFFER_S = 0.05; /* of a start; players round */
static const double RTT_SHARE = 0.9;       /* of a download, at most */
static const double GAP_S = 0.01;          /* a shorter one is no idle time */

const char *const recorded_whys[RECORDED_WHYS] = {
    [RECORDED_OK] = "usable",
    [RECORDED_SHORT] = "too short",
    [RECORDED_HOLE] = "with holes",
    [RECORDED_LATE] = "without their start",
    [RECORDED_EMPTY] = "with downloads that were not measured",
    [RECORDED_LIMITS] = "outside of the emulator's limits"};

/* The session's last chunks may not be reported: the viewer left. */
static int played(const struct recorded_chunk *chunk, int n)
{
    if (n > RECORDED_MOST) n = RECORDED_MOST;
    while (n && !chunk[n - 1].reported)
        n--;
    return n;
}

static enum recorded_why judge(const struct recorded_terms *t,
                               const struct recorded_chunk *c, int n)
{
    if (n < 1 || n < t->least) return RECORDED_SHORT;
    for (int i = 0; i < n; i++)
        if (!c[i].reported || c[i].chunk != c[0].chunk + i) return RECORDED_HOLE;
    bool start = isnan(c[0].buffer_s) ? !c[0].chunk : c[0].buffer_s <= EMPTY_BUFFER_S;
    if (!start) return RECORDED_LATE;
    for (int i = 0; i < n; i++)
        if (!(c[i].bytes > 0) || !(c[i].download_s > 0)) return RECORDED_EMPTY;
    return RECORDED_OK;
}

/* ---- the video ---- */

static double nominal_bytes(const struct recorded_terms *t, int level)
{
    return t->ladder_kbps[level] * 125 * t->chunk_s;
}

static int64_t whole_bytes(double bytes)
{
    return (int64_t)llround(fmin(fmax(bytes, 1), (double)VIDEO_BYTES_MAX));
}

static void fill_chunk(struct video *v, int i, const struct recorded_terms *t,
                       const struct recorded_chunk *c)
{
    double over = c->bytes / nominal_bytes(t, c->level);
    for (int k = 0; k < v->levels; k++) {
        size_t at = (size_t)i * (size_t)v->levels + (size_t)k;
        double known = k == c->level ? c->bytes : c->next_bytes[k];
        v->bytes[at] = whole_bytes(known > 0 ? known : over * nominal_bytes(t, k));
        v->points[at] = (float)c->points[k];
    }
}

static struct video *make_video(const struct recorded_terms *t,
                                const struct recorded_chunk *chunk, int n, struct err *e)
{
    int ends = t->chunks ? t->chunks - chunk[0].chunk : n + LIVE_AHEAD;
    if (ends > n + LIVE_AHEAD) ends = n + LIVE_AHEAD;
    if (ends < n) ends = n;
    struct video *v = video_new(t->levels, ends, t->chunk_s, t->ladder_kbps, e);
    if (!v) return NULL;
    if (video_make_points(v, e)) {
        video_free(v);
        return NULL;
    }
    snprintf(v->name, sizeof v->name, "%s", t->name);
    for (int i = 0; i < n; i++)
        fill_chunk(v, i, t, &chunk[i]);
    for (int i = n; i < ends; i++)
        for (int k = 0; k < v->levels; k++) {
            size_t at = (size_t)i * (size_t)v->levels + (size_t)k;
            v->bytes[at] = whole_bytes(nominal_bytes(t, k));
            v->points[at] = (float)t->points[k];
        }
    memcpy(v->level_points, t->points, (size_t)t->levels * sizeof *t->points);
    v->quality = QUALITY_CHUNK;
    return v;
}

/* ---- the link ---- */

/* Without the round trip. */
static double transfer_s(const struct recorded_terms *t, const struct recorded_chunk *c)
{
    return c->download_s - fmin(t->rtt_s, RTT_SHARE * c->download_s);
}

static double rate_mbps(const struct recorded_terms *t, const struct recorded_chunk *c)
{
    return c->bytes * 8e-6 / transfer_s(t, c) / emu_cfg_default().payload;
}

static void add_slot(struct trace *l, double seconds, double mbps)
{
    l->time_s[l->n] = l->time_s[l->n - 1] + seconds;
    l->mbps[l->n++] = mbps;
}

static struct trace *make_link(const struct recorded_terms *t,
                               const struct recorded_chunk *chunk, int n, struct err *e)
{
    struct trace *l = trace_new(3 * n + 1, t->name, e);
    if (!l) return NULL;
    l->n = 1;
    for (int i = 0; i < n; i++) {
        const struct recorded_chunk *c = &chunk[i];
        double rate = rate_mbps(t, c);
        add_slot(l, transfer_s(t, c), rate);
        if (i + 1 == n) break;
        double passed_s = c->buffer_s + t->chunk_s - chunk[i + 1].buffer_s + c->stall_s;
        double idle_s = passed_s - c->download_s;
        if (!(idle_s > GAP_S)) continue;
        add_slot(l, idle_s / 2, rate);
        add_slot(l, idle_s / 2, rate_mbps(t, &chunk[i + 1]));
    }
    l->mbps[0] = l->mbps[1];
    return l;
}

/* ---- what its viewer saw ---- */

/* As serve/session/viewing.h counts. */
static void sum_seen(struct compare_ended *out, const struct recorded *r)
{
    *out = (struct compare_ended){.started = true, .chunks = (uint32_t)r->n};
    for (int i = 0; i < r->n; i++) {
        const struct recorded_chunk *c = &r->chunk[i];
        out->played_s += r->terms.chunk_s;
        out->points += c->points[c->level];
        out->reward += c->reward;
        if (i) out->stall_s += c->stall_s;
        if (i) out->switches += c->level != r->chunk[i - 1].level;
    }
    out->startup_s = fmax(r->chunk[0].stall_s, r->chunk[0].download_s);
}

static void mark_chunk(struct recorded *r, int i)
{
    r->level[i] = r->chunk[i].level;
    r->sized[i] = 1;
    for (int k = 0; k < r->terms.levels; k++)
        r->sized[i] &= r->chunk[i].next_bytes[k] > 0;
}

int recorded_make(struct recorded *out, const struct recorded_terms *terms,
                  const struct recorded_chunk *chunk, int n, struct err *e)
{
    *out = (struct recorded){.terms = *terms, .arm = -1};
    struct err why = {0};
    out->n = played(chunk, n);
    enum recorded_why judged = judge(terms, chunk, out->n);
    if (judged) return judged;
    size_t count = (size_t)out->n;
    out->chunk = malloc(count * sizeof *chunk);
    out->level = malloc(count * sizeof *out->level);
    out->sized = calloc(count, sizeof *out->sized);
    if (!out->chunk || !out->level || !out->sized) {
        recorded_free(out);
        return err_set(e, ERR_MEMORY, "no memory for a session of %d chunks", out->n);
    }
    memcpy(out->chunk, chunk, count * sizeof *chunk);
    for (int i = 0; i < out->n; i++)
        mark_chunk(out, i);
    out->video = make_video(terms, chunk, out->n, &why);
    if (out->video) out->link = make_link(terms, chunk, out->n, &why);
    struct emu_cfg emu = recorded_emu(out);
    int rc = out->link ? trace_check(out->link, &why) : why.code;
    if (!rc) rc = emu_check(&emu, out->video, &why);
    if (rc) {
        recorded_free(out);
        return rc == ERR_MEMORY ? err_set(e, rc, "%s", why.detail) : RECORDED_LIMITS;
    }
    struct compare_ended seen;
    sum_seen(&seen, out);
    out->seen = compare_values(&seen);
    return RECORDED_OK;
}

void recorded_free(struct recorded *r)
{
    free(r->chunk);
    free(r->level);
    free(r->sized);
    trace_free(r->link);
    video_free(r->video);
    r->chunk = NULL;
    r->level = NULL;
    r->sized = NULL;
    r->link = NULL;
    r->video = NULL;
}

struct emu_cfg recorded_emu(const struct recorded *r)
{
    struct emu_cfg emu = emu_cfg_default();
    emu.rtt_s = r->terms.rtt_s;
    emu.buffer_max_s = fmax(r->terms.buffer_max_s, r->terms.chunk_s);
    return emu;
}
