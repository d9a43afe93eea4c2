#include "lab/shift/shift_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS_MAX = 64 };

static const double GAMMAS[] = {0, 1, 2, 5, 10, 20, 50, 100};
static const char *const PRESETS[] = {"paper", "code", "tuned", NULL};
static const char *const VARIANTS[] = {"mlp", "moe", "smoe", "pamoe", NULL};

int shift_plan_gammas(const double **out)
{
    *out = GAMMAS;
    return (int)(sizeof GAMMAS / sizeof *GAMMAS);
}

/* wanted[i]: whether word i is in the list "a,b,c" */
static int shift_plan_choose(bool wanted[4], const char *const *words, const char *list,
                             const char *field, struct err *e)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ",");
        int i = 0;
        while (words[i] && (strlen(words[i]) != n || strncmp(words[i], at, n) != 0))
            i++;
        if (!words[i])
            return err_field(e, ERR_INVALID, field, "'%.*s' is not known: %s, %s, %s%s%s",
                             (int)(n < 30 ? n : 30), at, words[0], words[1], words[2],
                             words[3] ? ", " : "", words[3] ? words[3] : "");
        wanted[i] = true;
        at += n;
        at += *at == ',';
    }
    return 0;
}

static struct shift_set *shift_plan_add(struct shift_plan *p,
                                        const struct shift_request *q, const char *preset,
                                        const char *variant, bool hint)
{
    struct shift_set *s = &p->set[p->sets++];
    *s = (struct shift_set){.role = SHIFT_MAIN, .n = q->seeds};
    snprintf(s->label, sizeof s->label, "%s", variant);
    snprintf(s->changes, sizeof s->changes, "%s", q->set ? q->set : "");
    s->arm = (struct shift_arm){.preset = preset,
                                .variant = variant,
                                .hint = hint,
                                .set = s->changes,
                                .steps = q->steps,
                                .probe_every = q->probe_every,
                                .seed = q->seed};
    return s;
}

/* One more change, after the request's own. */
static void shift_plan_change(struct shift_set *s, const char *text)
{
    size_t n = strlen(s->changes);
    snprintf(s->changes + n, sizeof s->changes - n, "%s%s", n ? " " : "", text);
}

static void add_main(struct shift_plan *p, const struct shift_request *q, int preset,
                     const bool variant[4], bool hint)
{
    for (int k = 0; VARIANTS[k]; k++)
        if (variant[k]) shift_plan_add(p, q, PRESETS[preset], VARIANTS[k], hint);
}

/* gamma 0 is smoe and the preset's own gamma is pamoe, but both run again under their number, so that
 * the sweep does not depend on the requested variants. */
static void add_noise(struct shift_plan *p, const struct shift_request *q)
{
    for (size_t i = 0; i < sizeof GAMMAS / sizeof *GAMMAS; i++) {
        struct shift_set *s = shift_plan_add(p, q, "paper", "pamoe", false);
        char text[32];
        snprintf(text, sizeof text, "noise=%g", GAMMAS[i]);
        snprintf(s->label, sizeof s->label, "gamma %g", GAMMAS[i]);
        s->role = SHIFT_NOISE;
        shift_plan_change(s, text);
    }
}

static struct shift_set *add_reading(struct shift_plan *p, const struct shift_request *q,
                                     const char *variant, const char *what)
{
    struct shift_set *s = shift_plan_add(p, q, "paper", variant, false);
    snprintf(s->label, sizeof s->label, "%s, %s", variant, what);
    s->role = SHIFT_ONCE;
    return s;
}

static void add_once(struct shift_plan *p, const struct shift_request *q)
{
    add_reading(p, q, "moe", "probabilities")->arm.mix_probs = true;
    add_reading(p, q, "pamoe", "critic too")->arm.noise_critic = true;
    shift_plan_change(add_reading(p, q, "moe", "weight decay"), "weight-decay=1e-4");
    shift_plan_change(add_reading(p, q, "pamoe", "weight decay"), "weight-decay=1e-4");
}

static int fill_sets(struct shift_plan *p, const struct shift_request *q, struct err *e)
{
    static const char *const HINTS[] = {"without", "with", "both", NULL};
    bool preset[4] = {false}, variant[4] = {false}, hint[4] = {false};
    int rc = shift_plan_choose(preset, PRESETS, q->presets, "preset", e);
    if (!rc) rc = shift_plan_choose(variant, VARIANTS, q->variants, "variant", e);
    if (!rc) rc = shift_plan_choose(hint, HINTS, q->hints, "hints", e);
    if (rc) return rc;

    /* what says most for its time comes first */
    enum { PAPER, CODE, TUNED };
    bool without = hint[0] || hint[2], with = hint[1] || hint[2];
    if (without && preset[PAPER]) add_main(p, q, PAPER, variant, false);
    if (q->noise_sweep) add_noise(p, q);
    if (q->once) add_once(p, q);
    if (without && preset[CODE]) add_main(p, q, CODE, variant, false);
    if (with && preset[PAPER]) add_main(p, q, PAPER, variant, true);
    if (with && preset[CODE]) add_main(p, q, CODE, variant, true);
    if (without && preset[TUNED]) add_main(p, q, TUNED, variant, false);
    if (with && preset[TUNED]) add_main(p, q, TUNED, variant, true);
    if (!p->sets) return err_field(e, ERR_INVALID, "preset", "there is nothing to run");
    return 0;
}

static void shift_plan_words(char *out, size_t n, const char *label)
{
    size_t i = 0;
    for (; label[i] && i + 1 < n; i++)
        out[i] = (char)(strchr(" ,", label[i]) ? '_' : label[i]);
    out[i] = '\0';
}

static int name_runs(struct shift_plan *p, uint32_t worlds, struct err *e)
{
    for (int i = 0; i < p->runs; i++) {
        const struct shift_set *s = &p->set[i / p->seeds];
        struct shift_arm arm = shift_plan_arm(p, i);
        struct recipe r;
        int rc = shift_arm_recipe(&r, &arm, e);
        if (rc) return rc;
        p->set[i / p->seeds].gamma = r.train.ppo.noise_gamma;

        char label[sizeof s->label];
        shift_plan_words(label, sizeof label, s->label);
        snprintf(p->name[i], sizeof p->name[i], "%s-%s%s-%d", s->arm.preset, label,
                 s->arm.hint ? "-hint" : "", i % p->seeds + 1);
        size_t room = sizeof p->config[i];
        int n = snprintf(p->config[i], room, "worlds=%08" PRIx32 " ", worlds);
        shift_arm_config(p->config[i] + n, room - (size_t)n, &arm);
        p->run[i] = (struct sweep_run){p->name[i], p->config[i]};
    }
    return 0;
}

int shift_plan_make(struct shift_plan *out, const struct shift_request *q, struct err *e)
{
    *out = (struct shift_plan){.seeds = q->seeds};
    out->set = calloc(SETS_MAX, sizeof *out->set);
    if (!out->set) return err_set(e, ERR_MEMORY, "no memory for the plan");
    int rc = fill_sets(out, q, e);
    if (rc) goto failed;

    out->runs = out->sets * q->seeds;
    size_t n = (size_t)out->runs;
    out->run = calloc(n, sizeof *out->run);
    out->name = calloc(n, sizeof *out->name);
    out->config = calloc(n, sizeof *out->config);
    out->record = calloc(n, sizeof *out->record);
    if (!out->run || !out->name || !out->config || !out->record) {
        rc = err_set(e, ERR_MEMORY, "no memory for %d runs", out->runs);
        goto failed;
    }
    for (int i = 0; i < out->sets; i++)
        out->set[i].run = out->record + (size_t)i * (size_t)q->seeds;
    rc = name_runs(out, q->worlds, e);
    if (!rc) return 0;
failed:
    shift_plan_free(out);
    return rc;
}

void shift_plan_free(struct shift_plan *p)
{
    free(p->record);
    free(p->config);
    free(p->name);
    free(p->run);
    free(p->set);
    *p = (struct shift_plan){0};
}

struct shift_arm shift_plan_arm(const struct shift_plan *p, int i)
{
    struct shift_arm arm = p->set[i / p->seeds].arm;
    arm.seed += (uint64_t)(i % p->seeds);
    return arm;
}

const struct shift_set *shift_plan_find(const struct shift_plan *p, const char *preset,
                                        bool hint, const char *label)
{
    for (int i = 0; i < p->sets; i++) {
        const struct shift_set *s = &p->set[i];
        if (!strcmp(s->arm.preset, preset) && s->arm.hint == hint &&
            !strcmp(s->label, label))
            return s;
    }
    return NULL;
}
