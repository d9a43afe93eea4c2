#include "abr/deciders/hyb.h"

#include "abr/deciders/settings.h"
#include "abr/deciders/simple.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 5 };

struct hyb_cfg {
    double factor;
};

/* chosen on training traces (test/score/rivals.mjs): documentary, live, news, pensieve */
static const struct hyb_cfg SETS[QOE_PROFILES] = {{0.15}, {0.3}, {3}, {0.3}};

static const struct field ROWS[] = {{"factor", "X", "factor on the forecast",
                                     FIELD(struct hyb_cfg, factor), .lo = 0.01, .hi = 10},
                                    {0}};

struct hyb {
    struct hyb_cfg set[QOE_PROFILES];
};

static int hyb_decide(void *self, const struct view *v, const struct video *video)
{
    (void)video;
    const struct hyb *h = self;
    double factor = h->set[settings_kind(&v->qoe)].factor;
    double kbps = factor * simple_harmonic_kbps(v, v->n_history, WINDOW);
    int level = v->levels - 1;
    while (level && view_bytes(v, level) * 8e-3 > kbps * v->buffer_s)
        level--;
    return level;
}

int hyb_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
{
    (void)ctx;
    struct hyb *h = malloc(sizeof *h);
    if (!h) return err_set(e, ERR_MEMORY, "no memory for HYB");
    memcpy(h->set, SETS, sizeof h->set);
    int rc = settings_read(h->set, sizeof *h->set, QOE_PROFILES, ROWS, arg, e);
    if (rc) {
        free(h);
        return rc;
    }
    out->self = h;
    out->decide = hyb_decide;
    out->free = free;
    return 0;
}
