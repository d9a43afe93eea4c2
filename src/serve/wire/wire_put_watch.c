/* Data for dashboards next to the figures. */
#include "wire_put_priv.h"

#include "serve/learner/cells.h"
#include "serve/learner/learner_figures.h"

static void put_update(struct emit *o, const struct curve_update *u)
{
    emit_key(o, "learned");
    emit_open(o, '{');
    put_double(o, "policy_loss", u->policy_loss);
    put_double(o, "value_loss", u->value_loss);
    put_double(o, "entropy", u->entropy);
    put_double(o, "approx_kl", u->approx_kl);
    put_double(o, "clip_share", u->clip_share);
    put_double(o, "explained_variance", u->explained_variance);
    put_double(o, "grad_norm", u->grad_norm);
    emit_close(o, '}');
}

static void put_weights(struct emit *o, const char *key, const struct curve_weights *w)
{
    emit_key(o, key);
    emit_open(o, '{');
    put_double(o, "dormant", w->dormant);
    put_double(o, "effective_rank", w->effective);
    put_double(o, "weight_rms", w->weight_rms);
    emit_close(o, '}');
}

static void put_point(struct emit *o, const struct curve_point *p)
{
    emit_open(o, '{');
    put_u64(o, "number", p->number);
    put_string(o, "kind", curve_kind_name(p->kind));
    put_double(o, "at", p->at);
    put_u64(o, "version", p->version);
    put_u64(o, "steps", p->steps);
    put_double(o, "score", p->score);
    put_double(o, "best", p->best);
    if (p->learned) put_update(o, &p->update);
    if (p->measured) {
        put_weights(o, "actor", &p->weights[PPO_ACTOR]);
        put_weights(o, "critic", &p->weights[PPO_CRITIC]);
    }
    emit_close(o, '}');
}

static const char *group_name(int g)
{
    return g < CELLS_KINDS ? cells_kind_name(g) : qoe_profiles[g - CELLS_KINDS].name;
}

static void put_group(struct emit *o, const struct cells_group *g, int number)
{
    emit_open(o, '{');
    put_string(o, number < CELLS_KINDS ? "links_of" : "profile", group_name(number));
    put_u64(o, "links", (uint64_t)g->links);
    put_double(o, "loss", (double)g->loss);
    put_double(o, "loss_bound", (double)g->loss_bound);
    put_double(o, "gain", (double)g->gain);
    put_bool(o, "worse", g->worse);
    emit_close(o, '}');
}

static void put_cell(struct emit *o, const struct cells_row *c)
{
    emit_open(o, '{');
    put_string(o, "profile", qoe_profiles[c->profile].name);
    put_string(o, "links_of", cells_kind_name(c->kind));
    put_u64(o, "links", (uint64_t)c->links);
    put_string(o, "why", cells_why_name((enum cells_why)c->why));
    put_double(o, "shipped", (double)c->shipped);
    put_double(o, "champion", (double)c->champion);
    put_double(o, "challenger", (double)c->challenger);
    put_double(o, "loss", (double)c->loss);
    put_double(o, "loss_bound", (double)c->loss_bound);
    put_double(o, "gain", (double)c->gain);
    emit_close(o, '}');
}

static void put_exam(struct emit *o, const struct cells_report *r)
{
    emit_key(o, "exam");
    emit_open(o, '{');
    put_string(o, "verdict", cells_verdict_name(r->verdict));
    put_u64(o, "exams", r->exams);
    put_u64(o, "sessions", r->sessions);
    put_u64(o, "recorded_links", (uint64_t)r->recorded);
    put_u64(o, "worse_cells", (uint64_t)r->worse);
    if (r->better >= 0) put_string(o, "better_in", group_name(r->better));
    emit_key(o, "groups");
    emit_open(o, '[');
    for (int g = 0; g < CELLS_GROUPS; g++)
        if (r->group[g].links) put_group(o, &r->group[g], g);
    emit_close(o, ']');
    emit_key(o, "cells");
    emit_open(o, '[');
    for (int i = 0; i < r->n; i++)
        put_cell(o, &r->row[i]);
    emit_close(o, ']');
    emit_close(o, '}');
}

void wire_put_curve(struct emit *o, const struct curve_point *p, int n,
                    const struct cells_report *exam)
{
    emit_open(o, '{');
    emit_key(o, "updates");
    emit_open(o, '[');
    for (int i = 0; i < n; i++)
        put_point(o, &p[i]);
    emit_close(o, ']');
    if (exam) put_exam(o, exam);
    emit_close(o, '}');
}

static void put_layer(struct emit *o, const struct vitals_layer *l, bool reached)
{
    emit_open(o, '{');
    figure_json(o, learner_weights_figures, l);
    if (reached) figure_json(o, learner_units_figures, l);
    emit_close(o, '}');
}

static void put_vitals(struct emit *o, const char *key, const struct vitals_net *n)
{
    emit_key(o, key);
    emit_open(o, '[');
    for (int k = 0; k < n->experts && k < VITALS_EXPERTS; k++) {
        const struct vitals_expert *x = &n->expert[k];
        emit_open(o, '{');
        put_bool(o, "reached", x->reached);
        put_double(o, "share", x->share);
        put_double(o, "head_rms", x->head_rms);
        emit_key(o, "layers");
        emit_open(o, '[');
        for (int i = 0; i < n->layers; i++)
            put_layer(o, &x->layer[i], x->reached);
        emit_close(o, ']');
        emit_close(o, '}');
    }
    emit_close(o, ']');
}

void wire_put_plasticity(struct emit *o, const struct vitals_stats *v)
{
    emit_open(o, '{');
    put_bool(o, "known", v->known);
    put_double(o, "tau", VITALS_TAU);
    put_vitals(o, "actor", &v->actor);
    put_vitals(o, "critic", &v->critic);
    emit_close(o, '}');
}
