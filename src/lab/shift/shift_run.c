#include "lab/shift/shift_run.h"

#include "abr/train/recipe_fields.h"
#include "lab/shift/shift_probe.h"
#include "learn/ckpt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct head {
    char magic[8];
    int32_t points, probes;
    uint64_t policy_bytes[SHIFT_PROFILES];
};

/* Everything that one run owns. */
struct run {
    const struct shift_arm *arm;
    struct recipe recipe;
    struct recipe_world world;
    struct shift_meter meter;
    struct policy *policy;
    struct train *train;
    struct shift_prober *prober;
    struct head head;
    struct shift_point *point;
    struct shift_probe *probe;
    void *saved[SHIFT_PROFILES];
    int iterations;
};

static const char MAGIC[8] = "abrshft";

/* The settings that matter on this task: some entropy, returns of unit size, larger experts, a larger
 * step, and a router that learns. */
static void tune(struct recipe *r, const char *variant)
{
    struct ppo_cfg *p = &r->train.ppo;
    r->uniform_init = false;
    r->policy.hidden = r->policy.critic_hidden = 64;
    p->lr = p->critic_lr = 3e-4;
    p->entropy = 0.02;
    p->normalise_returns = 1;
    p->value_coef = 0.5;
    p->max_grad_norm = 0.5;
    p->balance = 0.01;
    p->router_noise = r->train.rollout.router_noise = 0.0;
    p->noise_gamma = strcmp(variant, "pamoe") ? 0.0 : 1.0;
    r->train.lr_end = p->lr;
    r->train.entropy_end = p->entropy;
}

int shift_arm_recipe(struct recipe *out, const struct shift_arm *arm, struct err *e)
{
    bool tuned = !strcmp(arm->preset, "tuned");
    int rc = recipe_make(out, tuned ? "paper" : arm->preset, arm->variant, arm->steps,
                         arm->seed, e);
    if (rc) return rc;
    if (tuned) tune(out, arm->variant);
    if (arm->hint) {
        out->env.layout = FEAT_PAPER_HINT;
        out->policy.obs_dim = FEAT_PAPER_HINT_DIM;
    }
    out->train.ppo.noise_critic = arm->noise_critic;
    if (arm->mix_probs) out->policy.route = MIX_DENSE_PROBS;
    if (!arm->set || !*arm->set) return 0;

    char text[RECIPE_FIELDS_TEXT];
    struct recipe_changes v = {0};
    if (snprintf(text, sizeof text, "%s", arm->set) >= (int)sizeof text)
        return err_field(e, ERR_RANGE, "set", "is longer than %d characters",
                         RECIPE_FIELDS_TEXT - 1);
    rc = recipe_fields_read(&v, text, e);
    return rc ? rc : recipe_fields_apply(out, &v, e);
}

void shift_arm_config(char *out, size_t n, const struct shift_arm *arm)
{
    snprintf(out, n,
             "preset=%s variant=%s hint=%d critic-noise=%d probs=%d steps=%lld probe=%d "
             "seed=%llu%s%s",
             arm->preset, arm->variant, arm->hint, arm->noise_critic, arm->mix_probs,
             (long long)arm->steps, arm->probe_every, (unsigned long long)arm->seed,
             arm->set && *arm->set ? " " : "", arm->set ? arm->set : "");
}

static void *array(size_t n, size_t size, bool *ok)
{
    void *p = calloc(n ? n : 1, size);
    if (!p) *ok = false;
    return p;
}

static int shift_run_start(struct run *r, const struct shift_arm *arm,
                           const struct worlds *worlds, struct err *e)
{
    *r = (struct run){.arm = arm};
    int rc = shift_arm_recipe(&r->recipe, arm, e);
    if (rc) return rc;
    int per_update = r->recipe.train.rollout.envs * r->recipe.train.rollout.steps;
    if (r->recipe.train.rollout.envs != 1)
        return err_field(e, ERR_RANGE, "envs",
                         "the shifts are counted in one environment");
    r->iterations = (int)((arm->steps + per_update - 1) / per_update);

    bool ok = true;
    r->point = array((size_t)r->iterations, sizeof *r->point, &ok);
    r->probe = array((size_t)(r->iterations / arm->probe_every), sizeof *r->probe, &ok);
    if (!ok) return err_set(e, ERR_MEMORY, "no memory for %d iterations", r->iterations);

    r->world = (struct recipe_world){&r->recipe, worlds};
    r->prober = shift_prober_new(&r->world, per_update, e);
    r->policy = policy_new(&r->recipe.policy, e);
    if (!r->prober || !r->policy) return ERR_MEMORY;
    recipe_init(r->policy, &r->recipe, arm->seed);
    shift_meter_init(&r->meter, &r->world);
    r->train = train_new(&r->recipe.train, r->policy, shift_meter_env, &r->meter, e);
    return r->train ? 0 : e ? e->code : ERR_MEMORY;
}

static void shift_run_release(struct run *r)
{
    for (int i = 0; i < SHIFT_PROFILES; i++)
        free(r->saved[i]);
    train_free(r->train);
    policy_free(r->policy);
    shift_prober_free(r->prober);
    free(r->probe);
    free(r->point);
}

static void shift_run_note(struct shift_point *out, const struct shift_reading *m,
                           const struct train_row *row, int experts)
{
    const struct ppo_stats *p = &row->ppo;
    *out = (struct shift_point){
        .qoe = (float)m->qoe,
        .quality = (float)m->quality,
        .change = (float)m->change,
        .stall_s = (float)m->stall_s,
        .buffer_s = (float)m->buffer_s,
        .throughput_kbps = (float)m->throughput_kbps,
        .download_s = (float)m->download_s,
        .mean_level = (float)m->mean_level,
        .recent_qoe = (float)m->recent_qoe,
        .entropy = (float)p->entropy,
        .kl = (float)p->approx_kl,
        .clip_share = (float)p->clip_share,
        .first_clip_share = (float)p->first_clip_share,
        .value_loss = (float)p->value_loss,
        .explained_variance = (float)p->explained_variance,
        .grad_norm = (float)p->grad_norm,
        .router_norm = {(float)p->router_norm, (float)p->critic_router_norm},
    };
    for (int k = 0; k < SHIFT_LEVELS; k++)
        out->level[k] = (float)m->level[k];
    for (int k = 0; k < SHIFT_EXPERTS; k++) {
        out->share[SHIFT_ACTOR][k] = k < experts ? (float)p->expert_share[k] : NAN;
        out->share[SHIFT_CRITIC][k] = k < experts ? (float)p->critic_share[k] : NAN;
    }
    int most = 0; /* the profile of most steps: a shift may lie within the iteration */
    for (int i = 0; i < SHIFT_PROFILES; i++)
        if (row->rollout.steps[i] > row->rollout.steps[most]) most = i;
    out->tag = (float)most;
}

/* The weights at the end of a segment; the last segment of a profile stays. */
static int shift_run_save(struct run *r, int profile, struct err *e)
{
    struct ckpt_meta *m = calloc(1, sizeof *m); /* too large for a stack */
    if (!m) return err_set(e, ERR_MEMORY, "no memory for a checkpoint");
    ckpt_meta_set(m, "lab", "shift");
    ckpt_meta_set(m, "preset", "%s", r->arm->preset);
    ckpt_meta_set(m, "variant", "%s", r->arm->variant);
    ckpt_meta_set(m, "layout", "%s", feat_layout_name(r->recipe.env.layout));
    ckpt_meta_set(m, "steps", "%lld", (long long)train_steps(r->train));
    ckpt_meta_set(m, "seed", "%llu", (unsigned long long)r->arm->seed);
    free(r->saved[profile]);
    r->saved[profile] = NULL;
    size_t n = 0;
    int rc = ckpt_encode(&r->saved[profile], &n, r->policy, m, NULL, 0, e);
    r->head.policy_bytes[profile] = n;
    free(m);
    return rc;
}

static int iterate(struct run *r, int i, struct err *e)
{
    bool probed = (i + 1) % r->arm->probe_every == 0;
    shift_meter_keep(&r->meter, probed ? shift_prober_obs(r->prober) : NULL,
                     r->recipe.train.rollout.steps, r->recipe.policy.obs_dim);
    struct train_row row;
    int rc = train_iterate(r->train, &row);
    if (rc) return err_set(e, rc, "the update of iteration %d is not finite", i + 1);

    int rows = r->meter.obs_n;
    struct shift_reading m = shift_meter_take(&r->meter);
    shift_run_note(&r->point[i], &m, &row, r->recipe.policy.experts);
    if (probed) {
        struct shift_probe *p = &r->probe[r->head.probes++];
        rc = shift_prober_take(p, r->prober, r->policy, rows, (uint64_t)i, e);
        p->iteration = (float)(i + 1);
    }
    r->head.points++;

    int64_t cycle = r->recipe.env.cycle_steps;
    if (!rc && train_steps(r->train) % cycle == 0)
        rc = shift_run_save(
            r, (int)((train_steps(r->train) / cycle - 1) % SHIFT_PROFILES), e);
    return rc;
}

int shift_run(struct sweep_job *job, const struct shift_arm *arm,
              const struct worlds *worlds, struct err *e)
{
    struct run r;
    int rc = shift_run_start(&r, arm, worlds, e);
    for (int i = 0; !rc && i < r.iterations; i++) {
        rc = iterate(&r, i, e);
        if (!rc && sweep_tick(job, (i + 1.0) / r.iterations)) rc = SWEEP_STOPPED;
    }
    if (!rc) {
        memcpy(r.head.magic, MAGIC, sizeof MAGIC);
        sweep_put(job, &r.head, sizeof r.head);
        sweep_put(job, r.point, (size_t)r.head.points * sizeof *r.point);
        sweep_put(job, r.probe, (size_t)r.head.probes * sizeof *r.probe);
        for (int i = 0; i < SHIFT_PROFILES; i++)
            sweep_put(job, r.saved[i], r.head.policy_bytes[i]);
    }
    shift_run_release(&r);
    return rc;
}

int shift_record_read(struct shift_record *out, const void *data, size_t n, struct err *e)
{
    struct head h;
    *out = (struct shift_record){0};
    if (n < sizeof h) return err_set(e, ERR_CORRUPT, "a run's record is too short");
    memcpy(&h, data, sizeof h);
    if (memcmp(h.magic, MAGIC, sizeof MAGIC) != 0 || h.points < 0 || h.probes < 0)
        return err_set(e, ERR_CORRUPT, "a run's record has another form");

    const char *at = (const char *)data + sizeof h;
    size_t left = n - sizeof h;
    size_t points = (size_t)h.points * sizeof *out->point;
    size_t probes = (size_t)h.probes * sizeof *out->probe;
    uint64_t policies = 0;
    for (int i = 0; i < SHIFT_PROFILES; i++) {
        if (h.policy_bytes[i] > left)
            return err_set(e, ERR_CORRUPT, "a record is cut off");
        policies += h.policy_bytes[i];
    }
    if (points > left || probes > left || points + probes + policies != left)
        return err_set(e, ERR_CORRUPT, "a run's record has %zu bytes, not %zu", n,
                       sizeof h + points + probes + (size_t)policies);
    out->points = h.points;
    out->probes = h.probes;
    out->point = (const void *)at;
    out->probe = (const void *)(at + points);
    at += points + probes;
    for (int i = 0; i < SHIFT_PROFILES; at += h.policy_bytes[i++]) {
        out->policy_bytes[i] = (size_t)h.policy_bytes[i];
        out->policy[i] = h.policy_bytes[i] ? at : NULL;
    }
    return 0;
}
