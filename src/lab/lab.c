#include "lab/lab.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lab_value *lab_value_of(const struct lab_task *t, const char *name,
                                            enum lab_kind kind)
{
    const struct lab_option *o = t->lab->options;
    while (o && o->name && strcmp(o->name, name) != 0)
        o++;
    assert(o && o->name && o->kind == kind);
    return &t->value[o - t->lab->options];
}

bool lab_flag(const struct lab_task *t, const char *name)
{
    return lab_value_of(t, name, LAB_FLAG)->number != 0;
}

int64_t lab_int(const struct lab_task *t, const char *name)
{
    return (int64_t)lab_value_of(t, name, LAB_INT)->number;
}

double lab_real(const struct lab_task *t, const char *name)
{
    return lab_value_of(t, name, LAB_REAL)->number;
}

const char *lab_text(const struct lab_task *t, const char *name)
{
    return lab_value_of(t, name, LAB_TEXT)->text;
}

void lab_part(struct lab_task *t, double from, double to)
{
    assert(0 <= from && from < to && to <= 1);
    t->from = from;
    t->to = to;
}

bool lab_progress(const struct lab_task *t, double share, const char *note)
{
    if (t->to > 0) share = t->from + (t->to - t->from) * share;
    return t->progress && t->progress(t->ctx, share, note);
}

static bool lab_show(void *ctx, const struct sweep_progress *p)
{
    char note[160];
    snprintf(note, sizeof note, "%d of %d runs  %s", p->done, p->n, p->running);
    return lab_progress(ctx, p->share, note);
}

static void say_kept(const struct lab_task *t, const struct sweep *s, int n)
{
    char line[512];
    const char *why;
    int redo = sweep_redo(s, &why);
    if (t->say && sweep_kept(s)) {
        snprintf(line, sizeof line, "%d of %d runs %s done before", sweep_kept(s), n,
                 sweep_kept(s) > 1 ? "were" : "was");
        t->say(t->ctx, line);
    }
    if (t->say && redo) {
        snprintf(line, sizeof line, "%d run%s done again: %s", redo,
                 redo > 1 ? "s are" : " is", why);
        t->say(t->ctx, line);
    }
}

int lab_sweep(struct sweep **out, const struct lab_task *t, const struct sweep_run *run,
              int n, int (*one)(void *ctx, int i, struct sweep_job *job, struct err *e),
              void *ctx, struct err *e)
{
    const struct sweep_cfg cfg = {.dir = t->runs_dir,
                                  .version = t->version,
                                  .threads = t->threads,
                                  .progress = lab_show,
                                  .progress_ctx = (void *)t};
    *out = NULL;
    struct err why = {0}; /* the code is needed, whether or not the caller wants words */
    struct sweep *s = sweep_new(&cfg, run, n, &why);
    if (!s) return err_field(e, why.code, why.field, "%s", why.detail);
    say_kept(t, s, n);
    int rc = sweep_go(s, one, ctx, e);
    if (rc)
        sweep_free(s);
    else
        *out = s;
    return rc;
}

int lab_sweep_of(struct sweep **out, const struct lab_task *t, int n,
                 void (*label)(struct lab_label *l, const void *ctx, int i),
                 int (*one)(void *ctx, int i, struct sweep_job *job, struct err *e),
                 void *ctx, struct err *e)
{
    struct lab_label *l = calloc((size_t)n, sizeof *l);
    struct sweep_run *run = calloc((size_t)n, sizeof *run);
    int rc = l && run ? 0 : err_set(e, ERR_MEMORY, "no memory for %d runs", n);
    *out = NULL;
    for (int i = 0; i < n && !rc; i++) {
        label(&l[i], ctx, i);
        run[i] = (struct sweep_run){l[i].name, l[i].config};
    }
    if (!rc) rc = lab_sweep(out, t, run, n, one, ctx, e);
    /* results do not refer to the texts */
    free(run);
    free(l);
    return rc;
}

static bool lab_tick_job(void *job, double share)
{
    return sweep_tick(job, share);
}

struct lab_tick lab_tick_of(struct sweep_job *job)
{
    return (struct lab_tick){lab_tick_job, job, 0, 1};
}

bool lab_tick(const struct lab_tick *t, double share)
{
    if (!t) return false;
    if (share > 1) share = 1;
    return t->tick(t->ctx, t->to > 0 ? t->from + (t->to - t->from) * share : share);
}

int lab_find(const struct lab_task *t, char out[LAB_PATH], const char *rel, struct err *e)
{
    if (!t->find) return err_field(e, ERR_ABSENT, rel, "nothing is known about files");
    return t->find(t->ctx, out, rel, e);
}
