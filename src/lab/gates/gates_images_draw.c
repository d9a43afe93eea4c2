#include "gates_priv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct stats_interval gates_images_draw_value(const struct gates_images *p,
                                                     int arm, int column)
{
    return reps_mean(p->reps[arm], column);
}

/* of arm a over arm b, seed by seed */
static struct stats_interval gates_images_draw_gap(const struct gates_images *p, int a,
                                                   int b, int column)
{
    return reps_gap(p->reps[a], column, p->reps[b], column);
}

static int arm(const struct gates_images *p, const char *name)
{
    for (int k = 0; k < p->arms; k++)
        if (!strcmp(p->arm[k]->short_name, name)) return k;
    return -1;
}

/* ---- tables */

static void percent(struct report *r, const char *column, struct stats_interval s)
{
    if (isfinite(s.lo))
        report_interval(r, column, 100 * s.mean, 100 * s.lo, 100 * s.hi, 1);
    else if (isfinite(s.mean))
        report_real(r, column, 100 * s.mean, 1);
}

static void gates_images_draw_table(const struct gates_images *p)
{
    struct report *r = p->task->report;
    report_table(r, "Five tasks of two digits: accuracy in %, means over seeds");
    for (int k = 0; k < p->arms; k++) {
        report_row(r);
        report_cell(r, "method", "%s", p->arm[k]->name);
        percent(r, "FA", gates_images_draw_value(p, k, GATES_FA));
        percent(r, "CA", gates_images_draw_value(p, k, GATES_CA));
        percent(r, "FM", gates_images_draw_value(p, k, GATES_FM));
        percent(r, "task told", gates_images_draw_value(p, k, GATES_TOLD));
        percent(r, "task inferred", gates_images_draw_value(p, k, GATES_INFERRED));
        if (p->arm[k]->method != GATES_PREFIX || p->arm[k]->gate == RESIDUAL_LINEAR)
            continue;
        report_cell(r, "alpha, tau", "%.2f, %.2f",
                    reps_mean(p->reps[k], GATES_ALPHA).mean,
                    reps_mean(p->reps[k], GATES_TAU).mean);
    }
}

static enum report_verdict gates_images_draw_judge(struct stats_interval s)
{
    if (s.lo > 0) return REPORT_PASS;
    if (s.hi < 0) return REPORT_DIFFERS;
    return isfinite(s.lo) ? REPORT_SHORT : REPORT_UNTESTED;
}

/* one row: arm a has more of a column than arm b */
static void gates_images_draw_claim(const struct gates_images *p, const char *what,
                                    const char *paper, const char *a, const char *b,
                                    int column)
{
    struct report *r = p->task->report;
    if (arm(p, a) < 0 || arm(p, b) < 0) return;
    struct stats_interval s = gates_images_draw_gap(p, arm(p, a), arm(p, b), column);
    report_row(r);
    report_cell(r, "claim", "%s", what);
    report_cell(r, "paper, points", "%s", paper);
    percent(r, "ours, points", s);
    report_verdict(r, "verdict", gates_images_draw_judge(s));
}

static void gates_images_draw_claims(const struct gates_images *p)
{
    struct report *r = p->task->report;
    report_table(r, "Claims on continual learning (differences, seed by seed)");
    gates_images_draw_claim(p, "prefix tuning (HiDe) over fine-tuning, FA", "-", "prefix",
                            "finetune", GATES_FA);
    gates_images_draw_claim(p, "a prefix over none, FA", "-", "prefix", "frozen",
                            GATES_FA);
    gates_images_draw_claim(p, "NoRGa over prefix tuning, FA (Table 1)", "+0.3 .. +3.7",
                            "tanh", "prefix", GATES_FA);
    gates_images_draw_claim(p, "the same with the contrastive term, FA", "+0.3 .. +3.7",
                            "tanh-c", "prefix-c", GATES_FA);
    gates_images_draw_claim(p, "the same, CA (Table 1)", "+0.1 .. +4.2", "tanh-c",
                            "prefix-c", GATES_CA);
    gates_images_draw_claim(p, "sigmoid over prefix tuning, FA (Table 3)", "+1.7 .. +4.3",
                            "sigmoid-c", "prefix-c", GATES_FA);
    gates_images_draw_claim(p, "GELU over prefix tuning, FA (Table 3)", "+1.4 .. +4.2",
                            "gelu-c", "prefix-c", GATES_FA);
    gates_images_draw_claim(p, "NoRGa over prefix tuning, task told (Table 4)",
                            "+0.3 .. +0.8", "tanh-c", "prefix-c", GATES_TOLD);
    gates_images_draw_claim(p, "alpha and tau learned over fixed, FA (Table 7)",
                            "+0.2 .. +0.6", "tanh", "tanh-fixed", GATES_FA);
    gates_images_draw_claim(p, "the contrastive term over none, FA", "-", "tanh-c",
                            "tanh", GATES_FA);
}

/* epochs after which a's loss on the first task's test images is below b's mean */
static void loss_row(const struct gates_images *p, const char *a, const char *b)
{
    struct report *r = p->task->report;
    if (arm(p, a) < 0 || arm(p, b) < 0) return;
    int below = 0;
    for (int k = 1; k <= p->epochs; k++)
        below += reps_gap(p->reps[arm(p, a)], GATES_LOSS + k, p->reps[arm(p, b)],
                          GATES_LOSS + k)
                     .mean < 0;
    struct stats_interval s =
        gates_images_draw_gap(p, arm(p, a), arm(p, b), GATES_LOSS + p->epochs);
    report_row(r);
    report_cell(r, "first task", "%s below %s", p->arm[arm(p, a)]->name,
                p->arm[arm(p, b)]->name);
    report_cell(r, "epochs with the lower mean loss", "%d of %d", below, p->epochs);
    report_interval(r, "difference at the end", s.mean, s.lo, s.hi, 4);
    report_verdict(r, "Figure 3",
                   below == p->epochs      ? REPORT_PASS
                   : 2 * below > p->epochs ? REPORT_SHORT
                                           : REPORT_DIFFERS);
}

/* ---- figures */

static void figure_after(const struct gates_images *p)
{
    struct report *r = p->task->report;
    report_figure(
        r, "after", "Accuracy over the tasks",
        "A_t: mean over the tasks so far, which the learner has to tell apart.");
    report_panel(r, &(struct report_panel){.x = {.label = "tasks learned"},
                                           .y = {.label = "accuracy", .lo = 0, .hi = 1}});
    for (int k = 0; k < p->arms; k++) {
        double x[CONTINUAL_TASKS], y[CONTINUAL_TASKS], lo[CONTINUAL_TASKS],
            hi[CONTINUAL_TASKS];
        if (k > arm(p, "prefix") && p->arm[k]->contrast) continue;
        if (!p->arm[k]->alpha && p->arm[k]->gate != RESIDUAL_LINEAR) continue;
        if (p->arm[k]->alpha != p->arm[k]->tau) continue;
        for (int t = 0; t < CONTINUAL_TASKS; t++) {
            struct stats_interval s = gates_images_draw_value(p, k, GATES_AFTER + t);
            x[t] = t + 1;
            y[t] = s.mean;
            lo[t] = s.lo;
            hi[t] = s.hi;
        }
        report_series(r, &(struct report_series){.name = p->arm[k]->name,
                                                 .n = CONTINUAL_TASKS,
                                                 .x = x,
                                                 .y = y,
                                                 .lo = lo,
                                                 .hi = hi});
    }
}

static void figure_loss(const struct gates_images *p)
{
    struct report *r = p->task->report;
    report_figure(r, "first-task", "Validation loss over the first task (Figure 3)",
                  "Cross entropy over the first task's two classes on images that were "
                  "not trained on; means over seeds.");
    report_panel(r, &(struct report_panel){.x = {.label = "epoch"},
                                           .y = {.label = "cross entropy", .log = true}});
    for (int k = 0; k < p->arms; k++) {
        double x[HIDE_EPOCHS + 1], y[HIDE_EPOCHS + 1];
        const struct gates_arm *a = p->arm[k];
        /* the first task knows no old classes, so the term changes nothing there */
        if (a->method != GATES_PREFIX || a->contrast || a->alpha != a->tau) continue;
        for (int i = 0; i <= p->epochs; i++) {
            x[i] = i;
            y[i] = reps_mean(p->reps[k], GATES_LOSS + i).mean;
        }
        report_series(r, &(struct report_series){
                             .name = a->name, .n = p->epochs + 1, .x = x, .y = y});
    }
}

/* ---- words and checks */

static void gates_images_draw_explain(const struct gates_images *p)
{
    const struct lab_task *t = p->task;
    const struct encoder_cfg *c = &p->encoder;
    struct hide_cfg h = hide_default(c);
    report_heading(t->report, "Class-incremental learning on images");
    report_text(
        t->report,
        "An encoder of %d blocks with %d heads over %d patches (width %d), "
        "pre-trained on Fashion-MNIST (accuracy %.1f %% on its test images), then "
        "frozen: five tasks of two MNIST digits each, %d images of a class to "
        "learn from and %d to be examined on, %d seeds.",
        c->blocks, c->heads, c->side / c->patch * (c->side / c->patch), c->dim,
        100 * p->pretrained, (int)lab_int(t, "images"), (int)lab_int(t, "tests"),
        p->seeds);
    report_text(
        t->report,
        "HiDe-Prompt as in Appendix D: %d prefix experts in every block, rate %g, "
        "batch 128, %d epochs, ensemble %g, contrastive weight %g, temperature %g. "
        "Fine-tuning trains everything at rate 0.001. The method without prefix "
        "classifies by Gaussians of the frozen features. Intervals are Student's, "
        "95 %%.",
        h.length, h.lr, p->epochs, h.ensemble, h.contrast, h.temperature);
}

static void gates_images_draw_checks(const struct gates_images *p)
{
    struct report *r = p->task->report;
    int fine = arm(p, "finetune"), prefix = arm(p, "prefix"), tanh_ = arm(p, "tanh");
    report_check(r, "pre-trained encoder, accuracy on Fashion-MNIST", p->pretrained,
                 p->task->quick ? .4 : .75, 1);
    report_check(r, "fine-tuning forgets, FM",
                 gates_images_draw_value(p, fine, GATES_FM).mean, .5, 1);
    report_check(r, "prefix tuning over fine-tuning, FA",
                 gates_images_draw_gap(p, prefix, fine, GATES_FA).mean, .1, 1);
    report_check(r, "NoRGa tanh over fine-tuning, FA",
                 gates_images_draw_gap(p, tanh_, fine, GATES_FA).mean, .1, 1);
    report_check(r, "NoRGa tanh forgets less than fine-tuning, FM",
                 gates_images_draw_gap(p, fine, tanh_, GATES_FM).mean, .2, 1);
}

void gates_images_draw(const struct gates_images *p)
{
    gates_images_draw_explain(p);
    gates_images_draw_claims(p);
    gates_images_draw_table(p);
    report_table(p->task->report, "Validation loss of the first task");
    loss_row(p, "tanh", "prefix");
    loss_row(p, "sigmoid", "prefix");
    loss_row(p, "gelu", "prefix");
    figure_after(p);
    figure_loss(p);
    gates_images_draw_checks(p);
}
