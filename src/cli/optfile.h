/* optfile.h - a configuration file whose keys are a command's options.
 *
 *   port = 9000
 *   web_dir = "/srv/abrd pages"      # --web-dir; the hyphen may be written as either
 *
 * Read it before the command line is parsed for good, so that options win over the file:
 * parse once to find --config, read the file, parse again.
 *
 * Ownership: texts from the file live in the struct optfile. Errors: those of conf_read.
 * Threads: not shared. */
#ifndef CLI_OPTFILE_H
#define CLI_OPTFILE_H

#include "base/err.h"
#include "cli/opt.h"

#define OPTFILE_TEXTS 48
#define OPTFILE_TEXT 512

struct optfile {
    char text[OPTFILE_TEXTS][OPTFILE_TEXT];
};

/* Items of a list stand between commas. 64-bit signed options cannot stand in a file. The option called `except`
 * (usually "config") is no key. */
int optfile_read(struct optfile *f, const char *path, const struct opt *opts,
                 const char *except, struct err *e) __attribute__((warn_unused_result));

#endif
