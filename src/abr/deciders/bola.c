#include "abr/deciders/bola.h"

#include "abr/deciders/simple.h"

#include <math.h>

static const double LOW_S = 10;

struct bola_gains bola_gains(const struct view *view)
{
    const double *rate = view->ladder_kbps;
    double low = fmin(LOW_S, view->buffer_max_s / 3);
    double top = fmax(view->buffer_max_s - view->chunk_s, low * 1.01);

    struct bola_gains k;
    if (!simple_points(k.utility, view))
        for (int m = 0; m < view->levels; m++)
            k.utility[m] = log(rate[m] / rate[0]);
    double a = rate[0] * k.utility[1] / (rate[1] - rate[0]);
    k.v = (top - low) / (k.utility[view->levels - 1] + a);
    k.g = a + low / k.v;
    return k;
}

int bola_level(const struct view *view)
{
    struct bola_gains k = bola_gains(view);
    int best = 0;
    double best_score = -INFINITY;
    for (int m = 0; m < view->levels; m++) {
        double score =
            (k.v * (k.utility[m] + k.g) - view->buffer_s) / view_bytes(view, m);
        if (score > best_score) {
            best = m;
            best_score = score;
        }
    }
    return best;
}
