/* man.h - manual pages and reference tables, from the same tables as --help and completion.
 *
 * These functions print a page on stdout: man_begin, then the command itself (OPT_MAN runs
 * man_command for a command with options, and man_group for one with subcommands), then man_end.
 * `abrd man` calls them. The Makefile inserts the longer sections of deploy/man before EXIT STATUS.
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
/* Running text. A line that begins with a space is printed as it is, an empty line ends a paragraph. */
void man_text(const char *text);

/* The options as Markdown tables, one for each heading. An asterisk marks those that SIGHUP changes. */
void man_markdown(const struct field *opts);

/* EXIT STATUS, SEE ALSO. */
void man_end(const char *see_also);

/* Prints such a page as a terminal without man(1) can show it: lines of at most `columns`, headings and
 * terms between bold_on and bold_off. */
struct man_plain {
    int columns;
    const char *bold_on, *bold_off;
};
void man_plain(const char *roff, const struct man_plain *how);

#endif
