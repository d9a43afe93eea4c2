/* The connection, and what it stands on: stream, bucket, and the board in it. */
#include "bus_nats_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/cond.h"

enum { SERVERS = 16, DUPLICATES_S = 600, CLOSE_S = 5 };

int bus_nats_trouble(struct bus_nats *n, natsStatus s, const char *what, struct err *e)
{
    char text[sizeof n->trouble];
    const char *why = nats_GetLastError(NULL);
    snprintf(text, sizeof text, "%s: %s%s%.80s", what, natsStatus_GetText(s),
             why && *why ? ", " : "", why ? why : "");
    pthread_mutex_lock(&n->lock);
    bool news = strcmp(text, n->trouble) != 0;
    memcpy(n->trouble, text, sizeof text);
    pthread_mutex_unlock(&n->lock);
    if (news) log_event(n->log, LOG_WARN, "bus", "%s", text);
    return err_field(e, ERR_IO, "bus", "%s", text);
}

static void all_is_well(struct bus_nats *n)
{
    pthread_mutex_lock(&n->lock);
    n->trouble[0] = '\0';
    pthread_mutex_unlock(&n->lock);
}

/* ---- the library's threads call ---- */

static void raise_flag(struct bus_nats *n, bool *flag)
{
    pthread_mutex_lock(&n->lock);
    *flag = true;
    pthread_cond_broadcast(&n->called);
    pthread_mutex_unlock(&n->lock);
}

static void on_call(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *ctx)
{
    (void)nc;
    (void)sub;
    struct bus_nats *n = ctx;
    natsMsg_Destroy(msg);
    raise_flag(n, &n->calling);
}

static void on_lost(natsConnection *nc, void *ctx)
{
    (void)nc;
    struct bus_nats *n = ctx;
    atomic_store(&n->up, false);
    log_event(n->log, LOG_WARN, "bus", "the connection is lost; going on without");
}

static void on_connected(natsConnection *nc, void *ctx)
{
    struct bus_nats *n = ctx;
    char url[128] = "";
    (void)natsConnection_GetConnectedUrl(nc, url, sizeof url);
    const char *at = strrchr(url, '@'); /* no passwords */
    log_event(n->log, LOG_INFO, "bus", "connected to %s", at ? at + 1 : url);
    atomic_fetch_add(&n->answering, 1);
    struct outbox *o = atomic_load(&n->outbox);
    if (o) outbox_hold(o);         /* before anybody can read the board */
    atomic_store(&n->made, false); /* the server may have come back with an empty store */
    atomic_store(&n->up, true);
    atomic_fetch_add(&n->reconnects, 1);
    if (o) outbox_wake(o);
    atomic_fetch_sub(&n->answering, 1);
    raise_flag(n, &n->calling); /* what was called meanwhile was not heard */
}

/* The last of its callbacks. */
static void on_closed(natsConnection *nc, void *ctx)
{
    (void)nc;
    struct bus_nats *n = ctx;
    raise_flag(n, &n->closed);
}

static void on_last_call(void *ctx)
{
    struct bus_nats *n = ctx;
    raise_flag(n, &n->silent);
}

/* ---- start ---- */

static natsStatus set_servers(natsOptions *o, const char *url)
{
    char text[1024], *save = NULL;
    const char *server[SERVERS];
    int n = 0;
    if (snprintf(text, sizeof text, "%s", url) >= (int)sizeof text)
        return NATS_INVALID_ARG;
    for (char *s = strtok_r(text, ", ", &save); s; s = strtok_r(NULL, ", ", &save)) {
        if (n == SERVERS) return NATS_INVALID_ARG;
        server[n++] = s;
    }
    return n ? natsOptions_SetServers(o, server, n) : NATS_INVALID_ARG;
}

natsStatus bus_nats_introduce(natsOptions *o, const struct bus_nats_cfg *cfg)
{
    natsStatus s = set_servers(o, cfg->url);
    if (!s && cfg->creds)
        s = natsOptions_SetUserCredentialsFromFiles(o, cfg->creds, NULL);
    if (!s) s = natsOptions_SetName(o, cfg->who);
    if (!s) s = natsOptions_SetTimeout(o, BUS_NATS_WAIT_MS);
    return s;
}

static natsStatus set_options(natsOptions *o, struct bus_nats *n,
                              const struct bus_nats_cfg *cfg)
{
    natsStatus s = bus_nats_introduce(o, cfg);
    if (!s) s = natsOptions_SetMaxReconnect(o, -1);
    if (!s) s = natsOptions_SetReconnectWait(o, 250);
    if (!s) s = natsOptions_SetReconnectJitter(o, 100, 100);
    /* a server that has gone silent is left after three seconds */
    if (!s) s = natsOptions_SetPingInterval(o, 1000);
    if (!s) s = natsOptions_SetMaxPingsOut(o, 2);
    if (!s) s = natsOptions_SetFailRequestsOnDisconnect(o, true);
    if (!s) s = natsOptions_SetDisconnectedCB(o, on_lost, n);
    if (!s) s = natsOptions_SetReconnectedCB(o, on_connected, n);
    if (!s) s = natsOptions_SetClosedCB(o, on_closed, n);
    if (!s) s = natsOptions_SetRetryOnFailedConnect(o, true, on_connected, n);
    return s;
}

static natsStatus open_contexts(struct bus_nats *n)
{
    jsOptions o;
    natsStatus s = jsOptions_Init(&o);
    o.Wait = BUS_NATS_WAIT_MS;
    o.PublishAsync.MaxPending = 8 * OUTBOX_UNDER_WAY; /* with those of lost connections */
    o.PublishAsync.AckHandler = bus_nats_on_ack;
    o.PublishAsync.AckHandlerClosure = n;
    if (!s) s = natsConnection_JetStream(&n->js, n->nc, &o);
    if (!s) s = natsConnection_Subscribe(&n->calls, n->nc, n->call, on_call, n);
    if (!s) s = natsSubscription_SetOnCompleteCB(n->calls, on_last_call, n);
    return s;
}

struct bus_nats *bus_nats_new(const struct bus_nats_cfg *cfg, struct err *e)
{
    struct bus_nats *n = calloc(1, sizeof *n);
    natsOptions *o = NULL;
    if (!n) {
        err_set(e, ERR_MEMORY, "no memory for the bus");
        return NULL;
    }
    pthread_mutex_init(&n->lock, NULL);
    cond_init(&n->called);
    snprintf(n->name, sizeof n->name, "%s", cfg->name);
    snprintf(n->stream, sizeof n->stream, "%s_traj", cfg->name);
    snprintf(n->subjects, sizeof n->subjects, "%s.traj.>", cfg->name);
    snprintf(n->call, sizeof n->call, "%s.call", cfg->name);
    n->replicas = cfg->replicas;
    n->stream_bytes = cfg->stream_bytes;
    n->log = cfg->log;

    natsStatus s = natsOptions_Create(&o);
    if (!s) s = set_options(o, n, cfg);
    if (!s) {
        s = natsConnection_Connect(&n->nc, o);
        if (!s) on_connected(n->nc, n);
        if (s == NATS_NOT_YET_CONNECTED) s = NATS_OK;
    }
    natsOptions_Destroy(o);
    if (!s) s = open_contexts(n);
    if (!s) return n;
    err_field(e, ERR_INVALID, "bus", "%s: is it nats://host:port?",
              natsStatus_GetText(s));
    bus_nats_free(n);
    return NULL;
}

/* Closes the connection; the library's threads still have something to tell after that. */
static void hang_up(struct bus_nats *n)
{
    double give_up = clock_mono() + CLOSE_S;
    bool subscribed = n->calls != NULL;
    natsConnection_Close(n->nc);
    natsSubscription_Destroy(n->calls);
    pthread_mutex_lock(&n->lock);
    bool in_time = true;
    while ((!n->closed || (subscribed && !n->silent)) && in_time)
        in_time = cond_wait(&n->called, &n->lock, give_up);
    pthread_mutex_unlock(&n->lock);
    while (atomic_load(&n->answering) && clock_mono() < give_up)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (!in_time) log_event(n->log, LOG_WARN, "bus", "the connection does not close");
}

void bus_nats_free(struct bus_nats *n)
{
    if (!n) return;
    if (n->nc) hang_up(n);
    kvStore_Destroy(n->kv);
    jsCtx_Destroy(n->js);
    natsConnection_Destroy(n->nc);
    pthread_cond_destroy(&n->called);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

/* ---- stream and bucket ---- */

static natsStatus make_stream(struct bus_nats *n)
{
    const char *subjects[] = {n->subjects};
    jsStreamInfo *info = NULL;
    jsErrCode code; /* the library wants it; nats_GetLastError says more */
    natsStatus s = js_GetStreamInfo(&info, n->js, n->stream, NULL, &code);
    jsStreamInfo_Destroy(info);
    if (s != NATS_NOT_FOUND) return s;

    jsStreamConfig c;
    jsStreamConfig_Init(&c);
    c.Name = n->stream;
    c.Description = "closed trajectories on their way to the learner of abrd";
    c.Subjects = subjects;
    c.SubjectsLen = 1;
    c.MaxBytes = n->stream_bytes;
    c.Discard = js_DiscardNew; /* who sends keeps it, and drops what is newest */
    c.Storage = js_FileStorage;
    c.Replicas = n->replicas;
    c.Duplicates = (int64_t)DUPLICATES_S * 1000000000;
    return js_AddStream(NULL, n->js, &c, NULL, &code);
}

static natsStatus make_bucket(struct bus_nats *n, kvStore **kv)
{
    natsStatus s = js_KeyValue(kv, n->js, n->name);
    if (s != NATS_NOT_FOUND) return s;
    kvConfig c;
    kvConfig_Init(&c);
    c.Bucket = n->name;
    c.Description = "weights, learner and common settings of abrd";
    c.History = 1;
    c.StorageType = js_FileStorage;
    c.Replicas = n->replicas;
    return js_CreateKeyValue(kv, n->js, &c);
}

bool bus_nats_ready(struct bus_nats *n, struct err *e)
{
    if (!atomic_load(&n->up)) {
        err_field(e, ERR_IO, "bus", "no NATS server is connected");
        return false;
    }
    if (atomic_load(&n->made)) return true;

    kvStore *kv = NULL;
    natsStatus s = make_stream(n);
    if (s) {
        bus_nats_trouble(n, s, "stream", e);
        return false;
    }
    s = make_bucket(n, &kv);
    if (s) {
        bus_nats_trouble(n, s, "bucket", e);
        return false;
    }
    pthread_mutex_lock(&n->lock);
    if (!n->kv) {
        n->kv = kv;
        kv = NULL;
    }
    pthread_mutex_unlock(&n->lock);
    kvStore_Destroy(kv);
    atomic_store(&n->made, true);
    all_is_well(n);
    return true;
}

void bus_nats_stats(struct bus_nats_stats *out, struct bus_nats *n)
{
    *out =
        (struct bus_nats_stats){.connected = atomic_load(&n->up) && atomic_load(&n->made),
                                .reconnects = atomic_load(&n->reconnects),
                                .published = atomic_load(&n->published),
                                .repeated = atomic_load(&n->repeated),
                                .refused = atomic_load(&n->refused),
                                .full = atomic_load(&n->full),
                                .received = atomic_load(&n->received),
                                .damaged = atomic_load(&n->damaged),
                                .skipped = atomic_load(&n->skipped)};
    pthread_mutex_lock(&n->lock);
    memcpy(out->trouble, n->trouble, sizeof out->trouble);
    pthread_mutex_unlock(&n->lock);
}

/* ---- the board ---- */

/* Asked is who leads the stream: the library's own kvStore_Get takes any replica's word, and one that
 * has just come back may be behind. */
static int bucket_get(void *self, const char *key, void **out, size_t *size,
                      uint64_t *rev, struct err *e)
{
    struct bus_nats *n = self;
    *out = NULL;
    *size = 0;
    *rev = 0;
    if (!bus_nats_ready(n, e)) return ERR_IO;
    char stream[BUS_NATS_NAME + 8], subject[2 * BUS_NATS_NAME + 8];
    snprintf(stream, sizeof stream, "KV_%s", n->name);
    snprintf(subject, sizeof subject, "$KV.%s.%.60s", n->name, key);
    natsMsg *msg = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetLastMsg(&msg, n->js, stream, subject, NULL, &code);
    if (s == NATS_NOT_FOUND) return 0;
    if (s) return bus_nats_trouble(n, s, key, e);
    const char *gone; /* the mark of a deletion */
    bool is = natsMsgHeader_Get(msg, "KV-Operation", &gone) != NATS_OK;
    if (is) {
        *size = (size_t)natsMsg_GetDataLength(msg);
        *rev = natsMsg_GetSequence(msg);
        *out = malloc(*size ? *size : 1);
        if (*out && *size) memcpy(*out, natsMsg_GetData(msg), *size);
    }
    natsMsg_Destroy(msg);
    all_is_well(n);
    return !is || *out ? 0 : err_set(e, ERR_MEMORY, "no memory for %s", key);
}

static size_t bucket_most(void *self)
{
    struct bus_nats *n = self;
    int64_t most = atomic_load(&n->up) ? natsConnection_GetMaxPayload(n->nc) : 0;
    return most > BUS_NATS_HEADERS ? (size_t)most - BUS_NATS_HEADERS : 0;
}

static int check_size(struct bus_nats *n, const char *key, size_t size, struct err *e)
{
    int64_t most = natsConnection_GetMaxPayload(n->nc) - BUS_NATS_HEADERS;
    if ((int64_t)size <= most) return 0;
    return err_field(
        e, ERR_RANGE, "bus",
        "%s: %zu bytes, and the NATS servers take no more than %lld at once: "
        "raise max_payload in their configuration",
        key, size, (long long)most);
}

static int bucket_put(void *self, const char *key, const void *data, size_t size,
                      uint64_t last, uint64_t *rev, struct err *e)
{
    struct bus_nats *n = self;
    if (!bus_nats_ready(n, e)) return ERR_IO;
    int rc = check_size(n, key, size, e);
    if (rc) return rc;
    natsStatus s = last ? kvStore_Update(rev, n->kv, key, data, (int)size, last)
                        : kvStore_Create(rev, n->kv, key, data, (int)size);
    if (!s) return 0;
    const char *why = nats_GetLastError(NULL);
    /* the library has no status of its own for this */
    if (why && strstr(why, "wrong last sequence"))
        return err_field(e, ERR_CONFLICT, "bus", "%s was changed by another node", key);
    return bus_nats_trouble(n, s, key, e);
}

static int bucket_set(void *self, const char *key, const void *data, size_t size,
                      struct err *e)
{
    struct bus_nats *n = self;
    if (!bus_nats_ready(n, e)) return ERR_IO;
    int rc = check_size(n, key, size, e);
    if (rc) return rc;
    natsStatus s = size ? kvStore_Put(NULL, n->kv, key, data, (int)size)
                        : kvStore_Purge(n->kv, key, NULL);
    return s ? bus_nats_trouble(n, s, key, e) : 0;
}

static void bucket_call(void *self)
{
    struct bus_nats *n = self;
    if (atomic_load(&n->up)) (void)natsConnection_PublishString(n->nc, n->call, "");
}

static bool bucket_wait(void *self, double wait_s)
{
    struct bus_nats *n = self;
    double until_s = clock_mono() + wait_s;
    pthread_mutex_lock(&n->lock);
    while (!n->calling && cond_wait(&n->called, &n->lock, until_s))
        ;
    bool called = n->calling;
    n->calling = false;
    pthread_mutex_unlock(&n->lock);
    return called;
}

static void bucket_wake(void *self)
{
    struct bus_nats *n = self;
    raise_flag(n, &n->calling);
}

struct bucket bus_nats_bucket(struct bus_nats *n)
{
    return (struct bucket){n,           bucket_get,  bucket_put,  bucket_set,
                           bucket_call, bucket_wait, bucket_wake, bucket_most};
}
