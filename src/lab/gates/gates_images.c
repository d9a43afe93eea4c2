/* Class-incremental learning on images: five tasks of two MNIST digits, on an encoder that was
 * pre-trained on Fashion-MNIST and frozen. */
#include "gates_priv.h"

#include "base/bytes.h"
#include "lab/gates/finetune.h"
#include "lab/gates/hide.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRETRAIN_BATCH = 64, BATCH = 128, TASKS = CONTINUAL_TASKS };

enum method { METHOD_FINETUNE, METHOD_FROZEN, METHOD_PREFIX };

/* Of an arm. Alpha and tau are learned, or 1. Drawn: accuracy over the tasks, loss of the first one. */
enum {
    LEARN_ALPHA = 1,
    LEARN_TAU = 2,
    LEARN_BOTH = LEARN_ALPHA | LEARN_TAU,
    CONTRAST = 4,
    QUICK = 8, /* part of --quick */
    DRAW_AFTER = 16,
    DRAW_LOSS = 32,
    DRAW_BOTH = DRAW_AFTER | DRAW_LOSS
};

struct arm {
    const char *name;       /* in tables and figures */
    const char *short_name; /* in file names */
    enum method method;
    enum residual_kind gate; /* of METHOD_PREFIX */
    int traits;
};

enum {
    FINETUNE,
    FROZEN,
    PREFIX,
    TANH,
    SIGMOID,
    GELU,
    PREFIX_C,
    TANH_C,
    SIGMOID_C,
    GELU_C,
    TANH_FIXED,
    TANH_ALPHA,
    TANH_TAU,
    ARMS
};

/* The first task knows no old classes, so the contrastive term changes nothing in its loss. */
static const struct arm ARM[ARMS] = {
    [FINETUNE] = {"fine-tuning", "finetune", METHOD_FINETUNE, RESIDUAL_LINEAR,
                  QUICK | DRAW_AFTER},
    [FROZEN] = {"frozen, no prefix", "frozen", METHOD_FROZEN, RESIDUAL_LINEAR,
                QUICK | DRAW_AFTER},
    [PREFIX] = {"prefix", "prefix", METHOD_PREFIX, RESIDUAL_LINEAR, QUICK | DRAW_BOTH},
    [TANH] = {"NoRGa tanh", "tanh", METHOD_PREFIX, RESIDUAL_TANH,
              LEARN_BOTH | QUICK | DRAW_BOTH},
    [SIGMOID] = {"NoRGa sigmoid", "sigmoid", METHOD_PREFIX, RESIDUAL_SIGMOID,
                 LEARN_BOTH | DRAW_BOTH},
    [GELU] = {"NoRGa GELU", "gelu", METHOD_PREFIX, RESIDUAL_GELU, LEARN_BOTH | DRAW_BOTH},
    [PREFIX_C] = {"prefix, contrast", "prefix-c", METHOD_PREFIX, RESIDUAL_LINEAR,
                  CONTRAST},
    [TANH_C] = {"NoRGa tanh, contrast", "tanh-c", METHOD_PREFIX, RESIDUAL_TANH,
                LEARN_BOTH | CONTRAST},
    [SIGMOID_C] = {"NoRGa sigmoid, contrast", "sigmoid-c", METHOD_PREFIX,
                   RESIDUAL_SIGMOID, LEARN_BOTH | CONTRAST},
    [GELU_C] = {"NoRGa GELU, contrast", "gelu-c", METHOD_PREFIX, RESIDUAL_GELU,
                LEARN_BOTH | CONTRAST},
    [TANH_FIXED] = {"NoRGa tanh, alpha and tau fixed", "tanh-fixed", METHOD_PREFIX,
                    RESIDUAL_TANH, DRAW_LOSS},
    [TANH_ALPHA] = {"NoRGa tanh, alpha alone", "tanh-alpha", METHOD_PREFIX, RESIDUAL_TANH,
                    LEARN_ALPHA},
    [TANH_TAU] = {"NoRGa tanh, tau alone", "tanh-tau", METHOD_PREFIX, RESIDUAL_TANH,
                  LEARN_TAU},
};

/* Columns of an arm's table of repetitions, one row per seed. */
enum {
    FA,
    CA,
    FM,
    TOLD,     /* accuracy with the task named */
    INFERRED, /* share of images whose task was inferred */
    ALPHA,    /* of the first block, at the end */
    TAU,
    AFTER,                /* A_1 .. A_T */
    LOSS = AFTER + TASKS, /* of the first task, epochs + 1 */
    COLUMNS = LOSS + HIDE_EPOCHS + 1,
};

struct plan {
    struct lab_task *task;
    int seeds, epochs, arms;
    int arm[ARMS];           /* those that run */
    struct reps *reps[ARMS]; /* by arm; NULL: does not run */
    struct encoder_cfg encoder;
    double pretrained; /* accuracy on the test images of what it was pre-trained on */
    struct images *of[4];
    int each, tests; /* images per class of a task */
    const float *theta;
};

/* ---- the images ---- */

enum { OLD_TRAIN, OLD_TEST, NEW_TRAIN, NEW_TEST, SETS };

static int open_sets(struct plan *p, struct err *e)
{
    static const char *const name[SETS] = {"fashion-mnist", "fashion-mnist", "mnist",
                                           "mnist"};
    for (int i = 0; i < SETS; i++) {
        p->of[i] = images_open(p->task, name[i], i % 2 ? IMAGES_TEST : IMAGES_TRAIN, e);
        if (!p->of[i]) return e->code;
    }
    return 0;
}

static int left_out(const struct lab_task *t, const struct err *why)
{
    char line[400];
    snprintf(line, sizeof line, "the part on images is left out: %s %s", why->field,
             why->detail);
    report_heading(t->report, "Class-incremental learning on images");
    report_text(t->report, "%s.", line);
    if (t->say) t->say(t->ctx, line);
    return 0;
}

static struct rng images_stream(const struct plan *p, int purpose, int seed)
{
    struct rng r;
    rng_init(&r, p->task->seed,
             UINT64_C(0x6761746573) << 24 | (uint64_t)purpose << 16 | (uint64_t)seed);
    return r;
}

enum { OF_WEIGHTS, OF_OLD, OF_PRETRAINING, OF_TASKS, OF_LEARNING };

/* ---- pre-training: a sweep of one run ---- */

struct pretrained {
    double accuracy;
    float theta[];
};

static int draw_old(struct continual_part part[2], const struct plan *p, struct err *e)
{
    int each = (int)lab_int(p->task, "pretrain-images");
    struct rng r = images_stream(p, OF_OLD, 0);
    int rc = continual_draw(&part[0], p->of[OLD_TRAIN], 1023, each, &r, e);
    return rc ? rc : continual_draw(&part[1], p->of[OLD_TEST], 1023, 200, &r, e);
}

static void pretrain_label(struct lab_label *l, const void *ctx, int i)
{
    const struct plan *p = ctx;
    const struct encoder_cfg *c = &p->encoder;
    (void)i;
    snprintf(l->name, sizeof l->name, "encoder");
    snprintf(l->config, sizeof l->config,
             "pretrain seed=%llu images=%d epochs=%d patch=%d dim=%d heads=%d blocks=%d "
             "hidden=%d",
             (unsigned long long)p->task->seed, (int)lab_int(p->task, "pretrain-images"),
             (int)lab_int(p->task, "pretrain-epochs"), c->patch, c->dim, c->heads,
             c->blocks, c->hidden);
}

static int pretrain(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    const struct lab_tick tick = lab_tick_of(job);
    const struct plan *p = ctx;
    const struct finetune_cfg c = {.encoder = p->encoder,
                                   .epochs = (int)lab_int(p->task, "pretrain-epochs"),
                                   .batch = PRETRAIN_BATCH,
                                   .lr = 0.002};
    (void)i;
    size_t n = encoder_params(&c.encoder);
    struct pretrained *out = malloc(sizeof *out + n * sizeof(float));
    if (!out) return err_set(e, ERR_MEMORY, "no memory for an encoder");
    struct continual_part part[2] = {{0}, {0}};
    int rc = draw_old(part, p, e);
    if (!rc) {
        struct rng r = images_stream(p, OF_WEIGHTS, 0);
        encoder_init(out->theta, &c.encoder, &r);
        rc = finetune_pretrain(out->theta, &out->accuracy, &c, &part[0], &part[1],
                               images_stream(p, OF_PRETRAINING, 0), &tick, e);
        rc = rc > 0 ? SWEEP_STOPPED : rc;
    }
    if (!rc) sweep_put(job, out, sizeof *out + n * sizeof(float));
    for (int k = 0; k < 2; k++)
        continual_part_free(&part[k]);
    free(out);
    return rc;
}

/* ---- one arm with one seed ---- */

/* What the learner did, or SWEEP_STOPPED. */
static int images_learn(double *row, const struct continual_tasks *s,
                        struct continual_learner l)
{
    struct continual_result got;
    if (continual_run(&got, s, &l)) return SWEEP_STOPPED;
    row[FA] = continual_fa(&got.blind);
    row[CA] = continual_ca(&got.blind);
    row[FM] = continual_fm(&got.blind);
    row[TOLD] = continual_told(&got);
    for (int t = 0; t < TASKS; t++)
        row[AFTER + t] = continual_after(&got.blind, t);
    return 0;
}

static int run_finetune(double *row, const struct plan *p,
                        const struct continual_tasks *s, struct rng r,
                        struct sweep_job *job, struct err *e)
{
    const struct lab_tick tick = lab_tick_of(job);
    const struct finetune_cfg c = {
        .encoder = p->encoder, .epochs = p->epochs, .batch = BATCH, .lr = 0.001};
    struct finetune *f = finetune_new(&c, p->theta, s, r, &tick, e);
    int rc = f ? images_learn(row, s, finetune_learner(f)) : ERR_MEMORY;
    finetune_free(f);
    return rc;
}

static int run_hide(double *row, const struct plan *p, const struct arm *a,
                    const struct continual_tasks *s, struct rng r, struct sweep_job *job,
                    struct err *e)
{
    const struct lab_tick tick = lab_tick_of(job);
    struct hide_cfg c = hide_default(&p->encoder);
    c.epochs = p->epochs;
    c.gate = a->gate;
    c.learn_alpha = a->traits & LEARN_ALPHA;
    c.learn_tau = a->traits & LEARN_TAU;
    if (a->method == METHOD_FROZEN) c.length = 0;
    if (!(a->traits & CONTRAST)) c.contrast = 0;
    struct hide *h = hide_new(&c, p->theta, s, r, &tick, e);
    int rc = h ? images_learn(row, s, hide_learner(h)) : ERR_MEMORY;
    if (!rc) row[INFERRED] = hide_inferred(h);
    if (!rc && a->method == METHOD_PREFIX) {
        row[ALPHA] = hide_gate(h, 0).alpha;
        row[TAU] = hide_gate(h, 0).tau;
        memcpy(row + LOSS, hide_first_task(h), sizeof(double) * (size_t)(c.epochs + 1));
    }
    hide_free(h);
    return rc;
}

/* Seed by seed, so that a sweep that stops has whole seeds. */
static int images_one(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    const struct plan *p = ctx;
    int seed = i / p->arms;
    const struct arm *a = &ARM[p->arm[i % p->arms]];
    double row[COLUMNS];
    for (int k = 0; k < COLUMNS; k++)
        row[k] = (double)NAN;
    struct rng tasks = images_stream(p, OF_TASKS, seed);
    struct continual_tasks *s = continual_tasks_new(p->of[NEW_TRAIN], p->of[NEW_TEST],
                                                    p->each, p->tests, &tasks, e);
    if (!s) return ERR_MEMORY;
    struct rng r = images_stream(p, OF_LEARNING, seed);
    int rc = a->method == METHOD_FINETUNE ? run_finetune(row, p, s, r, job, e)
                                          : run_hide(row, p, a, s, r, job, e);
    if (!rc) sweep_put(job, row, sizeof row);
    continual_tasks_free(s);
    return rc;
}

static void images_label(struct lab_label *l, const void *ctx, int i)
{
    const struct plan *p = ctx;
    const char *name = ARM[p->arm[i % p->arms]].short_name;
    uint32_t crc = bytes_crc32(0, p->theta, encoder_params(&p->encoder) * sizeof(float));
    snprintf(l->name, sizeof l->name, "%s-%d", name, i / p->arms + 1);
    snprintf(l->config, sizeof l->config,
             "arm=%s seed=%llu run=%d images=%d tests=%d epochs=%d encoder=%08x", name,
             (unsigned long long)p->task->seed, i / p->arms, p->each, p->tests, p->epochs,
             (unsigned)crc);
}

/* ---- tables ---- */

static struct stats_interval images_measure(const void *self, struct claims_number n)
{
    return reps_measure(((const struct plan *)self)->reps, n);
}

#define OVER(text, paper, column, a, b) \
    GATES_CLAIM(text, paper, CLAIMS_SIGN, 0, 1, CLAIMS_GAP, column, a, b)

static const struct claims_claim CLAIMS[] = {
    OVER("prefix tuning (HiDe) over fine-tuning, FA", "-", FA, PREFIX, FINETUNE),
    OVER("a prefix over none, FA", "-", FA, PREFIX, FROZEN),
    OVER("NoRGa over prefix tuning, FA (Table 1)", "+0.3 .. +3.7", FA, TANH, PREFIX),
    OVER("the same with the contrastive term, FA", "+0.3 .. +3.7", FA, TANH_C, PREFIX_C),
    OVER("the same, CA (Table 1)", "+0.1 .. +4.2", CA, TANH_C, PREFIX_C),
    OVER("sigmoid over prefix tuning, FA (Table 3)", "+1.7 .. +4.3", FA, SIGMOID_C,
         PREFIX_C),
    OVER("GELU over prefix tuning, FA (Table 3)", "+1.4 .. +4.2", FA, GELU_C, PREFIX_C),
    OVER("NoRGa over prefix tuning, task told (Table 4)", "+0.3 .. +0.8", TOLD, TANH_C,
         PREFIX_C),
    OVER("alpha and tau learned over fixed, FA (Table 7)", "+0.2 .. +0.6", FA, TANH,
         TANH_FIXED),
    OVER("the contrastive term over none, FA", "-", FA, TANH_C, TANH),
};

static void images_claims(const struct plan *p, const struct claims_lab *l)
{
    static const struct claims_columns columns = {.text = "claim",
                                                  .paper = "paper, points",
                                                  .ours = "ours, points",
                                                  .verdict = "verdict",
                                                  .measured_only = true,
                                                  .scale = 100};
    report_table(p->task->report,
                 "Claims on continual learning (differences, seed by seed)");
    claims_judge(l, &columns, CLAIMS, sizeof CLAIMS / sizeof *CLAIMS);
}

static void images_table(const struct plan *p)
{
    static const struct {
        const char *name;
        int column;
    } shown[] = {{"FA", FA},
                 {"CA", CA},
                 {"FM", FM},
                 {"task told", TOLD},
                 {"task inferred", INFERRED}};
    struct report *r = p->task->report;
    report_table(r, "Five tasks of two digits: accuracy in %, means over seeds");
    for (int k = 0; k < ARMS; k++) {
        if (!p->reps[k]) continue;
        report_row(r);
        report_cell(r, "method", "%s", ARM[k].name);
        for (int i = 0; i < 5; i++) {
            struct stats_interval s = reps_mean(p->reps[k], shown[i].column);
            if (isfinite(s.mean)) claims_show(r, shown[i].name, s, 100, 1);
        }
        if (ARM[k].gate != RESIDUAL_LINEAR)
            report_cell(r, "alpha, tau", "%.2f, %.2f", reps_mean(p->reps[k], ALPHA).mean,
                        reps_mean(p->reps[k], TAU).mean);
    }
}

/* Epochs after which an arm's loss on the first task's test images is below that of a prefix. */
static void images_losses(const struct plan *p)
{
    static const int arm[] = {TANH, SIGMOID, GELU};
    struct report *r = p->task->report;
    report_table(r, "Validation loss of the first task");
    for (int i = 0; i < 3; i++) {
        const struct reps *a = p->reps[arm[i]], *b = p->reps[PREFIX];
        if (!a) continue;
        int below = 0;
        for (int k = 1; k <= p->epochs; k++)
            below += reps_gap(a, LOSS + k, b, LOSS + k).mean < 0;
        report_row(r);
        report_cell(r, "first task", "%s below %s", ARM[arm[i]].name, ARM[PREFIX].name);
        report_cell(r, "epochs with the lower mean loss", "%d of %d", below, p->epochs);
        claims_cell(r, "difference at the end",
                    reps_gap(a, LOSS + p->epochs, b, LOSS + p->epochs), 4);
        report_verdict(r, "Figure 3",
                       below == p->epochs      ? REPORT_PASS
                       : 2 * below > p->epochs ? REPORT_SHORT
                                               : REPORT_DIFFERS);
    }
}

/* ---- figures ---- */

static void images_figures(const struct plan *p)
{
    struct report *r = p->task->report;
    double x[HIDE_EPOCHS + 1], y[HIDE_EPOCHS + 1];
    struct stats_interval s[TASKS];
    report_figure(
        r, "after", "Accuracy over the tasks",
        "A_t: mean over the tasks so far, which the learner has to tell apart.");
    report_panel(r, &(struct report_panel){.x = {.label = "tasks learned"},
                                           .y = {.label = "accuracy", .lo = 0, .hi = 1}});
    for (int k = 0; k < ARMS; k++) {
        if (!p->reps[k] || !(ARM[k].traits & DRAW_AFTER)) continue;
        for (int t = 0; t < TASKS; t++) {
            x[t] = t + 1;
            s[t] = reps_mean(p->reps[k], AFTER + t);
        }
        claims_points(r, ARM[k].name, REPORT_LINE, x, s, TASKS);
    }

    report_figure(r, "first-task", "Validation loss over the first task (Figure 3)",
                  "Cross entropy over the first task's two classes on images that were "
                  "not trained on; means over seeds.");
    report_panel(r, &(struct report_panel){.x = {.label = "epoch"},
                                           .y = {.label = "cross entropy", .log = true}});
    for (int k = 0; k < ARMS; k++) {
        if (!p->reps[k] || !(ARM[k].traits & DRAW_LOSS)) continue;
        for (int i = 0; i <= p->epochs; i++) {
            x[i] = i;
            y[i] = reps_mean(p->reps[k], LOSS + i).mean;
        }
        report_series(r, &(struct report_series){
                             .name = ARM[k].name, .n = p->epochs + 1, .x = x, .y = y});
    }
}

static void images_explain(const struct plan *p)
{
    const struct lab_task *t = p->task;
    const struct encoder_cfg *c = &p->encoder;
    struct hide_cfg h = hide_default(c);
    report_heading(t->report, "Class-incremental learning on images");
    report_text(
        t->report,
        "The encoder has %d blocks with %d heads over %d patches (width %d). It was "
        "pre-trained on Fashion-MNIST (accuracy %.1f %% on its test images) and then "
        "frozen. Five tasks of two MNIST digits each follow, with %d images of a class "
        "to "
        "learn from and %d for the exam; %d seeds.",
        c->blocks, c->heads, c->side / c->patch * (c->side / c->patch), c->dim,
        100 * p->pretrained, p->each, p->tests, p->seeds);
    report_text(
        t->report,
        "HiDe-Prompt is as in Appendix D: %d prefix experts in every block, rate %g, "
        "batch 128, %d epochs, ensemble %g, contrastive weight %g, temperature %g. "
        "Fine-tuning trains everything at rate 0.001. The method without prefix "
        "classifies by Gaussians of the frozen features. Intervals are Student's, "
        "95 %%.",
        h.length, h.lr, p->epochs, h.ensemble, h.contrast, h.temperature);
}

static const struct claims_check CHECKS[] = {
    {"fine-tuning forgets, FM", {CLAIMS_MEAN, FM, FINETUNE, 0}, .low = 0.5, .high = 1},
    {"prefix tuning over fine-tuning, FA",
     {CLAIMS_GAP, FA, PREFIX, FINETUNE},
     .low = 0.1,
     .high = 1},
    {"NoRGa tanh over fine-tuning, FA",
     {CLAIMS_GAP, FA, TANH, FINETUNE},
     .low = 0.1,
     .high = 1},
    {"NoRGa tanh forgets less than fine-tuning, FM",
     {CLAIMS_GAP, FM, FINETUNE, TANH},
     .low = 0.2,
     .high = 1},
};

static void images_draw(const struct plan *p)
{
    const struct claims_lab l = {
        .report = p->task->report, .self = p, .measure = images_measure};
    images_explain(p);
    images_claims(p, &l);
    images_table(p);
    images_losses(p);
    images_figures(p);
    report_check(p->task->report, "pre-trained encoder, accuracy on Fashion-MNIST",
                 p->pretrained, p->task->quick ? 0.4 : 0.75, 1);
    claims_check(&l, CHECKS, sizeof CHECKS / sizeof *CHECKS);
}

/* ---- all of it ---- */

static int images_collect(struct plan *p, const struct sweep *s, struct err *e)
{
    for (int k = 0; k < p->arms; k++) {
        struct reps *r = p->reps[p->arm[k]] = reps_new(p->seeds, COLUMNS, e);
        if (!r) return ERR_MEMORY;
        for (int seed = 0; seed < p->seeds; seed++)
            memcpy(reps_row(r, seed), sweep_result(s, seed * p->arms + k, NULL),
                   sizeof(double) * COLUMNS);
    }
    return 0;
}

int gates_images(struct lab_task *t, struct err *e)
{
    struct plan p = {.task = t,
                     .seeds = (int)lab_int(t, "seeds"),
                     .epochs = (int)lab_int(t, "epochs"),
                     .each = (int)lab_int(t, "images"),
                     .tests = (int)lab_int(t, "tests"),
                     .encoder = {28, 7, 32, 4, 2, 64}};
    for (int i = 0; i < ARMS; i++)
        if (!t->quick || ARM[i].traits & QUICK) p.arm[p.arms++] = i;

    struct sweep *encoder = NULL, *runs = NULL;
    struct err why = {0};
    int rc = open_sets(&p, &why);
    bool absent = rc == ERR_ABSENT;
    if (absent)
        rc = left_out(t, &why);
    else if (rc)
        err_field(e, rc, why.field, "%s", why.detail);
    lab_part(t, 0.2, 0.3);
    if (!rc && !absent)
        rc = lab_sweep_of(&encoder, t, 1, pretrain_label, pretrain, &p, e);
    if (!rc && !absent) {
        const struct pretrained *got = sweep_result(encoder, 0, NULL);
        p.pretrained = got->accuracy;
        p.theta = got->theta;
        lab_part(t, 0.3, 0.8);
        rc = lab_sweep_of(&runs, t, p.arms * p.seeds, images_label, images_one, &p, e);
        if (!rc) rc = images_collect(&p, runs, e);
        if (!rc) images_draw(&p);
    }
    for (int k = 0; k < ARMS; k++)
        reps_free(p.reps[k]);
    sweep_free(runs);
    sweep_free(encoder);
    for (int i = 0; i < SETS; i++)
        images_free(p.of[i]);
    return rc;
}
