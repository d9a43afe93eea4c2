#include "sim/sim.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/emulator/feat.h"
#include "learn/ckpt.h"
#include "sim/world.h"

enum { STEPS_MIN = 150, STEPS_MORE = 250 };

static const char *const RULES[SIM_RULES] = {
    [SIM_NONE] = "none",           [SIM_ONCE] = "acknowledged-once",
    [SIM_REPEAT] = "equal-repeat", [SIM_PUBLISHED] = "published-version",
    [SIM_VERSION] = "version",     [SIM_SLOT] = "slot",
    [SIM_SESSION] = "session",     [SIM_BOUNDED] = "bounded",
    [SIM_HINTLESS] = "untagged",   [SIM_LOGP] = "probability",
    [SIM_TAUGHT] = "taught-once",  [SIM_COUNTS] = "counts",
    [SIM_PROFILE] = "profile",     [SIM_REFUSAL] = "refusal",
    [SIM_START] = "start",         [SIM_LABELS] = "labels",
};

static const enum sim_rule BROKEN[BREAKS] = {
    [BREAK_DROP] = SIM_ONCE,       [BREAK_TWICE] = SIM_ONCE,
    [BREAK_ANSWER] = SIM_REPEAT,   [BREAK_UNKNOWN] = SIM_PUBLISHED,
    [BREAK_BACK] = SIM_VERSION,    [BREAK_SLOT] = SIM_SLOT,
    [BREAK_OLD] = SIM_SESSION,     [BREAK_EXPIRY] = SIM_BOUNDED,
    [BREAK_HINT] = SIM_HINTLESS,   [BREAK_LOGP] = SIM_LOGP,
    [BREAK_TEACH] = SIM_TAUGHT,    [BREAK_COUNT] = SIM_COUNTS,
    [BREAK_PROFILE] = SIM_PROFILE, [BREAK_REFUSE] = SIM_REFUSAL,
    [BREAK_START] = SIM_START,     [BREAK_EARLY] = SIM_ONCE,
    [BREAK_LABEL] = SIM_LABELS,
};

const char *sim_rule_name(enum sim_rule r)
{
    return RULES[r];
}

enum sim_rule sim_break_rule(enum sim_break b)
{
    return BROKEN[b];
}

void sim_counts_add(struct sim_counts *to, const struct sim_counts *c)
{
    uint64_t *sum = (uint64_t *)to;
    const uint64_t *one = (const uint64_t *)c;
    for (size_t i = 0; i < sizeof *c / sizeof *one; i++)
        sum[i] += one[i];
}

/* ---- what all parts use ---- */

bool world_chance(struct world *w, double p)
{
    return rng_uniform(&w->rng) < p;
}

int world_below(struct world *w, int n)
{
    return n > 0 ? (int)rng_below(&w->rng, (uint32_t)n) : 0;
}

void world_note(struct world *w, const char *fmt, ...)
{
    if (!w->cfg->tell) return;
    va_list args;
    va_start(args, fmt);
    fprintf(w->cfg->tell, "%5d %*s%s", w->step, 2 * w->depth, "", w->doomed ? "(" : "");
    vfprintf(w->cfg->tell, fmt, args);
    fprintf(w->cfg->tell, "%s\n", w->doomed ? ")" : "");
    fflush(w->cfg->tell); /* before what the service logs */
    va_end(args);
}

void world_finding(struct world *w, enum sim_rule rule, const char *fmt, ...)
{
    if (world_found(w)) return;
    va_list args;
    va_start(args, fmt);
    w->out->rule = rule;
    w->out->step = w->step;
    vsnprintf(w->out->detail, sizeof w->out->detail, fmt, args);
    va_end(args);
    world_note(w, "FINDING %s: %s", RULES[rule], w->out->detail);
}

bool world_found(const struct world *w)
{
    return w->out->rule != SIM_NONE;
}

void world_mix(struct world *w, uint64_t a, uint64_t b)
{
    w->out->hash = rng_u64_at(w->out->hash, a, b);
}

void world_stats(struct service_stats *out, struct world *w)
{
    w->looking = true;
    service_stats(out, w->service);
    w->looking = false;
}

uint64_t world_put(struct world *w)
{
    struct service_stats s;
    world_stats(&s, w);
    return w->disk.written + s.store_queue;
}

void world_meanwhile(struct world *w)
{
    if (!w->service || w->looking || w->doomed || world_found(w)) return;
    if (w->dying && world_chance(w, .15)) {
        turns_doom(w);
        return;
    }
    if (!w->lively || w->depth + 1 == WORLD_DEPTH || !world_chance(w, .35)) return;
    w->depth++;
    w->arrived++;
    w->out->counts.nested++;
    viewers_act(w);
    w->depth--;
}

/* ---- one world ---- */

static void in_store(void *ctx)
{
    struct world *w = ctx;
    bool lively = w->lively;
    /* who waits for the store itself cannot come in the midst of it */
    if (w->sc.strict) w->lively = false;
    if (w->in_store || w->sc.strict) world_meanwhile(w);
    w->lively = lively;
}

static void in_files(void *ctx)
{
    struct world *w = ctx;
    if (w->service && w->dying && !w->doomed && world_chance(w, .3)) turns_doom(w);
}

static void settle_on(struct world *w)
{
    struct service_cfg *c = &w->sc;
    *c = service_cfg_default();
    w->optional = parts_cfg_default();
    c->optional = &w->optional;
    c->data_dir = w->data;
    c->policy_path = w->cfg->policy;
    c->seed = w->cfg->seed;
    c->explore_share = .4 + .6 * rng_uniform(&w->rng);
    c->max_sessions = 6 + world_below(w, 26);
    c->session_ttl_s = 5 + world_below(w, 60);
    c->retention_s = world_chance(w, .5) ? 0 : 3600 * (1 + world_below(w, 48));
    c->checkpoint_s = 5 + world_below(w, 60);
    c->store_queue = 64 + world_below(w, 200);
    c->online.batch = 12 + world_below(w, 40);
    c->online.capacity = c->online.batch + 160;
    c->online.max_age = world_below(w, 6);
    c->online.ppo.minibatch = 16;
    c->online.ppo.epochs = 1;
    c->online.ppo.threads = 1;
    w->optional.added.max = 1 + world_below(w, 3);
    w->optional.added.experts = 1;
    w->optional.hintless.mode = (enum hintless_mode)world_below(w, 3);
    w->optional.hintless.slot_s = 20 + world_below(w, 150);
    w->optional.hintless.slot_sessions = world_chance(w, .3) ? 2 : 0;
    w->optional.hintless.merge_policy = w->cfg->experts;
    w->optional.hintless.exam_links = 1;
    /* a draw of its own: what the others of this seed are does not depend on it */
    c->strict = rng_uniform_at(w->cfg->seed, UINT64_MAX, 1) < .15;
    w->one_address = rng_uniform_at(w->cfg->seed, UINT64_MAX, 2) < .5;
    if (w->cfg->tell) {
        w->log = log_init(fileno(w->cfg->tell), LOG_INFO, false);
        c->log = &w->log;
    }
    w->ring_cap = world_chance(w, .3) ? 2 : WORLD_BUS;
    w->sqlite = world_chance(w, .1);
}

static struct world *create(const struct sim_cfg *cfg, struct sim_result *out)
{
    struct world *w = calloc(1, sizeof *w);
    assert(w);
    w->cfg = cfg;
    w->out = out;
    w->now = 1.7e9;
    rng_init(&w->rng, cfg->seed, UINT64_MAX);
    disk_init(&w->disk);
    w->disk.meanwhile = in_store;
    w->disk.ctx = w;
    w->disk.broken = cfg->broken;
    w->watch = (struct files_watch){.before = in_files, .ctx = w};
    w->obs = malloc((TRAJ_STEPS + 1) * sizeof(float) * (size_t)feat_dim(FEAT_FULL));
    assert(w->obs);
    for (int i = 0; i < WORLD_PROFILES; i++)
        snprintf(w->profile[i].name, SERVICE_NAME, "custom-%d", i);
    snprintf(w->data, sizeof w->data, "%s/data", cfg->dir);
    settle_on(w);
    return w;
}

static void destroy(struct world *w)
{
    for (int i = 0; i < w->sessions; i++)
        model_free(w->session[i]);
    for (int i = 0; i < w->versions; i++)
        packed_free(w->version[i].packed);
    files_release(&w->kept);
    disk_release(&w->disk);
    free(w->obs);
    free(w);
}

static void event(struct world *w)
{
    int what = world_below(w, 1000);
    w->lively = world_chance(w, .25);
    w->dying = world_chance(w, .03);
    if (what < 780)
        viewers_act(w);
    else if (what < 870)
        turns_commit(w);
    else if (what < 920)
        turns_learn(w);
    else if (what < 955)
        turns_periodic(w);
    else if (what < 975)
        turns_operator(w);
    else if (what < 990)
        turns_fault(w);
    else if (what < 997)
        turns_doom(w);
    else
        turns_drain(w);
    w->lively = w->dying = false;
}

static void step(struct world *w)
{
    rng_init(&w->rng, w->cfg->seed, (uint64_t)w->step);
    w->now += rng_exponential(&w->rng, .8);
    if (w->disk.fail_writes < 0 && world_chance(w, .05)) w->disk.fail_writes = 0;
    event(w);
    if (w->doomed && !world_found(w)) turns_crash(w);
    if (world_found(w) || !w->service) return;
    lane_settle(w);
    check_counts(w);
}

void sim_run(struct sim_result *out, const struct sim_cfg *cfg)
{
    *out = (struct sim_result){0};
    struct world *w = create(cfg, out);
    int steps = STEPS_MIN + world_below(w, STEPS_MORE);
    if (cfg->steps && cfg->steps < steps) steps = cfg->steps;
    files_put_back(&(struct files){0}, w->data);
    files_watch(&w->watch);
    turns_start(w);
    if (w->service) check_version(w);
    for (; w->step < steps && w->service && !world_found(w); w->step++)
        if (!cfg->skip || !cfg->skip[w->step]) step(w);
    /* what was acknowledged in the end must be there, too */
    if (!world_found(w)) turns_drain(w);
    out->steps = w->step;
    out->counts.steps = (uint64_t)w->step;
    out->counts.failed_writes = w->disk.failures;
    turns_stop(w);
    files_watch(NULL);
    destroy(w);
}

/* ---- fewer events ---- */

static bool still(struct sim_cfg *cfg, enum sim_rule rule)
{
    struct sim_result r;
    sim_run(&r, cfg);
    return r.rule == rule;
}

/* Leaves out ever smaller runs of events (Zeller's ddmin, one pass for each size). */
int sim_minimise(bool *skip, int steps, const struct sim_cfg *cfg, enum sim_rule rule)
{
    struct sim_cfg c = *cfg;
    c.skip = skip;
    c.steps = steps;
    c.tell = NULL;
    memset(skip, 0, (size_t)steps * sizeof *skip);
    bool *was = malloc((size_t)steps * sizeof *was);
    assert(was);
    for (int size = steps / 2; size > 0; size /= 2)
        for (int at = 0; at < steps; at += size) {
            int n = at + size < steps ? size : steps - at;
            memcpy(was, skip, (size_t)steps * sizeof *was);
            memset(skip + at, 1, (size_t)n * sizeof *skip);
            if (!still(&c, rule)) memcpy(skip, was, (size_t)steps * sizeof *was);
        }
    free(was);
    int left = 0;
    for (int i = 0; i < steps; i++)
        left += !skip[i];
    return left;
}

/* ---- the policies of all worlds ---- */

static void save(char path[256], const char *dir, const char *name, struct policy_cfg cfg,
                 uint64_t seed)
{
    struct policy *p = policy_new(&cfg, NULL);
    assert(p);
    policy_init_uniform(p, seed);
    snprintf(path, 256, "%s/%s", dir, name);
    int rc = ckpt_save(path, p, NULL, NULL, 0, NULL);
    assert(!rc);
    (void)rc;
    policy_free(p);
}

void sim_policies(char policy[256], char experts[256], const char *dir)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
    cfg.hidden = cfg.critic_hidden = 8;
    cfg.layers = 1;
    save(policy, dir, "start.safetensors", cfg, 1);
    cfg.hidden = cfg.critic_hidden = 4;
    cfg.critic_experts = 1;
    cfg.critic_route = MIX_SINGLE;
    save(experts, dir, "experts.safetensors", cfg, 2);
}
