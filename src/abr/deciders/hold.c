#include "abr/deciders/hold.h"

#include "abr/deciders/settings.h"

static const struct plan_cfg SETS[QOE_PROFILES] = {
    PLAN_DEFAULT, PLAN_DEFAULT, PLAN_DEFAULT, PLAN_DEFAULT, PLAN_DEFAULT,
    PLAN_DEFAULT, PLAN_DEFAULT, PLAN_DEFAULT, PLAN_DEFAULT, PLAN_DEFAULT};

static const struct field ROWS[] = {
    {"factor", "X", "factor on the forecast", FIELD(struct plan_cfg, factor), .lo = 0.01,
     .hi = 10},
    {"tail", "N", "chunks that a level is held for", FIELD(struct plan_cfg, tail),
     .lo = 1, .hi = 1000},
    {"reach", "X", "and as many per chunk in the buffer", FIELD(struct plan_cfg, reach),
     .lo = 0, .hi = 100},
    {"caution", "X", "factor on stalls while it is held", FIELD(struct plan_cfg, caution),
     .lo = 0, .hi = 100},
    {"low", "X", "cost of a low buffer, as a share of a stall's",
     FIELD(struct plan_cfg, low), .lo = 0, .hi = 10},
    {"low_s", "S", "buffer below which it costs, per spread of the forecast",
     FIELD(struct plan_cfg, low_s), .lo = 0, .hi = 1000},
    {"slow", "X", "further reach on links near the lowest level",
     FIELD(struct plan_cfg, slow), .lo = 0, .hi = 100},
    {"far", "X", "further reach per second of buffer beyond far_s",
     FIELD(struct plan_cfg, far), .lo = 0, .hi = 100},
    {"far_s", "S", "buffer from which far counts", FIELD(struct plan_cfg, far_s), .lo = 0,
     .hi = 1000},
    {"narrow", "X", "how much less the mean of more chunks spreads",
     FIELD(struct plan_cfg, narrow), .lo = 0, .hi = 1},
    {"next", "X", "factor on the forecast of the next chunk",
     FIELD(struct plan_cfg, next), .lo = 0.01, .hi = 10},
    {0}};

int hold_level(const struct plan_cfg *cfg, const struct view *v)
{
    struct forecast f = forecast_of(v);
    if (!(f.mean_kbps > 0)) return 0;
    struct plan p;
    plan_values(&p, cfg, v, &f);
    int best = 0;
    for (int k = 1; k < v->levels; k++)
        if (p.mean[k] > p.mean[best]) best = k;
    return best;
}

static int hold_set_level(const void *set, const struct view *v,
                          const struct video *video)
{
    (void)video;
    return hold_level(set, v);
}

int hold_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
{
    static const struct settings_algo algo = {SETS, sizeof *SETS, ROWS, hold_set_level};
    (void)ctx;
    return settings_new(out, &algo, arg, e);
}
