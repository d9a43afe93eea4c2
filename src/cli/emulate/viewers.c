#include "cli/emulate/viewers.h"

#include "abr/emulator/player.h"
#include "base/bytes.h"
#include "base/rng.h"
#include "base/stats.h"
#include "serve/session/limits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct viewer {
    bool watching, hinted, labels, lies;
    int number, profile;
    char session[SERVICE_ID];
    struct emu_world world;
    struct player player;
    int level; /* the daemon's answer for player.view.chunk */
};

struct viewers_run {
    const struct viewers_cfg *cfg;
    struct backend *backend;
    struct viewers_result *out;
    struct viewer *viewers; /* (at_once) */
    uint8_t *levels;        /* (viewers, chunks) */
    double *startup_s;      /* (viewers) NaN: not started */
    int next, finished;
};

static void note_answer(struct viewers_run *c, struct viewer *v, const struct answer *a)
{
    v->level = a->level;
    c->levels[(size_t)v->number * (size_t)c->cfg->video->chunks + (size_t)a->chunk] =
        (uint8_t)a->level;
    c->out->profile[v->profile].sampled += a->sampled;
    c->out->profile[v->profile].by[a->by]++;
    if (!c->out->first_policy) c->out->first_policy = a->policy;
    if (a->policy > c->out->last_policy) c->out->last_policy = a->policy;
}

/* What is drawn for a viewer. */
enum {
    DRAW_START,
    DRAW_HINT,
    DRAW_LABEL,
    DRAW_PROFILE,
    DRAW_LOYAL,
    DRAW_CONTENT,
    DRAW_LIES
};

static double draw(const struct viewers_cfg *cfg, int viewer, int what)
{
    return rng_uniform_at(cfg->seed, (uint64_t)viewer, (uint64_t)what);
}

static int draw_profile(const struct viewers_cfg *cfg, int viewer)
{
    double weight[VIEWERS_PROFILES], sum = 0, at = (double)viewer / cfg->viewers;
    int n = cfg->n_profiles;
    bool shares = false;
    for (int i = 0; i < n; i++)
        shares |= cfg->profile[i].share > 0;
    if (cfg->drift <= 0 && !shares) return viewer % n;
    for (int i = 0; i < n; i++) {
        double turn = cfg->drift * at - (double)i / n;
        weight[i] = cfg->drift > 0 ? pow(1 + cos(2 * M_PI * turn), 3) : 1;
        sum += weight[i] *= shares ? cfg->profile[i].share : 1;
    }
    double u = draw(cfg, viewer, DRAW_PROFILE) * sum;
    int i = 0;
    while (i < n - 1 && u >= weight[i])
        u -= weight[i++];
    return i;
}

static void draw_content(char *out, size_t size, const struct viewers_cfg *cfg,
                         const struct viewer *v)
{
    if (!cfg->contents) return;
    int n = (int)(draw(cfg, v->number, DRAW_CONTENT) * cfg->contents);
    if (draw(cfg, v->number, DRAW_LOYAL) < .8) {
        n += v->profile - n % cfg->n_profiles;
        if (n >= cfg->contents) n = v->profile % cfg->contents;
    }
    snprintf(out, size, "content-%d", n);
}

/* A liar that chooses its key leaves each session that does not explore. */
static int viewer_open(struct session_opened *out, struct viewers_run *c,
                       const struct viewer *v, struct session_open *open, struct err *e)
{
    struct backend *b = c->backend;
    bool picks = v->lies && c->cfg->explore_keys;
    if (c->cfg->one_address) b->from(b->self, v->lies);
    int rc = b->open(b->self, out, open, e);
    for (int i = 1; picks && !rc && !out->first.sampled && i < VIEWERS_TRIES; i++) {
        open->key += (uint64_t)1 << 32;
        rc = b->open(b->self, out, open, e);
    }
    return rc;
}

static int viewer_begin(struct viewers_run *c, struct viewer *v, struct err *e)
{
    const struct viewers_cfg *cfg = c->cfg;
    v->number = c->next++;
    v->profile = draw_profile(cfg, v->number);
    const struct viewers_profile *profile = &cfg->profile[v->profile];
    v->hinted = (profile->name[0] || profile->custom) &&
                draw(cfg, v->number, DRAW_HINT) >= cfg->no_hint;
    v->labels = !v->hinted && profile->name[0] && !profile->custom &&
                draw(cfg, v->number, DRAW_LABEL) < cfg->label;
    v->lies = draw(cfg, v->number, DRAW_LIES) < cfg->liars;
    const struct trace *trace = cfg->corpus->traces[v->number % cfg->corpus->n];
    v->world = (struct emu_world){cfg->video, trace, cfg->emu};
    uint64_t row = rng_u64_at(cfg->seed, (uint64_t)v->number, DRAW_START);
    player_start(&v->player, &v->world, 1 + (int)(row % (uint64_t)(trace->n - 1)),
                 &profile->qoe, -1);

    c->out->profile[v->profile].viewers++;
    v->watching = true;
    v->level = 0;
    if (profile->silent) return 0;

    const struct view *view = &v->player.view;
    struct session_open open = {
        .has_mu = v->hinted && profile->custom,
        .qoe = profile->qoe,
        .levels = view->levels,
        .chunk_s = view->chunk_s,
        .chunks = view->chunks,
        .buffer_max_s = view->buffer_max_s,
        .has_key = true,
        .key = cfg->first_key + (uint64_t)v->number,
        .has_next = true,
    };
    if (v->hinted && !profile->custom) strcpy(open.profile, profile->name);
    draw_content(open.content_id, sizeof open.content_id, cfg, v);
    memcpy(open.ladder_kbps, view->ladder_kbps, sizeof open.ladder_kbps);
    memcpy(open.next_bytes, view->next_bytes, sizeof open.next_bytes);

    struct session_opened opened;
    int rc = viewer_open(&opened, c, v, &open, e);
    if (rc) return rc;
    memcpy(v->session, opened.session, sizeof v->session);
    note_answer(c, v, &opened.first);
    return 0;
}

/* Adds up the chunk that the player has just fetched. */
static void count_chunk(struct viewers_run *c, struct viewer *v)
{
    struct viewers_row *row = &c->out->profile[v->profile];
    const struct qoe_parts *last = &v->player.last;
    row->chunks++;
    if (c->cfg->chunk)
        c->cfg->chunk(c->cfg->chunk_ctx, (int)v->number, v->profile, &v->player);
    row->reward += last->reward;
    const struct view *view = &v->player.view;
    const struct qoe_level *now = &v->player.now, *before = &v->player.before;
    row->bitrate_mbps += now->kbps / 1000.0;
    row->quality += now->points;
    row->media_s += view->chunk_s;
    row->by_player += c->cfg->profile[v->profile].silent;
    if (view->chunk == 1) { /* not scaled: its wait is the start-up, not a stall */
        c->startup_s[v->number] = last->stall_s;
        return;
    }
    row->stall_s += last->stall_s;
    row->switch_mbps += fabs(now->kbps - before->kbps) / 1000.0;
    row->switches += now->kbps != before->kbps;
    double carried = view->throughput_kbps[view->n_history - 1];
    struct qoe_range r =
        player_range(&v->player, &c->cfg->profile[v->profile].qoe, carried);
    row->gain += last->reward - r.low;
    row->room += r.high - r.low;
}

static int viewer_finish(struct viewers_run *c, struct viewer *v,
                         const struct outcome *last, struct err *e)
{
    v->watching = false;
    c->finished++;
    if (c->cfg->profile[v->profile].silent) return 0;

    struct reward_in in = {.has_outcome = true, .outcome = *last, .final = true};
    if (v->labels) strcpy(in.profile, c->cfg->profile[v->profile].name);
    struct reward_out got;
    int rc = c->backend->reward(c->backend->self, &got, v->session, &in, e);
    if (rc) return rc;

    /* the daemon cannot know what a viewer without a hint values: nothing to compare */
    double off = fabs(got.reward - v->player.last.reward);
    struct viewers_row *row = &c->out->profile[v->profile];
    if (v->hinted && !v->lies && off > row->mismatch) row->mismatch = off;
    return 0;
}

int viewers_lie_parse(enum viewers_lie *out, const char *text, struct err *e)
{
    static const char *const names[] = {"up", "down", "noise"};
    for (int i = 0; i < 3; i++) {
        *out = (enum viewers_lie)i;
        if (strcmp(names[i], text) == 0) return 0;
    }
    return err_set(e, ERR_INVALID, "must be up, down or noise, not '%.40s'", text);
}

/* What a liar reports. */
static void viewer_lie(struct outcome *o, const struct viewers_run *c,
                       const struct viewer *v)
{
    enum viewers_lie how = c->cfg->lie;
    uint64_t coin = rng_u64_at(~c->cfg->seed, (uint64_t)v->number, (uint64_t)o->chunk);
    bool praise = how == VIEWERS_UP     ? o->level == v->player.view.levels - 1
                  : how == VIEWERS_DOWN ? o->level == 0
                                        : coin % 2 == 0;
    o->download_s = praise ? LIMITS_DOWNLOAD_S_MIN : LIMITS_SECONDS;
    o->rebuffer_s = praise ? 0 : LIMITS_SECONDS;
}

static int viewer_step(struct viewers_run *c, struct viewer *v, struct err *e)
{
    struct player *p = &v->player;
    int chunk = p->view.chunk;
    bool end = player_step(p, v->level, 1.0);
    count_chunk(c, v);

    struct outcome last = {
        .chunk = chunk,
        .level = p->result.level,
        .bytes = p->result.bytes,
        .download_s = p->result.copy_ms / 1000.0,
        .rebuffer_s = p->result.rebuffer_s,
    };
    if (v->lies) viewer_lie(&last, c, v);
    if (end) return viewer_finish(c, v, &last, e);
    if (c->cfg->profile[v->profile].silent) return 0;

    struct question q = {
        .chunk = p->view.chunk,
        .buffer_s = p->view.buffer_s,
        .has_last = true,
        .last = last,
        .has_next = true,
    };
    memcpy(q.next_bytes, p->view.next_bytes, sizeof q.next_bytes);
    struct answer a;
    int rc = c->backend->ask(c->backend->self, &a, v->session, &q, e);
    if (rc) return rc;
    note_answer(c, v, &a);
    return 0;
}

static void sum_checksums(struct viewers_run *c)
{
    size_t chunks = (size_t)c->cfg->video->chunks;
    c->out->levels_crc = bytes_crc32(0, c->levels, chunks * (size_t)c->cfg->viewers);
    for (int i = 0; i < c->cfg->viewers; i++) {
        uint32_t *crc = &c->out->profile[draw_profile(c->cfg, i)].levels_crc;
        *crc = bytes_crc32(*crc, c->levels + chunks * (size_t)i, chunks);
    }
}

/* scratch: (viewers) */
static void sum_startups(struct viewers_run *c, double *scratch)
{
    for (int p = 0; p < c->cfg->n_profiles; p++) {
        struct viewers_row *row = &c->out->profile[p];
        int n = 0;
        for (int i = 0; i < c->cfg->viewers; i++)
            if (draw_profile(c->cfg, i) == p && isfinite(c->startup_s[i]))
                scratch[n++] = c->startup_s[i];
        row->startup_median_s = row->startup_p90_s = NAN;
        if (!n) continue;
        row->startup_median_s = stats_percentile(scratch, n, .5);
        row->startup_p90_s = stats_percentile(scratch, n, .9);
    }
}

int viewers_play(struct viewers_result *out, const struct viewers_cfg *cfg,
                 struct backend *backend, struct err *e)
{
    memset(out, 0, sizeof *out);
    size_t n_levels = (size_t)cfg->viewers * (size_t)cfg->video->chunks;
    struct viewers_run c = {.cfg = cfg, .backend = backend, .out = out};
    c.viewers = calloc((size_t)cfg->at_once, sizeof *c.viewers);
    c.levels = calloc(n_levels, 1);
    c.startup_s = calloc(2 * (size_t)cfg->viewers, sizeof *c.startup_s);
    int rc = c.viewers && c.levels && c.startup_s
                 ? 0
                 : err_set(e, ERR_MEMORY, "out of memory");
    for (int i = 0; i < cfg->viewers && !rc; i++)
        c.startup_s[i] = NAN;

    for (int64_t turn = 0; !rc && c.finished < cfg->viewers && !out->stopped; turn++) {
        for (int i = 0; i < cfg->at_once && !rc; i++) {
            /* the first viewers arrive spread over the length of a video */
            if (turn * cfg->at_once < (int64_t)i * cfg->video->chunks) break;
            struct viewer *v = &c.viewers[i];
            if (v->watching)
                rc = viewer_step(&c, v, e);
            else if (c.next < cfg->viewers)
                rc = viewer_begin(&c, v, e);
        }
        if (!rc) rc = backend->turn(backend->self, cfg->video->chunk_s, e);
        if (cfg->progress)
            out->stopped = cfg->progress(cfg->progress_ctx,
                                         (double)c.finished / cfg->viewers, c.finished);
    }

    if (!rc) sum_checksums(&c);
    if (!rc) sum_startups(&c, c.startup_s + cfg->viewers);
    free(c.startup_s);
    free(c.levels);
    free(c.viewers);
    return rc;
}
