#include "abr/deciders/ceiled.h"

#include "abr/deciders/first_level.h"
#include "abr/deciders/guard.h"

#include <stdlib.h>

static void ceiled_reset(void *self, uint64_t session_key)
{
    struct algo *inner = self;
    inner->reset(inner->self, session_key);
}

static int ceiled_decide(void *self, const struct view *v, const struct video *video)
{
    struct algo *inner = self;
    int level = inner->decide(inner->self, v, video);
    if (first_level_is(v)) {
        int most = first_level_most(v);
        return level < most ? level : most;
    }
    uint32_t levels = guard_levels(v);
    while (level > 0 && !(levels >> level & 1))
        level--;
    return level;
}

static void ceiled_free(void *self)
{
    struct algo *inner = self;
    algo_free(inner);
    free(inner);
}

int ceiled_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
               struct err *e)
{
    struct algo *inner = calloc(1, sizeof *inner);
    if (!inner) return err_set(e, ERR_MEMORY, "no memory for a policy");
    int rc = algo_new(inner, arg, ctx, e);
    if (rc) {
        free(inner);
        return rc;
    }
    *out = (struct algo){.self = inner,
                         .reset = ceiled_reset,
                         .decide = ceiled_decide,
                         .free = ceiled_free};
    return 0;
}
