/* routing.h - which expert decides for which profile: the routes of policies on one set of states.
 *
 *   I(E; V) = sum_{e,v} p(e, v) ln(p(e, v) / (p(e) p(v)))         [nats]
 *   normalised = 2 I / (H(E) + H(V)),  0 when neither varies
 *
 * E is the chosen expert, V the profile, over all decisions of the evaluation. 0: the choice does not
 * depend on the profile. 1: each expert has profiles of its own, and each profile one expert. Every
 * profile is played on the same traces, so p(v) is about uniform.
 *
 * Bias: for N independent decisions the plug-in estimate is too large by about
 * (experts used - 1)(profiles - 1) / (2 N) (Miller, 1955). Decisions of one session resemble each
 * other, so the effective N is smaller. Small figures say nothing.
 *
 * States: the first policy plays every trace once per profile in the deterministic emulator, as eval
 * does (chunk 0 at level 1). In each of its states every policy's routers, actor and critic, choose
 * without noise.
 *
 * Errors: those of ckpt.h; ERR_INVALID for an observation that is not full or blind, or differs from
 * the first policy's; ERR_ABSENT without traces.
 * Threads: pure, except for reading the files. */
#ifndef ABR_ROUTING_H
#define ABR_ROUTING_H

#include "abr/traces/corpus.h"
#include "abr/emulator/emu.h"
#include "policy/mix.h"

#define ROUTING_PROFILES 16

enum routing_which { ROUTING_ACTOR, ROUTING_CRITIC };

struct routing_net {
    int experts;
    int64_t count[ROUTING_PROFILES][MIX_EXPERTS_MAX]; /* decisions */
    int64_t changed; /* states that the first policy sends to another expert */
};

struct routing {
    int64_t states;
    struct routing_net net[2];
};

struct routing_information {
    double nats, normalised, bias; /* bias in nats, not subtracted */
    double low_share, high_share;  /* of the least and the most chosen expert */
};

struct routing_cfg {
    const char *const *paths; /* (n) checkpoints; the first one plays */
    int n;
    const struct qoe *qoe; /* (profiles) */
    int profiles;          /* 1 .. ROUTING_PROFILES */
    struct emu_cfg emu;
};

/* out (cfg->n) */
int routing_run(struct routing *out, const struct routing_cfg *cfg,
                const struct corpus *corpus, const struct video *video, struct err *e)
    __attribute__((warn_unused_result));

struct routing_information routing_information(const struct routing_net *n, int profiles);

#endif
