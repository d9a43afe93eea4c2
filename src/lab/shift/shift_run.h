/* shift_run.h - one run of PA-MoE's experiment: a policy that learns while the profile shifts.
 *
 * An arm is a preset (recipe.h: paper, code; tuned = paper's environment and shifts with the
 * settings that matter: hidden 64, lr 3e-4, entropy 0.02, normalised returns, a router with
 * balance loss), a variant, with or without hint, and changes to its settings (vary.h).
 *
 * A run gives a record, bytes that shift_record_read understands:
 *   a point per iteration  what the policy earned and did, and the update's figures
 *   a probe at intervals   the plasticity of both networks on that iteration's states
 *                          (learn/plasticity.h), and an exam: greedy QoE per chunk of every profile,
 *                          the one in force or not, always on the same episodes
 *   three checkpoints      the weights at the end of the last segment of each profile
 *
 * A record is a function of arm and worlds alone. Figures that were not measured are NaN.
 * Errors: those of recipe_make, recipe_fields_apply and train_new; ERR_NUMERIC when training blew up;
 * SWEEP_STOPPED. Threads: a run is one thread's; worlds are shared read-only. */
#ifndef LAB_SHIFT_RUN_H
#define LAB_SHIFT_RUN_H

#include "abr/train/recipe.h"
#include "lab/shift/shift_meter.h"
#include "report/sweep.h"

#define SHIFT_PROFILES 3 /* documentary, live, news */
#define SHIFT_SEGMENTS 10
#define SHIFT_EXPERTS 3
#define SHIFT_LAYERS 2

struct shift_arm {
    const char *preset, *variant;
    bool hint;
    const char *set;   /* changes as recipe_fields_read takes them; "" or NULL = none */
    bool noise_critic; /* the plasticity noise of preset paper on the critic, too */
    bool mix_probs; /* a dense actor mixes distributions, not logits (policy/probs.h) */
    int64_t steps;
    int probe_every; /* iterations */
    uint64_t seed;
};

enum shift_net { SHIFT_ACTOR, SHIFT_CRITIC, SHIFT_NETS };

struct shift_point {
    float tag; /* the profile in force */
    float qoe, quality, change, stall_s;
    float buffer_s, throughput_kbps, download_s, mean_level, recent_qoe;
    float level[SHIFT_LEVELS];
    float entropy, kl, clip_share, first_clip_share, value_loss, explained_variance;
    float grad_norm, router_norm[SHIFT_NETS];
    float share[SHIFT_NETS][SHIFT_EXPERTS]; /* of the samples that trained each expert */
};

enum shift_measure {
    SHIFT_DORMANT, /* at the thresholds of plasticity_tau */
    SHIFT_RANK = SHIFT_DORMANT + 4,
    SHIFT_EFFECTIVE,
    SHIFT_APPROX,
    SHIFT_ABS_APPROX,
    SHIFT_MEASURES
};

struct shift_probe_net {
    float
        share[SHIFT_EXPERTS]; /* of the states it is chosen for, router noise included */
    float gate[SHIFT_EXPERTS];
    float layer[SHIFT_EXPERTS][SHIFT_LAYERS][SHIFT_MEASURES];
    float weight[SHIFT_EXPERTS][SHIFT_LAYERS + 1]; /* mean |w|; the last is the head */
    float mean[SHIFT_MEASURES];                    /* over experts and layers */
    float mean_all[SHIFT_MEASURES]; /* the same with every state shown to every expert */
    float mean_weight;              /* of the hidden layers */
    float router_weight;
};

struct shift_probe {
    float iteration; /* 1 .. */
    struct shift_probe_net net[SHIFT_NETS];
    float exam[SHIFT_PROFILES];
};

struct shift_record {
    int points, probes;
    const struct shift_point *point; /* borrowed from the bytes */
    const struct shift_probe *probe;
    const void *policy[SHIFT_PROFILES]; /* ckpt_decode; NULL when the run was too short */
    size_t policy_bytes[SHIFT_PROFILES];
};

/* The settings of an arm. */
int shift_arm_recipe(struct recipe *out, const struct shift_arm *arm, struct err *e)
    __attribute__((warn_unused_result));

/* All that the result depends on but the worlds, as one line. */
void shift_arm_config(char *out, size_t n, const struct shift_arm *arm);

int shift_run(struct sweep_job *job, const struct shift_arm *arm,
              const struct worlds *worlds, struct err *e)
    __attribute__((warn_unused_result));

/* data: aligned as by malloc, borrowed. ERR_CORRUPT. */
int shift_record_read(struct shift_record *out, const void *data, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
