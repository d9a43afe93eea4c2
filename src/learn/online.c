#include "learn/online.h"

#include "learn/buffer.h"
#include "nn/adam.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* stats.check_best is the bar with the experts that are busy now. Part of the state. */
struct bars {
    double best;  /* check score with all experts idle */
    double score; /* of the weights that are kept */
};

struct online {
    struct online_cfg cfg;
    struct policy *policy, *kept; /* in training; before the update */
    struct ppo *ppo;
    void *kept_state; /* of ppo */
    struct mix_ws *critic_ws;
    struct norga_ws *added_ws; /* of the critic's added experts; NULL: none */
    float *added_value;        /* (BUFFER_ROWS) */
    double share;              /* ppo_share of the last update */
    double (*check)(void *ctx, const struct policy *p);
    void *check_ctx;
    struct online_stats stats;
    struct buffer *buffer;
    int32_t disabled[2][MIX_EXPERTS_MAX]; /* updates for which an expert stays busy */
    int32_t kept_disabled[2][MIX_EXPERTS_MAX];
    struct bars bars;
    struct kept_bars {
        struct bars bars;
        double current; /* stats.check_best */
    } kept_bars;
    /* published; of use while updates are held */
    struct policy *champion;
    struct kept_bars champion_bars;
    void *champion_state; /* of ppo */
    struct online_judge judge;
    int refused; /* batches in a row that were rolled back */
    online_collect *collect;
    void *collect_ctx;
    int *chosen[2]; /* by the actor before and after an update */
};

struct online_cfg online_cfg_default(void)
{
    struct online_cfg c = {
        .ppo = ppo_cfg_default(),
        .batch = 2048,
        .capacity = 16384,
        .max_age = 8,
        .tolerance = 0.03,
        .sigmas = 10,
        .client_max = 128,
        .source_share = .1,
        .retries = 2,
        .quarantine = 10,
        .rehearse = 2,
        .anchor = .05,
        .exam_links = 24,
        .exam_margin = .02,
        .hold = 16,
        .input_steps = 4000,
        .seed = 1,
    };
    c.ppo.lr = 3e-4;
    c.ppo.critic_lr = 3e-4;
    c.ppo.gamma = 0.95; /* shorter than in training: real batches are small and noisy */
    c.ppo.entropy = 0.003;
    c.ppo.noise_gamma = 0.5;
    c.ppo.target_kl = 0.03;
    return c;
}

static struct mix *online_net_of(const struct policy *p, enum ppo_which which)
{
    return which == PPO_ACTOR ? p->actor : p->critic;
}

static bool none_idle(const struct mix *m, uint64_t busy)
{
    return !(~busy & UINT64_MAX >> (MIX_EXPERTS_MAX - m->cfg.experts));
}

static void set_busy(struct online *o)
{
    for (int w = 0; w < 2; w++) {
        uint64_t bits = 0;
        for (int k = 0; k < MIX_EXPERTS_MAX; k++)
            bits |= (uint64_t)(o->disabled[w][k] > 0) << k;
        online_net_of(o->policy, (enum ppo_which)w)->busy = bits;
    }
    o->stats.actor_busy = o->policy->actor->busy;
    o->stats.critic_busy = o->policy->critic->busy;
}

/* Disables experts that are busy in the start policy for `quarantine` updates, as their end is not known.
 * At least one expert stays idle. */
static void keep_disabled(struct online *o, uint64_t actor, uint64_t critic)
{
    uint64_t busy[2] = {[PPO_ACTOR] = actor, [PPO_CRITIC] = critic};
    for (int w = 0; w < 2; w++)
        for (int k = 0; k < MIX_EXPERTS_MAX; k++) {
            const struct mix *m = online_net_of(o->policy, (enum ppo_which)w);
            uint64_t bit = (uint64_t)1 << k;
            if (!(busy[w] & bit) || o->disabled[w][k] > 0) continue;
            if (none_idle(m, m->busy | bit)) continue;
            o->disabled[w][k] = o->cfg.quarantine > 0 ? o->cfg.quarantine : 1;
            set_busy(o);
        }
}

static bool same_busy(const struct policy *a, const struct policy *b)
{
    return a->actor->busy == b->actor->busy && a->critic->busy == b->critic->busy;
}

static bool all_idle(const struct policy *p)
{
    return !p->actor->busy && !p->critic->busy;
}

static void take_busy(struct policy *p, uint64_t actor, uint64_t critic)
{
    p->actor->busy = actor;
    p->critic->busy = critic;
}

/* The score of p with other experts busy. */
static double score_with(struct online *o, struct policy *p, uint64_t actor,
                         uint64_t critic)
{
    uint64_t was_actor = p->actor->busy, was_critic = p->critic->busy;
    take_busy(p, actor, critic);
    double score = o->check(o->check_ctx, p);
    take_busy(p, was_actor, was_critic);
    return score;
}

/* The first bars. */
static void online_examine(struct online *o)
{
    struct policy *p = o->policy;
    double score = o->check(o->check_ctx, p);
    o->bars.best = all_idle(p) ? score : score_with(o, p, 0, 0);
    o->stats.check_score = o->bars.score = score;
    o->stats.check_best = fmin(o->bars.best, score);
}

struct online *online_new(const struct online_cfg *cfg, const struct policy *start,
                          double (*check)(void *ctx, const struct policy *p), void *ctx,
                          struct err *e)
{
    assert(cfg->batch > 0 && cfg->capacity >= cfg->batch && cfg->max_age >= 0);
    struct online *o = calloc(1, sizeof *o);
    if (!o) goto failed;
    o->cfg = *cfg;
    o->check = check;
    o->check_ctx = ctx;
    o->policy = policy_clone(start, e);
    o->kept = policy_clone(start, e);
    o->champion = policy_clone(start, e);
    if (!o->policy || !o->kept || !o->champion) goto failed;
    o->cfg.ppo.imitate = cfg->anchor; /* only emulated steps are shown */
    o->ppo = ppo_new(&o->cfg.ppo, o->policy, NULL, cfg->capacity, cfg->seed, e);
    o->critic_ws = mix_ws_new(&start->critic->cfg, BUFFER_ROWS, e);
    if (start->added) {
        o->added_ws = norga_ws_new(&start->added->critic->cfg, BUFFER_ROWS, e);
        o->added_value = malloc(BUFFER_ROWS * sizeof *o->added_value);
        if (!o->added_ws || !o->added_value) goto failed;
    }
    o->buffer = buffer_new(cfg->capacity, start->cfg.obs_dim, e);
    if (!o->ppo || !o->critic_ws || !o->buffer) goto failed;
    if (cfg->rehearse > 0 && buffer_join_init(o->buffer, start->cfg.actions, e))
        goto failed;
    o->kept_state = malloc(ppo_state_size(o->ppo));
    o->champion_state = malloc(ppo_state_size(o->ppo));
    for (int i = 0; i < 2; i++)
        o->chosen[i] = calloc((size_t)cfg->capacity, sizeof *o->chosen[i]);
    if (!o->kept_state || !o->champion_state || !o->chosen[0] || !o->chosen[1])
        goto failed;

    keep_disabled(o, start->actor->busy, start->critic->busy);
    if (check) online_examine(o);
    return o;

failed:
    err_set(e, ERR_MEMORY, "no memory for a learner of %d steps", cfg->capacity);
    online_free(o);
    return NULL;
}

void online_free(struct online *o)
{
    if (!o) return;
    buffer_free(o->buffer);
    free(o->chosen[0]);
    free(o->chosen[1]);
    free(o->champion_state);
    free(o->kept_state);
    free(o->added_value);
    norga_ws_free(o->added_ws);
    mix_ws_free(o->critic_ws);
    ppo_free(o->ppo);
    policy_free(o->champion);
    policy_free(o->kept);
    policy_free(o->policy);
    free(o);
}

bool online_too_old(const struct online_cfg *cfg, uint64_t version, uint64_t now)
{
    return now > version && now - version > (uint64_t)cfg->max_age;
}

int online_add(struct online *o, const struct online_trajectory *t)
{
    if (online_too_old(&o->cfg, t->version, policy_version(o->policy))) {
        o->stats.dropped_old++;
        return ERR_CONFLICT;
    }
    if (t->client && o->cfg.client_max &&
        buffer_client(o->buffer, t->client) + t->n > o->cfg.client_max) {
        o->stats.dropped_client++;
        return ERR_FULL;
    }
    if (buffer_add(o->buffer, t)) {
        o->stats.dropped_full++;
        return ERR_FULL;
    }
    o->stats.trajectories++;
    o->stats.steps += (uint64_t)t->n;
    return 0;
}

bool online_ready(const struct online *o)
{
    return buffer_steps(o->buffer) >= o->cfg.batch;
}

int online_buffered(const struct online *o)
{
    return buffer_steps(o->buffer);
}

/* By the policy's own critic, in reward units. */
static void online_value(void *ctx, float *v, const float *obs, int n)
{
    struct online *o = ctx;
    mix_forward(v, NULL, NULL, o->policy->critic, o->critic_ws, obs, NULL, n);
    for (int i = 0; i < n; i++)
        v[i] = v[i] * o->policy->ret_std + o->policy->ret_mean;
    if (!o->added_ws) return;
    norga_forward(o->added_value, NULL, o->policy->added->critic, o->added_ws, obs, n);
    for (int i = 0; i < n; i++)
        v[i] += o->policy->ret_std * o->added_value[i];
}

static bool online_all_finite(const struct mix *m, struct mix_range r)
{
    for (size_t i = r.at; i < r.at + r.n; i++)
        if (!isfinite(m->theta[i])) return false;
    return true;
}

/* Experts that the update left not finite. */
static uint64_t online_failed(const struct online *o, enum ppo_which which)
{
    const struct mix *m = online_net_of(o->policy, which);
    uint64_t bits = ppo_nonfinite(o->ppo, which);
    for (int k = 0; k < m->cfg.experts; k++)
        if (!online_all_finite(m, mix_expert(&m->cfg, k))) bits |= (uint64_t)1 << k;
    return bits;
}

/* Weights and moments of before the update. */
static void online_put_back(struct online *o, enum ppo_which which, int expert)
{
    struct mix *m = online_net_of(o->policy, which);
    struct mix_range r = mix_expert(&m->cfg, expert);
    memcpy(m->theta + r.at, online_net_of(o->kept, which)->theta + r.at,
           r.n * sizeof(float));
    ppo_expert_put(o->ppo, o->kept_state, which, expert);
    o->disabled[which][expert] = o->cfg.quarantine;
    o->stats.quarantines++;
}

/* After an update: experts of a mixture that failed alone are put back. Is all finite now? */
static bool restore_failed_experts(struct online *o, int rc)
{
    const struct policy_added *a = o->policy->added;
    if (a)
        return !rc && isfinite(adam_sumsq(a->actor->theta, a->actor->n)) &&
               isfinite(adam_sumsq(a->critic->theta, a->critic->n));
    uint64_t bits[2] = {online_failed(o, PPO_ACTOR), online_failed(o, PPO_CRITIC)};
    bool single = bits[PPO_ACTOR] || bits[PPO_CRITIC];
    if (rc && !single) return false;
    if (single && o->cfg.ppo.tied_heads) return false; /* one head, many owners */
    if (!isfinite(o->policy->ret_mean) || !isfinite(o->policy->ret_std)) return false;
    for (int w = 0; w < 2; w++) {
        const struct mix *m = online_net_of(o->policy, (enum ppo_which)w);
        if (!online_all_finite(m, mix_router(&m->cfg)) || none_idle(m, m->busy | bits[w]))
            return false;
    }
    for (int w = 0; w < 2; w++)
        for (int k = 0; k < MIX_EXPERTS_MAX; k++)
            if (bits[w] >> k & 1) online_put_back(o, (enum ppo_which)w, k);
    return true;
}

double online_lowest(const struct online_cfg *cfg, double best)
{
    return best - cfg->tolerance * fmax(fabs(best), .1);
}

/* The score of `before` with the experts that are busy now: updates are not judged by an expert's
 * absence, and its return does not lower the bar. */
static double current_bar(struct online *o, struct policy *before)
{
    const struct policy *now = o->policy;
    if (same_busy(before, now)) return o->stats.check_best;
    if (all_idle(now)) return o->bars.best;
    return fmin(o->bars.best, score_with(o, before, now->actor->busy, now->critic->busy));
}

/* May the updated policy be published? */
static bool check_passes(struct online *o)
{
    if (!o->check) return true;
    double best = current_bar(o, o->kept), score = o->check(o->check_ctx, o->policy);
    o->stats.check_score = score;
    if (!(score >= online_lowest(&o->cfg, best))) return false; /* NaN, too */
    o->bars.score = score;
    o->stats.check_best = fmax(best, score);
    if (all_idle(o->policy)) o->bars.best = o->stats.check_best;
    return true;
}

static void count_rerouted(struct online *o, const struct ppo_batch *b)
{
    gate_choose(o->chosen[1], o->policy->actor, b->obs, b->n);
    for (int i = 0; i < b->n; i++)
        o->stats.rerouted += o->chosen[0][i] != o->chosen[1][i];
    o->stats.routed += (uint64_t)b->n;
}

/* Experts that were disabled before this update have one update less to wait. */
static void count_down_disabled(struct online *o)
{
    for (int w = 0; w < 2; w++)
        for (int k = 0; k < MIX_EXPERTS_MAX; k++)
            if (o->disabled[w][k] > 0) o->disabled[w][k]--;
}

/* The bars go back with the weights: no later update might reach those of weights that were dropped. */
static struct kept_bars bars_get(const struct online *o)
{
    return (struct kept_bars){o->bars, o->stats.check_best};
}

static void bars_put(struct online *o, const struct kept_bars *kept)
{
    o->bars = kept->bars;
    o->stats.check_best = kept->current;
}

/* A score that is published raises the bars. */
static void bars_raise(struct kept_bars *b, double score, bool idle)
{
    b->current = fmax(b->current, score);
    if (idle) b->bars.best = b->current;
}

static void online_keep(struct online *o)
{
    policy_copy(o->kept, o->policy);
    o->kept_bars = bars_get(o);
    ppo_state_get(o->ppo, o->kept_state);
    memcpy(o->kept_disabled, o->disabled, sizeof o->disabled);
}

/* The set of busy experts is restored, too: these weights are published with it. */
static void roll_back(struct online *o)
{
    policy_copy(o->policy, o->kept);
    bars_put(o, &o->kept_bars);
    ppo_undo(o->ppo, o->kept_state);
    memcpy(o->disabled, o->kept_disabled, sizeof o->disabled);
    set_busy(o);
}

void online_rehearse(struct online *o, online_collect *collect, void *ctx)
{
    assert(o->cfg.rehearse > 0 && !o->policy->added);
    o->collect = collect;
    o->collect_ctx = ctx;
}

void online_judge(struct online *o, const struct online_judge *judge)
{
    o->judge = *judge;
    judge->replace(judge->self, o->policy);
}

/* Emulated steps join the batch as far as there is room. */
static void join_rehearsal(struct online *o)
{
    if (!o->collect) return;
    struct ppo_batch rows[2];
    int n =
        o->collect(o->collect_ctx, rows, o->policy, o->cfg.ppo.gamma, o->cfg.ppo.lambda);
    for (int i = 0; i < n; i++)
        if (!buffer_join(o->buffer, &rows[i]))
            o->stats.judged.rehearsed += (uint64_t)rows[i].n;
}

/* Learning returns to the champion; the disabled experts stay as they are now. */
static void drop_held(struct online *o)
{
    if (!o->stats.judged.holding) return;
    policy_copy(o->policy, o->champion);
    bars_put(o, &o->champion_bars);
    set_busy(o);
    o->stats.judged.holding = 0;
    o->stats.judged.returned++;
}

/* A kept update without a judge, or with one that agrees. */
static int online_publish(struct online *o)
{
    policy_raise_version(o->policy);
    o->stats.updates++;
    o->stats.judged.holding = 0;
    return 1;
}

/* The champion is no longer accepted: `home` replaces it, in learning and in service. */
static int online_go_home(struct online *o)
{
    uint64_t version = o->policy->version;
    policy_copy(o->policy, o->judge.home);
    o->policy->version = version;
    set_busy(o);
    o->stats.judged.fallen++;
    if (o->check) online_examine(o); /* the champion's bar may be too high for these */
    o->judge.replace(o->judge.self, o->policy);
    return online_publish(o);
}

static int online_hold(struct online *o)
{
    struct online_judged *j = &o->stats.judged;
    if (!j->holding) {
        policy_copy(o->champion, o->kept);
        o->champion_bars = o->kept_bars;
        memcpy(o->champion_state, o->kept_state, ppo_state_size(o->ppo));
    }
    j->held++;
    if (++j->holding >= o->cfg.hold) drop_held(o);
    return ONLINE_HELD;
}

/* What becomes of an update that passed the check. */
static int online_decide(struct online *o)
{
    struct online_judged *j = &o->stats.judged;
    if (!o->judge.judge) return online_publish(o);
    const struct policy *champion = j->holding ? o->champion : o->kept;
    enum online_verdict v = o->judge.judge(o->judge.self, o->policy);
    /* decisions must see an expert that is disabled, or enabled again */
    if (v == ONLINE_EVEN && !same_busy(o->policy, champion)) v = ONLINE_BETTER;
    switch (v) {
    case ONLINE_BETTER:
        j->better++;
        o->judge.publish(o->judge.self);
        return online_publish(o);
    case ONLINE_EVEN:
        return online_hold(o);
    case ONLINE_FALLEN:
        return online_go_home(o);
    case ONLINE_WORSE:
        break;
    }
    j->worse++;
    return ERR_NUMERIC;
}

/* One update with the current sample weights of the steps. ERR_NUMERIC: rolled back. */
static int online_try(struct online *o, const struct ppo_batch *batch)
{
    uint64_t quarantines = o->stats.quarantines;
    bool routes = !o->policy->added; /* a frozen router changes no row */
    if (routes) gate_choose(o->chosen[0], o->policy->actor, batch->obs, batch->n);
    int rc = ppo_update(o->ppo, batch, &o->stats.last);
    if (o->stats.last.shift_tag >= 0) o->stats.shifts++;
    count_down_disabled(o);
    bool kept = restore_failed_experts(o, rc);
    set_busy(o);
    kept = kept && check_passes(o);
    if (kept && routes) count_rerouted(o, batch);
    o->share = ppo_share(o->ppo);
    int done = kept ? online_decide(o) : ERR_NUMERIC;
    if (done != ERR_NUMERIC) return done;
    roll_back(o);
    o->stats.quarantines = quarantines;
    return ERR_NUMERIC;
}

/* A refused update is made again without the most suspicious source. */
static int online_retry(struct online *o, const struct ppo_batch *batch)
{
    struct online_judged *j = &o->stats.judged;
    uint64_t refused = j->worse;
    int done = online_try(o, batch);
    for (int i = 0; i < o->cfg.retries && done == ERR_NUMERIC && j->worse > refused;
         i++) {
        uint64_t suspect = buffer_suspect(o->buffer);
        if (!suspect) break;
        buffer_exclude(o->buffer, suspect);
        j->retried++;
        refused = j->worse;
        done = online_try(o, batch);
        if (done == ERR_NUMERIC) continue;
        j->rescued++;
        j->excluded = suspect;
    }
    return done;
}

int online_update(struct online *o)
{
    if (!online_ready(o)) return 0;
    struct ppo_batch batch;
    buffer_advantages(o->buffer, online_value, o, o->cfg.ppo.gamma, o->cfg.ppo.lambda);
    if (o->cfg.sigmas > 0)
        o->stats.bounded += (uint64_t)buffer_bound(o->buffer, o->cfg.sigmas);
    int most = (int)ceil(o->cfg.source_share * buffer_steps(o->buffer));
    o->stats.judged.sources_bounded += (uint64_t)buffer_weigh(o->buffer, most);
    join_rehearsal(o);
    buffer_batch(&batch, o->buffer);
    online_keep(o);
    int done = online_retry(o, &batch);
    buffer_clear(o->buffer);
    if (done == ERR_NUMERIC) o->stats.rollbacks++;
    o->refused = done == ERR_NUMERIC ? o->refused + 1 : 0;
    if (o->refused >= o->cfg.hold) {
        drop_held(o);
        o->refused = 0;
    }
    return done;
}

/* Held updates go on with the input. Their bar rises, too, as a champion has that score. */
static void online_take(struct online *o, const float *input, int n, double score)
{
    bool idle = all_idle(o->policy); /* as is the champion, if updates are held */
    struct kept_bars bars = bars_get(o);
    bars_raise(&bars, score, idle);
    if (o->stats.judged.holding) {
        bars_raise(&o->champion_bars, score, idle);
        o->champion_bars.bars.score = score;
        policy_copy_input(o->champion, input, n);
        policy_raise_version(o->champion);
    } else {
        bars.bars.score = score;
    }
    bars_put(o, &bars);
    o->stats.check_score = score;
    policy_copy_input(o->policy, input, n);
    policy_raise_version(o->policy);
    o->stats.judged.taken++;
}

int online_offer(struct online *o, const float *input, int n)
{
    struct online_judged *j = &o->stats.judged;
    struct policy *challenger = o->kept; /* of use in an update alone */
    double bar = j->holding ? o->champion_bars.current : o->stats.check_best;
    policy_copy(challenger, online_policy(o));
    policy_copy_input(challenger, input, n);
    j->offered++;
    double score = o->check ? o->check(o->check_ctx, challenger) : 0;
    if (o->check && !(score >= online_lowest(&o->cfg, bar))) return ERR_NUMERIC;
    enum online_verdict v = ONLINE_BETTER;
    if (o->judge.judge) v = o->judge.judge(o->judge.self, challenger);
    switch (v) {
    case ONLINE_BETTER:
    case ONLINE_EVEN:
        if (o->judge.judge) o->judge.publish(o->judge.self);
        online_take(o, input, n, score);
        return 1;
    case ONLINE_FALLEN:
        drop_held(o);
        return online_go_home(o);
    case ONLINE_WORSE:
        break;
    }
    return ERR_NUMERIC;
}

void online_gate_reset(struct online *o)
{
    ppo_gate_reset(o->ppo);
    o->stats.gate_resets++;
}

const struct gate *online_gate(const struct online *o, enum ppo_which which)
{
    return ppo_gate(o->ppo, which);
}

void online_gate_put(struct online *o, enum ppo_which which, const struct gate *g)
{
    ppo_gate_put(o->ppo, which, g);
}

int online_disable_expert(struct online *o, enum ppo_which which, int expert, int updates,
                          struct err *e)
{
    const struct mix *m = online_net_of(o->policy, which);
    if (expert < 0 || expert >= m->cfg.experts)
        return err_field(e, ERR_RANGE, "expert", "%d is none of the %d experts", expert,
                         m->cfg.experts);
    if (updates > 0 && none_idle(m, m->busy | (uint64_t)1 << expert))
        return err_field(e, ERR_CONFLICT, "expert",
                         "%d is the last idle expert and cannot be disabled", expert);
    drop_held(o);
    uint64_t before = m->busy;
    o->disabled[which][expert] = updates;
    set_busy(o);
    if (o->check && m->busy != before) {
        double score = o->check(o->check_ctx, o->policy);
        o->stats.check_best =
            all_idle(o->policy) ? o->bars.best : fmin(o->bars.best, score);
        o->stats.check_score = o->bars.score = score;
    }
    policy_raise_version(o->policy);
    if (o->judge.replace) o->judge.replace(o->judge.self, o->policy);
    return 0;
}

const struct policy *online_policy(const struct online *o)
{
    return o->stats.judged.holding ? o->champion : o->policy;
}

bool online_drop_input(const struct online_cfg *cfg, struct policy *p)
{
    if (cfg->input_steps || !p->input_n) return false;
    policy_copy_input(p, NULL, 0);
    if (policy_version(p)) policy_raise_version(p);
    return true;
}

double online_score(const struct online *o)
{
    return o->stats.judged.holding ? o->champion_bars.bars.score : o->bars.score;
}

void online_stats(const struct online *o, struct online_stats *out)
{
    *out = o->stats;
    if (o->policy->added) return; /* its gates never settle */
    for (int w = 0; w < 2; w++) {
        enum ppo_which which = (enum ppo_which)w;
        int experts = online_net_of(o->policy, which)->cfg.experts;
        const struct gate *g = ppo_gate(o->ppo, which);
        out->gate[w] = (struct online_gate){.experts = experts,
                                            .converged = gate_converged(g, experts),
                                            .rounds = g->rounds,
                                            .latched = ppo_gate_latched(o->ppo, which)};
    }
}

double online_share(const struct online *o)
{
    return o->share;
}

void online_freeze_shape(struct online *o)
{
    assert(o->policy->added);
    o->policy->added->shape_learns = false;
}

/* ---- state: counters; disabled experts, or the share of added experts; the optimiser; the bars (with
 * added experts only the score, as none is ever disabled). */

static const size_t STATS = offsetof(struct online_stats, judged);

static size_t state_head(const struct online *o)
{
    return STATS + (o->policy->added ? sizeof o->share : sizeof o->disabled);
}

static size_t state_tail(const struct online *o)
{
    return o->policy->added ? sizeof o->bars.score : sizeof o->bars;
}

size_t online_state_size(const struct online *o)
{
    return state_head(o) + ppo_state_size(o->ppo) + state_tail(o);
}

void online_state_get(const struct online *o, void *out)
{
    char *at = out;
    bool added = o->policy->added, holding = o->stats.judged.holding;
    struct kept_bars bars = holding ? o->champion_bars : bars_get(o);
    struct online_stats stats;
    memcpy(&stats, &o->stats, sizeof stats);
    if (holding) stats.check_score = bars.bars.score;
    stats.check_best = bars.current;
    memcpy(at, &stats, STATS);
    memcpy(at + STATS, added ? (const void *)&o->share : o->disabled,
           state_head(o) - STATS);
    at += state_head(o);
    if (holding) {
        memcpy(at, o->champion_state, ppo_state_size(o->ppo));
        ppo_state_gates(o->ppo, at);
    } else {
        ppo_state_get(o->ppo, at);
    }
    memcpy(at + ppo_state_size(o->ppo),
           added ? (const void *)&bars.bars.score : &bars.bars, state_tail(o));
}

/* The bars of a state come from the check when it was saved, which may have scored the same weights
 * differently. then: NULL if the state has none. */
static void move_bars(struct online *o, const struct bars *then)
{
    if (!o->check) return;
    double now = o->check(o->check_ctx, o->policy);
    double shift = then && isfinite(then->score) ? now - then->score : 0;
    o->stats.check_best += shift;
    if (then) o->bars.best = then->best + shift;
    /* kept weights have passed; if they fail now, the check has changed */
    if (!(now >= online_lowest(&o->cfg, o->stats.check_best))) o->stats.check_best = now;
    if (all_idle(o->policy)) o->bars.best = o->stats.check_best;
    o->stats.check_score = o->bars.score = now;
}

int online_state_put(struct online *o, const void *in, size_t n, struct err *e)
{
    /* older states have no bars */
    size_t size = online_state_size(o), head = state_head(o), tail = state_tail(o);
    bool has_bars = n == size, added = o->policy->added;
    if (!has_bars && n != size - tail)
        return err_set(e, ERR_CORRUPT,
                       "learner state has %zu bytes, this configuration needs %zu", n,
                       size);
    const char *at = in;
    size_t ppo = ppo_state_size(o->ppo);
    int rc = ppo_state_put(o->ppo, at + head, ppo, e);
    if (rc) return rc;
    memcpy(&o->stats, at, STATS);
    memcpy(added ? (void *)&o->share : o->disabled, at + STATS, head - STATS);
    uint64_t actor = o->policy->actor->busy, critic = o->policy->critic->busy;
    set_busy(o);
    keep_disabled(o, actor, critic);
    struct bars then = {.best = o->stats.check_best};
    if (has_bars) memcpy(added ? (void *)&then.score : &then, at + head + ppo, tail);
    move_bars(o, has_bars ? &then : NULL);
    return 0;
}
