/* lab.h - a reproduction as a value: its name, its options, and the function that does it.
 *
 *   static const struct lab_option options[] = {
 *       LAB_NUMBER(LAB_INT, "seeds", "N", 10, 2, 1, 999, "runs per variant"),
 *       LAB_NUMBER(LAB_REAL, "eta", "X", 0.5, 0.5, 1e-9, 1, "step size"),
 *       {"preset", "NAME", "paper, code or tuned", LAB_TEXT, .text = "paper"},
 *       {0},
 *   };
 *   const struct lab forgetting_lab = {
 *       .name = "forgetting",
 *       .about = "linear experts that forget less once the router stops",
 *       .source = "Li et al., Theory on mixture-of-experts in continual learning",
 *       .options = options,
 *       .run = run,
 *   };
 *
 * and one line in the table of cli/cmd_lab.c. Every lab has --out and --quiet without naming them.
 * A lab that is not `exact` also has --quick, --threads and --seed. --quick uses the `quick` value of
 * each option that the user did not give.
 *
 * run fills the report and returns 0, LAB_STOPPED or ERR_*; a failed check is not an error. It does
 * not write the report's files, does not print and reads no clock. Its figures depend on options and
 * seed, not on threads.
 *
 * Threads: run is called once, from the main thread. */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include "report/report.h"
#include "report/sweep.h"

#define LAB_STOPPED SWEEP_STOPPED /* progress asked to stop */
#define LAB_PATH 4096

enum lab_kind { LAB_FLAG, LAB_INT, LAB_REAL, LAB_TEXT };

struct lab_option {
    const char *name, *arg, *help; /* arg NULL for a flag */
    enum lab_kind kind;
    double value, quick;           /* defaults: of a full run, with --quick */
    const char *text, *quick_text; /* of LAB_TEXT; quick_text NULL = text */
    double lo, hi;                 /* both 0: any */
};

/* A row for a number: default of a full run, with --quick, lowest, highest. */
#define LAB_NUMBER(kind_, name_, arg_, full, quick_, low, high, help_)    \
    {                                                                     \
        .name = (name_), .arg = (arg_), .help = (help_), .kind = (kind_), \
        .value = (full), .quick = (quick_), .lo = (low), .hi = (high)     \
    }

struct lab_task;

struct lab {
    const char *name;                 /* of the lab and its files */
    const char *about;                /* one line */
    const char *title;                /* of the report */
    const char *source;               /* the paper: authors, title, where */
    const struct lab_option *options; /* ends with {0}; NULL = none */
    int (*run)(struct lab_task *task, struct err *e);
    bool exact; /* fast arithmetic without random numbers */
};

/* One value per option, in the options' order. */
struct lab_value {
    double number; /* flag (0 or 1), integer, real */
    const char *text;
};

struct lab_task {
    const struct lab *lab;
    const struct lab_value *value;
    struct report *report;
    const char *runs_dir; /* for sweep_cfg.dir; NULL keeps nothing */
    const char *version;  /* of the program */
    bool quick;
    int threads;
    uint64_t seed;

    /* Shows the share that is done, 0 .. 1, and the current work; true: stop. All may be NULL. */
    bool (*progress)(void *ctx, double share, const char *note);
    void (*say)(void *ctx, const char *line); /* shows the user a line */
    /* The path of a file that comes with the program or was fetched for it ("traces"). */
    int (*find)(void *ctx, char out[LAB_PATH], const char *rel, struct err *e);
    void *ctx;

    double from, to; /* the current part of the whole (lab_part); both 0: all of it */
};

/* The value of the option of that name, which the lab must have. */
bool lab_flag(const struct lab_task *t, const char *name);
int64_t lab_int(const struct lab_task *t, const char *name);
double lab_real(const struct lab_task *t, const char *name);
const char *lab_text(const struct lab_task *t, const char *name);

/* From here on shares are of that part, so the progress of a lab with several parts never goes back. */
void lab_part(struct lab_task *t, double from, double to);
/* False when there is no callback. */
bool lab_progress(const struct lab_task *t, double share, const char *note);

/* sweep_new and sweep_go with the task's folder, version, threads and progress; says which runs were
 * kept and which run again. The sweep is the caller's on 0, NULL otherwise. */
int lab_sweep(struct sweep **out, const struct lab_task *t, const struct sweep_run *run,
              int n, int (*one)(void *ctx, int i, struct sweep_job *job, struct err *e),
              void *ctx, struct err *e) __attribute__((warn_unused_result));

/* The same for n runs whose names and configurations `label` writes (struct sweep_run). */
struct lab_label {
    char name[48], config[256];
};
int lab_sweep_of(struct sweep **out, const struct lab_task *t, int n,
                 void (*label)(struct lab_label *l, const void *ctx, int i),
                 int (*one)(void *ctx, int i, struct sweep_job *job, struct err *e),
                 void *ctx, struct err *e) __attribute__((warn_unused_result));

/* How a long call inside a run reports its progress and learns that it is to stop. */
struct lab_tick {
    bool (*tick)(void *ctx, double share); /* true: stop */
    void *ctx;
    double from, to; /* this call's part of the run; both 0: all of it */
};
struct lab_tick lab_tick_of(struct sweep_job *job);
/* share of the call, 0 .. 1, cut to it. False when t is NULL. */
bool lab_tick(const struct lab_tick *t, double share);

/* ERR_ABSENT when the task has no find. */
int lab_find(const struct lab_task *t, char out[LAB_PATH], const char *rel, struct err *e)
    __attribute__((warn_unused_result));

#endif
