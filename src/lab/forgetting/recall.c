#include "lab/forgetting/recall.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void recall_init(struct recall *l, int experts, int d)
{
    assert(experts >= 1 && experts <= RECALL_EXPERTS && d >= 1 && d <= TASK_DIM);
    memset(l, 0, sizeof *l);
    l->experts = experts;
    l->d = d;
}

void recall_add(struct recall *l, int m, const double *truth, const double *model)
{
    l->rounds++;
    l->learned[m]++;
    for (int i = 0; i < l->d; i++)
        l->truth[m][i] += truth[i];
    l->norm2[m] += task_dot(truth, truth, l->d);
    l->at_once += task_distance2(model, truth, l->d);
}

static double sum_of_errors(const struct recall *l, const double (*model)[TASK_DIM])
{
    double sum = 0;
    for (int m = 0; m < l->experts; m++)
        sum += l->learned[m] * task_dot(model[m], model[m], l->d) -
               2 * task_dot(model[m], l->truth[m], l->d) + l->norm2[m];
    return sum;
}

double recall_error(const struct recall *l, const double (*model)[TASK_DIM])
{
    assert(l->rounds >= 1);
    return sum_of_errors(l, model) / l->rounds;
}

double recall_forgot(const struct recall *l, const double (*model)[TASK_DIM])
{
    assert(l->rounds >= 2);
    return (sum_of_errors(l, model) - l->at_once) / (l->rounds - 1);
}

double recall_bound_f(const struct recall *l, double r, double a, double b)
{
    double sum = 0;
    for (int m = 0; m < l->experts; m++) {
        double left = pow(r, l->learned[m]);
        sum += l->learned[m] * left - r * (1 - left) / (1 - r);
    }
    return sum * (a - b) / (l->rounds - 1);
}

double recall_bound_g(const struct recall *l, const int *held, double r, double a,
                      double b)
{
    double sum = 0;
    if (!held) held = l->learned;
    for (int m = 0; m < l->experts; m++) {
        double left = pow(r, held[m]);
        sum += l->learned[m] * (left * a + (1 - left) * b);
    }
    return sum / l->rounds;
}

double recall_exact_g(const struct recall *l, double r, double a, double b)
{
    double sum = 0;
    for (int m = 0; m < l->experts; m++) {
        double left = pow(r, l->learned[m]);
        sum += l->learned[m] * left * a;
        if (l->learned[m] > 0) sum += (l->learned[m] - 1) * (1 - left) * b;
    }
    return sum / l->rounds;
}

/* ---- experts whose errors are measured ---- */

void recall_tally_init(struct recall_tally *l, int tasks, int experts)
{
    assert(tasks >= 1 && tasks <= RECALL_TASKS);
    assert(experts >= 1 && experts <= RECALL_EXPERTS);
    memset(l, 0, sizeof *l);
    l->tasks = tasks;
    l->experts = experts;
}

void recall_tally_add(struct recall_tally *l, int n, int m, double error)
{
    assert(n >= 0 && n < l->tasks && m >= 0 && m < l->experts);
    l->rounds++;
    l->learned[n][m]++;
    l->at_once += error;
}

static double tally_sum(const struct recall_tally *l, const double *error)
{
    double sum = 0;
    for (int n = 0; n < l->tasks; n++)
        for (int m = 0; m < l->experts; m++)
            if (l->learned[n][m]) sum += l->learned[n][m] * error[n * l->experts + m];
    return sum;
}

double recall_tally_error(const struct recall_tally *l, const double *error)
{
    assert(l->rounds >= 1);
    return tally_sum(l, error) / l->rounds;
}

double recall_tally_forgot(const struct recall_tally *l, const double *error)
{
    assert(l->rounds >= 2);
    return (tally_sum(l, error) - l->at_once) / (l->rounds - 1);
}
