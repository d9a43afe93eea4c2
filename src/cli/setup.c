#include "cli/setup.h"

#include "base/text.h"
#include "cli/home.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct setup setup_default(void)
{
    struct emu_cfg emu = emu_cfg_default();
    return (struct setup){.utility = "linear",
                          .spread = -1,
                          .rtt_ms = emu.rtt_s * 1000,
                          .buffer_s = emu.buffer_max_s};
}

void setup_terms(struct setup_terms *out)
{
    *out = (struct setup_terms){0};
    for (int i = 0; i < QOE_PROFILES; i++) {
        const struct qoe_profile *p = &qoe_profiles[i];
        char means[QOE_MEANS];
        snprintf(out->text[i], sizeof out->text[i], "%s: %s", p->help,
                 qoe_means(means, sizeof means, &p->qoe));
        out->at[i] = (struct opt_term){p->name, out->text[i]};
    }
}

int setup_part(enum corpus_part *out, const char *name, struct err *e)
{
    static const char *const names[] = {"all", "train", "test"}; /* enum corpus_part */
    for (int i = 0; i < 3; i++) {
        *out = (enum corpus_part)i;
        if (strcmp(names[i], name) == 0) return 0;
    }
    return err_field(e, ERR_INVALID, "--part", "'%.40s' is not all, train or test", name);
}

struct corpus *setup_corpus(const struct setup *s, struct err *e)
{
    enum corpus_part part = s->traces ? CORPUS_ALL : CORPUS_TEST;
    if (s->part && setup_part(&part, s->part, e)) return NULL;
    char bundled[HOME_PATH];
    const char *dir = s->traces;
    if (!dir) {
        if (home_find(bundled, "traces", e)) return NULL;
        dir = bundled;
    }
    struct corpus *c = corpus_load(dir, part, e);
    if (c && !c->n) {
        err_field(e, ERR_ABSENT, "--traces",
                  "%s: this part of the folder has no traces; see --part", dir);
        corpus_free(c);
        return NULL;
    }
    return c;
}

static struct video *generate_video(const struct setup *s, struct err *e)
{
    struct video *usual = video_default(e);
    if (!usual) return NULL;
    double ladder[VIEW_LEVELS];
    int levels = usual->levels;
    memcpy(ladder, usual->ladder_kbps, sizeof ladder);
    double chunk_s = s->chunk_s > 0 ? s->chunk_s : usual->chunk_s;
    double length_s = usual->chunks * usual->chunk_s;
    int chunks = s->chunks ? s->chunks : (int)ceil(length_s / chunk_s);
    video_free(usual);

    if (s->ladder.n > VIEW_LEVELS) {
        err_field(e, ERR_RANGE, "--ladder", "%d levels are more than %d", s->ladder.n,
                  VIEW_LEVELS);
        return NULL;
    }
    if (s->ladder.n) levels = s->ladder.n;
    for (int k = 0; k < s->ladder.n; k++)
        if (text_double(&ladder[k], s->ladder.item[k], 1, 1e6, "--ladder", e))
            return NULL;
    double spread = s->spread >= 0 ? s->spread : VIDEO_DEFAULT_SPREAD;
    return video_generate(levels, chunks, chunk_s, ladder, spread, 1, e);
}

/* Without --quality. */
static struct video *plain_video(const struct setup *s, struct err *e)
{
    bool generated = s->ladder.n || s->chunk_s > 0 || s->chunks || s->spread >= 0;
    if (!generated) return s->video ? video_load(s->video, NULL, e) : video_default(e);
    if (s->video) {
        err_field(e, ERR_CONFLICT, "--video",
                  "cannot be combined with --ladder, --chunk-s, --chunks or --spread, "
                  "which describe a generated video");
        return NULL;
    }
    return generate_video(s, e);
}

struct video *setup_video(const struct setup *s, struct err *e)
{
    struct video *v = plain_video(s, e);
    if (!v || !s->quality || !video_load_quality(v, s->quality, e)) return v;
    video_free(v);
    return NULL;
}

struct emu_cfg setup_emu(const struct setup *s)
{
    struct emu_cfg emu = emu_cfg_default();
    emu.rtt_s = s->rtt_ms / 1000;
    emu.buffer_max_s = s->buffer_s;
    if (s->no_wrap) emu.wrap = EMU_WRAP_NONE;
    emu.abandon = s->abandon;
    return emu;
}

static int read_mu(struct qoe *out, const char *text, struct err *e)
{
    double *const mu[] = {&out->mu_quality, &out->mu_switch, &out->mu_stall};
    char copy[128];
    if (strlen(text) >= sizeof copy)
        return err_field(e, ERR_INVALID, "--mu",
                         "is too long: give three numbers, as in 1,1,4.3");
    snprintf(copy, sizeof copy, "%s", text);
    char *at = copy;
    for (int i = 0; i < 3; i++) {
        char *comma = strchr(at, ',');
        if ((i < 2) != (comma != NULL))
            return err_field(
                e, ERR_INVALID, "--mu",
                "'%.60s': give three numbers with commas between them, as in 1,1,4.3",
                text);
        if (comma) *comma = 0;
        int rc = text_double(mu[i], at, 0, 1000, "--mu", e);
        if (rc) return rc;
        if (comma) at = comma + 1;
    }
    if (out->mu_quality + out->mu_switch + out->mu_stall > 0) return 0;
    return err_field(e, ERR_RANGE, "--mu", "all three weights are 0");
}

/* One item of --weights. */
static int read_weight(double weight[QOE_WEIGHTS], const char *item, struct err *e)
{
    size_t n = strcspn(item, "=");
    int k = 0;
    while (k < QOE_WEIGHTS && (strncmp(qoe_weight_names[k], item, n) != 0 ||
                               strlen(qoe_weight_names[k]) != n))
        k++;
    if (k == QOE_WEIGHTS || !item[n])
        return err_field(e, ERR_INVALID, "--weights",
                         "'%.40s': give quality, switches, stalls or startup with a "
                         "number, as in quality=1.5,switches=2",
                         item);
    return text_double(&weight[k], item + n + 1, 0, QOE_MU_MAX, "--weights", e);
}

static int read_weights(struct qoe *out, const struct field_list *items, struct err *e)
{
    double weight[QOE_WEIGHTS] = {1, 1, 1, 1};
    for (int i = 0; i < items->n; i++) {
        int rc = read_weight(weight, items->item[i], e);
        if (rc) return rc;
    }
    *out = qoe_of_weights(weight);
    if (weight[0] + weight[1] + weight[2] + weight[3] > 0) return 0;
    return err_field(e, ERR_RANGE, "--weights", "all weights are 0");
}

/* The profile "custom". */
static int read_custom(struct qoe *out, const struct setup *s, struct err *e)
{
    if (s->mu && s->weights.n)
        return err_field(e, ERR_CONFLICT, "--weights", "cannot be combined with --mu");
    return s->mu ? read_mu(out, s->mu, e) : read_weights(out, &s->weights, e);
}

static int setup_add(struct setup_profile *out, int n, const char *name,
                     const struct qoe *qoe, struct err *e)
{
    if (n == SETUP_PROFILES)
        return err_field(e, ERR_FULL, "--profile", "more than %d profiles",
                         SETUP_PROFILES);
    for (int i = 0; i < n; i++)
        if (strcmp(out[i].name, name) == 0)
            return err_field(e, ERR_CONFLICT, "--profile", "'%s' is given twice", name);
    snprintf(out[n].name, sizeof out[n].name, "%s", name);
    out[n].qoe = *qoe;
    return n + 1;
}

/* One name, or all. Returns the new number. */
static int add_named(struct setup_profile *out, int n, const char *name, struct err *e)
{
    if (strcmp(name, "all") == 0) {
        for (int i = 0; i < QOE_PRODUCT && n >= 0; i++)
            n = setup_add(out, n, qoe_profiles[i].name, &qoe_profiles[i].qoe, e);
        return n;
    }
    if (strcmp(name, "papers") == 0) {
        for (int i = 0; i < QOE_PAPERS && n >= 0; i++)
            n = setup_add(out, n, qoe_papers[i].name, &qoe_papers[i].qoe, e);
        return n;
    }
    for (int i = 0; i < QOE_PROFILES; i++)
        if (strcmp(name, qoe_profiles[i].name) == 0)
            return setup_add(out, n, name, &qoe_profiles[i].qoe, e);
    return err_field(e, ERR_ABSENT, "--profile",
                     "'%.40s' is not a built-in profile, all or papers; --help lists the "
                     "names, --weights sets other weights",
                     name);
}

int setup_profiles(struct setup_profile *out, const struct setup *s,
                   const char *otherwise, struct err *e)
{
    enum qoe_utility utility;
    if (qoe_utility_parse(&utility, s->utility, NULL) || utility == QOE_POINTS)
        return err_field(e, ERR_INVALID, "--utility",
                         "'%.40s' is not linear, log or pamoe", s->utility);
    int n = 0;
    for (int i = 0; i < s->profiles.n && n >= 0; i++)
        n = add_named(out, n, s->profiles.item[i], e);
    bool custom = s->mu || s->weights.n;
    if (n == 0 && !custom) n = add_named(out, n, otherwise, e);
    if (n >= 0 && custom) {
        struct qoe qoe = {0};
        int rc = read_custom(&qoe, s, e);
        if (rc) return rc;
        n = setup_add(out, n, "custom", &qoe, e);
    }
    for (int i = 0; i < n; i++)
        if (out[i].qoe.utility != QOE_POINTS) out[i].qoe.utility = utility;
    return n;
}
