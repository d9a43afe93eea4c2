#include "abr/deciders/algo.h"

#include "abr/deciders/bba2.h"
#include "abr/deciders/bola.h"
#include "abr/deciders/bola_e.h"
#include "abr/deciders/ceiled.h"
#include "abr/deciders/fugu.h"
#include "abr/deciders/hold.h"
#include "abr/deciders/hyb.h"
#include "abr/deciders/moe.h"
#include "abr/deciders/mpc.h"
#include "abr/deciders/mpc_tail.h"
#include "abr/deciders/simple.h"
#include "abr/deciders/soda.h"

#include <stdio.h>
#include <string.h>

/* A deciding algorithm. One of level and make is set. */
struct algo_kind {
    const char *name;  /* as in a spec; ends in '-' when an argument follows */
    const char *shown; /* in the list of known names; NULL: the name */
    enum { NONE, NEEDED, OPTIONAL } argument;
    int (*level)(const struct view *v); /* a pure function of the view */
    int (*make)(struct algo *out, const char *arg, const struct algo_ctx *ctx,
                struct err *e);
    bool shared; /* keeps nothing from one decision to the next */
};

static const struct algo_kind KINDS[] = {
    {"fixed-", "fixed-N", NEEDED, .make = simple_fixed_new, .shared = true},
    {"random", .make = simple_random_new},
    {"rate", .level = simple_rate_level, .shared = true},
    {"buffer", .level = simple_buffer_level, .shared = true},
    {"bola", .level = bola_level, .shared = true},
    {"bola-e", .make = bola_e_new},
    {"bba-2", NULL, OPTIONAL, .make = bba2_new},
    {"hyb", NULL, OPTIONAL, .make = hyb_new, .shared = true},
    {"soda", NULL, OPTIONAL, .make = soda_new, .shared = true},
    {"mpc", .make = mpc_new},
    {"mpc-default", .make = mpc_default_new},
    {"mpc-tail", NULL, OPTIONAL, .make = mpc_tail_new, .shared = true},
    {"fugu", NULL, OPTIONAL, .make = fugu_new},
    {"hold", NULL, OPTIONAL, .make = hold_new, .shared = true},
    {"ceiled:", "ceiled:SPEC", NEEDED, .make = ceiled_new},
    {"moe", "moe, moe:FILE", OPTIONAL, .make = moe_new},
};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

/* The argument's text when spec names this kind, else NULL. */
static const char *algo_argument(const struct algo_kind *kind, const char *spec)
{
    size_t n = strlen(kind->name);
    if (strncmp(spec, kind->name, n) != 0) return NULL;
    const char *rest = spec + n;
    if (kind->argument == NEEDED || !*rest) return rest;
    return kind->argument == OPTIONAL && *rest == ':' && rest[1] ? rest + 1 : NULL;
}

static int decide_by_level(void *self, const struct view *v, const struct video *video)
{
    (void)video;
    return ((const struct algo_kind *)self)->level(v);
}

static void no_reset(void *self, uint64_t session_key)
{
    (void)self, (void)session_key;
}

static void no_free(void *self)
{
    (void)self;
}

static int unknown_algo(const char *spec, struct err *e)
{
    char known[300] = "";
    for (int i = 0; i < N_KINDS; i++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "",
                 KINDS[i].shown ? KINDS[i].shown : KINDS[i].name);
    }
    return err_field(e, ERR_ABSENT, "policy",
                     "no policy '%.60s': known are %s (and oracle in eval)", spec, known);
}

bool algo_shared(const char *spec)
{
    for (int i = 0; i < N_KINDS; i++)
        if (algo_argument(&KINDS[i], spec)) return KINDS[i].shared;
    return false;
}

int algo_new(struct algo *out, const char *spec, const struct algo_ctx *ctx,
             struct err *e)
{
    *out = (struct algo){.reset = no_reset, .free = no_free};
    for (int i = 0; i < N_KINDS; i++) {
        const char *arg = algo_argument(&KINDS[i], spec);
        if (!arg) continue;
        if (KINDS[i].make) return KINDS[i].make(out, arg, ctx, e);
        out->self = (void *)(uintptr_t)&KINDS[i]; /* read by decide_by_level alone */
        out->decide = decide_by_level;
        return 0;
    }
    return unknown_algo(spec, e);
}

void algo_free(struct algo *a)
{
    if (!a || !a->free) return;
    a->free(a->self);
    *a = (struct algo){0};
}
