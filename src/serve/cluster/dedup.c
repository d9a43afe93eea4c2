#include "serve/cluster/dedup.h"

#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "base/table.h"

enum { HEAD_BYTES = 32, MAKER_BYTES = 40, OLD_WORDS = 4 };

struct maker {
    uint64_t low,
        highest; /* all up to low count as seen; highest - low <= DEDUP_WINDOW */
    uint64_t counted, seen_at;  /* seen_at: its last one, as a position of the stream */
    uint64_t seen[DEDUP_WORDS]; /* of numbers low < n <= highest: bit n % DEDUP_WINDOW */
};

struct dedup {
    struct table *makers; /* id -> struct maker */
    uint64_t position;
    struct dedup_stats stats; /* makers, missing: set by dedup_stats */
};

struct dedup *dedup_new(struct err *e)
{
    struct dedup *l = calloc(1, sizeof *l);
    if (l)
        l->makers = table_new(DEDUP_MAKERS, sizeof(uint64_t), sizeof(struct maker), 1, e);
    if (!l || !l->makers) {
        err_set(e, ERR_MEMORY, "no memory for the de-duplication");
        dedup_free(l);
        return NULL;
    }
    return l;
}

void dedup_free(struct dedup *l)
{
    if (!l) return;
    table_free(l->makers);
    free(l);
}

void dedup_clear(struct dedup *l)
{
    const void *key;
    int cursor = 0;
    while (table_next(l->makers, &cursor, &key))
        table_delete(l->makers, key);
    l->position = 0;
    l->stats = (struct dedup_stats){0};
}

static void drop_oldest_maker(struct dedup *l)
{
    const void *key;
    uint64_t oldest = 0, at = UINT64_MAX;
    struct maker *m;
    int cursor = 0;
    while ((m = table_next(l->makers, &cursor, &key)))
        if (m->seen_at < at) {
            at = m->seen_at;
            memcpy(&oldest, key, sizeof oldest);
        }
    table_delete(l->makers, &oldest);
}

static bool marked(const uint64_t *seen, uint64_t n)
{
    return seen[n % DEDUP_WINDOW / 64] >> n % 64 & 1;
}

static void mark(uint64_t *seen, uint64_t n, bool yes)
{
    uint64_t bit = (uint64_t)1 << n % 64, *word = &seen[n % DEDUP_WINDOW / 64];
    *word = yes ? *word | bit : *word & ~bit;
}

/* Is it among what low, highest and bits say? */
static bool has(uint64_t low, uint64_t highest, const uint64_t *seen, uint64_t n)
{
    return n <= low || (n <= highest && marked(seen, n));
}

/* The highest number is n from now on; what the window leaves behind counts as seen. */
static void move_up(struct maker *m, uint64_t n)
{
    if (n - m->highest >= DEDUP_WINDOW)
        memset(m->seen, 0, sizeof m->seen);
    else
        for (uint64_t i = m->highest + 1; i <= n; i++)
            mark(m->seen, i, false);
    m->highest = n;
    if (n - m->low > DEDUP_WINDOW) m->low = n - DEDUP_WINDOW;
}

bool dedup_take(struct dedup *l, uint64_t maker, uint64_t number)
{
    if (table_count(l->makers) == DEDUP_MAKERS && !table_get(l->makers, &maker))
        drop_oldest_maker(l);
    struct maker *m = table_put(l->makers, &maker, NULL);
    m->seen_at = l->position;
    if (has(m->low, m->highest, m->seen, number)) {
        l->stats.repeated++;
        return false;
    }
    if (number > m->highest) move_up(m, number);
    mark(m->seen, number, true);
    while (m->low < m->highest && marked(m->seen, m->low + 1))
        m->low++;
    m->counted++;
    l->stats.counted++;
    return true;
}

void dedup_advance(struct dedup *l, uint64_t position)
{
    l->position = position;
}

uint64_t dedup_position(const struct dedup *l)
{
    return l->position;
}

void dedup_stats(struct dedup_stats *out, const struct dedup *l)
{
    const struct maker *m;
    int cursor = 0;
    *out = l->stats;
    out->makers = table_count(l->makers);
    while ((m = table_next(l->makers, &cursor, NULL)))
        out->missing += m->highest - m->counted;
}

/* ---- state ---- */

static size_t bits_bytes(const struct maker *m)
{
    return (m->highest - m->low + 7) / 8;
}

size_t dedup_state_size(const struct dedup *l)
{
    const struct maker *m;
    int cursor = 0;
    size_t n = HEAD_BYTES + (size_t)table_count(l->makers) * MAKER_BYTES;
    while ((m = table_next(l->makers, &cursor, NULL)))
        n += bits_bytes(m);
    return n;
}

static void pass_head(struct pack *p, struct dedup *l, int *makers)
{
    pack_u64(p, &l->position);
    pack_u64(p, &l->stats.counted);
    pack_u64(p, &l->stats.repeated);
    pack_int(p, makers, 0, DEDUP_MAKERS);
}

static void pass_maker(struct pack *p, uint64_t *id, struct maker *m)
{
    pack_u64(p, id);
    pack_u64(p, &m->highest);
    pack_u64(p, &m->counted);
    pack_u64(p, &m->seen_at);
    pack_u64(p, &m->low);
    p->ok = p->ok && m->highest <= INT64_MAX && m->counted <= m->highest &&
            m->low <= m->highest && m->highest - m->low <= DEDUP_WINDOW;
    for (uint64_t n = m->low; p->ok && n < m->highest; n += 8) {
        uint8_t bits = 0;
        int many = m->highest - n < 8 ? (int)(m->highest - n) : 8;
        for (int i = 0; i < many; i++)
            bits |= (uint8_t)(marked(m->seen, n + 1 + (uint64_t)i) << i);
        pack_u8(p, &bits);
        for (int i = 0; i < many; i++)
            mark(m->seen, n + 1 + (uint64_t)i, bits >> i & 1);
    }
}

void dedup_state_get(const struct dedup *l, void *out)
{
    struct pack p = pack_writer(out, dedup_state_size(l));
    struct dedup head = *l;
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

/* ---- form 1 ---- */

static void read_old_head(struct pack *p, struct dedup *l, int *makers)
{
    uint64_t missing;
    pack_u64(p, &l->position);
    pack_u64(p, &l->stats.counted);
    pack_u64(p, &l->stats.repeated);
    pack_u64(p, &missing);
    pack_int(p, makers, 0, DEDUP_MAKERS);
}

/* Bits for the last 256 numbers; those below them count as seen. */
static void read_old_maker(struct pack *p, uint64_t *id, struct maker *m)
{
    uint64_t seen[OLD_WORDS];
    pack_u64(p, id);
    pack_u64(p, &m->highest);
    pack_u64(p, &m->counted);
    pack_u64(p, &m->seen_at);
    for (int i = 0; i < OLD_WORDS; i++)
        pack_u64(p, &seen[i]);
    p->ok = p->ok && m->highest <= INT64_MAX && m->counted <= m->highest;
    if (!p->ok) return;
    m->low = m->highest < 64 * OLD_WORDS ? 0 : m->highest - 64 * OLD_WORDS;
    for (uint64_t n = m->low + 1; n <= m->highest; n++)
        mark(m->seen, n, seen[n / 64 % OLD_WORDS] >> n % 64 & 1);
    while (m->low < m->highest && marked(m->seen, m->low + 1))
        m->low++;
}

int dedup_state_put(struct dedup *l, int form, const void *in, size_t n, struct err *e)
{
    struct pack p = pack_reader(in, n);
    int makers;
    dedup_clear(l);
    (form == 1 ? read_old_head : pass_head)(&p, l, &makers);
    for (int i = 0; p.ok && i < makers; i++) {
        struct maker m = {0};
        uint64_t id;
        (form == 1 ? read_old_maker : pass_maker)(&p, &id, &m);
        struct maker *at = p.ok ? table_put(l->makers, &id, NULL) : NULL;
        if (at) *at = m;
        p.ok = at != NULL;
    }
    if (p.ok && pack_over(&p)) return 0;
    dedup_clear(l);
    return err_set(e, ERR_CORRUPT, "the state of the de-duplication: invalid numbers");
}

/* ---- one maker of a state ---- */

int dedup_view(struct dedup_view *out, uint64_t maker, const void *state, size_t n,
               struct err *e)
{
    struct pack p = pack_reader(state, n);
    struct dedup head = {0};
    int makers;
    *out = (struct dedup_view){0};
    pass_head(&p, &head, &makers);
    for (int i = 0; p.ok && i < makers; i++) {
        struct maker m = {0};
        uint64_t id;
        pass_maker(&p, &id, &m);
        if (!p.ok || id != maker) continue;
        out->low = m.low;
        out->highest = m.highest;
        memcpy(out->seen, m.seen, sizeof out->seen);
    }
    out->position = head.position;
    if (p.ok && pack_over(&p)) return 0;
    *out = (struct dedup_view){0};
    return err_set(e, ERR_CORRUPT, "the state of the de-duplication: invalid numbers");
}

bool dedup_view_has(const struct dedup_view *v, uint64_t number)
{
    return has(v->low, v->highest, v->seen, number);
}
