#include "serve/cluster/bus_nats_look.h"

#include "bus_nats_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static natsStatus enter(natsConnection **nc, const struct bus_nats_cfg *cfg)
{
    natsOptions *o = NULL;
    natsStatus s = natsOptions_Create(&o);
    if (!s) s = bus_nats_introduce(o, cfg);
    if (!s) s = natsOptions_SetAllowReconnect(o, false);
    if (!s) s = natsConnection_Connect(nc, o);
    natsOptions_Destroy(o);
    return s;
}

static int bus_nats_look_refuse(natsStatus s, const struct bus_nats_cfg *cfg,
                                struct err *e)
{
    switch (s) {
    case NATS_INVALID_ARG:
    case NATS_ADDRESS_MISSING:
        return err_field(e, ERR_INVALID, "bus", "is it nats://host:port?");
    case NATS_NO_MEMORY:
        return err_set(e, ERR_MEMORY, "no memory for the bus");
    case NATS_CONNECTION_AUTH_FAILED:
    case NATS_NOT_PERMITTED:
        return err_field(e, ERR_IO, "bus", "the server does not let us in (%s): %s",
                         natsStatus_GetText(s),
                         cfg->creds
                             ? "look at --bus-creds"
                             : "give --bus-creds, or a name and password in --bus");
    default:
        return err_field(e, ERR_IO, "bus", "no server answers (%s)",
                         natsStatus_GetText(s));
    }
}

static void look_around(struct bus_nats_look *out, natsConnection *nc)
{
    char url[sizeof out->server] = "", **known = NULL;
    (void)natsConnection_GetConnectedUrl(nc, url, sizeof url);
    out->value_max = natsConnection_GetMaxPayload(nc) - BUS_NATS_HEADERS;
    const char *at = strrchr(url, '@');
    snprintf(out->server, sizeof out->server, "%s", at ? at + 1 : url);
    if (!natsConnection_GetServers(nc, &known, &out->servers)) {
        for (int i = 0; i < out->servers; i++)
            free(known[i]);
        free(known);
    }
}

static void bus_nats_look_note(struct bus_nats_look *out, const char *what, natsStatus s)
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
        bus_nats_look_note(out, name, s);
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
                             jsCtx *js, const char *bucket, const char *name)
{
    char subject[2 * BUS_NATS_NAME + 8];
    snprintf(subject, sizeof subject, "$KV.%s.%.60s", name, v->key);
    natsMsg *msg = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetLastMsg(&msg, js, bucket, subject, NULL, &code);
    if (s == NATS_NOT_FOUND) return NATS_OK;
    if (s) {
        bus_nats_look_note(out, v->key, s);
        return s;
    }
    const char *gone; /* the mark of a deletion */
    if (natsMsgHeader_Get(msg, "KV-Operation", &gone) != NATS_OK) {
        v->n = (size_t)natsMsg_GetDataLength(msg);
        v->age_s = clock_now() - (double)natsMsg_GetTime(msg) / 1e9;
        v->bytes = malloc(v->n + 1);
        if (v->bytes && v->n) memcpy(v->bytes, natsMsg_GetData(msg), v->n);
        if (!v->bytes) s = NATS_NO_MEMORY;
    }
    natsMsg_Destroy(msg);
    return s;
}

static natsStatus look_account(struct bus_nats_look *out, jsCtx *js)
{
    jsAccountInfo *a = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetAccountInfo(&a, js, NULL, &code);
    if (s) {
        bus_nats_look_note(out, "JetStream", s);
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
    natsStatus s = enter(&nc, cfg);
    if (s) {
        natsConnection_Destroy(nc);
        return bus_nats_look_refuse(s, cfg, e);
    }
    look_around(out, nc);

    char stream[BUS_NATS_NAME + 8], bucket[BUS_NATS_NAME + 8];
    snprintf(stream, sizeof stream, "%.60s_traj", cfg->name);
    snprintf(bucket, sizeof bucket, "KV_%.60s", cfg->name);
    jsOptions o;
    s = jsOptions_Init(&o);
    o.Wait = BUS_NATS_WAIT_MS;
    if (!s) s = natsConnection_JetStream(&js, nc, &o);
    if (!s) s = look_account(out, js);
    if (!s) s = look_kept(out, &out->stream, js, stream);
    if (!s) s = look_kept(out, &out->bucket, js, bucket);
    for (int i = 0; i < n && !s && out->bucket.there; i++)
        s = look_value(out, &wanted[i], js, bucket, cfg->name);
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
