/* man.h - manual pages, from the same tables as --help and completion.
 *
 * A page is what these print on stdout one after the other: man_begin, then the command itself
 * (asked with OPT_MAN: man_command for one with options, man_group and its commands for one that
 * has commands), then man_end. `abrd man` does it; the Makefile puts longer sections, written by
 * hand in deploy/man, in front of EXIT STATUS.
 *
 * Threads: main thread. */
#ifndef CLI_MAN_H
#define CLI_MAN_H

#include "cli/opt.h"

/* Title and NAME. name: "abrd", "abrd-serve". */
void man_begin(const char *name, const char *help);

/* SYNOPSIS, DESCRIPTION, OPTIONS and EXAMPLES; below one heading for the command of a command
 * ("trace check"). */
void man_command(const struct opt_cmd *c);

/* SYNOPSIS, DESCRIPTION and the heading of what follows, "COMMANDS". usage: "trace COMMAND". */
void man_group(const char *usage, const char *about, const char *heading);

/* One entry of a list: a term in bold, what it is. */
void man_entry(const char *term, const char *text);
/* A section's heading. */
void man_section(const char *heading);
/* Running text: a line that begins with a space is set as it is, an empty one ends a paragraph. */
void man_text(const char *text);

/* EXIT STATUS, SEE ALSO. */
void man_end(const char *see_also);

#endif
