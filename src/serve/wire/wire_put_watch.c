/* Data for dashboards next to the figures. */
#include "wire_put_priv.h"

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

void wire_put_curve(struct emit *o, const struct curve_point *p, int n)
{
    emit_open(o, '{');
    emit_key(o, "updates");
    emit_open(o, '[');
    for (int i = 0; i < n; i++)
        put_point(o, &p[i]);
    emit_close(o, ']');
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
