#include "lab/forgetting/tally.h"

#include <assert.h>
#include <string.h>

void tally_init(struct tally *l, int tasks, int experts)
{
    assert(tasks >= 1 && tasks <= TALLY_TASKS);
    assert(experts >= 1 && experts <= RECALL_EXPERTS);
    memset(l, 0, sizeof *l);
    l->tasks = tasks;
    l->experts = experts;
}

void tally_add(struct tally *l, int n, int m, double error)
{
    assert(n >= 0 && n < l->tasks && m >= 0 && m < l->experts);
    l->rounds++;
    l->learned[n][m]++;
    l->at_once += error;
}

static double sum_of_errors(const struct tally *l, const double *error)
{
    double sum = 0;
    for (int n = 0; n < l->tasks; n++)
        for (int m = 0; m < l->experts; m++)
            if (l->learned[n][m]) sum += l->learned[n][m] * error[n * l->experts + m];
    return sum;
}

double tally_error(const struct tally *l, const double *error)
{
    assert(l->rounds >= 1);
    return sum_of_errors(l, error) / l->rounds;
}

double tally_forgot(const struct tally *l, const double *error)
{
    assert(l->rounds >= 2);
    return (sum_of_errors(l, error) - l->at_once) / (l->rounds - 1);
}
