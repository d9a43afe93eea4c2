/* Deleting sessions of a daemon that runs. */
#include "serve/session/core.h"

#include <string.h>

#include "serve/store/forget.h"

enum { AT_ONCE = 64 };
/* A request is not under way for longer. */
static const double UNDER_WAY_S = 600;

struct forget_ctx {
    const struct forget_choice *choice;
    const uint8_t *key;
    struct forget_stats *count; /* NULL: none */
};

static bool forget_row(void *ctx, const struct track_row *row)
{
    const struct forget_ctx *f = ctx;
    if (!forget_fits(f->choice, f->key, row)) return false;
    if (!f->count) return true;
    f->count->sessions++;
    f->count->live += !row->closed;
    return false;
}

/* A running session ends as if its player had ended it, so that sums and a trial's counts stay right. */
static int forget_live(struct forget_stats *out, struct service *s, struct forget_ctx *f,
                       struct err *e)
{
    uint8_t id[AT_ONCE][TRACK_ID];
    char text[SERVICE_ID];
    int n;
    while ((n = sessions_find(id, AT_ONCE, s->sessions, forget_row, f)) > 0)
        for (int i = 0; i < n; i++) {
            sessions_id_text(text, id[i]);
            bool live = sessions_live(s->sessions, id[i]);
            int rc = live ? service_close(s, text, NULL, e) : 0;
            if (rc && rc != ERR_ABSENT) return rc;
            sessions_forget(s->sessions, id[i]);
            out->live += live;
            out->sessions++;
        }
    return 0;
}

int service_forget(struct forget_stats *out, struct service *s,
                   const struct forget_choice *choice, bool dry, struct err *e)
{
    struct forget_ctx f = {choice, s->viewers, NULL};
    struct forget_stats here = {0};
    const struct store *store = s->writer ? writer_store(s->writer) : NULL;
    int rc = forget_check(choice, e);
    *out = (struct forget_stats){0};
    if (!rc && !dry) rc = forget_live(&here, s, &f, e);
    if (!rc && s->writer) rc = service_history_settle(s, e);
    if (rc) return rc;
    if (!store || !store->forget) {
        f.count = out;
        (void)sessions_find(NULL, 1, s->sessions, forget_row, &f);
        if (!dry) *out = here;
        return 0;
    }
    rc = store->forget(store->self, out, choice, s->viewers, service_now(s) - UNDER_WAY_S,
                       dry, e);
    if (!dry) out->live = here.live;
    if (s->folder.lock >= 0) out->kept = forget_kept(s->cfg.data_dir);
    if (!rc && !dry)
        log_event(s->cfg.log, LOG_WARN, "forget",
                  "%lld sessions were deleted by an order", (long long)out->sessions);
    return rc;
}
