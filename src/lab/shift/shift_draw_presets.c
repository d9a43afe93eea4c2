#include "shift_draw_priv.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT = 96 };

static void shift_draw_presets_say(char out[TEXT], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void shift_draw_presets_say(char out[TEXT], const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(out, TEXT, fmt, args);
    va_end(args);
}

/* What the settings are, from the recipes that the runs were made with. */
static void columns(char out[][TEXT], const struct recipe *r)
{
    const struct ppo_cfg *p = &r->train.ppo;
    const struct policy_cfg *c = &r->policy;
    int i = 0;
    shift_draw_presets_say(out[i++], "%d environment, %d steps", r->train.rollout.envs,
                           r->train.rollout.steps);
    shift_draw_presets_say(out[i++], "%g", p->lr);
    shift_draw_presets_say(out[i++], "%d, %d epochs", p->minibatch, p->epochs);
    shift_draw_presets_say(out[i++], "%g, %g", p->gamma, p->lambda);
    shift_draw_presets_say(out[i++], "%g", p->clip);
    shift_draw_presets_say(out[i++], "%g", p->entropy);
    shift_draw_presets_say(out[i++], "%g", p->value_coef);
    if (p->max_grad_norm > 0)
        shift_draw_presets_say(out[i++], "%g", p->max_grad_norm);
    else
        shift_draw_presets_say(out[i++], "none");
    shift_draw_presets_say(out[i++], "%d of %d hidden units, 1 chosen", c->experts,
                           c->hidden);
    shift_draw_presets_say(out[i++], "betas %g, %g, eps %g, decay %g", p->beta1, p->beta2,
                           p->eps, p->weight_decay);
    shift_draw_presets_say(out[i++], "%s",
                           r->uniform_init ? "U(-1/sqrt(n), 1/sqrt(n))"
                                           : "orthogonal, even policy");
    shift_draw_presets_say(out[i++], "%.3g%s, balance %g", p->router_noise,
                           p->redraw_noise ? ", redrawn" : "", p->balance);
    if (p->noise_std > 0)
        shift_draw_presets_say(out[i++], "deviation %g, all experts of both networks",
                               p->noise_std);
    else
        shift_draw_presets_say(out[i++], "lr x %g, experts reached, actor",
                               p->noise_gamma);
    shift_draw_presets_say(out[i++], "%s",
                           p->normalise_returns ? "normalised" : "as they are");
    shift_draw_presets_say(out[i++], "bandwidth x %g%s", r->env.emu.bandwidth_x,
                           r->min_mbps > 0 ? ", slow links left out" : "");
    shift_draw_presets_say(out[i++], "%s",
                           r->env.profiles[0].utility == QOE_PAMOE ? "ln(R + .7)"
                                                                   : "Mbit/s");
}

void shift_draw_presets(struct report *r)
{
    static const char *const presets[] = {"paper", "code", "tuned"};
    static const char *const rows[][2] = {
        {"batch", "1, 2000"},
        {"learning rate", "1e-4"},
        {"minibatch", "62, 5"},
        {"discount, lambda", ".99, .95"},
        {"clip", ".2"},
        {"entropy coefficient", "0"},
        {"value coefficient", "5"},
        {"gradient clipping", "none"},
        {"experts", "3 of 18, 1"},
        {"Adam", "not named"},
        {"first weights", "not told"},
        {"noise on the router's logits", "Gaussian"},
        {"noise on the weights", "lr x gamma, gamma not told"},
        {"returns", "not told"},
        {"links", "as Pensieve"},
        {"quality", "increasing"},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    char text[3][ROWS][TEXT];
    for (int i = 0; i < 3; i++) {
        struct shift_arm arm = {
            .preset = presets[i], .variant = "pamoe", .steps = 2000000};
        struct recipe recipe;
        if (shift_arm_recipe(&recipe, &arm, NULL)) return;
        columns(text[i], &recipe);
    }
    report_table(r, "The presets (pamoe)");
    for (int k = 0; k < ROWS; k++) {
        report_row(r);
        report_cell(r, "setting", "%s", rows[k][0]);
        report_cell(r, "the paper's text", "%s", rows[k][1]);
        for (int i = 0; i < 3; i++)
            report_cell(r, presets[i], "%s", text[i][k]);
    }
}
