#include "lab/merge/merge_guess.h"

#include "policy/identity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = MERGE_TASKS, C = MERGE_CONTENTS };
static const double PRIOR = 2, LEAST = 1e-6;
_Static_assert(C % V == 0, "as many own contents for every profile");

struct merge_guess {
    const float *obs;
    int sessions;
    double loyalty;
    struct identity *head;
    double seen[C][V];
    double of[C][V];    /* p(v | c) in this slot */
    double (*tells)[V]; /* (sessions): what x multiplies it by */
    bool sees;
};

struct merge_guess *merge_guess_new(const float *obs, int sessions, double loyalty,
                                    uint64_t seed, struct err *e)
{
    struct identity_cfg c = identity_cfg_default(FEAT_FULL_DIM, V);
    c.seed = seed;
    struct merge_guess *g = calloc(1, sizeof *g);
    if (g) {
        g->obs = obs;
        g->sessions = sessions;
        g->loyalty = loyalty;
        g->head = identity_new(&c, e);
        g->tells = calloc((size_t)sessions, sizeof *g->tells);
    }
    if (g && g->head && g->tells) return g;
    merge_guess_free(g);
    err_set(e, ERR_MEMORY, "no memory for guesses of %d sessions", sessions);
    return NULL;
}

void merge_guess_free(struct merge_guess *g)
{
    if (!g) return;
    identity_free(g->head);
    free(g->tells);
    free(g);
}

int merge_guess_draw(const struct merge_guess *g, int task, struct rng *r)
{
    bool own = rng_uniform(r) < g->loyalty;
    return own ? task + V * (int)rng_below(r, C / V) : (int)rng_below(r, C);
}

double merge_guess_share(const struct merge_guess *g, int task, int content)
{
    double own = content % V == task ? g->loyalty / (C / V) : 0;
    return own + (1 - g->loyalty) / C;
}

void merge_guess_begin(struct merge_guess *g, const float *psi)
{
    double even[V], mix[V], sum = 0;
    for (int v = 0; v < V; v++) {
        even[v] = 1.0 / V;
        sum += mix[v] = fmax((double)psi[v], LEAST);
    }
    for (int c = 0; c < C; c++) {
        double seen = 0;
        for (int v = 0; v < V; v++)
            seen += g->seen[c][v];
        for (int v = 0; v < V; v++)
            g->of[c][v] = (g->seen[c][v] + PRIOR * mix[v] / sum) / (seen + PRIOR);
    }
    g->sees = identity_skill(g->head) > 0;
    for (int s = 0; s < g->sessions && g->sees; s++)
        identity_posterior(g->tells[s], g->head, g->obs + (size_t)s * FEAT_FULL_DIM,
                           even);
}

bool merge_guess_sees(const struct merge_guess *g)
{
    return g->sees;
}

int merge_guess_who(double *q, const struct merge_guess *g, int session, int content)
{
    int best = 0;
    double sum = 0;
    for (int v = 0; v < V; v++) {
        sum += q[v] = g->of[content][v] * (g->sees ? g->tells[session][v] : 1);
        if (q[v] > q[best]) best = v;
    }
    for (int v = 0; v < V; v++)
        q[v] /= sum;
    return best;
}

void merge_guess_learn(struct merge_guess *g, int session, int content, int task)
{
    g->seen[content][task]++;
    (void)!identity_learn(g->head, g->obs + (size_t)session * FEAT_FULL_DIM, task,
                          NULL); /* observations are finite */
}
