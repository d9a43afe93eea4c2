#include "serve/learner/rehearsal.h"

#include "abr/train/abr_env.h"
#include "base/rng.h"
#include "learn/rollout.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 64, BLOCK = 16, LADDERS = 32, LINKS = 200, LEAST_LINKS = 8 };
static const double PEEK = .003, LINK_S = 320, RTT_S = .08, PAYLOAD = .95;
/* of a recorded link: shortest sum of downloads; longest download */
static const double LEAST_S = 20, MOST_S = 120;

enum { KNOWN, RECORDED, GROUNDS };

struct ground {
    struct abr_env_cfg env;
    struct worlds *worlds;
    struct rollout *rollout;
    int first_tag;
    int *tag; /* (rows) */
};

struct rehearsal {
    int envs; /* of each ground */
    uint64_t seed, collected, met;
    struct policy *shipped, *student; /* rollouts keep a pointer to the student */
    struct video *video;
    struct ground ground[GROUNDS];
    struct corpus links; /* recorded, owned */
    bool split;          /* recorded links have half of the known ground's place */
    bool changed;        /* links since the worlds were made */
};

static struct env ground_env(void *ctx, uint64_t id, struct err *e)
{
    const struct ground *g = ctx;
    return abr_env_new(&g->env, g->worlds, id, id, e);
}

static void ground_close(struct ground *g)
{
    rollout_free(g->rollout);
    worlds_free(g->worlds);
    g->rollout = NULL;
    g->worlds = NULL;
}

static int ground_open(struct rehearsal *r, int which, int envs, struct err *e)
{
    struct ground *g = &r->ground[which];
    struct worlds_cfg w = {
        .video = r->video,
        .links = which == KNOWN ? LINKS : 0,
        .link_s = LINK_S,
        .ladders = which == KNOWN ? LADDERS : 0,
        .seed = r->seed,
    };
    if (which == RECORDED) w.corpora[w.n_corpora++] = &r->links;
    ground_close(g);
    g->worlds = worlds_new(&w, e);
    if (!g->worlds) return ERR_MEMORY;
    struct rollout_cfg c = {.envs = envs,
                            .steps = STEPS,
                            .block = BLOCK,
                            .threads = 1,
                            .peek = PEEK,
                            .seed = r->seed + 1 + 2 * r->collected + (uint64_t)which};
    if (which == KNOWN)
        c.teachers =
            (struct teachers){.n = 1, .policy = {r->shipped}, .tag = {TEACH_ALL}};
    g->rollout = rollout_new(&c, r->student, NULL, ground_env, g, e);
    return g->rollout ? 0 : ERR_MEMORY;
}

struct rehearsal *rehearsal_new(const struct policy *shipped, enum feat_layout layout,
                                int rows, uint64_t seed, struct err *e)
{
    struct rehearsal *r = calloc(1, sizeof *r);
    if (!r) {
        err_set(e, ERR_MEMORY, "no memory for rehearsal");
        return NULL;
    }
    r->envs = (rows + STEPS - 1) / STEPS;
    r->seed = seed;
    r->shipped = policy_clone(shipped, e);
    r->student = policy_clone(shipped, e);
    r->video = video_default(e);
    r->links.traces = calloc(REHEARSAL_LINKS, sizeof *r->links.traces);
    if (!r->shipped || !r->student || !r->video || !r->links.traces) goto fail;
    for (int i = 0; i < GROUNDS; i++) {
        struct ground *g = &r->ground[i];
        g->env = abr_env_cfg_default();
        g->env.layout = layout;
        g->env.custom = g->env.live = 0;
        g->env.choose_first = 1;
        g->env.privileged = false;
        g->first_tag = REHEARSAL_TAG;
        if (i == RECORDED) {
            g->env.ladders = g->env.players = 0;
            g->first_tag += abr_env_tags(&r->ground[KNOWN].env);
        }
        g->tag = malloc((size_t)(r->envs * STEPS) * sizeof *g->tag);
        if (!g->tag) goto fail;
    }
    if (ground_open(r, KNOWN, r->envs, e)) goto fail;
    return r;

fail:
    err_set(e, ERR_MEMORY, "no memory for the learner's emulation");
    rehearsal_free(r);
    return NULL;
}

void rehearsal_free(struct rehearsal *r)
{
    if (!r) return;
    for (int i = 0; i < GROUNDS; i++) {
        ground_close(&r->ground[i]);
        free(r->ground[i].tag);
    }
    for (int i = 0; i < r->links.n; i++)
        trace_free(r->links.traces[i]);
    free(r->links.traces);
    video_free(r->video);
    policy_free(r->student);
    policy_free(r->shipped);
    free(r);
}

static void ground_collect(struct ppo_batch *out, struct ground *g, double gamma,
                           double lambda)
{
    struct rollout_stats unused;
    rollout_collect(g->rollout, gamma, lambda, &unused);
    rollout_batch(g->rollout, out);
    for (int i = 0; i < out->n; i++)
        g->tag[i] = out->tag[i] + g->first_tag;
    out->tag = g->tag;
}

int rehearsal_collect(void *rehearsal, struct ppo_batch out[2], const struct policy *p,
                      double gamma, double lambda)
{
    struct rehearsal *r = rehearsal;
    policy_copy(r->student, p);
    r->collected++;
    bool recorded = r->links.n >= LEAST_LINKS;
    int half = r->envs / 2;
    if (recorded && half && r->changed) {
        if (!r->split && ground_open(r, KNOWN, r->envs - half, NULL)) return 0;
        r->split = true;
        if (ground_open(r, RECORDED, half, NULL)) return 0;
        r->changed = false;
    }
    int n = 0;
    ground_collect(&out[n++], &r->ground[KNOWN], gamma, lambda);
    if (r->ground[RECORDED].rollout)
        ground_collect(&out[n++], &r->ground[RECORDED], gamma, lambda);
    return n;
}

int rehearsal_rows(const struct rehearsal *r)
{
    return r->envs * STEPS;
}

int rehearsal_links(const struct rehearsal *r)
{
    return r->links.n;
}

struct trace *rehearsal_link(const struct traj *t)
{
    int n = 0;
    double total_s = 0;
    for (int i = 0; i < t->n; i++) {
        const struct traj_step *s = &t->step[i];
        if (!(s->bytes > 0) || !(s->download_s > .002)) continue;
        if (s->download_s > MOST_S) return NULL;
        total_s += s->download_s;
        n++;
    }
    if (n < 4 || total_s < LEAST_S) return NULL;
    struct trace *link = trace_new(n + 1, "recorded", NULL);
    if (!link) return NULL;
    int row = 0;
    double at = 0;
    for (int i = 0; i < t->n; i++) {
        const struct traj_step *s = &t->step[i];
        if (!(s->bytes > 0) || !(s->download_s > .002)) continue;
        /* the emulator adds the round trip again */
        double slot_s = s->download_s - fmin(RTT_S, s->download_s / 2);
        double mbps = s->bytes * 8e-6 / slot_s / PAYLOAD;
        if (!row) {
            link->mbps[0] = mbps;
            row = 1;
        }
        link->time_s[row] = at += slot_s;
        link->mbps[row++] = fmin(mbps, 1e4);
    }
    if (!trace_check(link, NULL)) return link;
    trace_free(link);
    return NULL;
}

void rehearsal_record(struct rehearsal *r, struct trace *link)
{
    uint64_t met = r->met++;
    if (r->links.n < REHEARSAL_LINKS) {
        r->links.traces[r->links.n++] = link;
        r->changed = true;
        return;
    }
    uint64_t past = met < REHEARSAL_PAST ? met + 1 : REHEARSAL_PAST;
    uint64_t place = rng_u64_at(r->seed, met, 0x6c696e6b) % past;
    if (place >= REHEARSAL_LINKS) {
        trace_free(link);
        return;
    }
    /* worlds borrow the old one: they go first */
    ground_close(&r->ground[RECORDED]);
    trace_free(r->links.traces[place]);
    r->links.traces[place] = link;
    r->changed = true;
}
