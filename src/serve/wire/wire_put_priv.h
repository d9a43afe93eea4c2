/* wire_put_priv.h - members of an object, for the sources of wire_put.h. */
#ifndef SERVE_WIRE_PUT_PRIV_H
#define SERVE_WIRE_PUT_PRIV_H

#include "serve/wire/wire_put.h"

static inline void put_string(struct emit *o, const char *key, const char *value)
{
    emit_key(o, key);
    emit_string(o, value);
}

static inline void put_double(struct emit *o, const char *key, double value)
{
    emit_key(o, key);
    emit_double(o, value);
}

static inline void put_rounded(struct emit *o, const char *key, double value)
{
    emit_key(o, key);
    emit_rounded(o, value);
}

static inline void put_int(struct emit *o, const char *key, int64_t value)
{
    emit_key(o, key);
    emit_int(o, value);
}

static inline void put_u64(struct emit *o, const char *key, uint64_t value)
{
    emit_key(o, key);
    emit_u64(o, value);
}

static inline void put_bool(struct emit *o, const char *key, bool value)
{
    emit_key(o, key);
    emit_bool(o, value);
}

static inline void put_reals(struct emit *o, const char *key, const double *v, int n)
{
    emit_key(o, key);
    emit_doubles(o, v, n);
}

/* labels: {...}; nothing if there are none. In wire_put.c. */
void wire_put_labels(struct emit *o, const struct labels *l);

#endif
