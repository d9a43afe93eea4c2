#include "serve/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "base/table.h"

enum { WORDS = LEDGER_WINDOW / 64, HEAD_BYTES = 40, MAKER_BYTES = 8 * (4 + WORDS) };

struct maker {
    uint64_t highest, counted, heard; /* heard: when, in positions of the stream */
    uint64_t seen[WORDS];             /* bit of number n: n % LEDGER_WINDOW */
};

struct ledger {
    struct table *makers; /* id -> struct maker */
    uint64_t position;
    struct ledger_stats stats; /* makers, missing: filled in when asked */
};

struct ledger *ledger_new(struct err *e)
{
    struct ledger *l = calloc(1, sizeof *l);
    if (l)
        l->makers =
            table_new(LEDGER_MAKERS, sizeof(uint64_t), sizeof(struct maker), 1, e);
    if (!l || !l->makers) {
        err_set(e, ERR_MEMORY, "no memory for the ledger");
        ledger_free(l);
        return NULL;
    }
    return l;
}

void ledger_free(struct ledger *l)
{
    if (!l) return;
    table_free(l->makers);
    free(l);
}

void ledger_clear(struct ledger *l)
{
    const void *key;
    int cursor = 0;
    while (table_next(l->makers, &cursor, &key))
        table_delete(l->makers, key);
    l->position = 0;
    l->stats = (struct ledger_stats){0};
}

static void forget_longest_silent(struct ledger *l)
{
    const void *key;
    uint64_t silent = 0, since = UINT64_MAX;
    struct maker *m;
    int cursor = 0;
    while ((m = table_next(l->makers, &cursor, &key)))
        if (m->heard < since) {
            since = m->heard;
            memcpy(&silent, key, sizeof silent);
        }
    table_delete(l->makers, &silent);
}

static bool seen(const struct maker *m, uint64_t n)
{
    return m->seen[n % LEDGER_WINDOW / 64] >> n % 64 & 1;
}

static void mark(struct maker *m, uint64_t n, bool yes)
{
    uint64_t bit = (uint64_t)1 << n % 64, *word = &m->seen[n % LEDGER_WINDOW / 64];
    *word = yes ? *word | bit : *word & ~bit;
}

/* The window ends with n from now on. */
static void move_up(struct maker *m, uint64_t n)
{
    if (n - m->highest >= LEDGER_WINDOW)
        memset(m->seen, 0, sizeof m->seen);
    else
        for (uint64_t i = m->highest + 1; i <= n; i++)
            mark(m, i, false);
    m->highest = n;
}

bool ledger_take(struct ledger *l, uint64_t maker, uint64_t number)
{
    if (table_count(l->makers) == LEDGER_MAKERS && !table_get(l->makers, &maker))
        forget_longest_silent(l);
    struct maker *m = table_put(l->makers, &maker, NULL);
    m->heard = l->position;
    bool new =
        number > m->highest || (m->highest - number < LEDGER_WINDOW && !seen(m, number));
    if (!new) {
        l->stats.repeated++;
        return false;
    }
    if (number > m->highest) move_up(m, number);
    mark(m, number, true);
    m->counted++;
    l->stats.counted++;
    return true;
}

void ledger_advance(struct ledger *l, uint64_t position)
{
    l->position = position;
}

uint64_t ledger_position(const struct ledger *l)
{
    return l->position;
}

void ledger_stats(struct ledger_stats *out, const struct ledger *l)
{
    const struct maker *m;
    int cursor = 0;
    *out = l->stats;
    out->makers = table_count(l->makers);
    while ((m = table_next(l->makers, &cursor, NULL)))
        out->missing += m->highest - m->counted;
}

/* ---- state ---- */

size_t ledger_state_size(const struct ledger *l)
{
    return HEAD_BYTES + (size_t)table_count(l->makers) * MAKER_BYTES;
}

static void pass_head(struct pack *p, struct ledger *l, int *makers)
{
    pack_u64(p, &l->position);
    pack_u64(p, &l->stats.counted);
    pack_u64(p, &l->stats.repeated);
    pack_u64(p, &l->stats.missing);
    pack_int(p, makers, 0, LEDGER_MAKERS);
}

static void pass_maker(struct pack *p, uint64_t *id, struct maker *m)
{
    pack_u64(p, id);
    pack_u64(p, &m->highest);
    pack_u64(p, &m->counted);
    pack_u64(p, &m->heard);
    for (int i = 0; i < WORDS; i++)
        pack_u64(p, &m->seen[i]);
}

void ledger_state_get(const struct ledger *l, void *out)
{
    struct pack p = pack_writer(out, ledger_state_size(l));
    struct ledger head = *l;
    int makers = table_count(l->makers), cursor = 0;
    const void *key;
    struct maker *m;
    pass_head(&p, &head, &makers);
    while ((m = table_next(l->makers, &cursor, &key))) {
        uint64_t id;
        memcpy(&id, key, sizeof id);
        pass_maker(&p, &id, m);
    }
}

int ledger_state_put(struct ledger *l, const void *in, size_t n, struct err *e)
{
    struct pack p = pack_reader(in, n);
    int makers;
    ledger_clear(l);
    pass_head(&p, l, &makers);
    for (int i = 0; p.ok && i < makers; i++) {
        struct maker m;
        uint64_t id;
        pass_maker(&p, &id, &m);
        struct maker *at = table_put(l->makers, &id, NULL);
        if (at && m.counted <= m.highest) *at = m;
        p.ok = p.ok && at && m.counted <= m.highest;
    }
    if (p.ok && pack_over(&p)) return 0;
    ledger_clear(l);
    return err_set(e, ERR_CORRUPT, "the ledger holds numbers that cannot be");
}
