/* term.h - what a terminal can show: colour, and how wide a line is.
 *
 * A stream has colour if it is a terminal, NO_COLOR is not set or is empty (no-color.org), and TERM is
 * not "dumb". Elsewhere term_on and term_off are empty texts, so that files and pipes get no escapes.
 * Threads: pure functions of the stream and the environment. */
#ifndef CLI_TERM_H
#define CLI_TERM_H

#include <stdbool.h>
#include <stdio.h>

enum term_style { TERM_PLAIN, TERM_HEADING, TERM_GOOD, TERM_WARNING, TERM_BAD };

bool term_is(FILE *f); /* a terminal */
/* The escape that begins a style on f, and the one that ends it. */
const char *term_on(FILE *f, enum term_style style);
const char *term_off(FILE *f, enum term_style style);
/* Columns of the terminal, within least .. most; `most` if f is no terminal or does not say. */
int term_columns(FILE *f, int least, int most);

#endif
