#include "abr/deciders/algo.h"

#include "abr/deciders/algo_moe.h"
#include "abr/deciders/bola.h"
#include "abr/deciders/mpc.h"
#include "abr/deciders/simple.h"

#include <string.h>

/* What the name is followed by: nothing, an argument that must be there, or one that may.
 */
enum argument { NONE, NEEDED, OPTIONAL };

static const struct entry {
    const char *name; /* with its separator when an argument is needed */
    enum argument argument;
    int (*make)(struct algo *out, const char *arg, const struct algo_ctx *ctx,
                struct err *e);
} entries[] = {
    {"fixed-", NEEDED, simple_fixed_new},
    {"random", NONE, simple_random_new},
    {"rate", NONE, simple_rate_new},
    {"buffer", NONE, simple_buffer_new},
    {"bola", NONE, bola_new},
    {"mpc", NONE, mpc_new},
    {"mpc-default", NONE, mpc_default_new},
    {"moe", OPTIONAL, algo_moe_new},
};

/* The argument's text when spec names this entry, else NULL. */
static const char *match(const struct entry *entry, const char *spec)
{
    size_t n = strlen(entry->name);
    if (strncmp(spec, entry->name, n) != 0) return NULL;
    const char *rest = spec + n;
    switch (entry->argument) {
    case NONE:
        return *rest ? NULL : rest;
    case NEEDED:
        return rest;
    case OPTIONAL:
        return !*rest ? rest : *rest == ':' ? rest + 1 : NULL;
    }
    return NULL;
}

static void no_reset(void *self, uint64_t session_key)
{
    (void)self, (void)session_key;
}

static void no_free(void *self)
{
    (void)self;
}

int algo_new(struct algo *out, const char *spec, const struct algo_ctx *ctx,
             struct err *e)
{
    *out = (struct algo){.reset = no_reset, .free = no_free};

    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        const char *arg = match(&entries[i], spec);
        if (arg) return entries[i].make(out, arg, ctx, e);
    }
    return err_field(
        e, ERR_ABSENT, "policy",
        "no policy '%.60s': known are fixed-N, random, rate, buffer, bola, mpc, "
        "mpc-default, moe, moe:FILE (and oracle in eval)",
        spec);
}

void algo_free(struct algo *a)
{
    if (!a || !a->free) return;
    a->free(a->self);
    *a = (struct algo){0};
}
