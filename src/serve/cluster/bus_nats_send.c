/* A node's end of the stream: from the outbox, a window at a time. */
#include "bus_nats_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/cluster/bus_wire.h"

enum { ACK_MS = 5000, PAUSE_MS = 250 };

struct sender {
    struct bus_nats *n;
    struct outbox *outbox;
    pthread_t thread;
    atomic_bool stopping, refused; /* refused: a pause before the next one */
    uint64_t connected;            /* reconnects as they were last seen */
};

/* "maker-number", as decimal numbers, and how often it was doubted: what the server knows a
 * trajectory by. */
static void id_text(char out[64], const struct bus_envelope *p)
{
    struct bus_wire_id id = bus_wire_peek(p->bytes);
    snprintf(out, 64, "%" PRIu64 "-%" PRIu64 "-%d", id.maker, id.number, p->doubted);
}

void bus_nats_on_ack(jsCtx *js, natsMsg *msg, jsPubAck *ack, jsPubAckErr *failed,
                     void *ctx)
{
    (void)js;
    struct bus_nats *n = ctx;
    uint64_t number = bus_wire_peek(natsMsg_GetData(msg)).number;
    atomic_fetch_add(&n->answering, 1);
    struct outbox *o = atomic_load(&n->outbox);
    if (o && ack && !ack->Duplicate) outbox_acked(o, number, ack->Sequence);
    if (o && ack && ack->Duplicate) outbox_doubted(o, number);
    if (o && failed) outbox_refused(o, number);

    if (ack) {
        atomic_fetch_add(ack->Duplicate ? &n->repeated : &n->published, 1);
    } else if (failed) {
        atomic_fetch_add(&n->refused, 1);
        if (failed->ErrText && strstr(failed->ErrText, "maximum"))
            atomic_fetch_add(&n->full, 1);
        char why[96];
        snprintf(why, sizeof why, "%.90s",
                 failed->ErrText ? failed->ErrText : natsStatus_GetText(failed->Err));
        pthread_mutex_lock(&n->lock);
        bool news = strcmp(n->trouble, why) != 0;
        snprintf(n->trouble, sizeof n->trouble, "%s", why);
        pthread_mutex_unlock(&n->lock);
        if (news) log_event(n->log, LOG_WARN, "bus", "the stream refuses: %s", why);
    }
    natsMsg_Destroy(msg);
    atomic_fetch_sub(&n->answering, 1); /* n may be gone now */
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

static void bus_nats_send_publish(struct sender *s, const struct bus_envelope *p)
{
    struct bus_nats *n = s->n;
    char id[64], subject[BUS_NATS_NAME + 40];
    id_text(id, p);
    snprintf(subject, sizeof subject, "%s.traj.%" PRIu64, n->name,
             bus_wire_peek(p->bytes).maker);
    natsMsg *msg = NULL;
    natsStatus st = natsMsg_Create(&msg, subject, NULL, p->bytes, (int)p->n);
    jsPubOptions o;
    jsPubOptions_Init(&o);
    o.MsgId = id;
    o.MaxWait = ACK_MS;
    if (!st) st = js_PublishMsgAsync(n->js, &msg, &o);
    natsMsg_Destroy(msg);
    if (!st) return;
    outbox_refused(s->outbox, p->number);
    bus_nats_trouble(n, st, "publish", NULL);
    atomic_store(&s->refused, true);
}

static void *sender_main(void *ctx)
{
    struct sender *s = ctx;
    struct bus_nats *n = s->n;
    uint64_t refusals = 0;
    while (!atomic_load(&s->stopping)) {
        if (!bus_nats_ready(n, NULL)) {
            pause_ms(PAUSE_MS);
            continue;
        }
        uint64_t now = atomic_load(&n->reconnects), refused = atomic_load(&n->refused);
        /* what the last connection left unanswered is sent again, by the same ids */
        if (now != s->connected) outbox_again(s->outbox);
        s->connected = now;
        if (refused != refusals || atomic_exchange(&s->refused, false))
            pause_ms(PAUSE_MS);
        refusals = refused;
        struct bus_envelope p;
        if (outbox_next(s->outbox, &p, 1.0)) bus_nats_send_publish(s, &p);
    }
    return NULL;
}

/* ---- the bus ---- */

static bool sender_send(void *self, const struct traj *t)
{
    struct sender *s = self;
    struct bus_envelope p;
    return outbox_put(s->outbox, t, &p);
}

static bool sender_stage(void *self, const struct traj *t, struct bus_envelope *out)
{
    struct sender *s = self;
    return outbox_put(s->outbox, t, out);
}

static void sender_stored(void *self, uint64_t number)
{
    struct sender *s = self;
    outbox_stored(s->outbox, number);
}

static int sender_restore(void *self, const struct bus_envelope *p, struct err *e)
{
    struct sender *s = self;
    return outbox_restore(s->outbox, p, e);
}

static uint64_t sender_delivered(void *self)
{
    struct sender *s = self;
    return outbox_delivered(s->outbox);
}

static void sender_wake(void *self)
{
    struct sender *s = self;
    outbox_wake(s->outbox);
}

static void sender_stats(void *self, struct bus_stats *out)
{
    struct sender *s = self;
    struct outbox_stats o;
    outbox_stats(s->outbox, &o);
    *out = (struct bus_stats){o.put, o.dropped, (uint64_t)o.waiting};
}

static void sender_free(void *self)
{
    struct sender *s = self;
    if (!s) return;
    atomic_store(&s->stopping, true);
    outbox_wake(s->outbox);
    pthread_join(s->thread, NULL);
    atomic_store(&s->n->outbox, NULL); /* answers that come now find nobody */
    while (atomic_load(&s->n->answering))
        pause_ms(1);
    free(s);
}

int bus_nats_sender(struct bus *out, struct bus_nats *n, struct outbox *o, struct err *e)
{
    *out = (struct bus){0};
    struct sender *s = calloc(1, sizeof *s);
    if (!s) return err_set(e, ERR_MEMORY, "no memory for the bus");
    s->n = n;
    s->outbox = o;
    outbox_hold(o);
    atomic_store(&n->outbox, o);
    int rc = pthread_create(&s->thread, NULL, sender_main, s);
    if (rc) {
        atomic_store(&n->outbox, NULL);
        free(s);
        return err_set(e, ERR_IO, "no thread for the bus: %s", strerror(rc));
    }
    pthread_setname_np(s->thread, "bus");
    *out = (struct bus){.self = s,
                        .send = sender_send,
                        .wake = sender_wake,
                        .stats = sender_stats,
                        .free = sender_free,
                        .stage = sender_stage,
                        .stored = sender_stored,
                        .restore = sender_restore,
                        .delivered = sender_delivered};
    return 0;
}
