#include "serve/cluster/shared_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ---- */

static int shared_value_corrupt(const struct shared_value_kind *k, struct err *e)
{
    return err_set(e, ERR_CORRUPT, "%s: invalid numbers", envelope_name(k->envelope));
}

int shared_value_encode(void **out, size_t *n, const struct shared_value_kind *k,
                        const void *value, struct err *e)
{
    size_t room = k->room(value);
    int form = k->written ? k->written(value) : k->form;
    unsigned char *bytes = malloc(ENVELOPE_HEAD + room);
    *out = NULL;
    if (!bytes) return err_set(e, ERR_MEMORY, "no memory to write a shared value");
    struct pack p = pack_writer(bytes + ENVELOPE_HEAD, room);
    k->pass(&p, (void *)(uintptr_t)value, form); /* which a writer only reads */
    if (!p.ok) {
        free(bytes);
        return shared_value_corrupt(k, e);
    }
    *out = bytes;
    *n = envelope_seal(bytes, k->envelope, form, pack_done(&p, bytes + ENVELOPE_HEAD));
    return 0;
}

int shared_value_decode(void *value, const struct shared_value_kind *k, const void *bytes,
                        size_t n, struct err *e)
{
    const void *body;
    int form;
    memset(value, 0, k->size);
    int rc = envelope_open(&body, &n, &form, bytes, n, k->envelope, k->form, e);
    if (rc) return rc;
    struct pack p = pack_reader(body, n);
    k->pass(&p, value, form);
    if (p.ok && pack_over(&p)) return 0;
    memset(value, 0, k->size);
    return shared_value_corrupt(k, e);
}

/* ---- the bucket ---- */

int shared_value_get(void *value, void **bytes, uint64_t *rev,
                     const struct shared_value_kind *k, const struct bucket *b,
                     const char *key, struct err *e)
{
    void *got = NULL;
    size_t n;
    *rev = 0;
    memset(value, 0, k->size);
    int rc = b->get(b->self, key ? key : k->key, &got, &n, rev, e);
    if (!rc && got) rc = shared_value_decode(value, k, got, n, e);
    if (bytes && !rc)
        *bytes = got;
    else
        free(got);
    if (bytes && rc) *bytes = NULL;
    return rc;
}

int shared_value_put(uint64_t *rev, const void *value, const struct shared_value_kind *k,
                     const struct bucket *b, const char *key, struct err *e)
{
    void *bytes;
    size_t n;
    int rc = shared_value_encode(&bytes, &n, k, value, e);
    if (!rc) rc = b->put(b->self, key ? key : k->key, bytes, n, *rev, rev, e);
    free(bytes);
    return rc;
}

int shared_value_change(void *value, uint64_t *rev, const struct shared_value_kind *k,
                        const struct bucket *b,
                        int (*change)(void *ctx, void *value, bool there, struct err *e),
                        void *ctx, struct err *e)
{
    struct err why = {0};
    int rc = ERR_CONFLICT;
    for (int i = 0; i < SHARED_VALUE_TRIES && rc == ERR_CONFLICT; i++) {
        why = (struct err){0};
        rc = shared_value_get(value, NULL, rev, k, b, NULL, &why);
        if (rc) break;
        rc = change(ctx, value, *rev != 0, e);
        if (rc <= 0) return rc;
        rc = shared_value_put(rev, value, k, b, NULL, &why);
    }
    return rc ? err_field(e, rc, why.field, "%s", why.detail) : 0;
}

/* ---- polling ---- */

void shared_value_init(struct shared_value *v)
{
    v->read_at = -INFINITY;
    v->done = v->refused_rev = SHARED_VALUE_NONE;
    if (v->kind->key) memcpy(v->key, v->kind->key, strlen(v->kind->key) + 1);
}

void shared_value_called(struct shared_value *v)
{
    v->read_at = -INFINITY;
}

void shared_value_renew(struct shared_value *v)
{
    atomic_store(&v->renewed, true);
}

void shared_value_refuse(struct shared_value *v, const struct log *log, const char *event,
                         const char *what, const struct err *why)
{
    if (v->rev == v->refused_rev) return;
    v->refused_rev = v->rev;
    atomic_fetch_add(&v->refused, 1);
    log_event(log, LOG_ERROR, event, "%s: %s", what, why->detail);
}

static int shared_value_read(struct shared_value *v, struct err *e)
{
    struct err wrong = {0};
    void *bytes;
    int rc =
        shared_value_get(v->value, &bytes, &v->rev, v->kind, &v->bucket, v->key, &wrong);
    if (rc == ERR_IO || rc == ERR_MEMORY) {
        if (v->unanswered) v->unanswered(v->ctx);
        return err_field(e, rc, wrong.field, "%s", wrong.detail);
    }
    if (atomic_exchange(&v->renewed, false)) v->done = SHARED_VALUE_NONE;
    if (v->rev != v->done) {
        rc = v->take(v->ctx, v, rc ? &wrong : NULL, e);
        if (!rc) v->done = v->rev;
    } else {
        rc = 0;
    }
    free(bytes);
    return rc;
}

static bool shared_value_is_due(struct shared_value *v, bool leads)
{
    if (leads && v->followers_only) return false;
    if (atomic_load(&v->renewed)) return true;
    enum shared_value_due due = v->due ? v->due(v->ctx, v) : SHARED_VALUE_BY_TIME;
    if (due == SHARED_VALUE_IDLE) return false;
    return due == SHARED_VALUE_DUE || v->mono >= v->read_at + v->every_s;
}

int shared_value_turn(struct shared_value *const *values, int n, bool leads, double mono,
                      double now, struct err *e)
{
    int first = 0;
    for (int i = 0; i < n; i++) {
        struct shared_value *v = values[i];
        struct err why = {0};
        v->mono = mono;
        v->now = now;
        if (!shared_value_is_due(v, leads)) continue;
        int rc = ERR_CONFLICT;
        for (int k = 0; k < SHARED_VALUE_TRIES && rc == ERR_CONFLICT; k++) {
            why = (struct err){0};
            rc = shared_value_read(v, &why);
        }
        if (rc >= 0) v->read_at = mono;
        if (rc < 0 && !first) first = err_field(e, rc, why.field, "%s", why.detail);
        if (rc == ERR_IO) break; /* nor would it answer for the next one */
    }
    return first;
}
