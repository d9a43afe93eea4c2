#include "abr/deciders/cap.h"

int cap_levels(const struct view *v, double max_kbps)
{
    int n = v->levels;
    while (max_kbps > 0 && n > 1 && v->ladder_kbps[n - 1] > max_kbps * (1 + 1e-6))
        n--;
    return n;
}

void cap_view(struct view *v, int levels)
{
    if (levels < 2) levels = 2;
    if (levels >= v->levels) return;
    v->levels = levels;
    if (v->last_level >= levels) v->last_level = levels - 1;
}
