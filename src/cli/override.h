/* override.h - an option for every setting of a recipe (abr/train/vary.h).
 *
 *   struct override o;
 *   override_init(&o);
 *   int n = override_options(opts + 12, &o);    (behind 12 options of the command's own)
 *   ... opt_parse ...
 *   override_taken(&o);
 *   if (vary_apply(&recipe, &o.vary, &e)) ...
 *
 * The help of each tells what the presets have. Ownership: the options point into *o.
 * Threads: not shared. */
#ifndef CLI_OVERRIDE_H
#define CLI_OVERRIDE_H

#include "abr/train/vary.h"
#include "cli/opt.h"

struct override {
    struct vary vary; /* what was given; values point into argv */
    bool on[VARY_MAX];
    char help[VARY_MAX][320];
};

void override_init(struct override *o);
/* Fills vary_count() entries and the empty one behind them; returns the former number. */
int override_options(struct field *out, struct override *o);
/* After parsing: switches become values. */
void override_taken(struct override *o);

#endif
