#include "abr/deciders/hyb.h"

#include "abr/deciders/settings.h"
#include "abr/deciders/simple.h"

enum { WINDOW = 5 };

struct hyb_cfg {
    double factor;
};

/* chosen on training traces (test/score/rivals.mjs), in the order of qoe_profiles */
static const struct hyb_cfg SETS[QOE_PROFILES] = {
    /* product */
    {0.3},
    {0.2},
    {0.25},
    {0.35},
    {0.3},
    {0.3},
    /* papers */
    {0.15},
    {0.3},
    {3},
    {0.3}};

static const struct field ROWS[] = {{"factor", "X", "factor on the forecast",
                                     FIELD(struct hyb_cfg, factor), .lo = 0.01, .hi = 10},
                                    {0}};

static int hyb_level(const void *set, const struct view *v, const struct video *video)
{
    (void)video;
    double factor = ((const struct hyb_cfg *)set)->factor;
    double kbps = factor * simple_harmonic_kbps(v, v->n_history, WINDOW);
    int level = v->levels - 1;
    while (level && view_bytes(v, level) * 8e-3 > kbps * v->buffer_s)
        level--;
    return level;
}

int hyb_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
{
    static const struct settings_algo algo = {SETS, sizeof *SETS, ROWS, hyb_level};
    (void)ctx;
    return settings_new(out, &algo, arg, e);
}
