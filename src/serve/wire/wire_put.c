#include "wire_put_priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "abr/emulator/qoe_means.h"
#include "serve/learner/learner_figures.h"

static void put_digits(struct emit *o, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    put_string(o, key, text);
}

/* mu is there for every utility, as it always was. */
static void put_qoe(struct emit *o, const struct qoe *q)
{
    emit_key(o, "qoe");
    emit_open(o, '{');
    emit_key(o, "mu");
    emit_doubles(o, (double[]){q->mu_quality, q->mu_switch, q->mu_stall}, 3);
    put_string(o, "utility", qoe_utility_name(q->utility));
    if (q->utility == QOE_POINTS) {
        double weight[QOE_WEIGHTS];
        qoe_weights(weight, q);
        emit_key(o, "weights");
        emit_open(o, '{');
        for (int i = 0; i < QOE_WEIGHTS; i++)
            put_rounded(o, qoe_weight_names[i], weight[i]);
        emit_close(o, '}');
    }
    emit_close(o, '}');
}

/* The way in which a decision was made, as text. */
static const char *mode(const struct answer *a)
{
    if (a->observed) return "observe";
    if (a->by == BY_MERGE) return "merge";
    if (a->by == BY_ARM && a->expert < 0) return "greedy";
    if (a->expert < 0) return "fallback";
    return a->sampled ? "sample" : "greedy";
}

static void put_answer(struct emit *o, const struct answer *a)
{
    put_int(o, "chunk", a->chunk);
    put_int(o, "level", a->level);
    put_double(o, "kbps", a->kbps);
    put_rounded(o, "quality", a->quality);
    put_string(o, "quality_from", quality_source_name(a->quality_from));
    put_u64(o, "policy", a->policy);
    put_int(o, "expert", a->expert);
    emit_key(o, "probabilities");
    emit_open(o, '[');
    for (int k = 0; k < a->levels; k++)
        emit_rounded(o, a->prob[k]);
    emit_close(o, ']');
    put_string(o, "mode", mode(a));
    put_string(o, "by", service_by_name(a->by));
    if (a->guarded) put_bool(o, "guarded", true);
    put_rounded(o, "value", a->value);
    put_rounded(o, "entropy", a->entropy);
}

void wire_put_answer(struct emit *o, const struct answer *a)
{
    emit_open(o, '{');
    put_answer(o, a);
    emit_close(o, '}');
}

static void put_understood(struct emit *o, const char *profile, bool hinted,
                           const struct qoe *q)
{
    put_string(o, "profile", profile);
    put_bool(o, "hinted", hinted);
    put_qoe(o, q);
}

/* The session's place in a trial. */
static void put_arm(struct emit *o, const struct session_opened *s)
{
    if (!s->trial[0]) return;
    put_string(o, "trial", s->trial);
    put_string(o, "arm", s->arm);
}

void wire_put_forgotten(struct emit *o, const struct forget_stats *s, bool dry)
{
    emit_open(o, '{');
    put_bool(o, "dry_run", dry);
    put_int(o, "sessions", s->sessions);
    put_int(o, "live", s->live);
    put_int(o, "steps", s->steps);
    put_int(o, "trajectories", s->trajectories);
    put_int(o, "kept", s->kept);
    emit_close(o, '}');
}

void wire_put_labels(struct emit *o, const struct labels *l)
{
    if (labels_none(l)) return;
    emit_key(o, "labels");
    emit_open(o, '{');
    for (int k = 0; k < LABELS_KEYS; k++)
        if (l->value[k][0]) put_string(o, labels_keys[k], l->value[k]);
    emit_close(o, '}');
}

void wire_put_opened(struct emit *o, const struct session_opened *s)
{
    emit_open(o, '{');
    put_string(o, "session", s->session);
    put_answer(o, &s->first);
    put_understood(o, s->profile, s->hinted, &s->qoe);
    put_bool(o, "explores", s->explores);
    put_arm(o, s);
    wire_put_labels(o, &s->labels);
    put_digits(o, "key", s->key);
    emit_close(o, '}');
}

void wire_put_decided(struct emit *o, const struct answer *a, const char *profile,
                      bool hinted, const struct qoe *q)
{
    emit_open(o, '{');
    put_answer(o, a);
    put_understood(o, profile, hinted, q);
    emit_close(o, '}');
}

static void put_reward(struct emit *o, const struct reward_out *r)
{
    put_int(o, "chunk", r->chunk);
    put_double(o, "reward", r->reward);
    put_bool(o, "followed", r->followed);
    put_bool(o, "repeated", r->repeated);
}

void wire_put_reward(struct emit *o, const struct reward_out *r)
{
    emit_open(o, '{');
    put_reward(o, r);
    emit_close(o, '}');
}

void wire_put_underway(struct emit *o, const struct underway_out *u)
{
    emit_open(o, '{');
    put_int(o, "chunk", u->chunk);
    put_int(o, "level", u->level);
    put_double(o, "kbps", u->kbps);
    emit_close(o, '}');
}

void wire_put_decision_event(struct emit *o, const char *session, const struct answer *a)
{
    emit_open(o, '{');
    put_string(o, "session", session);
    put_answer(o, a);
    emit_close(o, '}');
}

void wire_put_reward_event(struct emit *o, const char *session,
                           const struct reward_out *r)
{
    emit_open(o, '{');
    put_string(o, "session", session);
    put_reward(o, r);
    emit_close(o, '}');
}

static void put_step(struct emit *o, const struct history_step *s)
{
    emit_open(o, '{');
    put_int(o, "chunk", s->chunk);
    emit_key(o, "level");
    s->reported ? emit_int(o, s->level) : emit_null(o);
    put_int(o, "decided_level", s->decided_level);
    put_double(o, "kbps", s->kbps);
    put_rounded(o, "quality", s->quality);
    put_double(o, "buffer_s", s->buffer_s);
    put_bool(o, "reported", s->reported);
    put_bool(o, "followed", s->followed);
    put_bool(o, "sampled", s->sampled);
    if (s->reported) {
        put_int(o, "bytes", s->bytes);
        put_double(o, "download_s", s->download_s);
        put_double(o, "rebuffer_s", s->rebuffer_s);
        put_double(o, "reward", s->reward);
    }
    if (s->has_external) put_double(o, "external", s->external);
    put_double(o, "logp", s->logp);
    put_int(o, "expert", s->expert);
    put_u64(o, "policy", s->policy);
    put_string(o, "by", service_by_name(s->by));
    emit_close(o, '}');
}

void wire_put_history_head(struct emit *o, const struct history *h)
{
    emit_open(o, '{');
    put_string(o, "session", h->opened.session);
    put_understood(o, h->opened.profile, h->opened.hinted, &h->opened.qoe);
    put_bool(o, "explores", h->opened.explores);
    if (h->opened.observed) put_string(o, "mode", "observe");
    put_arm(o, &h->opened);
    wire_put_labels(o, &h->opened.labels);
    put_digits(o, "key", h->opened.key);
    emit_key(o, "ladder_kbps");
    emit_doubles(o, h->open.ladder_kbps, h->open.levels);
    emit_key(o, "quality");
    emit_open(o, '[');
    for (int k = 0; k < h->open.levels; k++)
        emit_rounded(o, h->open.quality[k]);
    emit_close(o, ']');
    put_string(o, "quality_from", quality_source_name(h->open.quality_from));
    put_double(o, "chunk_s", h->open.chunk_s);
    put_int(o, "chunks", h->open.chunks);
    put_double(o, "buffer_max_s", h->open.buffer_max_s);
    put_string(o, "content_id", h->open.content_id);
    put_bool(o, "closed", h->closed);
    put_bool(o, "terminal", h->terminal);
    put_double(o, "opened_at", h->opened_at);
    put_double(o, "last_at", h->last_at);
    put_u64(o, "first", h->first);
    emit_key(o, "steps");
    emit_open(o, '[');
}

void wire_put_history_steps(struct emit *o, const struct history *h)
{
    for (int i = 0; i < h->n; i++)
        put_step(o, &h->steps[i]);
}

void wire_put_history_tail(struct emit *o, uint32_t next)
{
    emit_close(o, ']');
    emit_key(o, "next");
    next ? emit_int(o, next) : emit_null(o);
    emit_close(o, '}');
}

void wire_put_history_csv_head(struct emit *o)
{
    static const char names[] = "chunk,level,decided_level,kbps,buffer_s,reported,"
                                "followed,sampled,bytes,download_s,"
                                "rebuffer_s,reward,external,logp,expert,policy,"
                                "quality,mode,trial,arm";
    emit_raw(o, names, sizeof names - 1);
    for (int k = 0; k < LABELS_KEYS; k++)
        emit_text(o, ",%s", labels_keys[k]);
    emit_text(o, "\r\n");
}

void wire_put_history_csv(struct emit *o, const struct history *h)
{
    for (int i = 0; i < h->n; i++) {
        const struct history_step *s = &h->steps[i];
        char kbps[32], buffer[32], download[32] = "", rebuffer[32] = "", reward[32] = "",
                                   external[32] = "", logp[32], bytes[24] = "",
                                   level[16] = "", quality[32];
        emit_format_double(kbps, s->kbps);
        emit_format_double(buffer, s->buffer_s);
        emit_format_double(quality, round(s->quality * 1e6) / 1e6);
        emit_format_double(logp, s->logp);
        if (s->reported) {
            snprintf(level, sizeof level, "%d", s->level);
            snprintf(bytes, sizeof bytes, "%" PRId64, s->bytes);
            emit_format_double(download, s->download_s);
            emit_format_double(rebuffer, s->rebuffer_s);
            emit_format_double(reward, s->reward);
        }
        if (s->has_external) emit_format_double(external, s->external);
        emit_text(
            o, "%d,%s,%d,%s,%s,%d,%d,%d,%s,%s,%s,%s,%s,%s,%d,%" PRIu64 ",%s,%s,%s,%s",
            s->chunk, level, s->decided_level, kbps, buffer, s->reported, s->followed,
            s->sampled, bytes, download, rebuffer, reward, external, logp, s->expert,
            s->policy, quality, h->opened.observed ? "observe" : "decide",
            h->opened.trial, h->opened.arm);
        for (int k = 0; k < LABELS_KEYS; k++)
            emit_text(o, ",%s", h->opened.labels.value[k]);
        emit_text(o, "\r\n");
    }
}

void wire_put_profile(struct emit *o, const struct profile *p)
{
    emit_open(o, '{');
    char means[QOE_MEANS];
    const struct qoe_profile *known = p->builtin ? qoe_find(p->name) : NULL;
    put_string(o, "name", p->name);
    if (known) put_string(o, "help", known->help);
    put_string(o, "means", qoe_means(means, sizeof means, &p->qoe));
    put_qoe(o, &p->qoe);
    put_double(o, "stall_ratio_max", p->qoe.stall_ratio_max);
    put_double(o, "startup_max_s", p->qoe.startup_max_s);
    put_bool(o, "builtin", p->builtin);
    put_bool(o, "grow", p->grow);
    emit_close(o, '}');
}

static void put_net(struct emit *o, const char *key, int experts, int hidden, int layers,
                    enum mix_route route)
{
    emit_key(o, key);
    emit_open(o, '{');
    put_int(o, "experts", experts);
    put_int(o, "hidden", hidden);
    put_int(o, "layers", layers);
    put_string(o, "route", mix_route_word(route));
    emit_close(o, '}');
}

/* The member "settings" of an open object. */
static void put_settings(struct emit *o, const struct online_cfg *c)
{
    emit_key(o, "settings");
    emit_open(o, '{');
    for (const struct field *f = online_fields; f->name; f++) {
        char text[64], *end;
        field_show(text, sizeof text, f, c);
        double v = strtod(text, &end);
        emit_key(o, f->name);
        if (end == text || *end)
            emit_string(o, text);
        else
            emit_double(o, v);
    }
    emit_close(o, '}');
}

void wire_put_policy(struct emit *o, const struct policy_info *p)
{
    const struct policy_cfg *c = &p->cfg;
    emit_open(o, '{');
    put_u64(o, "version", p->version);
    put_double(o, "published_at", p->published_at);
    put_u64(o, "parameters", p->parameters);
    put_double(o, "check_score", p->check_score);
    put_int(o, "observation", c->obs_dim);
    put_int(o, "actions", c->actions);
    put_net(o, "actor", c->experts, c->hidden, c->layers, c->route);
    put_net(o, "critic", c->critic_experts, c->critic_hidden, c->layers, c->critic_route);
    put_settings(o, &p->online);
    emit_close(o, '}');
}

void wire_put_learner(struct emit *o, const struct online_stats *l)
{
    emit_key(o, "learner");
    emit_open(o, '{');
    figure_json(o, learner_figures, l);
    emit_close(o, '}');
}

static void put_gate(struct emit *o, const char *name, const struct online_gate *g,
                     uint64_t busy)
{
    emit_key(o, name);
    emit_open(o, '{');
    figure_json(o, learner_gate_figures, g);
    emit_key(o, "busy");
    emit_open(o, '[');
    for (int k = 0; k < MIX_EXPERTS_MAX; k++)
        if (busy >> k & 1) emit_int(o, k);
    emit_close(o, ']');
    emit_close(o, '}');
}

void wire_put_gates(struct emit *o, const struct service_stats *s)
{
    const struct online_stats *l = &s->learner;
    emit_open(o, '{');
    put_gate(o, "actor", &l->gate[PPO_ACTOR], s->actor_busy);
    put_gate(o, "critic", &l->gate[PPO_CRITIC], s->critic_busy);
    figure_json(o, learner_gates_figures, l);
    emit_close(o, '}');
}

void wire_put_stats(struct emit *o, const struct service_stats *s,
                    struct parts_stats *parts)
{
    emit_open(o, '{');
    figure_json(o, service_figures, s);
    wire_put_learner(o, &s->learner);
    emit_key(o, "gates");
    wire_put_gates(o, s);
    emit_key(o, "profiles");
    emit_open(o, '[');
    for (int i = 0; i < s->n_profiles; i++) {
        emit_open(o, '{');
        figure_json(o, service_profile_figures, &s->profile[i]);
        emit_close(o, '}');
    }
    emit_close(o, ']');
    for (int i = 0; i < parts_n(); i++)
        if (parts_at(i)->json) parts_at(i)->json(o, parts_figures(i, parts));
    emit_close(o, '}');
}
