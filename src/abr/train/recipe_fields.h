/* recipe_fields.h - the settings of a recipe by name, so that one of them can be changed.
 *
 * A table of fields: each has a name ("experts"), is read from text and shown as text. `abrd train`
 * makes an option of each. Names, ranges and explanations are in the table (recipe_fields.c). A pair
 * is "START,END"; one number sets both.
 *
 * Some fields follow others unless they are set themselves: one expert is routed "single", "single"
 * has one expert, the observation's length is that of its layout, and critic_* fields follow the
 * actor's.
 *
 * Changes as one line are "experts=1 hidden=96 no-hint=yes", in the table's order.
 *
 * Errors: ERR_INVALID, ERR_RANGE, ERR_CONFLICT; e->field is the name of the field.
 * Threads: pure functions. */
#ifndef ABR_RECIPE_FIELDS_H
#define ABR_RECIPE_FIELDS_H

#include "abr/train/recipe.h"

#define RECIPE_FIELDS_MAX 64   /* fields; the table has recipe_fields_count() of them */
#define RECIPE_FIELDS_TEXT 480 /* longest list of changes, with its NUL */
#define RECIPE_FIELDS_VALUE 64 /* longest value, with its NUL */

/* The changes, by place in the table. NULL: the recipe's own value. */
struct recipe_changes {
    const char *text[RECIPE_FIELDS_MAX];
};

struct recipe_field {
    const char *name;
    const char *arg; /* "N"; NULL for a switch, whose only value is "yes" */
    const char *help;
};

int recipe_fields_count(void);
struct recipe_field recipe_fields_at(int i);

/* The value of field i; "yes" or "no" for a switch. */
void recipe_fields_show(char *out, size_t n, const struct recipe *r, int i);

/* Changes the recipe, then checks it as a whole. After a failure *r is unusable. */
int recipe_fields_apply(struct recipe *r, const struct recipe_changes *v, struct err *e)
    __attribute__((warn_unused_result));

/* The changes as one line (RECIPE_FIELDS_TEXT bytes; "" for none), and back. Reading cuts `text` up in
 * place; the values of *v point into it. ERR_RANGE when the line would be too long. */
int recipe_fields_write(char *out, const struct recipe_changes *v, struct err *e)
    __attribute__((warn_unused_result));
int recipe_fields_read(struct recipe_changes *v, char *text, struct err *e)
    __attribute__((warn_unused_result));

/* A checksum over all fields of the table. Recipes that train alike have the same. */
uint32_t recipe_fields_hash(const struct recipe *r);

#endif
