#include "serve/hintless/hintless_cfg.h"

#include <string.h>

#include "abr/emulator/view.h"
#include "serve/hintless/merge_exam.h"

_Static_assert(HINTLESS_WATCHED_CHUNKS == VIEW_HISTORY, "as a decision looks back on");

static const char *const MODES[] = {"default", "identify", "merge", NULL};
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

#define ROW(member) FIELD(struct hintless_cfg, member)
const struct field hintless_fields[] = {
    {"untagged", "MODE",
     "what decides for viewers without a hint: merge (one expert merged from several), "
     "identify (the router, with a hint estimated for each viewer), default (the router, "
     "with "
     "the mean hint)",
     ROW(mode), .words = MODES, .group = "viewers without a hint"},
    {"merge-policy", "FILE", "policy whose experts are merged (default: the shipped one)",
     ROW(merge_policy)},
    {"slot", "S", "choose a new merge and estimate the mix of profiles every S seconds",
     ROW(slot_s), .lo = 1, .hi = 1e7, .unit = "seconds"},
    {"slot-sessions", "N", "end a slot early after N sessions without a hint; 0: never",
     ROW(slot_sessions), .lo = 0, .hi = 1e9, .flags = FIELD_ADVANCED},
    {"mix-half-life", "SLOTS",
     "slots after which the estimated mix has moved half the way back to equal shares",
     ROW(half_life), .lo = .01, .hi = 1e6, .unit = "slots", .flags = FIELD_ADVANCED},
    {"merge-keep", "B", "experts in a merge, at most; 0: all", ROW(bandit.keep), .lo = 0,
     .hi = HINTLESS_EXPERTS, .flags = FIELD_ADVANCED},
    {"merge-links", "N",
     "generated links of every kind on which merges are scored at the start; 0: none",
     ROW(merge_links), .lo = 0, .hi = 1000, .flags = FIELD_ADVANCED},
    {"merge-c", "C", "the bandit's tree: a larger C splits cells later (Tanbr, Eq. 2)",
     ROW(bandit.c), .lo = HINTLESS_LEAST, .hi = 1e3, .flags = FIELD_ADVANCED},
    {"merge-delta", "D", "the bandit's tree: confidence (Tanbr, Eq. 2)",
     ROW(bandit.delta), .lo = HINTLESS_LEAST, .hi = 1, .flags = FIELD_ADVANCED},
    {"merge-nu1", "NU", "the bandit's tree: width of the first cell (Tanbr, Eq. 4)",
     ROW(bandit.nu1), .lo = HINTLESS_LEAST, .hi = 1e3, .flags = FIELD_ADVANCED},
    {"merge-rho", "RHO", "the bandit's tree: factor of the width at each split",
     ROW(bandit.rho), .lo = HINTLESS_LEAST, .hi = HINTLESS_RHO_MAX,
     .flags = FIELD_ADVANCED},
    {"merge-gamma", "G",
     "weight of the uncertainty in the bandit's choice (Tanbr, Eq. 4)", ROW(bandit.gamma),
     .lo = 0, .hi = 1e3, .flags = FIELD_ADVANCED},
    {"merge-lambda", "L", "the bandit's network: regularisation", ROW(bandit.lambda),
     .lo = HINTLESS_LEAST, .hi = 1e6, .flags = FIELD_ADVANCED},
    {"merge-eta", "E", "the bandit's network: learning rate", ROW(bandit.eta), .lo = 0,
     .hi = 10, .flags = FIELD_ADVANCED},
    {"merge-steps", "J", "the bandit's network: gradient steps per slot",
     ROW(bandit.steps), .lo = 0, .hi = 1e5, .flags = FIELD_ADVANCED},
    {"merge-history", "N", "the bandit's network: slots that it learns from",
     ROW(bandit.history), .lo = 1, .hi = 1e6, .flags = FIELD_ADVANCED},
    {0}};
#undef ROW

int hintless_cfg_check(const struct hintless_cfg *c, struct err *e)
{
    if (c->exam_links < 0 || c->exam_links > 1000)
        return err_field(e, ERR_RANGE, "exam-links", "%d is not within 0 .. 1000",
                         c->exam_links);
    return field_check(hintless_fields, c, e);
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
