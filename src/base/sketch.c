#include "base/sketch.h"

#include "base/bytes.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double UNIT_MAX = 0x1p64;

struct sketch {
    struct sketch_cfg cfg;
    double weight; /* N, in units */
    double unit;   /* a weight of 1 is added as this */
    double *cell;  /* (depth, width) */
};

struct sketch *sketch_new(const struct sketch_cfg *cfg, struct err *e)
{
    if (cfg->width < 1 || cfg->width > SKETCH_WIDTH_MAX || cfg->depth < 1 ||
        cfg->depth > SKETCH_DEPTH_MAX) {
        err_set(e, ERR_RANGE,
                "a sketch has 1 .. %d columns and 1 .. %d rows, not %d x %d",
                SKETCH_WIDTH_MAX, SKETCH_DEPTH_MAX, cfg->width, cfg->depth);
        return NULL;
    }
    struct sketch *s = calloc(1, sizeof *s);
    if (s) s->cell = calloc((size_t)cfg->depth * (size_t)cfg->width, sizeof *s->cell);
    if (!s || !s->cell) {
        sketch_free(s);
        err_set(e, ERR_MEMORY, "no memory for a sketch of %d x %d", cfg->width,
                cfg->depth);
        return NULL;
    }
    s->cfg = *cfg;
    s->unit = 1;
    return s;
}

void sketch_free(struct sketch *s)
{
    if (!s) return;
    free(s->cell);
    free(s);
}

uint64_t sketch_key(uint64_t seed, const void *data, size_t n)
{
    const unsigned char *p = data;
    uint64_t h = rng_u64_at(seed, n, 0);
    for (size_t at = 0; at < n; at += 8) {
        unsigned char word[8] = {0};
        memcpy(word, p + at, n - at < 8 ? n - at : 8);
        h = rng_u64_at(h, bytes_get_u64(word), at);
    }
    return h;
}

static size_t cell_of(const struct sketch *s, int row, uint64_t key)
{
    uint64_t h = rng_u64_at(s->cfg.seed, key, (uint64_t)row);
    size_t width = (size_t)s->cfg.width;
    return (size_t)row * width + (size_t)(h % width);
}

static double least(const struct sketch *s, uint64_t key)
{
    double least = INFINITY;
    for (int i = 0; i < s->cfg.depth; i++)
        least = fmin(least, s->cell[cell_of(s, i, key)]);
    return least;
}

void sketch_add(struct sketch *s, uint64_t key, double x)
{
    assert(x >= 0 && isfinite(x));
    x *= s->unit;
    s->weight += x;
    double raised = s->cfg.conservative ? least(s, key) + x : 0;
    for (int i = 0; i < s->cfg.depth; i++) {
        double *cell = &s->cell[cell_of(s, i, key)];
        *cell = s->cfg.conservative ? fmax(*cell, raised) : *cell + x;
    }
}

double sketch_estimate(const struct sketch *s, uint64_t key)
{
    return least(s, key) / s->unit;
}

double sketch_weight(const struct sketch *s)
{
    return s->weight / s->unit;
}

double sketch_error(const struct sketch *s)
{
    return exp(1) / s->cfg.width * sketch_weight(s);
}

static size_t cells(const struct sketch *s)
{
    return (size_t)s->cfg.depth * (size_t)s->cfg.width;
}

void sketch_age(struct sketch *s, double f)
{
    assert(f > 0 && f <= 1);
    s->unit /= f;
    if (s->unit <= UNIT_MAX) return;
    for (size_t i = 0; i < cells(s); i++)
        s->cell[i] /= s->unit;
    s->weight /= s->unit;
    s->unit = 1;
}

/* ---- state: width, depth, conservative, seed, then weight, unit and cells as doubles ---- */

enum { HEAD = 4 * 8 };

static void sketch_put_head(unsigned char *out, const struct sketch *s)
{
    bytes_put_u64(out, (uint64_t)s->cfg.width);
    bytes_put_u64(out + 8, (uint64_t)s->cfg.depth);
    bytes_put_u64(out + 16, s->cfg.conservative);
    bytes_put_u64(out + 24, s->cfg.seed);
}

size_t sketch_state_size(const struct sketch *s)
{
    return HEAD + 8 * (2 + cells(s));
}

void sketch_state_get(const struct sketch *s, void *out)
{
    unsigned char *at = out;
    sketch_put_head(at, s);
    at += HEAD;
    bytes_put_f64(at, s->weight);
    bytes_put_f64(at + 8, s->unit);
    at += 16;
    for (size_t i = 0; i < cells(s); i++, at += 8)
        bytes_put_f64(at, s->cell[i]);
}

/* weight and unit in front of the cells */
static bool sketch_sound(const unsigned char *in, size_t n_cells)
{
    double weight = bytes_get_f64(in), unit = bytes_get_f64(in + 8);
    bool ok = weight >= 0 && isfinite(weight) && unit >= 1 && unit <= UNIT_MAX;
    for (size_t i = 0; i < n_cells && ok; i++) {
        double x = bytes_get_f64(in + 16 + 8 * i);
        ok = x >= 0 && isfinite(x);
    }
    return ok;
}

int sketch_state_put(struct sketch *s, const void *in, size_t n, struct err *e)
{
    const unsigned char *at = in;
    unsigned char head[HEAD];
    sketch_put_head(head, s);
    if (n != sketch_state_size(s) || memcmp(head, at, HEAD) != 0)
        return err_set(e, ERR_CORRUPT, "the state is of another sketch");
    at += HEAD;
    if (!sketch_sound(at, cells(s)))
        return err_set(e, ERR_CORRUPT, "the sketch's state has impossible counts");
    s->weight = bytes_get_f64(at);
    s->unit = bytes_get_f64(at + 8);
    at += 16;
    for (size_t i = 0; i < cells(s); i++, at += 8)
        s->cell[i] = bytes_get_f64(at);
    return 0;
}
