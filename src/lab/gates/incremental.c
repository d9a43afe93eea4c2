#include "lab/gates/incremental.h"

enum { BATCH = 128 };

static double accuracy(const struct incremental_learner *l, const struct splits_part *p,
                       int size, int task)
{
    int right = 0, label[BATCH];
    for (int at = 0; at < p->n; at += BATCH) {
        int n = p->n - at < BATCH ? p->n - at : BATCH;
        l->classify(l->self, label, p->pixels + (size_t)at * (size_t)size, n, task);
        for (int i = 0; i < n; i++)
            right += label[i] == p->label[at + i];
    }
    return (double)right / p->n;
}

bool incremental_run(struct incremental *out, const struct splits *s,
                     const struct incremental_learner *l)
{
    *out = (struct incremental){.blind = {.tasks = SPLITS_TASKS}};
    for (int t = 0; t < SPLITS_TASKS; t++) {
        if (l->learn(l->self, t)) return true;
        for (int i = 0; i <= t; i++)
            out->blind.s[i][t] = accuracy(l, &s->task[i].test, s->size, -1);
    }
    for (int i = 0; i < SPLITS_TASKS; i++)
        out->told[i] = accuracy(l, &s->task[i].test, s->size, i);
    return false;
}

double incremental_told(const struct incremental *i)
{
    double sum = 0;
    for (int t = 0; t < SPLITS_TASKS; t++)
        sum += i->told[t] / SPLITS_TASKS;
    return sum;
}
