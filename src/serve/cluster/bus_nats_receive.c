/* The learner's end of the stream: in order, from the dedup's position on, each trajectory once. */
#include "bus_nats_priv.h"

#include <stdlib.h>
#include <string.h>

#include "serve/cluster/bus_wire.h"

enum { FETCH = 128, SUBSCRIBED_S = 30 };

struct receiver {
    struct bus_nats *n;
    struct dedup *dedup;
    int levels_max;
    natsSubscription *sub;
    natsMsgList list;
    int at; /* in the list */
    uint64_t connected;
    atomic_uint_fast64_t got, waiting; /* waiting: in the stream behind the last one */
};

/* The library frees a subscription even while its reading thread hands it a message (nats.c issue
 * 637). So it is taken off the connection first: once a PONG has come that thread is past it. */
static void unsubscribe(struct receiver *r)
{
    if (!r->sub) return;
    if (!natsSubscription_Unsubscribe(r->sub))
        (void)natsConnection_FlushTimeout(r->n->nc, BUS_NATS_WAIT_MS);
    natsSubscription_Destroy(r->sub);
    r->sub = NULL;
}

static void bus_nats_receive_let_go(struct receiver *r)
{
    natsMsgList_Destroy(&r->list);
    r->list = (natsMsgList){0};
    r->at = 0;
    unsubscribe(r);
}

/* Where reading goes on. A stream that ends before the position is another one. */
static natsStatus find_start(struct receiver *r, jsErrCode *code)
{
    struct bus_nats *n = r->n;
    jsStreamInfo *info = NULL;
    natsStatus s = js_GetStreamInfo(&info, n->js, n->stream, NULL, code);
    if (s) return s;
    uint64_t last = info->State.LastSeq;
    jsStreamInfo_Destroy(info);
    if (last < dedup_position(r->dedup)) {
        log_event(n->log, LOG_WARN, "bus",
                  "the stream ends at %llu, before %llu: it was made anew",
                  (unsigned long long)last, (unsigned long long)dedup_position(r->dedup));
        dedup_advance(r->dedup, 0);
    }
    return NATS_OK;
}

static bool subscribe(struct receiver *r)
{
    struct bus_nats *n = r->n;
    uint64_t now = atomic_load(&n->reconnects);
    if (!bus_nats_ready(n, NULL)) return false;
    if (r->sub && now == r->connected) return true;
    bus_nats_receive_let_go(r);
    jsErrCode code = 0;
    natsStatus s = find_start(r, &code);
    jsSubOptions so;
    jsSubOptions_Init(&so);
    so.Stream = n->stream;
    so.Config.AckPolicy = js_AckNone;
    so.Config.DeliverPolicy = js_DeliverByStartSequence;
    so.Config.OptStartSeq = dedup_position(r->dedup) + 1;
    so.Config.InactiveThreshold = (int64_t)SUBSCRIBED_S * 1000000000;
    if (!s) s = js_PullSubscribe(&r->sub, n->js, n->subjects, NULL, NULL, &so, &code);
    if (s) bus_nats_trouble(n, s, "subscribe", NULL);
    r->connected = now;
    return !s;
}

/* Is this message still in the stream? When that cannot be told it is taken to be. */
static bool still_there(struct receiver *r, uint64_t seq)
{
    natsMsg *msg = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetMsg(&msg, r->n->js, r->n->stream, seq, NULL, &code);
    natsMsg_Destroy(msg);
    return s != NATS_NOT_FOUND;
}

/* Is seq what comes next? What a server had sent when it died, or a connection broke, is not sent
 * again to this subscription: then the stream is read anew from where it is known. */
static bool follows(struct receiver *r, uint64_t seq)
{
    uint64_t before = dedup_position(r->dedup);
    if (!before || seq == before + 1) return true;
    if (still_there(r, before + 1)) {
        log_event(r->n->log, LOG_INFO, "bus",
                  "message %llu came after %llu: reading again", (unsigned long long)seq,
                  (unsigned long long)before);
        bus_nats_receive_let_go(r);
        return false;
    }
    atomic_fetch_add(&r->n->skipped, seq - before - 1);
    return true;
}

/* The next message of the list as a trajectory that is new. */
static bool bus_nats_receive_take(struct receiver *r, struct traj *out)
{
    struct bus_nats *n = r->n;
    while (r->at < r->list.Count) {
        natsMsg *msg = r->list.Msgs[r->at++];
        jsMsgMetaData *meta = NULL;
        if (natsMsg_GetMetaData(&meta, msg)) continue;
        uint64_t seq = meta->Sequence.Stream;
        r->waiting = meta->NumPending;
        jsMsgMetaData_Destroy(meta);
        if (seq <= dedup_position(r->dedup)) continue;
        if (!follows(r, seq)) return false;
        dedup_advance(r->dedup, seq);

        struct bus_wire_id id;
        struct err why = {0};
        int rc = bus_wire_get_traj(out, &id, natsMsg_GetData(msg),
                                   (size_t)natsMsg_GetDataLength(msg), &why);
        if (!rc && out->view.levels > r->levels_max) {
            rc = err_set(&why, ERR_RANGE, "%d levels; the policy chooses among %d",
                         out->view.levels, r->levels_max);
            (void)dedup_take(r->dedup, id.maker,
                             id.number); /* its node need not keep it */
        }
        if (rc) {
            if (!atomic_fetch_add(&n->damaged, 1))
                log_event(n->log, LOG_WARN, "bus", "message %llu: %s",
                          (unsigned long long)seq, why.detail);
            continue;
        }
        if (!dedup_take(r->dedup, id.maker, id.number)) continue;
        out->place = seq;
        r->got++;
        atomic_fetch_add(&n->received, 1);
        return true;
    }
    return false;
}

static bool receiver_receive(void *self, struct traj *out, double wait_s)
{
    struct receiver *r = self;
    if (bus_nats_receive_take(r, out)) return true;
    if (wait_s <= 0) return false;
    struct bucket bucket = bus_nats_bucket(r->n);
    if (!subscribe(r)) {
        (void)bucket.wait(bucket.self, wait_s);
        return false;
    }
    natsMsgList_Destroy(&r->list);
    r->list = (natsMsgList){0};
    r->at = 0;
    jsErrCode code = 0;
    natsStatus s = natsSubscription_Fetch(&r->list, r->sub, FETCH,
                                          (int64_t)(wait_s * 1000) + 1, &code);
    if (s && s != NATS_TIMEOUT) {
        bus_nats_trouble(r->n, s, "fetch", NULL);
        bus_nats_receive_let_go(r);
        (void)bucket.wait(bucket.self, wait_s);
        return false;
    }
    return bus_nats_receive_take(r, out);
}

static void receiver_wake(void *self)
{
    struct receiver *r = self;
    struct bucket bucket = bus_nats_bucket(r->n);
    bucket.wake(bucket.self);
}

static void receiver_stats(void *self, struct bus_stats *out)
{
    struct receiver *r = self;
    *out = (struct bus_stats){.sent = r->got, .queued = r->waiting};
}

static void receiver_free(void *self)
{
    struct receiver *r = self;
    if (!r) return;
    bus_nats_receive_let_go(r);
    free(r);
}

void bus_nats_rewind(struct bus *receiver)
{
    bus_nats_receive_let_go(receiver->self);
}

void bus_nats_trim(struct bus_nats *n, uint64_t position)
{
    jsOptions o;
    jsErrCode code = 0;
    if (!position || jsOptions_Init(&o)) return;
    o.Stream.Purge.Sequence = position + 1;
    natsStatus s = js_PurgeStream(n->js, n->stream, &o, &code);
    if (s) bus_nats_trouble(n, s, "purge", NULL);
}

int bus_nats_receiver(struct bus *out, struct bus_nats *n, struct dedup *l,
                      int levels_max, struct err *e)
{
    *out = (struct bus){0};
    struct receiver *r = calloc(1, sizeof *r);
    if (!r) return err_set(e, ERR_MEMORY, "no memory for the bus");
    r->n = n;
    r->dedup = l;
    r->levels_max = levels_max;
    *out = (struct bus){.self = r,
                        .receive = receiver_receive,
                        .wake = receiver_wake,
                        .stats = receiver_stats,
                        .free = receiver_free};
    return 0;
}
