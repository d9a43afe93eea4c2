#include "serve/parts.h"

#include <assert.h>
#include <stddef.h>

#include "serve/session/core.h"
#ifndef WITHOUT_CLUSTER
#include "serve/cluster/guest.h"
#endif

/* The Makefile defines WITHOUT_NAME for an omitted part. */
#ifndef WITHOUT_CLUSTER
extern const struct part cluster_part;
#endif
#ifndef WITHOUT_ADDED
extern const struct part added_part;
#endif
#ifndef WITHOUT_HINTLESS
extern const struct part hintless_part;
#endif
#ifndef WITHOUT_PLAYERS
extern const struct part players_part;
#endif
#ifndef WITHOUT_TRIAL
extern const struct part trial_part;
#endif

#define PARTS_ROW(name)                                 \
    {                                                   \
        &name##_part, offsetof(struct parts_cfg, name), \
            offsetof(struct parts_stats, name)          \
    }

/* The cluster is first, because its role decides whether this node learns. It starts last and is freed
 * first, because it shares data of other parts. The trial comes before the parts that decide: an arm with
 * rules of its own goes before them. */
const struct parts_row parts_table[] = {
#ifndef WITHOUT_CLUSTER
    PARTS_ROW(cluster),
#endif
#ifndef WITHOUT_TRIAL
    PARTS_ROW(trial),
#endif
#ifndef WITHOUT_ADDED
    PARTS_ROW(added),
#endif
#ifndef WITHOUT_HINTLESS
    PARTS_ROW(hintless),
#endif
#ifndef WITHOUT_PLAYERS
    PARTS_ROW(players),
#endif
    {NULL, 0, 0}};

_Static_assert(sizeof parts_table / sizeof *parts_table <= PARTS_MAX + 1, "PARTS_MAX");

#ifndef WITHOUT_CLUSTER
/* Data that parts share with other nodes, in the order in which the turns serve it. */
extern const struct guest added_guest, slot_guest, trial_guest;
const struct guest *const parts_guests[] = {
#ifndef WITHOUT_ADDED
    &added_guest,
#endif
#ifndef WITHOUT_HINTLESS
    &slot_guest,
#endif
#ifndef WITHOUT_TRIAL
    &trial_guest,
#endif
    NULL};
#endif

const int parts_rows = (int)(sizeof parts_table / sizeof *parts_table) - 1;

const void *parts_settings(int i, const struct parts_cfg *cfg)
{
    return (const char *)cfg + parts_table[i].settings;
}

void *parts_figures(int i, struct parts_stats *out)
{
    return (char *)out + parts_table[i].figures;
}

struct parts_cfg parts_cfg_default(void)
{
    return (struct parts_cfg){
#ifdef WITHOUT_ADDED
        .added = {.max = 0, .experts = 2, .gate = NORGA_TANH},
#else
        .added = {.max = 8, .experts = 2, .gate = NORGA_TANH},
#endif
        .hintless = hintless_cfg_default(),
        .cluster = cluster_cfg_default(),
        .players = players_cfg_default(),
        .trial = trial_cfg_default()};
}

/* ERR_INVALID for settings that need an omitted part. */
static int parts_missing(const struct parts_cfg *c, struct err *e)
{
    const char *field = NULL, *part = NULL;
#ifdef WITHOUT_ADDED
    if (c->added.max) field = "grow-max", part = "added";
#endif
#ifdef WITHOUT_HINTLESS
    if (c->hintless.mode != HINTLESS_DEFAULT) field = "untagged", part = "hintless";
#endif
#ifdef WITHOUT_CLUSTER
    if (c->cluster.number) field = "node-number", part = "cluster";
    if (c->cluster.role != ROLE_STANDALONE) field = "role", part = "cluster";
#endif
#ifdef WITHOUT_PLAYERS
    if (c->players.origin.names.n) field = "origin", part = "players";
#endif
#ifdef WITHOUT_TRIAL
    if (c->trial.name) field = "trial", part = "trial";
#endif
    (void)c;
    if (!field) return 0;
    return err_field(e, ERR_INVALID, field, "this abrd was built without the part %s",
                     part);
}

int parts_check(const struct parts_cfg *cfg, const struct service_cfg *common,
                struct err *e)
{
    int rc = parts_missing(cfg, e);
    for (int i = 0; i < parts_n() && !rc; i++)
        if (parts_at(i)->check)
            rc = parts_at(i)->check(parts_settings(i, cfg), common, e);
    return rc;
}

void parts_stats(struct parts_stats *out, struct service *s)
{
    *out = (struct parts_stats){0};
    for (int i = 0; i < parts_n(); i++)
        if (parts_at(i)->stats) parts_at(i)->stats(s->part[i], parts_figures(i, out));
}
