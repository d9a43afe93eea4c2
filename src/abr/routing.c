#include "abr/routing.h"

#include "abr/deciders/window.h"
#include "abr/emulator/player.h"
#include "policy/gate.h"
#include "policy/packed.h"
#include "learn/ckpt.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { START_ROW = 1, FIRST_LEVEL = 1 /* as eval.c */, CHUNK = 64 };

struct crew {
    const struct routing_cfg *cfg;
    struct policy **policy;  /* (cfg->n) */
    struct packed *packed;   /* of the first */
    enum feat_layout layout; /* of all */
    struct routing *out;
    float *obs; /* (CHUNK, dim): states to be routed */
    int waiting;
    int *first, *chosen; /* (2, CHUNK) of the first policy; (CHUNK) */
};

static int layout_of(enum feat_layout *out, const struct policy *p,
                     const struct ckpt_meta *meta, const char *path, struct err *e)
{
    const char *word = ckpt_meta_get(meta, "layout");
    *out = FEAT_FULL;
    int rc = word ? feat_layout_parse(out, word, e) : 0;
    if (rc) return rc;
    if (feat_rolled(*out) || p->cfg.obs_dim != feat_dim(*out))
        return err_field(e, ERR_INVALID, path,
                         "reads the layout '%s' with %d inputs; routes are told of full "
                         "and blind ones",
                         feat_layout_name(*out), p->cfg.obs_dim);
    return 0;
}

static int routing_load(struct crew *c, struct err *e)
{
    struct ckpt_meta *meta = calloc(1, sizeof *meta); /* 18 kB: too much for a stack */
    if (!meta) return err_set(e, ERR_MEMORY, "no memory for the policies");
    int rc = 0;
    for (int i = 0; i < c->cfg->n && !rc; i++) {
        const char *path = c->cfg->paths[i];
        c->policy[i] = ckpt_load(path, meta, NULL, NULL, e);
        if (!c->policy[i]) {
            rc = ERR_INVALID;
            break;
        }
        enum feat_layout layout;
        rc = layout_of(&layout, c->policy[i], meta, path, e);
        if (!rc && i && layout != c->layout)
            rc = err_field(e, ERR_INVALID, path, "reads another layout than %s",
                           c->cfg->paths[0]);
        c->layout = layout;
    }
    free(meta);
    if (rc) return rc;
    c->packed = packed_new(&c->policy[0]->cfg, e);
    if (!c->packed) return ERR_MEMORY;
    packed_load(c->packed, c->policy[0]);
    return 0;
}

static const struct mix *routing_net_of(const struct crew *c, int policy, int which)
{
    return which == ROUTING_ACTOR ? c->policy[policy]->actor : c->policy[policy]->critic;
}

/* Routes the waiting states by every router. */
static void routing_route(struct crew *c, int profile)
{
    for (int p = 0; p < c->cfg->n; p++)
        for (int w = 0; w < 2; w++) {
            struct routing_net *net = &c->out[p].net[w];
            int *chosen = p ? c->chosen : c->first + w * CHUNK;
            gate_choose(chosen, routing_net_of(c, p, w), c->obs, c->waiting);
            for (int i = 0; i < c->waiting; i++) {
                net->count[profile][chosen[i]]++;
                net->changed += chosen[i] != c->first[w * CHUNK + i];
            }
        }
    for (int p = 0; p < c->cfg->n; p++)
        c->out[p].states += c->waiting;
    c->waiting = 0;
}

static void routing_play(struct crew *c, const struct emu_world *world, int profile)
{
    struct player p;
    size_t dim = (size_t)feat_dim(c->layout);
    uint32_t trained = (UINT32_C(1) << c->policy[0]->cfg.actions) - 1;
    player_start(&p, world, START_ROW, &c->cfg->qoe[profile], FIRST_LEVEL);
    for (bool end = false; !end;) {
        float *obs = c->obs + (size_t)c->waiting * dim;
        struct policy_choice choice;
        struct window w;
        uint32_t levels = feat_mask(&p.view);
        feat_observe(obs, c->layout, window_see(&w, &p.view, levels));
        uint32_t mask = window_mask(&w, levels) & trained;
        int rc = packed_decide(&choice, c->packed, obs, mask, -1);
        if (++c->waiting == CHUNK) routing_route(c, profile);
        end = player_step(&p, rc ? 0 : window_level(&w, choice.action), 1);
    }
    routing_route(c, profile);
}

static int routing_allocate(struct crew *c, struct err *e)
{
    c->policy = calloc((size_t)c->cfg->n, sizeof(struct policy *));
    c->obs = calloc((size_t)CHUNK * FEAT_DIM_MAX, sizeof *c->obs);
    c->first = calloc(2 * CHUNK, sizeof *c->first);
    c->chosen = calloc(CHUNK, sizeof *c->chosen);
    if (c->policy && c->obs && c->first && c->chosen) return 0;
    return err_set(e, ERR_MEMORY, "no memory for the policies");
}

int routing_run(struct routing *out, const struct routing_cfg *cfg,
                const struct corpus *corpus, const struct video *video, struct err *e)
{
    assert(cfg->n > 0 && cfg->profiles > 0 && cfg->profiles <= ROUTING_PROFILES);
    if (!corpus->n)
        return err_field(e, ERR_ABSENT, "traces", "'%s' has none", corpus->name);
    struct crew c = {.cfg = cfg, .out = out};
    memset(out, 0, (size_t)cfg->n * sizeof *out);
    int rc = routing_allocate(&c, e);
    if (!rc) rc = routing_load(&c, e);
    for (int p = 0; p < cfg->n && !rc; p++)
        for (int w = 0; w < 2; w++)
            out[p].net[w].experts = routing_net_of(&c, p, w)->cfg.experts;
    for (int v = 0; v < cfg->profiles && !rc; v++)
        for (int i = 0; i < corpus->n; i++) {
            const struct emu_world world = {video, corpus->traces[i], cfg->emu};
            routing_play(&c, &world, v);
        }

    packed_free(c.packed);
    for (int p = 0; c.policy && p < cfg->n; p++)
        policy_free(c.policy[p]);
    free(c.chosen);
    free(c.first);
    free(c.obs);
    free(c.policy);
    return rc;
}

static double entropy(const double *p, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        if (p[i] > 0.0) sum -= p[i] * log(p[i]);
    return sum;
}

struct routing_information routing_information(const struct routing_net *n, int profiles)
{
    double of_expert[MIX_EXPERTS_MAX] = {0}, of_profile[ROUTING_PROFILES] = {0};
    double total = 0.0, nats = 0.0;
    for (int v = 0; v < profiles; v++)
        for (int k = 0; k < n->experts; k++)
            total += (double)n->count[v][k];
    struct routing_information r = {0};
    if (total == 0.0) return r;
    for (int v = 0; v < profiles; v++)
        for (int k = 0; k < n->experts; k++) {
            of_profile[v] += (double)n->count[v][k] / total;
            of_expert[k] += (double)n->count[v][k] / total;
        }

    int experts = 0, present = 0;
    r.low_share = 1.0;
    for (int k = 0; k < n->experts; k++) {
        experts += of_expert[k] > 0.0;
        r.low_share = fmin(r.low_share, of_expert[k]);
        r.high_share = fmax(r.high_share, of_expert[k]);
    }
    for (int v = 0; v < profiles; v++) {
        present += of_profile[v] > 0.0;
        for (int k = 0; k < n->experts; k++) {
            double p = (double)n->count[v][k] / total;
            if (p > 0.0) nats += p * log(p / (of_profile[v] * of_expert[k]));
        }
    }
    double both = entropy(of_expert, n->experts) + entropy(of_profile, profiles);
    r.nats = nats;
    r.normalised = both > 0.0 ? 2.0 * nats / both : 0.0;
    r.bias = (experts - 1.0) * (present - 1.0) / (2.0 * total);
    return r;
}
