#include "cli/override.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const PRESETS[] = {"tuned", "paper", "code"};
enum { N_PRESETS = sizeof PRESETS / sizeof *PRESETS };

/* "units of a layer (default: tuned 64, paper 18, code 18)", or one value if all presets agree */
static void write_help(char *out, size_t n, int i)
{
    char value[N_PRESETS][RECIPE_FIELDS_VALUE];
    bool agree = true;
    for (int k = 0; k < N_PRESETS; k++) {
        struct recipe r;
        int rc = recipe_make(&r, PRESETS[k], "pamoe", recipe_steps(PRESETS[k]), 1, NULL);
        assert(rc == 0);
        recipe_fields_show(value[k], sizeof value[k], &r, i);
        agree &= strcmp(value[k], value[0]) == 0;
    }
    if (agree) {
        snprintf(out, n, "%s (default %s)", recipe_fields_at(i).help, value[0]);
        return;
    }
    snprintf(out, n, "%s\n(default: %s %s, %s %s, %s %s)", recipe_fields_at(i).help,
             PRESETS[0], value[0], PRESETS[1], value[1], PRESETS[2], value[2]);
}

void override_init(struct override *o)
{
    *o = (struct override){0};
    for (int i = 0; i < recipe_fields_count(); i++)
        write_help(o->help[i], sizeof o->help[i], i);
}

int override_options(struct field *out, struct override *o)
{
    for (int i = 0; i < recipe_fields_count(); i++) {
        struct recipe_field f = recipe_fields_at(i);
        out[i] = f.arg ? (struct field){FIELD_TO(o->changes.text[i])}
                       : (struct field){FIELD_TO(o->on[i])};
        out[i].name = f.name;
        out[i].arg = f.arg;
        out[i].help = o->help[i];
    }
    out[recipe_fields_count()] = (struct field){0};
    return recipe_fields_count();
}

void override_taken(struct override *o)
{
    for (int i = 0; i < recipe_fields_count(); i++)
        if (o->on[i]) o->changes.text[i] = "yes";
}
