#include "serve/trial/trial_wire.h"

#include <stdio.h>
#include <string.h>

enum {
    ONE_ARM = 2 * SERVICE_TRIAL + TRIAL_SPEC + 64,
    COMMON_HEAD = 2 * SERVICE_TRIAL + 160,
    CELLS = (1 + COMPARE_NETWORKS) * COMPARE_FIGURES,
    TALLY_HEAD = 64,
    TALLY_ARM = 5 * 8 + CELLS * (4 + 5) * 8,
};

void trial_wire_tally_key(char out[SHARED_VALUE_KEY], uint64_t id, uint64_t maker)
{
    snprintf(out, SHARED_VALUE_KEY, "trial.%016llx.%016llx", (unsigned long long)id,
             (unsigned long long)maker);
}

void trial_wire_units_key(char out[SHARED_VALUE_KEY], uint64_t id, uint64_t maker, int i)
{
    snprintf(out, SHARED_VALUE_KEY, "trial.%016llx.%016llx.units.%d",
             (unsigned long long)id, (unsigned long long)maker, i);
}

static void need(struct pack *p, bool ok)
{
    p->ok = p->ok && ok;
}

/* ---- what is common ---- */

static void pass_arm(struct pack *p, struct trial_arm *a)
{
    pack_text(p, a->name, sizeof a->name);
    pack_real(p, &a->share);
    pack_text(p, a->decides, sizeof a->decides);
    pack_text(p, a->profile, sizeof a->profile);
}

/* A reader checks the plan as its own settings. */
static void pass_plan(struct pack *p, struct trial_plan *v)
{
    pack_text(p, v->name, sizeof v->name);
    pack_int(p, &v->arms, 2, COMPARE_ARMS);
    for (int i = 0; i < v->arms && p->ok; i++)
        pass_arm(p, &v->arm[i]);
    pack_real(p, &v->sessions);
    pack_real(p, &v->stall_margin);
    pack_real(p, &v->startup_margin_s);
    if (p->writing || !p->ok) return;
    char arms[TRIAL_ARMS_TEXT];
    struct trial_plan again;
    struct trial_cfg cfg = {.name = v->name,
                            .sessions = v->sessions,
                            .stall_margin = v->stall_margin,
                            .startup_margin_s = v->startup_margin_s};
    trial_plan_arms(arms, v);
    need(p, v->sessions > 0 && v->stall_margin >= 0 && v->startup_margin_s >= 0 &&
                !trial_plan_read(&again, &cfg, arms, NULL) && trial_plan_same(&again, v));
}

static void pass_common(struct pack *p, void *value, int form)
{
    struct trial_common *c = value;
    int phase = (int)c->phase;
    (void)form;
    pass_plan(p, &c->plan);
    pack_small(p, &phase, TRIAL_RUNS, TRIAL_ENDED);
    c->phase = (enum trial_phase)phase;
    pack_small(p, &c->promoted, -1, COMPARE_ARMS - 1);
    for (int i = 0; i < COMPARE_ARMS; i++)
        pack_small(p, &c->stopped_by[i], -1, COMPARE_FIGURES - 1);
    pack_real(p, &c->started_at);
    for (int i = 0; i < SIPHASH_KEY; i++)
        pack_u8(p, &c->key[i]);
    pack_int(p, &c->makers, 0, TRIAL_MAKERS);
    for (int i = 0; i < c->makers && p->ok; i++)
        pack_u64(p, &c->maker[i]);
    pack_int(p, &c->used, 0, TRIAL_NAMES);
    for (int i = 0; i < c->used && p->ok; i++)
        pack_text(p, c->used_name[i], sizeof c->used_name[i]);
    need(p, c->promoted < c->plan.arms &&
                (c->phase == TRIAL_PROMOTED) == (c->promoted >= 0));
}

static size_t room_common(const void *value)
{
    const struct trial_common *c = value;
    return COMMON_HEAD + (size_t)c->plan.arms * ONE_ARM + (size_t)c->makers * 8 +
           (size_t)c->used * (SERVICE_TRIAL + 8);
}

const struct shared_value_kind trial_wire_common_kind = {.key = "trial",
                                                         .envelope = ENVELOPE_TRIAL,
                                                         .form = 1,
                                                         .size =
                                                             sizeof(struct trial_common),
                                                         .room = room_common,
                                                         .pass = pass_common};

/* ---- what a node counted ---- */

static void pass_cell(struct pack *p, struct compare_cell *c)
{
    pack_u64(p, &c->n);
    pack_u64(p, &c->clipped);
    pack_real(p, &c->sum);
    pack_real(p, &c->squares);
    need(p, c->clipped <= c->n && c->squares >= 0);
}

static void pass_difference(struct pack *p, struct confseq *d)
{
    pack_u64(p, &d->group[0]);
    pack_u64(p, &d->group[1]);
    pack_real(p, &d->sum);
    pack_real(p, &d->squares);
    pack_real(p, &d->design);
    need(p, d->squares >= 0 && d->design >= 0);
}

static void pass_tally(struct pack *p, void *value, int form)
{
    struct trial_tally *t = value;
    struct compare *c = &t->compare;
    (void)form;
    pack_u64(p, &t->id);
    pack_u64(p, &t->boot);
    pack_int(p, &t->units, 0, TRIAL_VIEWERS);
    pack_int(p, &c->cfg.arms, 2, COMPARE_ARMS);
    for (int a = 0; a < c->cfg.arms && p->ok; a++) {
        struct compare_arm *arm = &c->arm[a];
        pack_u64(p, &arm->counted);
        pack_u64(p, &arm->again);
        pack_u64(p, &arm->fell_back);
        pack_u64(p, &arm->ended);
        pack_u64(p, &arm->empty);
        need(p, arm->empty <= arm->ended && arm->ended <= arm->counted);
        for (int k = 0; k <= COMPARE_NETWORKS; k++)
            for (int f = 0; f < COMPARE_FIGURES; f++) {
                pass_cell(p, &arm->cell[k][f]);
                if (a) pass_difference(p, &c->diff[a][k][f]);
            }
    }
}

static size_t room_tally(const void *value)
{
    const struct trial_tally *t = value;
    return TALLY_HEAD + (size_t)t->compare.cfg.arms * TALLY_ARM;
}

const struct shared_value_kind trial_wire_tally_kind = {.envelope = ENVELOPE_TALLY,
                                                        .form = 1,
                                                        .size =
                                                            sizeof(struct trial_tally),
                                                        .room = room_tally,
                                                        .pass = pass_tally};

/* ---- its viewers ---- */

static void pass_units(struct pack *p, void *value, int form)
{
    struct trial_wire_units *u = value;
    (void)form;
    pack_int(p, &u->n, 0, TRIAL_WIRE_UNITS);
    for (int i = 0; i < u->n && p->ok; i++)
        pack_u64(p, &u->unit[i]);
}

static size_t room_units(const void *value)
{
    return 8 + 8 * (size_t)((const struct trial_wire_units *)value)->n;
}

const struct shared_value_kind trial_wire_units_kind = {
    .envelope = ENVELOPE_UNITS,
    .form = 1,
    .size = sizeof(struct trial_wire_units),
    .room = room_units,
    .pass = pass_units};
