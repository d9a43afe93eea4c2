#include "serve/added/added_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/session/limits.h"
#include "serve/session/profiles.h"

enum { HEAD = 16, ONE = SERVICE_NAME + 160, EXPERTS_HEAD = 24 };

void added_wire_key(char out[PIECES_KEY], const struct added_wire_one *g,
                    enum added_wire_part part)
{
    unsigned long long id = g->id, term = g->term, base = g->base_term;
    if (part == ADDED_WIRE_BASE)
        snprintf(out, PIECES_KEY, "grown.%016llx.%llu.base", id, base);
    else
        snprintf(out, PIECES_KEY, "grown.%016llx.%llu.%d.%s", id, term, g->slot,
                 part == ADDED_WIRE_EXPERTS ? "new" : "state");
}

struct added_wire_one *added_wire_find(struct added_wire *w, const char *name)
{
    for (int i = 0; i < w->n; i++)
        if (!w->at[i].gone && !strcmp(w->at[i].name, name)) return &w->at[i];
    return NULL;
}

struct added_wire_one *added_wire_of(struct added_wire *w, uint64_t id)
{
    for (int i = 0; i < w->n; i++)
        if (!w->at[i].gone && w->at[i].id == id) return &w->at[i];
    return NULL;
}

int added_wire_count(const struct added_wire *w)
{
    int n = 0;
    for (int i = 0; i < w->n; i++)
        n += !w->at[i].gone;
    return n;
}

/* ---- the list ---- */

static void pass_pieces(struct pack *p, struct pieces *v)
{
    pack_u64(p, &v->bytes);
    pack_u32(p, &v->crc);
    pack_int(p, &v->parts, 0, PIECES_MAX);
}

static void pass_one(struct pack *p, struct added_wire_one *g)
{
    pack_text(p, g->name, SERVICE_NAME);
    pack_u64(p, &g->id);
    pack_bool(p, &g->gone);
    pack_u64(p, &g->version);
    pack_u64(p, &g->base_term);
    pack_u64(p, &g->term);
    pack_small(p, &g->slot, 0, 1);
    pack_u64(p, &g->position);
    pack_real(p, &g->published_at);
    pack_f64(p, &g->score); /* an exam may have none */
    pack_f64(p, &g->base_score);
    pass_pieces(p, &g->base);
    pass_pieces(p, &g->experts);
    pass_pieces(p, &g->state);
    if (!g->id || (!p->writing && p->ok && limits_name(g->name, NULL))) p->ok = false;
}

static void pass_list(struct pack *p, void *value, int form)
{
    struct added_wire *w = value;
    (void)form;
    pack_u64(p, &w->term);
    pack_int(p, &w->n, 0, ADDED_WIRE_MAX);
    for (int i = 0; p->ok && i < w->n; i++) {
        struct added_wire_one *one = &w->at[i];
        char name[SERVICE_NAME];
        pass_one(p, one);
        /* the new name of a profile whose name has become built-in, as in bus_wire.c */
        if (!p->writing && p->ok && qoe_find(one->name) &&
            !profiles_free_name(name, NULL, 0, one->name))
            memcpy(one->name, name, sizeof name);
    }
}

static size_t room_list(const void *value)
{
    const struct added_wire *w = value;
    return HEAD + (size_t)w->n * ONE;
}

const struct shared_value_kind added_wire_list_kind = {.key = "grown",
                                                       .envelope = ENVELOPE_ADDED,
                                                       .form = ADDED_WIRE_FORM,
                                                       .size = sizeof(struct added_wire),
                                                       .room = room_list,
                                                       .pass = pass_list};

/* ---- added experts ---- */

struct experts_head {
    int experts, sigma;
    bool shape_learns;
    uint64_t version, base_version;
    uint32_t base_crc;
};

static void pass_head(struct pack *p, struct experts_head *h)
{
    pack_small(p, &h->experts, 1, NORGA_EXPERTS_MAX);
    pack_small(p, &h->sigma, NORGA_LINEAR, NORGA_GELU);
    int learns = h->shape_learns;
    pack_small(p, &learns, 0, 1);
    h->shape_learns = learns;
    pack_u64(p, &h->version);
    pack_u64(p, &h->base_version);
    pack_u32(p, &h->base_crc);
}

static void pass_floats(struct pack *p, struct norga *g)
{
    for (size_t i = 0; i < g->n; i++)
        pack_f32(p, &g->theta[i]);
}

int added_wire_put_experts(void **out, size_t *n, const struct policy_added *g,
                           struct err *e)
{
    size_t room = EXPERTS_HEAD + 4 * policy_added_floats(g);
    *out = malloc(room);
    if (!*out) return err_set(e, ERR_MEMORY, "no memory to publish new experts");
    struct experts_head h = {g->cfg.added.experts, (int)g->cfg.added.sigma,
                             g->shape_learns,      g->version,
                             g->base_version,      g->base_crc};
    struct pack p = pack_writer(*out, room);
    pass_head(&p, &h);
    pass_floats(&p, g->actor);
    pass_floats(&p, g->critic);
    *n = pack_done(&p, *out);
    if (p.ok) return 0;
    free(*out);
    *out = NULL;
    return err_set(e, ERR_CORRUPT, "new experts are not finite");
}

struct policy_added *added_wire_get_experts(const struct policy_cfg *base,
                                            const void *bytes, size_t n, struct err *e)
{
    struct experts_head h = {0};
    struct pack p = pack_reader(bytes, n);
    pass_head(&p, &h);
    struct policy_cfg cfg = *base;
    cfg.added = (struct policy_added_cfg){h.experts, (enum norga_sigma)h.sigma};
    struct policy_added *g = p.ok ? policy_added_new(&cfg, e) : NULL;
    if (p.ok && !g) return NULL;
    if (g) {
        g->shape_learns = h.shape_learns;
        g->version = h.version;
        g->base_version = h.base_version;
        g->base_crc = h.base_crc;
        pass_floats(&p, g->actor);
        pass_floats(&p, g->critic);
    }
    if (p.ok && pack_over(&p) && h.version) return g;
    policy_added_free(g);
    err_set(e, ERR_CORRUPT, "hold numbers out of range");
    return NULL;
}
