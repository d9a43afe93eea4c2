#include "abr/deciders/bba2.h"

#include "abr/deciders/settings.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct bba2_cfg {
    double reservoir, cushion;
};

/* chosen on training traces (test/score/rivals.mjs), in the order of qoe_profiles */
static const struct bba2_cfg SETS[QOE_PROFILES] = {
    /* product */
    {0.5, 1},
    {0.6, 1},
    {0.6, 1},
    {0.3, 1},
    {0.5, 1},
    {0.3, 1},
    /* papers */
    {0.1, 0.8},
    {0.3, 0.8},
    {0.05, 0.2},
    {0.3, 0.8}};

static const struct field ROWS[] = {
    {"reservoir", "SHARE", "buffer held at the lowest level",
     FIELD(struct bba2_cfg, reservoir), .lo = 0, .hi = 0.9},
    {"cushion", "SHARE", "buffer over which the map rises",
     FIELD(struct bba2_cfg, cushion), .lo = 0.01, .hi = 1},
    {0}};

struct bba2 {
    struct bba2_cfg set[QOE_PROFILES];
    bool steady;
    double buffer_s; /* at the last decision */
};

static void bba2_reset(void *self, uint64_t session_key)
{
    (void)session_key;
    struct bba2 *b = self;
    b->steady = false;
    b->buffer_s = 0;
}

/* The steady state's level. */
static int mapped_level(const struct view *v, double f)
{
    int last = v->last_level < 0 ? 0 : v->last_level, top = v->levels - 1;
    int up = last < top ? last + 1 : top, down = last ? last - 1 : 0;
    int level = last;
    if (f >= view_bytes(v, top)) {
        level = top;
    } else if (f >= view_bytes(v, up)) {
        while (level < top && view_bytes(v, level + 1) < f)
            level++;
    } else if (f <= view_bytes(v, down)) {
        level = 0;
        while (level < top && view_bytes(v, level) <= f)
            level++;
        if (level > last) level = last;
    }
    return level;
}

static int bba2_decide(void *self, const struct view *v, const struct video *video)
{
    (void)video;
    struct bba2 *b = self;
    const struct bba2_cfg *c = &b->set[settings_kind(&v->qoe)];
    double reservoir_s = c->reservoir * v->buffer_max_s;
    double x = (v->buffer_s - reservoir_s) / (c->cushion * v->buffer_max_s);
    x = fmin(fmax(x, 0), 1);
    double low = v->ladder_kbps[0] * v->chunk_s * 125;
    double high = v->ladder_kbps[v->levels - 1] * v->chunk_s * 125;
    int by_map = x <= 0 ? 0 : mapped_level(v, low + x * (high - low));

    double change_s = v->buffer_s - b->buffer_s;
    b->buffer_s = v->buffer_s;
    if (v->last_level < 0) return 0;
    if (b->steady) return by_map;
    b->steady = change_s <= 0 || by_map > v->last_level;
    if (b->steady) return by_map;
    bool fast = change_s > (0.875 - 0.375 * x) * v->chunk_s;
    return fast && v->last_level + 1 < v->levels ? v->last_level + 1 : v->last_level;
}

int bba2_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
{
    (void)ctx;
    struct bba2 *b = calloc(1, sizeof *b);
    if (!b) return err_set(e, ERR_MEMORY, "no memory for BBA-2");
    memcpy(b->set, SETS, sizeof b->set);
    int rc = settings_read(b->set, sizeof *b->set, QOE_PROFILES, ROWS, arg, e);
    if (rc) {
        free(b);
        return rc;
    }
    out->self = b;
    out->reset = bba2_reset;
    out->decide = bba2_decide;
    out->free = free;
    return 0;
}
