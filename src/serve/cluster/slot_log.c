#include "serve/cluster/slot_log.h"

#include <stdio.h>
#include <string.h>

#include "serve/session/limits.h"

enum { HEAD_BYTES = 64, MAKER_BYTES = 16 };
static const float SLACK = 1e-3f; /* of sums and limits: the numbers are float */

void slot_log_key(char out[SLOT_LOG_KEY], uint32_t crc)
{
    snprintf(out, SLOT_LOG_KEY, "slots.%08x", (unsigned)crc);
}

void slot_log_begin(struct slot_log *l, uint64_t id, uint32_t crc, int experts)
{
    *l = (struct slot_log){.id = id, .crc = crc, .experts = experts};
}

/* ---- records ---- */

static bool within(float v, float lo, float hi)
{
    return v >= lo - SLACK && v <= hi + SLACK;
}

bool slot_record_is(const struct slot_record *r)
{
    float sum = 0;
    bool ok = r->number > 0;
    for (int k = 0; k < HINTLESS_EXPERTS; k++) {
        ok = ok && r->x[k] >= 0;
        sum += r->x[k];
    }
    ok = ok && within(sum, 1, 1);
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        ok = ok && within(r->psi[v], 0, 1) && within(r->reward[v], -1, 1) &&
             within(r->trust[v], 0, 1);
    return ok;
}

static int find_maker(const struct slot_log *l, uint64_t maker)
{
    for (int i = l->makers - 1; i >= 0; i--)
        if (l->maker[i].maker == maker) return i;
    return -1;
}

bool slot_log_has(const struct slot_log *l, uint64_t maker, uint64_t number)
{
    int i = find_maker(l, maker);
    return i >= 0 && l->maker[i].number >= number;
}

static int find_task(const struct slot_tasks *t, const char *name)
{
    for (int v = 0; v < t->n; v++)
        if (!strcmp(t->name[v], name)) return v;
    return -1;
}

static void move(struct slot_record *to, int v, const struct slot_record *from, int w)
{
    to->psi[v] = from->psi[w];
    to->reward[v] = from->reward[w];
    to->trust[v] = from->trust[w];
}

/* Replaces the maker's entry, or that of the maker that added nothing for longest. */
static void note_maker(struct slot_log *l, uint64_t maker, uint64_t number)
{
    int i = find_maker(l, maker);
    if (i < 0 && l->makers == SLOT_LOG_MAKERS) i = 0;
    if (i >= 0)
        memmove(&l->maker[i], &l->maker[i + 1],
                sizeof l->maker[0] * (size_t)(--l->makers - i));
    l->maker[l->makers].maker = maker;
    l->maker[l->makers++].number = number;
}

void slot_log_add(struct slot_log *l, const struct slot_record *r,
                  const struct slot_tasks *tasks)
{
    if (l->n == SLOT_LOG_RECORDS)
        memmove(&l->record[0], &l->record[1], sizeof l->record[0] * (size_t)--l->n);
    struct slot_record *to = &l->record[l->n++];
    *to = (struct slot_record){.maker = r->maker, .number = r->number};
    memcpy(to->x, r->x, sizeof to->x);
    for (int w = 0; w < tasks->n; w++) {
        if (!tasks->name[w][0]) continue;
        int v = find_task(&l->tasks, tasks->name[w]);
        if (v < 0 && l->tasks.n < PROFILE_MIX_TASKS) {
            v = l->tasks.n++;
            memcpy(l->tasks.name[v], tasks->name[w], HINTLESS_NAME);
        }
        if (v >= 0) move(to, v, r, w);
    }
    note_maker(l, r->maker, r->number);
    l->count++;
}

void slot_log_read(struct slot_record *out, const struct slot_log *l, int i,
                   const struct slot_tasks *tasks)
{
    const struct slot_record *r = &l->record[i];
    *out = (struct slot_record){.maker = r->maker, .number = r->number};
    memcpy(out->x, r->x, sizeof out->x);
    for (int w = 0; w < l->tasks.n; w++) {
        int v = find_task(tasks, l->tasks.name[w]);
        if (v >= 0) move(out, v, r, w);
    }
}

/* ---- bytes ---- */

static void need(struct pack *p, bool ok)
{
    p->ok = p->ok && ok;
}

static void pass_record(struct pack *p, struct slot_record *r, int experts, int tasks)
{
    pack_u64(p, &r->maker);
    pack_u64(p, &r->number);
    for (int k = 0; k < experts; k++)
        pack_f32(p, &r->x[k]);
    for (int v = 0; v < tasks; v++) {
        pack_f32(p, &r->psi[v]);
        pack_f32(p, &r->reward[v]);
        pack_f32(p, &r->trust[v]);
    }
    need(p, slot_record_is(r));
}

static void pass_tasks(struct pack *p, struct slot_tasks *t)
{
    pack_int(p, &t->n, 0, PROFILE_MIX_TASKS);
    for (int v = 0; v < t->n && p->ok; v++) {
        pack_text(p, t->name[v], HINTLESS_NAME);
        need(p, !limits_name(t->name[v], NULL) && find_task(t, t->name[v]) == v);
    }
}

static void pass_slots(struct pack *p, void *value, int form)
{
    struct slot_log *l = value;
    (void)form;
    pack_u64(p, &l->id);
    pack_u64(p, &l->count);
    pack_u32(p, &l->crc);
    pack_int(p, &l->experts, 2, HINTLESS_EXPERTS);
    pass_tasks(p, &l->tasks);
    pack_int(p, &l->makers, 0, SLOT_LOG_MAKERS);
    for (int i = 0; i < l->makers && p->ok; i++) {
        pack_u64(p, &l->maker[i].maker);
        pack_u64(p, &l->maker[i].number);
    }
    pack_int(p, &l->n, 0, SLOT_LOG_RECORDS);
    need(p, l->count >= (uint64_t)l->n);
    for (int i = 0; i < l->n && p->ok; i++)
        pass_record(p, &l->record[i], l->experts, l->tasks.n);
}

static size_t room_slots(const void *value)
{
    const struct slot_log *l = value;
    size_t each = 16 + 4 * (size_t)l->experts + 12 * (size_t)l->tasks.n;
    return HEAD_BYTES + (size_t)l->tasks.n * HINTLESS_NAME +
           (size_t)l->makers * MAKER_BYTES + (size_t)l->n * each;
}

const struct shared_value_kind slot_log_kind = {.envelope = ENVELOPE_SLOTS,
                                                .form = 1,
                                                .size = sizeof(struct slot_log),
                                                .room = room_slots,
                                                .pass = pass_slots};
