/* How soon a tree over many experts has candidates. */
#include "merge_priv.h"

enum { V = MERGE_TASKS, LEAVES = 20, STEPS_MAX = 3000 };

const int merge_experts[MERGE_SIZES] = {4, 8, 16, 32, 64, 128, 192};

/* Slots until the tree has 20 leaves when all rewards are equal. */
static int steps_to_leaves(int experts, bool paper, uint64_t seed, int *out,
                           struct err *e)
{
    struct tanbr_cfg c = tanbr_cfg_default(experts, V);
    c.steps = 0; /* there is nothing to learn */
    if (c.keep > 8) c.keep = 8;
    if (paper) {
        c.split = TREE_RANDOM;
        c.border = 0;
        c.c = c.nu1 = c.lambda = 1;
        c.rho = .9;
    }
    struct tanbr *t = tanbr_new(&c, seed, e);
    if (!t) return e->code;
    const float psi[V] = {.25f, .25f, .25f, .25f}, reward[V] = {.5f, .5f, .5f, .5f};
    float x[TREE_DIM_MAX];
    int n = 0, rc = 0;
    for (; n < STEPS_MAX && tanbr_stats(t).tree.leaves < LEAVES && !rc; n++)
        rc = tanbr_learn(t, tanbr_choose(t, x, NULL, psi), psi, reward, NULL);
    *out = tanbr_stats(t).tree.leaves < LEAVES ? -1 : n;
    tanbr_free(t);
    return rc;
}

int merge_sizes(struct merge_found *f, struct err *e)
{
    int rc = 0;
    for (int i = 0; i < MERGE_SIZES && !rc; i++) {
        if (lab_progress(f->task, .95 + .005 * i, "many experts")) return LAB_STOPPED;
        for (int paper = 0; paper < 2 && !rc; paper++)
            rc = steps_to_leaves(merge_experts[i], paper, f->task->seed,
                                 &f->steps[paper][i], e);
    }
    return rc;
}
