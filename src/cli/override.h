/* override.h - an option for every setting of a recipe (abr/train/recipe_fields.h).
 *
 *   struct override o;
 *   override_init(&o);
 *   int n = override_options(opts + 12, &o);    (after 12 options of the command)
 *   ... opt_parse ...
 *   override_taken(&o);
 *   if (recipe_fields_apply(&recipe, &o.changes, &e)) ...
 *
 * The help of each option has its default in each preset. Ownership: the options point into *o.
 * Threads: not shared. */
#ifndef CLI_OVERRIDE_H
#define CLI_OVERRIDE_H

#include "abr/train/recipe_fields.h"
#include "cli/opt.h"

struct override {
    struct recipe_changes changes; /* what was given; values point into argv */
    bool on[RECIPE_FIELDS_MAX];
    char help[RECIPE_FIELDS_MAX][320];
};

void override_init(struct override *o);
/* Fills recipe_fields_count() entries and the empty one behind them; returns the former number. */
int override_options(struct field *out, struct override *o);
/* After parsing: switches become values. */
void override_taken(struct override *o);

#endif
