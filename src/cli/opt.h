/* opt.h - a command's options as one table: the table parses, and the table is the help.
 *
 *   struct train t = train_default();
 *   struct out_cfg o = {0};
 *   const struct opt opts[] = {
 *       {"steps", "N", "environment steps", .i64 = &t.steps, .lo = 1, .hi = 1e12},
 *       {"preset", "NAME", "paper, code or tuned", .text = &t.preset},
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
 * Exactly one target pointer per entry says the option's type; what the target holds
 * before the call is the default that --help shows. Numbers are strict (base/text.h) and
 * within lo .. hi; lo = hi = 0 means any. --name VALUE and --name=VALUE are the same,
 * "--" ends the options, unambiguous beginnings of names are understood.
 *
 * Errors: a wrong option, value or number of arguments is told on stderr, with "try 'abrd
 * X
 * --help'"; the command returns opt_status (exit code 2). --help prints on stdout (0).
 * Ownership: texts point into argv. Lists are cut up in place.
 * Threads: main thread (getopt). */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPT_LIST_MAX 64
#define OPT_TABLE_MAX 80 /* options of one command */

/* Alone behind a command it prints the names of its options, one a line: for completion. */
#define OPT_WORDS "--words-of-this-command"
/* The same for its manual page (man.h). */
#define OPT_MAN "--page-of-this-command"

enum { OPT_EXIT_DONE = 0, OPT_EXIT_FAILED = 1, OPT_EXIT_USAGE = 2 };

/* --policy a,b --policy c gives a, b, c; the first use replaces the default. */
struct opt_list {
    int n;
    const char *item[OPT_LIST_MAX];
};

struct opt {
    const char *name; /* without the dashes; NULL ends the table */
    const char *arg;  /* placeholder in the help; NULL for a flag */
    const char *help;
    bool *flag;
    int *i;
    int64_t *i64;
    uint64_t *u64;
    double *d;
    const char **text;
    struct opt_list *list;
    bool whole; /* of a list: each use is one item, commas and all */
    double lo, hi;
    const char *shown; /* as the default, when that depends on the machine */
    bool
        output; /* a file to write, "-" for standard output, which one of them may take */
};

/* the row of every command that shows how far it is */
#define OPT_QUIET(target)                                   \
    {                                                       \
        "quiet", NULL, "no progress bar", .flag = &(target) \
    }

/* --help itself, for who lists a command's options. */
extern const struct opt opt_help;

#define OPT_DEFAULT 1024

/* The default as --help shows it; "" when there is none. */
void opt_default(char *buf, size_t n, const struct opt *o);

struct opt_cmd {
    const char *name;       /* "eval", "trace check" */
    const char *args;       /* what follows the options, "FILE..."; NULL = nothing may */
    int min_args, max_args; /* max_args 0 with args given = any number */
    const char *about;      /* a sentence or more; lines already broken */
    const struct opt *opts;
    const char *example; /* one command per line */
};

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
