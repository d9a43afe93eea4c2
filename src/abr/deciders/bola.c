#include "abr/deciders/bola.h"

#include <math.h>

static const double LOW_S = 10;

struct bola_gains bola_gains(const struct view *view)
{
    const double *rate = view->ladder_kbps;
    double low = fmin(LOW_S, view->buffer_max_s / 3);
    double top = fmax(view->buffer_max_s - view->chunk_s, low * 1.01);

    double v_second = log(rate[1] / rate[0]),
           v_top = log(rate[view->levels - 1] / rate[0]);
    double a = rate[0] * v_second / (rate[1] - rate[0]);
    struct bola_gains k;
    k.v = (top - low) / (v_top + a);
    k.g = a + low / k.v;
    return k;
}

int bola_level(const struct view *view)
{
    struct bola_gains k = bola_gains(view);
    int best = 0;
    double best_score = -INFINITY;
    for (int m = 0; m < view->levels; m++) {
        double utility = log(view->ladder_kbps[m] / view->ladder_kbps[0]);
        double score = (k.v * (utility + k.g) - view->buffer_s) / view_bytes(view, m);
        if (score > best_score) {
            best = m;
            best_score = score;
        }
    }
    return best;
}
