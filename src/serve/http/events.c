#include "serve/http/events.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static const double STATS_EVERY_S = 1.0;

struct event {
    const char *type;
    size_t n;
    char data[EVENTS_DATA];
};

struct events {
    _Atomic int watchers;
    int max_watchers;
    pthread_mutex_t lock; /* guards the members below */
    uint64_t next;        /* number of the next event, at next % EVENTS_RING */
    struct event ring[EVENTS_RING];
};

struct watcher {
    struct events *events;
    struct events_cfg cfg;
    uint64_t next;   /* first event not yet sent */
    double stats_at; /* time of the next stats */
    struct emit out; /* formatted, not yet sent */
    size_t sent;
};

struct events *events_new(int max_watchers, struct err *e)
{
    struct events *ev = calloc(1, sizeof *ev);
    if (!ev) {
        err_set(e, ERR_MEMORY, "no memory for the event ring");
        return NULL;
    }
    ev->max_watchers = max_watchers;
    ev->next = 1;
    pthread_mutex_init(&ev->lock, NULL);
    return ev;
}

void events_free(struct events *ev)
{
    if (!ev) return;
    pthread_mutex_destroy(&ev->lock);
    free(ev);
}

bool events_watched(struct events *ev)
{
    return atomic_load_explicit(&ev->watchers, memory_order_relaxed) > 0;
}

void events_publish(struct events *ev, const char *type, const char *data, size_t n)
{
    if (n > EVENTS_DATA) return;
    pthread_mutex_lock(&ev->lock);
    struct event *slot = &ev->ring[ev->next++ % EVENTS_RING];
    slot->type = type;
    slot->n = n;
    memcpy(slot->data, data, n);
    pthread_mutex_unlock(&ev->lock);
}

/* ---- one watcher ---- */

/* Copies the next event; 0 if there is none, else 1 + the events lost before it. */
static uint64_t events_take(struct event *out, struct watcher *w)
{
    struct events *ev = w->events;
    uint64_t lost = 0;
    pthread_mutex_lock(&ev->lock);
    bool some = w->next < ev->next;
    if (some) {
        uint64_t oldest = ev->next > EVENTS_RING ? ev->next - EVENTS_RING : 1;
        if (w->next < oldest) {
            lost = oldest - w->next;
            w->next = oldest;
        }
        const struct event *slot = &ev->ring[w->next++ % EVENTS_RING];
        out->type = slot->type;
        out->n = slot->n;
        memcpy(out->data, slot->data, slot->n);
    }
    pthread_mutex_unlock(&ev->lock);
    return some ? 1 + lost : 0;
}

static void put_event(struct emit *o, uint64_t id, const struct event *event)
{
    if (id) emit_text(o, "id: %" PRIu64 "\n", id);
    emit_text(o, "event: %s\ndata: ", event->type);
    emit_raw(o, event->data, event->n);
    emit_raw(o, "\n\n", 2);
}

static double now(const struct watcher *w)
{
    return w->cfg.clock ? w->cfg.clock(w->cfg.clock_ctx) : clock_mono();
}

static void gather(struct watcher *w)
{
    emit_reset(&w->out);
    w->sent = 0;
    if (now(w) >= w->stats_at) {
        w->stats_at = now(w) + STATS_EVERY_S;
        emit_text(&w->out, "event: stats\ndata: ");
        w->cfg.stats(w->cfg.ctx, &w->out);
        emit_raw(&w->out, "\n\n", 2);
        w->out.comma = false;
    }
    if (w->cfg.only_stats) return;

    /* a few at a time: the buffer stays small, and other clients get their turn */
    struct event event;
    for (int i = 0; i < 32; i++) {
        uint64_t got = events_take(&event, w);
        if (!got) break;
        if (got > 1)
            emit_text(&w->out, "event: lost\ndata: {\"events\":%" PRIu64 "}\n\n",
                      got - 1);
        put_event(&w->out, w->next - 1, &event);
    }
}

static ssize_t watcher_pull(void *self, char *buf, size_t max)
{
    struct watcher *w = self;
    if (w->sent == w->out.n) gather(w);
    if (w->out.failed) return REPLY_BROKEN;

    size_t n = w->out.n - w->sent;
    if (!n) return REPLY_LATER;
    if (n > max) n = max;
    memcpy(buf, w->out.at + w->sent, n);
    w->sent += n;
    return (ssize_t)n;
}

static void watcher_done(void *self)
{
    struct watcher *w = self;
    atomic_fetch_sub(&w->events->watchers, 1);
    if (w->cfg.held) occupancy_give(w->cfg.held, &w->cfg.who);
    emit_free(&w->out);
    free(w);
}

void events_reply(struct reply *r, struct events *ev, const struct events_cfg *cfg)
{
    if (atomic_fetch_add(&ev->watchers, 1) >= ev->max_watchers) {
        atomic_fetch_sub(&ev->watchers, 1);
        reply_fail(r, 429, "", "%d event streams are open, which is the limit",
                   ev->max_watchers);
        return;
    }
    if (cfg->held && !occupancy_take(cfg->held, &cfg->who, cfg->most)) {
        atomic_fetch_sub(&ev->watchers, 1);
        reply_fail(r, 429, "",
                   "%d event streams are open from this address, which is its share",
                   cfg->most);
        return;
    }
    struct watcher *w = calloc(1, sizeof *w);
    if (!w) {
        atomic_fetch_sub(&ev->watchers, 1);
        if (cfg->held) occupancy_give(cfg->held, &cfg->who);
        reply_fail(r, 503, "", "no memory for an event stream");
        return;
    }
    w->events = ev;
    w->cfg = *cfg;

    pthread_mutex_lock(&ev->lock);
    w->next = cfg->after < ev->next ? cfg->after + 1 : ev->next;
    pthread_mutex_unlock(&ev->lock);

    emit_text(&w->out, "retry: 2000\n\n");
    if (cfg->withheld) emit_text(&w->out, "event: withheld\ndata: {}\n\n");
    reply_stream(r, 200, "text/event-stream",
                 &(struct reply_stream){.pull = watcher_pull,
                                        .done = watcher_done,
                                        .self = w,
                                        .poll_ms = 100,
                                        .length = -1,
                                        .endless = true});
    reply_header(r, "Cache-Control", "no-store");
    reply_header(r, "X-Accel-Buffering", "no"); /* a proxy must not buffer */
}
