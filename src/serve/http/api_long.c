/* Answers of megabytes. The memory that slow readers of them hold is bounded, in all and per
 * address. */
#include "serve/http/api.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct long_answer {
    struct api_shared *shared;
    char *data;
    size_t n, sent;
    struct occupancy *held; /* NULL: not counted */
    struct addr who;
};

/* An answer's part of its address's share. */
static int amount_kb(size_t n)
{
    size_t kb = n / 1024 + 1;
    return kb < INT_MAX ? (int)kb : INT_MAX;
}

static ssize_t long_pull(void *self, char *buf, size_t max)
{
    struct long_answer *l = self;
    size_t n = l->n - l->sent;
    if (!n) return REPLY_END;
    if (n > max) n = max;
    memcpy(buf, l->data + l->sent, n);
    l->sent += n;
    return (ssize_t)n;
}

static void long_done(void *self)
{
    struct long_answer *l = self;
    atomic_fetch_sub(&l->shared->long_bytes, l->n);
    if (l->held) occupancy_give_amount(l->held, &l->who, amount_kb(l->n));
    free(l->data);
    free(l);
}

void api_long(struct api *a, const struct admit_client *client, struct reply *r,
              const char *type, void *data, size_t n)
{
    const struct api_shared *sh = a->shared;
    struct occupancy *held = client->limited ? sh->answering : NULL;
    if (held &&
        !occupancy_take_amount(held, &client->addr, amount_kb(n), sh->answers_each_kb)) {
        free(data);
        reply_fail(r, 429, "",
                   "%d kB of long answers are being sent to this address, which is its "
                   "share",
                   occupancy_held(held, &client->addr));
        reply_constant(r, "Retry-After", "1");
        return;
    }
    atomic_size_t *all = &a->shared->long_bytes;
    /* a single answer may have any length */
    bool room = atomic_fetch_add(all, n) + n <= API_LONG_BYTES || atomic_load(all) == n;
    struct long_answer *l = room ? malloc(sizeof *l) : NULL;
    if (!l) {
        atomic_fetch_sub(all, n);
        if (held) occupancy_give_amount(held, &client->addr, amount_kb(n));
        free(data);
        reply_fail(r, 503, "",
                   room ? "no memory for the answer"
                        : "too many long answers are being sent: try again");
        reply_header(r, "Retry-After", "1");
        return;
    }
    *l = (struct long_answer){a->shared, data, n, 0, held, client->addr};
    reply_stream(r, 200, type,
                 &(struct reply_stream){.pull = long_pull,
                                        .done = long_done,
                                        .self = l,
                                        .poll_ms = 1000,
                                        .length = (int64_t)n});
}
