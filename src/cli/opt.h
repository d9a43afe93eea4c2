/* opt.h - the command line of a command, from its table of fields (base/field.h).
 *
 *   struct train t = train_default();
 *   struct out_cfg o = {0};
 *   const struct field opts[] = {
 *       {"steps", "N", "environment steps", FIELD_TO(t.steps), .lo = 1, .hi = 1e12},
 *       {"preset", "NAME", "paper, code or tuned", FIELD_TO(t.preset)},
 *       OPT_QUIET(t.quiet),
 *       OUT_OPTIONS(o),
 *       {0},
 *   };
 *   const struct opt_cmd cmd = {
 *       .name = "train",
 *       .about = "Trains a policy with PPO.",
 *       .opts = opts,
 *       .example = "abrd train --preset tuned --steps 100000 --out my.safetensors",
 *   };
 *   int first = opt_parse(&cmd, argc, argv);
 *   if (first < 0) return opt_status(first);
 *
 * Rows are bound. --name VALUE and --name=VALUE are the same, "--" ends the options, and an
 * unambiguous beginning of a name is enough. --help groups the options by their headings and leaves
 * out the advanced ones, --help-all shows all.
 *
 * Errors: a wrong option, value or number of arguments is reported on stderr, with "try 'abrd X
 * --help'"; the command returns opt_status (exit code 2). --help prints on stdout (0).
 * Ownership: texts point into argv. Lists are cut up in place.
 * Threads: main thread (getopt). */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include "base/field.h"

#include <stdbool.h>

/* Alone behind a command these print something else about it: the names of its options, one a line
 * (completion); its manual page (man.h); its options as Markdown tables (man.h). */
#define OPT_WORDS "--words-of-this-command"
#define OPT_MAN "--page-of-this-command"
#define OPT_MARKDOWN "--reference-of-this-command"

enum { OPT_EXIT_DONE = 0, OPT_EXIT_FAILED = 1, OPT_EXIT_USAGE = 2 };

/* The row of every command that shows its progress. */
#define OPT_QUIET(target)                                       \
    {                                                           \
        "quiet", NULL, "show no progress bar", FIELD_TO(target) \
    }

/* A word that the options use, and what it means. */
struct opt_term {
    const char *word, *means;
};

struct opt_cmd {
    const char *name;       /* "eval", "trace check" */
    const char *args;       /* what follows the options, "FILE..."; NULL = nothing may */
    int min_args, max_args; /* max_args 0 with args given = any number */
    const char *about;      /* a sentence or more; lines already broken */
    const struct field *opts;
    const char *example;       /* one command per line */
    const char *terms_heading; /* of terms; NULL = none */
    const struct opt_term
        *terms; /* a section of --help and of the manual page; ended by NULL */
};

/* --help and --help-all. */
extern const struct field opt_help[];
/* How many options are advanced. */
int opt_advanced(const struct field *opts);

/* Calls `each` for every heading of the table, in the order of the first row, with its rows:
 * heading NULL if the table has none. */
void opt_groups(const struct field *opts, bool advanced,
                void (*each)(const char *heading, const struct field *const *rows,
                             int n));

/* The index of the first argument behind the options (argc when there is none), or < 0:
 * return opt_status of it. argv may be permuted. */
int opt_parse(const struct opt_cmd *c, int argc, char **argv)
    __attribute__((warn_unused_result));
int opt_status(int parsed);

/* For mistakes that only the command can see: prints "abrd NAME: ..." and where to find
 * help; returns OPT_EXIT_USAGE. */
int opt_usage(const char *name, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
