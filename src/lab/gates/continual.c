#include "lab/gates/continual.h"

#include <math.h>

static double after(const struct continual *c, int t)
{
    double sum = 0;
    for (int i = 0; i <= t; i++)
        sum += c->s[i][t];
    return sum / (t + 1);
}

double continual_fa(const struct continual *c)
{
    return after(c, c->tasks - 1);
}

double continual_ca(const struct continual *c)
{
    double sum = 0;
    for (int t = 0; t < c->tasks; t++)
        sum += after(c, t);
    return sum / c->tasks;
}

double continual_fm(const struct continual *c)
{
    int last = c->tasks - 1;
    double sum = 0;
    for (int i = 0; i < last; i++) {
        double most = c->s[i][i];
        for (int t = i + 1; t < last; t++)
            most = fmax(most, c->s[i][t]);
        sum += most - c->s[i][last];
    }
    return last ? sum / last : 0;
}
