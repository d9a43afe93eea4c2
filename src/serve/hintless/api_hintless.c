#include "serve/hintless/api_hintless.h"

#include "serve/hintless/hintless.h"
#include "serve/http/api.h"
#include "serve/wire/wire_put_priv.h"

static void put_point_of_simplex(struct emit *o, const float *x, int n)
{
    emit_key(o, "x");
    emit_open(o, '[');
    for (int k = 0; k < n; k++)
        emit_rounded(o, (double)x[k]);
    emit_close(o, ']');
}

static void put_tree(struct emit *o, const struct merge_view_copy *v)
{
    put_int(o, "chosen", v->chosen);
    emit_key(o, "nodes");
    emit_open(o, '[');
    for (int i = 0; i < v->nodes; i++) {
        const struct merge_view_node *n = &v->node[i];
        emit_open(o, '{');
        put_int(o, "parent", n->parent);
        put_int(o, "depth", n->depth);
        put_int(o, "visits", n->visits);
        put_bool(o, "leaf", n->leaf);
        put_bool(o, "active", n->active);
        put_point_of_simplex(o, n->x, v->experts);
        emit_close(o, '}');
    }
    emit_close(o, ']');
    emit_key(o, "slots");
    emit_open(o, '[');
    for (int i = 0; i < v->slots; i++) {
        const struct merge_view_slot *s = &v->slot[i];
        emit_open(o, '{');
        put_u64(o, "slot", s->slot);
        put_double(o, "since", s->since);
        put_double(o, "expected", s->expected);
        put_double(o, "reward", s->reward);
        put_point_of_simplex(o, s->x, v->experts);
        emit_close(o, '}');
    }
    emit_close(o, ']');
}

static void put_merge_exam(struct emit *o, const struct hintless_stats *u)
{
    emit_key(o, "exam");
    emit_open(o, '{');
    figure_json(o, hintless_exam_figures, u);
    if (u->experts) figure_json(o, hintless_merge_exam_figures, u);
    emit_close(o, '}');
}

void api_hintless_put(struct emit *o, const struct hintless_stats *u,
                      const struct merge_view_copy *view)
{
    emit_open(o, '{');
    put_string(o, "mode", hintless_mode_name(u->mode));
    put_u64(o, "slot", u->slots + 1);
    emit_key(o, "experts");
    emit_open(o, '[');
    for (int k = 0; k < u->experts; k++)
        emit_string(o, u->expert[k]);
    emit_close(o, ']');
    put_reals(o, "weights", u->weight, u->experts);
    if (u->examined) put_merge_exam(o, u);
    if (view) put_tree(o, view);
    emit_close(o, '}');
}

static void api_hintless_get(struct api *a, const struct http_request *q,
                             const struct route_params *p, struct reply *r)
{
    (void)q;
    (void)p;
    struct err e = {0};
    struct hintless *u = hintless_of(a->shared->service);
    struct merge_view_copy *view = hintless_look(u, &e);
    if (!view && e.code) {
        reply_err(r, &e);
        return;
    }
    struct hintless_stats s;
    hintless_stats(&s, u);
    api_hintless_put(&a->out, &s, view);
    merge_view_copy_free(view);
    api_json(a, r, 200);
}

const struct route api_hintless_routes[] = {
    {HTTP_GET, "/v1/untagged", ROUTE_OPEN, api_hintless_get},
    {HTTP_OTHER, NULL, ROUTE_OPEN, NULL},
};
