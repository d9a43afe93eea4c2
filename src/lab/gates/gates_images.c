#include "gates_priv.h"

#include "base/bytes.h"
#include "lab/gates/finetune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRETRAIN_BATCH = 64, BATCH = 128 };

/* name, file's name, method, gate, alpha and tau learned, contrastive term, in --quick */
static const struct gates_arm ARMS[] = {
    {"fine-tuning", "finetune", GATES_FINETUNE, RESIDUAL_LINEAR, 0, 0, 0, 1},
    {"frozen, no prefix", "frozen", GATES_FROZEN, RESIDUAL_LINEAR, 0, 0, 0, 1},
    {"prefix", "prefix", GATES_PREFIX, RESIDUAL_LINEAR, 0, 0, 0, 1},
    {"NoRGa tanh", "tanh", GATES_PREFIX, RESIDUAL_TANH, 1, 1, 0, 1},
    {"NoRGa sigmoid", "sigmoid", GATES_PREFIX, RESIDUAL_SIGMOID, 1, 1, 0, 0},
    {"NoRGa GELU", "gelu", GATES_PREFIX, RESIDUAL_GELU, 1, 1, 0, 0},
    {"prefix, contrast", "prefix-c", GATES_PREFIX, RESIDUAL_LINEAR, 0, 0, 1, 0},
    {"NoRGa tanh, contrast", "tanh-c", GATES_PREFIX, RESIDUAL_TANH, 1, 1, 1, 0},
    {"NoRGa sigmoid, contrast", "sigmoid-c", GATES_PREFIX, RESIDUAL_SIGMOID, 1, 1, 1, 0},
    {"NoRGa GELU, contrast", "gelu-c", GATES_PREFIX, RESIDUAL_GELU, 1, 1, 1, 0},
    {"NoRGa tanh, alpha and tau fixed", "tanh-fixed", GATES_PREFIX, RESIDUAL_TANH, 0, 0,
     0, 0},
    {"NoRGa tanh, alpha alone", "tanh-alpha", GATES_PREFIX, RESIDUAL_TANH, 1, 0, 0, 0},
    {"NoRGa tanh, tau alone", "tanh-tau", GATES_PREFIX, RESIDUAL_TANH, 0, 1, 0, 0},
};

/* ---- the images */

enum { OLD_TRAIN, OLD_TEST, NEW_TRAIN, NEW_TEST, SETS };

struct sets {
    struct images *of[SETS];
};

static int open_sets(struct sets *s, const struct lab_task *t, struct err *e)
{
    static const char *const name[SETS] = {"fashion-mnist", "fashion-mnist", "mnist",
                                           "mnist"};
    for (int i = 0; i < SETS; i++) {
        struct err why = {0};
        s->of[i] = images_open(t, name[i], i % 2 ? IMAGES_TEST : IMAGES_TRAIN, &why);
        if (!s->of[i]) return err_field(e, why.code, why.field, "%s", why.detail);
    }
    return 0;
}

static void close_sets(struct sets *s)
{
    for (int i = 0; i < SETS; i++)
        images_free(s->of[i]);
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

/* ---- what the runs share */

struct work {
    struct gates_images *plan;
    const struct sets *sets;
    int each, tests; /* images per class of a task */
    const float *theta;
};

static bool tick(void *ctx, double share)
{
    return sweep_tick(ctx, share);
}

static struct rng gates_images_stream(const struct work *w, int purpose, int seed)
{
    struct rng r;
    rng_init(&r, w->plan->task->seed,
             UINT64_C(0x6761746573) << 24 | (uint64_t)purpose << 16 | (uint64_t)seed);
    return r;
}

enum { OF_WEIGHTS, OF_OLD, OF_PRETRAINING, OF_TASKS, OF_LEARNING };

/* ---- pre-training: a sweep of one run */

struct pretrained {
    double accuracy;
    float theta[];
};

static int draw_old(struct continual_part part[2], const struct work *w, struct err *e)
{
    int each = (int)lab_int(w->plan->task, "pretrain-images");
    struct rng r = gates_images_stream(w, OF_OLD, 0);
    int rc = continual_draw(&part[0], w->sets->of[OLD_TRAIN], 1023, each, &r, e);
    return rc ? rc : continual_draw(&part[1], w->sets->of[OLD_TEST], 1023, 200, &r, e);
}

static int pretrain(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    const struct work *w = ctx;
    const struct lab_task *t = w->plan->task;
    const struct finetune_cfg c = {.encoder = w->plan->encoder,
                                   .epochs = (int)lab_int(t, "pretrain-epochs"),
                                   .batch = PRETRAIN_BATCH,
                                   .lr = .002};
    (void)i;
    size_t n = encoder_params(&c.encoder);
    struct pretrained *p = malloc(sizeof *p + n * sizeof(float));
    if (!p) return err_set(e, ERR_MEMORY, "no memory for an encoder");
    struct continual_part part[2] = {{0}, {0}};
    int rc = draw_old(part, w, e);
    if (!rc) {
        struct rng r = gates_images_stream(w, OF_WEIGHTS, 0);
        encoder_init(p->theta, &c.encoder, &r);
        rc = finetune_pretrain(p->theta, &p->accuracy, &c, &part[0], &part[1],
                               gates_images_stream(w, OF_PRETRAINING, 0), tick, job, e);
        rc = rc > 0 ? SWEEP_STOPPED : rc;
    }
    if (!rc) sweep_put(job, p, sizeof *p + n * sizeof(float));
    for (int k = 0; k < 2; k++)
        continual_part_free(&part[k]);
    free(p);
    return rc;
}

static int get_encoder(struct work *w, struct sweep **out, struct err *e)
{
    struct lab_task *t = w->plan->task;
    const struct encoder_cfg *c = &w->plan->encoder;
    char config[256];
    snprintf(config, sizeof config,
             "pretrain seed=%llu images=%d epochs=%d patch=%d dim=%d heads=%d blocks=%d "
             "hidden=%d",
             (unsigned long long)t->seed, (int)lab_int(t, "pretrain-images"),
             (int)lab_int(t, "pretrain-epochs"), c->patch, c->dim, c->heads, c->blocks,
             c->hidden);
    const struct sweep_run run = {.name = "encoder", .config = config};
    lab_part(t, .2, .3);
    int rc = lab_sweep(out, t, &run, 1, pretrain, w, e);
    if (rc) return rc;
    const struct pretrained *p = sweep_result(*out, 0, NULL);
    w->plan->pretrained = p->accuracy;
    w->theta = p->theta;
    return 0;
}

/* ---- one arm with one seed */

static void gates_images_keep(double *row, const struct continual_result *got)
{
    row[GATES_FA] = continual_fa(&got->blind);
    row[GATES_CA] = continual_ca(&got->blind);
    row[GATES_FM] = continual_fm(&got->blind);
    row[GATES_TOLD] = continual_told(got);
    for (int t = 0; t < CONTINUAL_TASKS; t++) {
        double sum = 0;
        for (int i = 0; i <= t; i++)
            sum += got->blind.s[i][t];
        row[GATES_AFTER + t] = sum / (t + 1);
    }
}

static int run_finetune(double *row, const struct work *w,
                        const struct continual_tasks *s, struct rng r,
                        struct sweep_job *job, struct err *e)
{
    const struct finetune_cfg c = {.encoder = w->plan->encoder,
                                   .epochs = w->plan->epochs,
                                   .batch = BATCH,
                                   .lr = .001};
    struct finetune *f = finetune_new(&c, w->theta, s, r, tick, job, e);
    if (!f) return ERR_MEMORY;
    struct continual_result got;
    struct continual_learner l = finetune_learner(f);
    int rc = continual_run(&got, s, &l) ? SWEEP_STOPPED : 0;
    if (!rc) gates_images_keep(row, &got);
    finetune_free(f);
    return rc;
}

static struct hide_cfg hide_of(const struct work *w, const struct gates_arm *a)
{
    struct hide_cfg c = hide_default(&w->plan->encoder);
    c.epochs = w->plan->epochs;
    c.gate = a->gate;
    c.learn_alpha = a->alpha;
    c.learn_tau = a->tau;
    if (a->method == GATES_FROZEN) c.length = 0;
    if (!a->contrast) c.contrast = 0;
    return c;
}

static int run_hide(double *row, const struct work *w, const struct gates_arm *a,
                    const struct continual_tasks *s, struct rng r, struct sweep_job *job,
                    struct err *e)
{
    struct hide_cfg c = hide_of(w, a);
    struct hide *h = hide_new(&c, w->theta, s, r, tick, job, e);
    if (!h) return ERR_MEMORY;
    struct continual_result got;
    struct continual_learner l = hide_learner(h);
    int rc = continual_run(&got, s, &l) ? SWEEP_STOPPED : 0;
    if (!rc) {
        gates_images_keep(row, &got);
        row[GATES_INFERRED] = hide_inferred(h);
        if (a->method == GATES_PREFIX) {
            row[GATES_ALPHA] = hide_gate(h, 0).alpha;
            row[GATES_TAU] = hide_gate(h, 0).tau;
            memcpy(row + GATES_LOSS, hide_first_task(h),
                   sizeof(double) * (size_t)(c.epochs + 1));
        }
    }
    hide_free(h);
    return rc;
}

/* seed by seed, so that a sweep that is stopped has whole seeds */
static int gates_images_one(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    const struct work *w = ctx;
    const struct gates_images *p = w->plan;
    int seed = i / p->arms;
    const struct gates_arm *a = p->arm[i % p->arms];
    double row[GATES_COLUMNS];
    for (int k = 0; k < GATES_COLUMNS; k++)
        row[k] = (double)NAN;
    struct rng tasks = gates_images_stream(w, OF_TASKS, seed);
    struct continual_tasks *s = continual_tasks_new(
        w->sets->of[NEW_TRAIN], w->sets->of[NEW_TEST], w->each, w->tests, &tasks, e);
    if (!s) return ERR_MEMORY;
    struct rng r = gates_images_stream(w, OF_LEARNING, seed);
    int rc = a->method == GATES_FINETUNE ? run_finetune(row, w, s, r, job, e)
                                         : run_hide(row, w, a, s, r, job, e);
    if (!rc) sweep_put(job, row, sizeof row);
    continual_tasks_free(s);
    return rc;
}

/* ---- all of them */

struct label {
    char name[32], config[160];
};

static void gates_images_describe(struct label *l, const struct work *w, int i,
                                  uint32_t crc)
{
    const struct gates_images *p = w->plan;
    const struct gates_arm *a = p->arm[i % p->arms];
    snprintf(l->name, sizeof l->name, "%s-%d", a->short_name, i / p->arms + 1);
    snprintf(l->config, sizeof l->config,
             "arm=%s seed=%llu run=%d images=%d tests=%d epochs=%d encoder=%08x",
             a->short_name, (unsigned long long)p->task->seed, i / p->arms, w->each,
             w->tests, p->epochs, (unsigned)crc);
}

static int collect(struct gates_images *p, const struct sweep *s, struct err *e)
{
    for (int k = 0; k < p->arms; k++) {
        p->reps[k] = reps_new(p->seeds, GATES_COLUMNS, e);
        if (!p->reps[k]) return ERR_MEMORY;
        for (int seed = 0; seed < p->seeds; seed++)
            memcpy(reps_row(p->reps[k], seed), sweep_result(s, seed * p->arms + k, NULL),
                   sizeof(double) * GATES_COLUMNS);
    }
    return 0;
}

static int run_arms(struct work *w, struct err *e)
{
    struct gates_images *p = w->plan;
    int n = p->arms * p->seeds;
    struct label *label = calloc((size_t)n, sizeof *label);
    struct sweep_run *run = calloc((size_t)n, sizeof *run);
    struct sweep *s = NULL;
    int rc = 0;
    if (!label || !run) rc = err_set(e, ERR_MEMORY, "no memory for %d runs", n);
    uint32_t crc = bytes_crc32(0, w->theta, encoder_params(&p->encoder) * sizeof(float));
    for (int i = 0; i < n && !rc; i++) {
        gates_images_describe(&label[i], w, i, crc);
        run[i] = (struct sweep_run){label[i].name, label[i].config};
    }
    lab_part(p->task, .3, .8);
    if (!rc) rc = lab_sweep(&s, p->task, run, n, gates_images_one, w, e);
    if (!rc) rc = collect(p, s, e);
    sweep_free(s);
    free(run);
    free(label);
    return rc;
}

int gates_images(struct lab_task *t, struct err *e)
{
    struct gates_images p = {.task = t,
                             .seeds = (int)lab_int(t, "seeds"),
                             .epochs = (int)lab_int(t, "epochs"),
                             .encoder = {28, 7, 32, 4, 2, 64}};
    for (size_t i = 0; i < sizeof ARMS / sizeof *ARMS; i++)
        if (!t->quick || ARMS[i].quick) p.arm[p.arms++] = &ARMS[i];

    struct sets sets = {{NULL}};
    struct work w = {.plan = &p,
                     .sets = &sets,
                     .each = (int)lab_int(t, "images"),
                     .tests = (int)lab_int(t, "tests")};
    struct sweep *encoder = NULL;
    struct err why = {0};
    int rc = open_sets(&sets, t, &why);
    if (rc == ERR_ABSENT) {
        close_sets(&sets);
        return left_out(t, &why);
    }
    if (rc) err_field(e, rc, why.field, "%s", why.detail);
    if (!rc) rc = get_encoder(&w, &encoder, e);
    if (!rc) rc = run_arms(&w, e);
    if (!rc) gates_images_draw(&p);
    for (int k = 0; k < p.arms; k++)
        reps_free(p.reps[k]);
    sweep_free(encoder);
    close_sets(&sets);
    return rc;
}
