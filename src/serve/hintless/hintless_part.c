/* Viewers without a hint as a part of the daemon: what the core calls (serve/part.h). */
#include "serve/hintless/hintless.h"
#include "serve/session/core.h"

#include <stdlib.h>

#include "serve/hintless/api_hintless.h"

extern const struct part hintless_part;

struct hintless_state {
    struct service *service;
    struct hintless_cfg cfg;
    struct hintless *hintless;
};

struct hintless *hintless_of(struct service *s)
{
    const struct hintless_state *h = service_part(s, hintless_part.name);
    return h ? h->hintless : NULL;
}

static int hintless_part_check(const void *cfg, const struct service_cfg *common,
                               struct err *e)
{
    (void)common;
    return hintless_cfg_check(cfg, e);
}

static int hintless_part_open(void **self, struct service *s, const void *cfg,
                              struct err *e)
{
    struct hintless_state *h = *self = calloc(1, sizeof *h);
    if (!h) return err_set(e, ERR_MEMORY, "no memory for viewers without a hint");
    *h = (struct hintless_state){.service = s, .cfg = *(const struct hintless_cfg *)cfg};
    return 0;
}

static int hintless_part_start(void *self, struct err *e)
{
    struct hintless_state *h = self;
    struct service *s = h->service;
    bool stored = s->folder.lock >= 0;
    struct hintless_new how = {.cfg = h->cfg,
                               .router = &s->policy_cfg,
                               .weights = s->published,
                               .default_profile = s->cfg.default_profile,
                               .state_path = stored ? s->folder.hintless : NULL,
                               .seed = s->cfg.seed,
                               .now = service_now(s),
                               .log = s->cfg.log};
    folder_hintless(&s->folder, s->cfg.log);
    h->hintless = hintless_new(&how, e);
    return h->hintless ? 0 : ERR_INVALID;
}

/* Passes on the profiles, and begins the next slot if it is due. */
static void hintless_part_tick(void *self, double now)
{
    const struct hintless_state *h = self;
    struct profile p[PROFILES_MAX];
    int n = profiles_list(p, PROFILES_MAX, h->service->profiles);
    hintless_profiles(h->hintless, p, n);
    (void)hintless_tick(h->hintless, now);
}

static void hintless_part_save(void *self)
{
    const struct hintless_state *h = self;
    struct err why = {0};
    if (hintless_save(h->hintless, &why))
        log_err(h->service->cfg.log, LOG_ERROR, "slot", &why);
}

static void hintless_part_free(void *self)
{
    struct hintless_state *h = self;
    if (!h) return;
    hintless_free(h->hintless);
    free(h);
}

static void hintless_part_stats(void *self, void *out)
{
    const struct hintless_state *h = self;
    hintless_stats(out, h->hintless);
}

static void hintless_part_json(struct emit *o, const void *figures)
{
    emit_key(o, "untagged");
    emit_open(o, '{');
    figure_json(o, hintless_figures, figures);
    emit_close(o, '}');
}

static void *hintless_part_worker(void *self, struct err *e)
{
    const struct hintless_state *h = self;
    return hintless_worker_new(h->hintless, e);
}

static void hintless_part_worker_free(void *worker)
{
    hintless_worker_free(worker);
}

static enum part_decide hintless_part_decide(struct verdict *out, void *self,
                                             void *worker, const struct decision *d)
{
    const struct hintless_state *h = self;
    if (d->hinted) return PART_PASSES;
    bool ok = hintless_decide(out, h->hintless, worker, d->decider, h->service->published,
                              d->view, d->content_id, d->stall_weight);
    return ok ? PART_DECIDED : PART_NOT_FINITE;
}

static void hintless_part_hint(struct qoe *qoe, void *self, void *worker)
{
    const struct hintless_state *h = self;
    (void)hintless_hint(qoe, h->hintless, worker);
}

static void hintless_part_opened(void *self, const struct track_row *row)
{
    const struct hintless_state *h = self;
    if (!row->hinted && !row->apart) hintless_opened(h->hintless);
}

static void hintless_part_asked(void *self, void *worker, const struct session_asked *a)
{
    const struct hintless_state *h = self;
    if (!hintless_watches(h->hintless, a->key, a->chunk)) return;
    hintless_watch(h->hintless, worker, a->id, a->hinted, a->view);
    /* another connection may have ended the session meanwhile */
    if (!sessions_live(h->service->sessions, a->id)) hintless_unwatch(h->hintless, a->id);
}

static void hintless_part_chunk(void *self, const struct track_row *row,
                                const struct step *step)
{
    const struct hintless_state *h = self;
    hintless_chunk(h->hintless, row, step);
}

static void hintless_part_closed(void *self, const struct track_row *row)
{
    const struct hintless_state *h = self;
    if (!row->apart) hintless_ended(h->hintless, row);
}

static void hintless_part_gone(void *self, const char *name)
{
    const struct hintless_state *h = self;
    hintless_forget(h->hintless, name);
}

const struct part hintless_part = {.name = "hintless",
                                   .check = hintless_part_check,
                                   .open = hintless_part_open,
                                   .start = hintless_part_start,
                                   .tick = hintless_part_tick,
                                   .save = hintless_part_save,
                                   .free = hintless_part_free,
                                   .stats = hintless_part_stats,
                                   .json = hintless_part_json,
                                   .desk = hintless_part_worker,
                                   .desk_free = hintless_part_worker_free,
                                   .decide = hintless_part_decide,
                                   .hint = hintless_part_hint,
                                   .opened = hintless_part_opened,
                                   .asked = hintless_part_asked,
                                   .chunk = hintless_part_chunk,
                                   .closed = hintless_part_closed,
                                   .profile_gone = hintless_part_gone,
                                   .routes = api_hintless_routes};
