#include "serve/cluster/bus_nats.h"

#include <inttypes.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/cond.h"
#include "serve/cluster/bus_wire.h"

enum {
    NAME = 64,
    NAMES = NAME + 8, /* of stream, subjects and calls */
    SERVERS = 16,
    ANSWER_MS = 2000, /* for a server to answer */
    ACK_MS = 5000,    /* and to acknowledge what the sender published */
    PAUSE_MS = 250,   /* of the sender after a failure */
    HEADERS = 1024,   /* bytes of a message that are not its value */
    DUPLICATES_S = 600,
    CLOSE_S = 5,
    FETCH = 128, /* messages at once, see receiver_fetch */
    SUBSCRIBED_S = 30,
};

struct bus_nats {
    char name[NAME], stream[NAMES], subjects[NAMES], call[NAMES];
    int replicas;
    int64_t stream_bytes;
    const struct log *log;
    natsConnection *nc;
    jsCtx *js;
    natsSubscription *calls;
    natsSubscription *left;        /* the receiver's last, see receiver_unsubscribe */
    struct outbox *_Atomic outbox; /* the sender's; NULL: no sender */
    atomic_int answering;          /* callbacks that may use it */
    atomic_bool up, made;          /* connected; stream and bucket exist */
    atomic_uint_fast64_t reconnects, published, repeated, refused, full, damaged, skipped;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t called;
    bool calling;
    bool closed, silent; /* no callback of the connection, of the calls, comes any more */
    kvStore *kv;
    char trouble[128];
};

/* The last failure, for stats; in the log when it is another one than before. */
static void note_trouble(struct bus_nats *n, const char *what, const char *status,
                         const char *why)
{
    char text[sizeof n->trouble];
    snprintf(text, sizeof text, "%s: %s%s%.80s", what, status, why && *why ? ", " : "",
             why ? why : "");
    pthread_mutex_lock(&n->lock);
    bool news = strcmp(text, n->trouble) != 0;
    memcpy(n->trouble, text, sizeof text);
    pthread_mutex_unlock(&n->lock);
    if (news) log_event(n->log, LOG_WARN, "bus", "%s", text);
}

/* Notes why a call failed; ERR_IO. */
static int nats_trouble(struct bus_nats *n, natsStatus s, const char *what, struct err *e)
{
    const char *why = nats_GetLastError(NULL);
    note_trouble(n, what, natsStatus_GetText(s), why);
    return err_field(e, ERR_IO, "bus", "%s: %s%s%.80s", what, natsStatus_GetText(s),
                     why && *why ? ", " : "", why ? why : "");
}

static void clear_trouble(struct bus_nats *n)
{
    pthread_mutex_lock(&n->lock);
    n->trouble[0] = '\0';
    pthread_mutex_unlock(&n->lock);
}

/* ---- callbacks, in threads of the library ---- */

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
    log_event(n->log, LOG_WARN, "bus",
              "the connection is lost; the daemon works on without it");
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
    if (o) outbox_hold(o);         /* before any thread can read the bucket */
    atomic_store(&n->made, false); /* the server may have an empty store now */
    atomic_store(&n->up, true);
    atomic_fetch_add(&n->reconnects, 1);
    if (o) outbox_wake(o);
    atomic_fetch_sub(&n->answering, 1);
    raise_flag(n, &n->calling); /* calls in the meantime did not arrive */
}

/* The last callback of the connection. */
static void on_closed(natsConnection *nc, void *ctx)
{
    (void)nc;
    struct bus_nats *n = ctx;
    raise_flag(n, &n->closed);
}

static void on_calls_over(void *ctx)
{
    struct bus_nats *n = ctx;
    raise_flag(n, &n->silent);
}

static void on_ack(jsCtx *js, natsMsg *msg, jsPubAck *ack, jsPubAckErr *failed, void *ctx)
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
        note_trouble(n, "the stream refuses", natsStatus_GetText(failed->Err),
                     failed->ErrText);
        atomic_fetch_add(&n->refused, 1);
        if (failed->ErrText && strstr(failed->ErrText, "maximum"))
            atomic_fetch_add(&n->full, 1);
    }
    natsMsg_Destroy(msg);
    atomic_fetch_sub(&n->answering, 1); /* n may be freed now */
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

static natsStatus set_identity(natsOptions *o, const struct bus_nats_cfg *cfg)
{
    natsStatus s = set_servers(o, cfg->url);
    if (!s && cfg->creds)
        s = natsOptions_SetUserCredentialsFromFiles(o, cfg->creds, NULL);
    if (!s) s = natsOptions_SetName(o, cfg->who);
    if (!s) s = natsOptions_SetTimeout(o, ANSWER_MS);
    return s;
}

static natsStatus set_options(natsOptions *o, struct bus_nats *n,
                              const struct bus_nats_cfg *cfg)
{
    natsStatus s = set_identity(o, cfg);
    if (!s) s = natsOptions_SetMaxReconnect(o, -1);
    if (!s) s = natsOptions_SetReconnectWait(o, 250);
    if (!s) s = natsOptions_SetReconnectJitter(o, 100, 100);
    /* a server that does not answer is left after three seconds */
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
    o.Wait = ANSWER_MS;
    o.PublishAsync.MaxPending =
        8 * OUTBOX_UNDER_WAY; /* includes those of lost connections */
    o.PublishAsync.AckHandler = on_ack;
    o.PublishAsync.AckHandlerClosure = n;
    if (!s) s = natsConnection_JetStream(&n->js, n->nc, &o);
    if (!s) s = natsConnection_Subscribe(&n->calls, n->nc, n->call, on_call, n);
    if (!s) s = natsSubscription_SetOnCompleteCB(n->calls, on_calls_over, n);
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
    err_field(e, ERR_INVALID, "bus", "%s: expected nats://host:port",
              natsStatus_GetText(s));
    bus_nats_free(n);
    return NULL;
}

/* Closes the connection, and waits for the last callbacks. */
static void close_connection(struct bus_nats *n)
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
    if (!in_time)
        log_event(n->log, LOG_WARN, "bus", "the connection does not close in time");
}

void bus_nats_free(struct bus_nats *n)
{
    if (!n) return;
    if (n->nc) close_connection(n);
    natsSubscription_Destroy(n->left);
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
    jsErrCode code; /* nats_GetLastError says more */
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
    c.Discard = js_DiscardNew; /* the sender keeps it, and drops the newest */
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

/* Connected, and stream and bucket exist: makes them if not. */
static bool nats_ready(struct bus_nats *n, struct err *e)
{
    if (!atomic_load(&n->up)) {
        err_field(e, ERR_IO, "bus", "no NATS server is connected");
        return false;
    }
    if (atomic_load(&n->made)) return true;

    kvStore *kv = NULL;
    natsStatus s = make_stream(n);
    if (s) {
        nats_trouble(n, s, "stream", e);
        return false;
    }
    s = make_bucket(n, &kv);
    if (s) {
        nats_trouble(n, s, "bucket", e);
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
    clear_trouble(n);
    return true;
}

void bus_nats_stats(struct cluster_stats *out, struct bus_nats *n)
{
    out->connected = atomic_load(&n->up) && atomic_load(&n->made);
    out->reconnects = atomic_load(&n->reconnects);
    out->published = atomic_load(&n->published);
    out->repeated = atomic_load(&n->repeated);
    out->refused = atomic_load(&n->refused);
    out->full = atomic_load(&n->full);
    out->damaged = atomic_load(&n->damaged);
    out->skipped = atomic_load(&n->skipped);
    pthread_mutex_lock(&n->lock);
    memcpy(out->trouble, n->trouble, sizeof out->trouble);
    pthread_mutex_unlock(&n->lock);
}

/* ---- the bucket ---- */

/* The newest message of a key from the leader of the stream: kvStore_Get asks any replica, and one
 * that has just come back may be behind. *msg NULL: there is none, or it was deleted. */
static natsStatus last_message(natsMsg **msg, jsCtx *js, const char *name,
                               const char *key)
{
    char stream[NAMES], subject[2 * NAMES];
    const char *operation;
    jsErrCode code = 0;
    snprintf(stream, sizeof stream, "KV_%.60s", name);
    snprintf(subject, sizeof subject, "$KV.%s.%.60s", name, key);
    *msg = NULL;
    natsStatus s = js_GetLastMsg(msg, js, stream, subject, NULL, &code);
    if (s == NATS_NOT_FOUND) return NATS_OK;
    if (!s && natsMsgHeader_Get(*msg, "KV-Operation", &operation) == NATS_OK) {
        natsMsg_Destroy(*msg); /* the mark of a deletion */
        *msg = NULL;
    }
    return s;
}

static void *message_data(size_t *size, natsMsg *msg)
{
    *size = (size_t)natsMsg_GetDataLength(msg);
    void *data = malloc(*size + 1);
    if (data && *size) memcpy(data, natsMsg_GetData(msg), *size);
    return data;
}

static int bucket_get(void *self, const char *key, void **out, size_t *size,
                      uint64_t *rev, struct err *e)
{
    struct bus_nats *n = self;
    *out = NULL;
    *size = 0;
    *rev = 0;
    if (!nats_ready(n, e)) return ERR_IO;
    natsMsg *msg;
    natsStatus s = last_message(&msg, n->js, n->name, key);
    if (s) return nats_trouble(n, s, key, e);
    bool there = msg != NULL;
    if (there) {
        *rev = natsMsg_GetSequence(msg);
        *out = message_data(size, msg);
    }
    natsMsg_Destroy(msg);
    clear_trouble(n);
    return !there || *out ? 0 : err_set(e, ERR_MEMORY, "no memory for %s", key);
}

static size_t bucket_most(void *self)
{
    struct bus_nats *n = self;
    int64_t most = atomic_load(&n->up) ? natsConnection_GetMaxPayload(n->nc) : 0;
    return most > HEADERS ? (size_t)most - HEADERS : 0;
}

static int check_size(struct bus_nats *n, const char *key, size_t size, struct err *e)
{
    int64_t most = natsConnection_GetMaxPayload(n->nc) - HEADERS;
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
    if (!nats_ready(n, e)) return ERR_IO;
    int rc = check_size(n, key, size, e);
    if (rc) return rc;
    natsStatus s = last ? kvStore_Update(rev, n->kv, key, data, (int)size, last)
                        : kvStore_Create(rev, n->kv, key, data, (int)size);
    if (!s) return 0;
    const char *why = nats_GetLastError(NULL);
    /* the library has no status for this */
    if (why && strstr(why, "wrong last sequence"))
        return err_field(e, ERR_CONFLICT, "bus", "%s was changed by another node", key);
    return nats_trouble(n, s, key, e);
}

static int bucket_set(void *self, const char *key, const void *data, size_t size,
                      struct err *e)
{
    struct bus_nats *n = self;
    if (!nats_ready(n, e)) return ERR_IO;
    int rc = check_size(n, key, size, e);
    if (rc) return rc;
    natsStatus s = size ? kvStore_Put(NULL, n->kv, key, data, (int)size)
                        : kvStore_Purge(n->kv, key, NULL);
    return s ? nats_trouble(n, s, key, e) : 0;
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

/* ---- what doctor looks at ---- */

static natsStatus look_connect(natsConnection **nc, const struct bus_nats_cfg *cfg)
{
    natsOptions *o = NULL;
    natsStatus s = natsOptions_Create(&o);
    if (!s) s = set_identity(o, cfg);
    if (!s) s = natsOptions_SetAllowReconnect(o, false);
    if (!s) s = natsConnection_Connect(nc, o);
    natsOptions_Destroy(o);
    return s;
}

static int look_refuse(natsStatus s, const struct bus_nats_cfg *cfg, struct err *e)
{
    switch (s) {
    case NATS_INVALID_ARG:
    case NATS_ADDRESS_MISSING:
        return err_field(e, ERR_INVALID, "bus", "expected nats://host:port");
    case NATS_NO_MEMORY:
        return err_set(e, ERR_MEMORY, "no memory for the bus");
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
        return err_field(e, ERR_IO, "bus", "the server refuses the connection (%s): %s",
                         natsStatus_GetText(s),
                         cfg->creds
                             ? "check --bus-creds"
                             : "give --bus-creds, or a name and password in --bus");
    default:
        return err_field(e, ERR_IO, "bus", "no server answers (%s)",
                         natsStatus_GetText(s));
    }
}

static void look_server(struct bus_nats_look *out, natsConnection *nc)
{
    char url[sizeof out->server] = "", **known = NULL;
    (void)natsConnection_GetConnectedUrl(nc, url, sizeof url);
    out->value_max = natsConnection_GetMaxPayload(nc) - HEADERS;
    const char *at = strrchr(url, '@');
    snprintf(out->server, sizeof out->server, "%s", at ? at + 1 : url);
    if (!natsConnection_GetServers(nc, &known, &out->servers)) {
        for (int i = 0; i < out->servers; i++)
            free(known[i]);
        free(known);
    }
}

static void look_note(struct bus_nats_look *out, const char *what, natsStatus s)
{
    const char *why = nats_GetLastError(NULL);
    if (!*out->trouble)
        snprintf(out->trouble, sizeof out->trouble, "%s: %s%s%.80s", what,
                 natsStatus_GetText(s), why && *why ? ", " : "", why ? why : "");
}

static natsStatus look_kept(struct bus_nats_look *out, struct bus_nats_kept *kept,
                            jsCtx *js, const char *name)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetStreamInfo(&info, js, name, NULL, &code);
    if (s == NATS_NOT_FOUND) return NATS_OK;
    if (s) {
        look_note(out, name, s);
        return s;
    }
    *kept = (struct bus_nats_kept){.there = true,
                                   .replicas = (int)info->Config->Replicas,
                                   .messages = info->State.Msgs,
                                   .bytes = info->State.Bytes,
                                   .bytes_max = info->Config->MaxBytes,
                                   .refuses = info->Config->Discard == js_DiscardNew};
    jsStreamInfo_Destroy(info);
    return NATS_OK;
}

static natsStatus look_value(struct bus_nats_look *out, struct bus_nats_value *v,
                             jsCtx *js, const char *name)
{
    natsMsg *msg;
    natsStatus s = last_message(&msg, js, name, v->key);
    if (s) look_note(out, v->key, s);
    if (s || !msg) return s;
    v->age_s = clock_now() - (double)natsMsg_GetTime(msg) / 1e9;
    v->bytes = message_data(&v->n, msg);
    natsMsg_Destroy(msg);
    return v->bytes ? NATS_OK : NATS_NO_MEMORY;
}

static natsStatus look_account(struct bus_nats_look *out, jsCtx *js)
{
    jsAccountInfo *a = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetAccountInfo(&a, js, NULL, &code);
    if (s) {
        look_note(out, "JetStream", s);
        return s;
    }
    out->jetstream = true;
    out->streams_max = a->Limits.MaxStreams;
    out->store_max = a->Limits.MaxStore;
    out->streams = a->Streams;
    out->store = a->Store;
    jsAccountInfo_Destroy(a);
    return NATS_OK;
}

int bus_nats_look(struct bus_nats_look *out, struct bus_nats_value *wanted, int n,
                  const struct bus_nats_cfg *cfg, struct err *e)
{
    *out = (struct bus_nats_look){.streams_max = -1, .store_max = -1};
    for (int i = 0; i < n; i++)
        wanted[i] = (struct bus_nats_value){.key = wanted[i].key};
    natsConnection *nc = NULL;
    jsCtx *js = NULL;
    natsStatus s = look_connect(&nc, cfg);
    if (s) {
        natsConnection_Destroy(nc);
        return look_refuse(s, cfg, e);
    }
    look_server(out, nc);

    char stream[NAMES], bucket[NAMES];
    snprintf(stream, sizeof stream, "%.60s_traj", cfg->name);
    snprintf(bucket, sizeof bucket, "KV_%.60s", cfg->name);
    jsOptions o;
    s = jsOptions_Init(&o);
    o.Wait = ANSWER_MS;
    if (!s) s = natsConnection_JetStream(&js, nc, &o);
    if (!s) s = look_account(out, js);
    if (!s) s = look_kept(out, &out->stream, js, stream);
    if (!s) s = look_kept(out, &out->bucket, js, bucket);
    for (int i = 0; i < n && !s && out->bucket.there; i++)
        s = look_value(out, &wanted[i], js, cfg->name);
    jsCtx_Destroy(js);
    natsConnection_Close(nc);
    natsConnection_Destroy(nc);
    return s == NATS_NO_MEMORY ? err_set(e, ERR_MEMORY, "no memory for the bus") : 0;
}

void bus_nats_look_free(struct bus_nats_value *wanted, int n)
{
    for (int i = 0; i < n; i++) {
        free(wanted[i].bytes);
        wanted[i].bytes = NULL;
    }
}

/* ---- the sender: from the outbox, a window at a time ---- */

struct sender {
    struct bus_nats *n;
    struct outbox *outbox;
    pthread_t thread;
    atomic_bool stopping, refused; /* refused: pause before the next one */
    uint64_t connected;            /* n->reconnects, as seen last */
};

/* "maker-number-doubts": the id by which the server knows a trajectory. */
static void message_id(char out[64], const struct bus_envelope *p)
{
    struct bus_wire_id id = bus_wire_peek(p->bytes);
    snprintf(out, 64, "%" PRIu64 "-%" PRIu64 "-%d", id.maker, id.number, p->doubted);
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

static void sender_publish(struct sender *s, const struct bus_envelope *p)
{
    struct bus_nats *n = s->n;
    char id[64], subject[NAME + 40];
    message_id(id, p);
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
    nats_trouble(n, st, "publish", NULL);
    atomic_store(&s->refused, true);
}

static void *sender_main(void *ctx)
{
    struct sender *s = ctx;
    struct bus_nats *n = s->n;
    uint64_t refusals = 0;
    while (!atomic_load(&s->stopping)) {
        if (!nats_ready(n, NULL)) {
            pause_ms(PAUSE_MS);
            continue;
        }
        uint64_t now = atomic_load(&n->reconnects), refused = atomic_load(&n->refused);
        /* what the last connection did not answer is sent again, with the same ids */
        if (now != s->connected) outbox_again(s->outbox);
        s->connected = now;
        if (refused != refusals || atomic_exchange(&s->refused, false))
            pause_ms(PAUSE_MS);
        refusals = refused;
        struct bus_envelope p;
        if (outbox_next(s->outbox, &p, 1.0)) sender_publish(s, &p);
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
    atomic_store(&s->n->outbox, NULL); /* later answers find no outbox */
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

/* ---- the receiver: from the position of the dedup on, each trajectory once ---- */

struct receiver {
    struct bus_nats *n;
    struct dedup *dedup;
    int levels_max;
    natsSubscription *sub;
    natsMsgList list;
    int at;    /* the next of the list */
    bool owed; /* messages that a fetch asked for may still come */
    uint64_t connected;
    atomic_uint_fast64_t got, waiting; /* waiting: in the stream after the last one */
};

static void receiver_drop_list(struct receiver *r)
{
    natsMsgList_Destroy(&r->list);
    r->list = (natsMsgList){0};
    r->at = 0;
}

/* The library may free a subscription while its reading thread hands it a message (nats.c issue 637). So it
 * is freed when that thread has read the answer to a later request, or has ended. It leaves the connection
 * now, also when natsSubscription_Unsubscribe fails to delete the server's consumer. */
static void receiver_unsubscribe(struct receiver *r)
{
    receiver_drop_list(r);
    if (!r->sub) return;
    (void)natsSubscription_Unsubscribe(r->sub);
    r->n->left = r->sub;
    r->sub = NULL;
}

/* Where to read on. A stream that ends before the position is a new one. */
static natsStatus receiver_find_start(struct receiver *r, jsErrCode *code)
{
    struct bus_nats *n = r->n;
    jsStreamInfo *info = NULL;
    natsStatus s = js_GetStreamInfo(&info, n->js, n->stream, NULL, code);
    if (s) return s;
    uint64_t last = info->State.LastSeq;
    jsStreamInfo_Destroy(info);
    if (last < dedup_position(r->dedup)) {
        log_event(n->log, LOG_WARN, "bus",
                  "the stream ends at %llu, before %llu: it is a new one",
                  (unsigned long long)last, (unsigned long long)dedup_position(r->dedup));
        dedup_advance(r->dedup, 0);
    }
    return NATS_OK;
}

static bool receiver_subscribe(struct receiver *r)
{
    struct bus_nats *n = r->n;
    uint64_t now = atomic_load(&n->reconnects);
    if (!nats_ready(n, NULL)) return false;
    if (r->sub && now == r->connected) return true;
    receiver_unsubscribe(r);
    jsErrCode code = 0;
    natsStatus s = receiver_find_start(r, &code);
    jsSubOptions so;
    jsSubOptions_Init(&so);
    so.Stream = n->stream;
    so.Config.AckPolicy = js_AckNone;
    so.Config.DeliverPolicy = js_DeliverByStartSequence;
    so.Config.OptStartSeq = dedup_position(r->dedup) + 1;
    so.Config.InactiveThreshold = (int64_t)SUBSCRIBED_S * 1000000000;
    if (!s) s = js_PullSubscribe(&r->sub, n->js, n->subjects, NULL, NULL, &so, &code);
    r->connected = now;
    if (s) {
        nats_trouble(n, s, "subscribe", NULL);
        return false;
    }
    natsSubscription_Destroy(n->left);
    n->left = NULL;
    r->owed = false;
    return true;
}

/* Does the stream still have this message? True also when the server does not say. */
static bool receiver_has(struct receiver *r, uint64_t seq)
{
    natsMsg *msg = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetMsg(&msg, r->n->js, r->n->stream, seq, NULL, &code);
    natsMsg_Destroy(msg);
    return s != NATS_NOT_FOUND;
}

/* Is seq the next one? A server that failed does not send again what it had sent to this
 * subscription. Then the stream is read again from the known position. */
static bool receiver_is_next(struct receiver *r, uint64_t seq)
{
    uint64_t before = dedup_position(r->dedup);
    if (!before || seq == before + 1) return true;
    if (receiver_has(r, before + 1)) {
        log_event(r->n->log, LOG_INFO, "bus",
                  "message %llu came after %llu: the stream is read again",
                  (unsigned long long)seq, (unsigned long long)before);
        receiver_unsubscribe(r);
        return false;
    }
    atomic_fetch_add(&r->n->skipped, seq - before - 1);
    return true;
}

/* The next new trajectory of the list. */
static bool receiver_take(struct receiver *r, struct traj *out)
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
        if (!receiver_is_next(r, seq)) return false;
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
        return true;
    }
    return false;
}

/* Fills the list. In libnats 3.4.1 natsSubscription_Fetch writes behind its list if messages of an earlier
 * fetch, which had timed out, come while it asks for more than one. Then we ask for one at a time; if many
 * wait, they are read with a new subscription. */
static natsStatus receiver_fetch(struct receiver *r, double wait_s)
{
    receiver_drop_list(r);
    jsErrCode code = 0;
    int many = r->owed ? 1 : FETCH;
    natsStatus s = natsSubscription_Fetch(&r->list, r->sub, many,
                                          (int64_t)(wait_s * 1000) + 1, &code);
    r->owed |= r->list.Count < many;
    return s;
}

static bool receiver_receive(void *self, struct traj *out, double wait_s)
{
    struct receiver *r = self;
    if (receiver_take(r, out)) return true;
    if (wait_s <= 0) return false;
    struct bucket bucket = bus_nats_bucket(r->n);
    if (r->owed && r->waiting >= FETCH) {
        receiver_unsubscribe(r);
        r->waiting = 0; /* the next message says it */
    }
    if (!receiver_subscribe(r)) {
        (void)bucket.wait(bucket.self, wait_s);
        return false;
    }
    natsStatus s = receiver_fetch(r, wait_s);
    if (s && s != NATS_TIMEOUT) {
        nats_trouble(r->n, s, "fetch", NULL);
        receiver_unsubscribe(r);
        (void)bucket.wait(bucket.self, wait_s);
        return false;
    }
    return receiver_take(r, out);
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
    receiver_unsubscribe(r);
    free(r);
}

void bus_nats_rewind(struct bus *receiver)
{
    receiver_unsubscribe(receiver->self);
}

void bus_nats_trim(struct bus_nats *n, uint64_t position)
{
    jsOptions o;
    jsErrCode code = 0;
    if (!position || jsOptions_Init(&o)) return;
    o.Stream.Purge.Sequence = position + 1;
    natsStatus s = js_PurgeStream(n->js, n->stream, &o, &code);
    if (s) nats_trouble(n, s, "purge", NULL);
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
