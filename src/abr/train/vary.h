/* vary.h - the settings of a recipe by name, so that one of them can be varied.
 *
 * A table of fields: each has a name ("experts"), reads its value from text and shows it as
 * text. abrd train makes an option of each. Names, ranges and what they mean are in the
 * table (vary.c); a pair is "START,END", and one number stands for both.
 *
 * Some fields follow others where those leave them open: one expert is routed "single",
 * "single" has one expert, and the observation's length is that of its layout. critic_*
 * fields follow their actor's.
 *
 * Written down, changes are "experts=1 hidden=96 no-hint=yes", in the table's order.
 *
 * Errors: ERR_INVALID, ERR_RANGE, ERR_CONFLICT; the err's field is the name to blame.
 * Threads: pure functions. */
#ifndef ABR_VARY_H
#define ABR_VARY_H

#include "abr/train/recipe.h"

#define VARY_MAX 59   /* fields; the table has vary_count() of them */
#define VARY_TEXT 480 /* longest list of changes, with its NUL */
#define VARY_VALUE 64 /* longest value, with its NUL */

/* What is changed, by place in the table; NULL = as the recipe has it. */
struct vary {
    const char *text[VARY_MAX];
};

struct vary_field {
    const char *name;
    const char *arg; /* "N"; NULL for a switch, whose only value is "yes" */
    const char *help;
};

int vary_count(void);
struct vary_field vary_field(int i);

/* What field i of the recipe is; "yes" or "no" for a switch. */
void vary_show(char *out, size_t n, const struct recipe *r, int i);

/* Changes the recipe, then checks it as a whole. On failure *r is not to be used. */
int vary_apply(struct recipe *r, const struct vary *v, struct err *e)
    __attribute__((warn_unused_result));

/* The changes as one line (VARY_TEXT; "" for none), and back: `text` is cut up in place,
 * and the values of *v point into it. ERR_RANGE when the line would be too long. */
int vary_write(char *out, const struct vary *v, struct err *e)
    __attribute__((warn_unused_result));
int vary_read(struct vary *v, char *text, struct err *e)
    __attribute__((warn_unused_result));

/* A checksum over every field of the table: two recipes that train alike agree. */
uint32_t vary_hash(const struct recipe *r);

#endif
