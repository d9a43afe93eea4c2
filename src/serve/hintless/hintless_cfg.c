#include "serve/hintless/hintless_cfg.h"

#include <string.h>

#include "abr/emulator/view.h"
#include "serve/hintless/merge_exam.h"

_Static_assert(HINTLESS_WATCHED_CHUNKS == VIEW_HISTORY, "as a decision looks back on");

static const char *const MODES[] = {"default", "identify", "merge"};
static const char *const WAYS[BY_WAYS] = {"router", "default", "mean-hint", "identify",
                                          "merge"};

struct hintless_cfg hintless_cfg_default(void)
{
    struct hintless_cfg c = {.mode = HINTLESS_DEFAULT,
                             .slot_s = 300,
                             .half_life = 3,
                             .bandit = tanbr_cfg_informed(2, PROFILE_MIX_TASKS),
                             .merge_links = 5,
                             .exam_links = MERGE_EXAM_LINKS};
    c.bandit.keep = 0;
    return c;
}

static int within(double v, double lo, double hi, const char *field, struct err *e)
{
    if (v >= lo && v <= hi) return 0;
    return err_field(e, ERR_RANGE, field, "%g is not within %g .. %g", v, lo, hi);
}

int hintless_cfg_check(const struct hintless_cfg *c, struct err *e)
{
    const struct tanbr_cfg *b = &c->bandit;
    int rc = within(c->mode, HINTLESS_DEFAULT, HINTLESS_MERGE, "untagged", e);
    if (!rc) rc = within(c->slot_s, 1, 1e7, "slot", e);
    if (!rc) rc = within(c->slot_sessions, 0, 1e9, "slot-sessions", e);
    if (!rc) rc = within(c->half_life, .01, 1e6, "mix-half-life", e);
    if (!rc) rc = within(c->merge_links, 0, 1000, "merge-links", e);
    if (!rc) rc = within(c->exam_links, 0, 1000, "exam-links", e);
    if (!rc) rc = within(b->keep, 0, HINTLESS_EXPERTS, "merge-keep", e);
    if (!rc) rc = within(b->c, HINTLESS_LEAST, 1e3, "merge-c", e);
    if (!rc) rc = within(b->delta, HINTLESS_LEAST, 1, "merge-delta", e);
    if (!rc) rc = within(b->nu1, HINTLESS_LEAST, 1e3, "merge-nu1", e);
    if (!rc) rc = within(b->rho, HINTLESS_LEAST, HINTLESS_RHO_MAX, "merge-rho", e);
    if (!rc) rc = within(b->gamma, 0, 1e3, "merge-gamma", e);
    if (!rc) rc = within(b->lambda, HINTLESS_LEAST, 1e6, "merge-lambda", e);
    if (!rc) rc = within(b->eta, 0, 10, "merge-eta", e);
    if (!rc) rc = within(b->steps, 0, 1e5, "merge-steps", e);
    if (!rc) rc = within(b->history, 1, 1e6, "merge-history", e);
    return rc;
}

const char *hintless_mode_name(enum hintless_mode mode)
{
    return MODES[mode];
}

int hintless_mode_parse(enum hintless_mode *out, const char *name, struct err *e)
{
    for (int i = 0; i <= HINTLESS_MERGE; i++)
        if (!strcmp(name, MODES[i])) {
            *out = (enum hintless_mode)i;
            return 0;
        }
    return err_field(e, ERR_INVALID, "untagged",
                     "must be default, identify or merge, not '%.40s'", name);
}

const char *hintless_by_name(enum hintless_by by)
{
    return WAYS[by];
}
