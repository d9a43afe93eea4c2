/* The gates of a learner: locality loss, latch, what wakes them, and their place in the state. */
#include "learn/ppo.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 48, OBS = 5, ACTIONS = 4 };

struct bed {
    struct policy *policy;
    struct ppo *ppo;
    float obs[N * OBS], logp[N], advantage[N], target[N];
    uint32_t mask[N];
    int action[N], tag[N];
    struct ppo_batch batch;
    struct ppo_stats stats;
};

static void make(struct bed *b, const struct ppo_cfg *c, uint64_t seed)
{
    memset(b, 0, sizeof *b);
    struct policy_cfg pc = policy_cfg_default(OBS);
    pc.actions = ACTIONS;
    pc.hidden = pc.critic_hidden = 8;
    b->policy = policy_new(&pc, NULL);
    policy_init(b->policy, 5);
    b->ppo = ppo_new(c, b->policy, NULL, N, seed, NULL);
    ck_assert_ptr_nonnull(b->ppo);
    struct rng r;
    rng_init(&r, 3, 3);
    for (int i = 0; i < N * OBS; i++)
        b->obs[i] = (float)rng_normal(&r);
    for (int i = 0; i < N; i++) {
        b->mask[i] = 15;
        b->action[i] = (int)rng_below(&r, 4);
        b->tag[i] = i % 2;
        b->logp[i] = logf(0.25f);
        b->advantage[i] = (float)rng_normal(&r);
        b->target[i] = (float)rng_range(&r, -2, 3);
    }
    b->batch = (struct ppo_batch){.n = N,
                                  .obs = b->obs,
                                  .mask = b->mask,
                                  .action = b->action,
                                  .tag = b->tag,
                                  .logp = b->logp,
                                  .advantage = b->advantage,
                                  .target = b->target};
}

static void release(struct bed *b)
{
    ppo_free(b->ppo);
    policy_free(b->policy);
}

static void update(struct bed *b)
{
    ck_assert_int_eq(ppo_update(b->ppo, &b->batch, &b->stats), 0);
}

static struct ppo_cfg lively(void)
{
    struct ppo_cfg c = ppo_cfg_default();
    c.lr = c.critic_lr = 1e-2;
    c.minibatch = 16;
    c.weight_decay = 1e-3;
    c.noise_gamma = 1;
    c.gate = (struct gate_cfg){.latch = 2, .gap = 1e3}; /* everybody is close */
    return c;
}

static bool same(const float *a, const float *b, struct mix_range r)
{
    return !memcmp(a + r.at, b + r.at, r.n * sizeof *a);
}

/* Rounds 1 and 2 move the gates, from round 3 on they rest to the bit; all experts go on. */
START_TEST(a_latched_gate_rests_and_the_experts_learn_on)
{
    struct ppo_cfg c = lively();
    c.tied_heads = _i;
    c.router_noise = 0.3;
    struct bed b;
    make(&b, &c, 1);
    struct mix *nets[] = {b.policy->actor, b.policy->critic};
    for (int t = 1; t <= 6; t++) {
        struct policy *before = policy_clone(b.policy, NULL);
        const struct mix *old[] = {before->actor, before->critic};
        update(&b);
        for (int w = 0; w < 2; w++) {
            const float *now = nets[w]->theta, *was = old[w]->theta;
            ck_assert_int_eq(b.stats.gate[w].latched, t > 2);
            ck_assert_int_eq(b.stats.gate[w].converged, t > 2 ? 3 : 0);
            ck_assert_int_eq(ppo_gate_latched(b.ppo, (enum ppo_which)w), t > 2);
            ck_assert_int_eq(same(now, was, mix_router(&nets[w]->cfg)), t > 2);
            bool moved = false;
            for (int k = 0; k < 3; k++)
                moved = moved || !same(now, was, mix_expert(&nets[w]->cfg, k));
            ck_assert(moved);
        }
        policy_free(before);
    }
    ck_assert(b.stats.router_norm == 0.0 && b.stats.balance == 0.0);

    ppo_gate_reset(b.ppo);
    float was = nets[0]->theta[0];
    update(&b);
    ck_assert(nets[0]->theta[0] != was);
    ck_assert(!ppo_gate_latched(b.ppo, PPO_ACTOR));
    release(&b);
}
END_TEST

/* With everything off the new parts change nothing; with a latch that cannot close, neither. */
START_TEST(what_is_off_changes_no_bit)
{
    struct ppo_cfg c = lively(), narrow = lively();
    c.gate = gate_cfg_default();
    narrow.gate.gap = 0.0;
    narrow.drift.limit = 1.0;
    struct bed a, b;
    make(&a, &c, 4);
    make(&b, &narrow, 4);
    for (int t = 0; t < 5; t++) {
        update(&a);
        update(&b);
    }
    ck_assert_mem_eq(a.policy->actor->theta, b.policy->actor->theta,
                     a.policy->actor->n * sizeof(float));
    ck_assert_mem_eq(a.policy->critic->theta, b.policy->critic->theta,
                     a.policy->critic->n * sizeof(float));
    release(&a);
    release(&b);
}
END_TEST

/* The cost of the second round is what the first one moved. */
START_TEST(locality_charges_for_movement)
{
    struct ppo_cfg c = lively();
    c.gate = (struct gate_cfg){.locality = 2.0};
    c.balance = 0;
    struct bed b;
    make(&b, &c, 4);
    struct policy *before = policy_clone(b.policy, NULL);
    update(&b);
    ck_assert(b.stats.balance == 0.0); /* nothing has moved yet */
    const struct gate *g = ppo_gate(b.ppo, PPO_ACTOR);
    for (int k = 0; k < 3; k++) {
        struct mix_range r = mix_expert(&b.policy->actor->cfg, k);
        double sum = 0;
        for (size_t i = r.at; i < r.at + r.n; i++)
            sum += pow(
                (double)b.policy->actor->theta[i] - (double)before->actor->theta[i], 2);
        ck_assert_double_gt(sum, 0);
        ck_assert_double_eq_tol((double)g->moved[k], sqrt(sum), 1e-5);
    }
    double low =
        fmin(fmin((double)g->moved[0], (double)g->moved[1]), (double)g->moved[2]);
    double high =
        fmax(fmax((double)g->moved[0], (double)g->moved[1]), (double)g->moved[2]);
    update(&b);
    ck_assert_double_ge(b.stats.balance, 2.0 * low - 1e-6);
    ck_assert_double_le(b.stats.balance, 2.0 * high + 1e-6);
    policy_free(before);
    release(&b);
}
END_TEST

/* While gates are latched a critic that errs ten times as much wakes them, at its tag. */
START_TEST(a_shift_wakes_latched_gates)
{
    struct ppo_cfg c = lively();
    c.drift.limit = 8;
    struct bed b;
    make(&b, &c, 4);
    struct rng r;
    rng_init(&r, 8, 0);
    int alarm = -1, at = 0;
    for (int t = 1; t <= 60 && alarm < 0; t++) {
        for (int i = 0; i < N; i++)
            b.advantage[i] = (float)(rng_normal(&r) * (t > 40 && i % 2 ? 10 : 1));
        update(&b);
        ck_assert_int_eq(b.stats.gate[0].latched, t > 2 && b.stats.shift_tag < 0);
        if (t <= 3) ck_assert(b.stats.shift_level == 0.0);
        alarm = b.stats.shift_tag;
        at = t;
    }
    ck_assert_int_eq(alarm, 1);
    ck_assert_int_gt(at, 40);
    ck_assert_int_le(at, 46);
    ck_assert_int_eq(gate_converged(ppo_gate(b.ppo, PPO_ACTOR), 3), 0);
    update(&b); /* another T1 rounds */
    ck_assert(!b.stats.gate[0].latched && b.stats.shift_level == 0.0);
    update(&b);
    ck_assert(b.stats.gate[0].latched && b.stats.gate[1].latched);
    release(&b);
}
END_TEST

START_TEST(flags_are_part_of_the_state)
{
    struct ppo_cfg c = lively();
    c.gate.locality = 0.5;
    c.drift.limit = 5;
    struct bed a, b;
    make(&a, &c, 4);
    make(&b, &c, 5);
    for (int t = 0; t < 7; t++)
        update(&a);
    size_t n = ppo_state_size(a.ppo);
    void *state = malloc(n);
    ppo_state_get(a.ppo, state);
    policy_copy(b.policy, a.policy);
    ck_assert_int_eq(ppo_state_put(b.ppo, state, n, NULL), 0);
    ck_assert(ppo_gate_latched(b.ppo, PPO_CRITIC));
    ck_assert_int_eq(ppo_gate(b.ppo, PPO_CRITIC)->rounds, 7);
    for (int t = 0; t < 3; t++) {
        update(&a);
        update(&b);
    }
    ck_assert_mem_eq(a.policy->actor->theta, b.policy->actor->theta,
                     a.policy->actor->n * sizeof(float));
    ck_assert_double_eq(a.stats.shift_level, b.stats.shift_level);

    struct gate g = {.rounds = 3, .flags = 5};
    ppo_gate_put(b.ppo, PPO_ACTOR, &g);
    ck_assert(!ppo_gate_latched(b.ppo, PPO_ACTOR) && ppo_gate_latched(b.ppo, PPO_CRITIC));
    free(state);
    release(&a);
    release(&b);
}
END_TEST

/* rows of `expert`, by the actor's router, get numbers that overflow within the expert */
static void overflow_rows_of(struct bed *b, int expert)
{
    int chosen[N];
    gate_choose(chosen, b->policy->actor, b->obs, N);
    struct mix_range r = mix_expert(&b->policy->actor->cfg, expert);
    for (size_t i = r.at; i < r.at + r.n; i++)
        b->policy->actor->theta[i] *= 3e37f;
    int rows = 0;
    for (int i = 0; i < N; i++)
        rows += chosen[i] == expert;
    ck_assert_int_gt(rows, 0);
}

START_TEST(a_failure_names_its_expert)
{
    struct ppo_cfg c = lively();
    c.minibatch = N;
    struct bed b;
    make(&b, &c, 4);
    update(&b);
    ck_assert_uint_eq(ppo_nonfinite(b.ppo, PPO_ACTOR), 0);
    overflow_rows_of(&b, 1);
    ck_assert_int_eq(ppo_update(b.ppo, &b.batch, NULL), ERR_NUMERIC);
    ck_assert_uint_eq(ppo_nonfinite(b.ppo, PPO_ACTOR), 2);
    ck_assert_uint_eq(ppo_nonfinite(b.ppo, PPO_CRITIC), 0);
    release(&b);

    /* data that are not finite are nobody's fault */
    make(&b, &c, 4);
    b.target[3] = NAN;
    b.advantage[3] = NAN;
    ck_assert_int_eq(ppo_update(b.ppo, &b.batch, NULL), ERR_NUMERIC);
    ck_assert_uint_eq(ppo_nonfinite(b.ppo, PPO_ACTOR) | ppo_nonfinite(b.ppo, PPO_CRITIC),
                      0);
    release(&b);
}
END_TEST

Suite *suite_learn_ppo_gate(void);
Suite *suite_learn_ppo_gate(void)
{
    Suite *s = suite_create("learn/ppo_gate");
    TCase *t = tcase_create("learn/ppo_gate");
    tcase_add_loop_test(t, a_latched_gate_rests_and_the_experts_learn_on, 0, 2);
    tcase_add_test(t, what_is_off_changes_no_bit);
    tcase_add_test(t, locality_charges_for_movement);
    tcase_add_test(t, a_shift_wakes_latched_gates);
    tcase_add_test(t, flags_are_part_of_the_state);
    tcase_add_test(t, a_failure_names_its_expert);
    suite_add_tcase(s, t);
    return s;
}
