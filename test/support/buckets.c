#include "support/buckets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find(struct buckets *b, const char *key)
{
    for (int i = 0; i < b->n; i++)
        if (!strcmp(b->value[i].key, key)) return i;
    return -1;
}

static int away(struct buckets *b, struct err *e)
{
    return b->away ? err_set(e, ERR_IO, "the bucket does not answer") : 0;
}

static int get(void *self, const char *key, void **out, size_t *n, uint64_t *rev,
               struct err *e)
{
    struct buckets *b = self;
    *out = NULL;
    *n = *rev = 0;
    if (away(b, e)) return ERR_IO;
    int i = find(b, key);
    if (i < 0) return 0;
    *n = b->value[i].n;
    *rev = b->value[i].rev;
    *out = malloc(*n + 1);
    if (!*out) abort();
    memcpy(*out, b->value[i].data, *n);
    return 0;
}

static void store(struct buckets *b, const char *key, const void *data, size_t n)
{
    int i = find(b, key);
    if (i < 0) {
        i = b->n++;
        if (i == BUCKETS_KEYS) abort();
        snprintf(b->value[i].key, sizeof b->value[i].key, "%s", key);
        b->value[i].data = NULL;
    }
    free(b->value[i].data);
    b->value[i].data = malloc(n + 1);
    if (!b->value[i].data) abort();
    memcpy(b->value[i].data, data, n);
    b->value[i].n = n;
    b->value[i].rev = ++b->revs;
}

static int put(void *self, const char *key, const void *data, size_t n, uint64_t last,
               uint64_t *rev, struct err *e)
{
    struct buckets *b = self;
    if (away(b, e)) return ERR_IO;
    if (buckets_rev(b, key) != last)
        return err_set(e, ERR_CONFLICT, "%s was changed by another node", key);
    store(b, key, data, n);
    if (b->lose > 0) {
        b->lose--;
        return err_set(e, ERR_IO, "timeout");
    }
    *rev = b->revs;
    return 0;
}

static int set(void *self, const char *key, const void *data, size_t n, struct err *e)
{
    struct buckets *b = self;
    if (away(b, e)) return ERR_IO;
    if (n) {
        store(b, key, data, n);
        return 0;
    }
    int i = find(b, key);
    if (i < 0) return 0;
    free(b->value[i].data);
    b->value[i] = b->value[--b->n];
    return 0;
}

static void call(void *self)
{
    struct buckets *b = self;
    b->calls++;
}

static bool wait_none(void *self, double wait_s)
{
    (void)self;
    (void)wait_s;
    return false;
}

static void wake(void *self)
{
    (void)self;
}

static size_t most(void *self)
{
    struct buckets *b = self;
    return b->most;
}

struct bucket buckets_open(struct buckets *b)
{
    *b = (struct buckets){0};
    return (struct bucket){b, get, put, set, call, wait_none, wake, most};
}

void buckets_free(struct buckets *b)
{
    for (int i = 0; i < b->n; i++)
        free(b->value[i].data);
    b->n = 0;
}

uint64_t buckets_rev(const struct buckets *b, const char *key)
{
    for (int i = 0; i < b->n; i++)
        if (!strcmp(b->value[i].key, key)) return b->value[i].rev;
    return 0;
}

int buckets_count(const struct buckets *b, const char *prefix)
{
    int n = 0;
    for (int i = 0; i < b->n; i++)
        n += !strncmp(b->value[i].key, prefix, strlen(prefix));
    return n;
}
