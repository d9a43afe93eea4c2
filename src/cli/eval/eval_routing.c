#include "cli/eval/eval_routing.h"

#include "abr/routing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(SETUP_PROFILES <= ROUTING_PROFILES, "all fit");
static const char *const NETS[] = {"actor", "critic"};

static int policy_path(const char **out, const struct eval_routing *r, const char *policy,
                       struct err *e)
{
    *out = NULL;
    if (strcmp(policy, "moe") == 0) *out = r->shipped;
    if (strncmp(policy, "moe:", 4) == 0) *out = policy + 4;
    if (*out) return 0;
    return err_field(e, ERR_INVALID, policy,
                     "has no routers: --routing needs moe or moe:FILE");
}

static void begin_row(struct out *o, const struct eval_routing *r, int policy, int which,
                      const char *profile)
{
    out_row(o);
    out_cells(o, "policy=%s network=%s profile=%s set=%s", r->policies->item[policy],
              NETS[which], profile, r->corpus->name);
}

static void put_shares(struct out *o, const int64_t *count, int experts)
{
    int64_t n = 0;
    for (int k = 0; k < experts; k++)
        n += count[k];
    out_int(o, "n", n);
    for (int k = 0; k < experts; k++) {
        char column[24];
        snprintf(column, sizeof column, "expert%d", k);
        out_real(o, column, n ? (double)count[k] / (double)n : 0.0, 3);
    }
}

static void put_net(struct out *o, const struct eval_routing *r, const struct routing *x,
                    int policy, int which)
{
    const struct routing_net *net = &x->net[which];
    int64_t all[MIX_EXPERTS_MAX] = {0};
    for (int v = 0; v < r->n_profiles; v++) {
        begin_row(o, r, policy, which, r->profiles[v].name);
        put_shares(o, net->count[v], net->experts);
        for (int k = 0; k < net->experts; k++)
            all[k] += net->count[v][k];
    }
    struct routing_information i = routing_information(net, r->n_profiles);
    begin_row(o, r, policy, which, "all");
    put_shares(o, all, net->experts);
    out_cells(o, "least=%.3f most=%.3f information=%.4f normalised=%.4f bias=%.5f",
              i.low_share, i.high_share, i.nats, i.normalised, i.bias);
    if (policy)
        out_real(o, "changed_of_1000", 1000.0 * (double)net->changed / (double)x->states,
                 1);
}

int eval_routing_run(struct out *o, const struct eval_routing *r, struct err *e)
{
    const char *paths[FIELD_LIST_MAX];
    struct qoe qoe[SETUP_PROFILES];
    int n = r->policies->n;
    for (int p = 0; p < n; p++) {
        int rc = policy_path(&paths[p], r, r->policies->item[p], e);
        if (rc) return rc;
    }
    for (int v = 0; v < r->n_profiles; v++)
        qoe[v] = r->profiles[v].qoe;
    struct routing *x = calloc((size_t)n, sizeof *x);
    if (!x) return err_set(e, ERR_MEMORY, "no memory for %d policies", n);
    const struct routing_cfg cfg = {paths, n, qoe, r->n_profiles, r->emu};
    int rc = routing_run(x, &cfg, r->corpus, r->video, e);
    if (!rc)
        out_say(o,
                "%s: %d traces, %lld states visited by %s; information is in nats and "
                "too high by about `bias`",
                r->corpus->name, r->corpus->n, (long long)x[0].states,
                r->policies->item[0]);
    for (int p = 0; p < n && !rc; p++)
        for (int w = 0; w < 2; w++)
            put_net(o, r, &x[p], p, w);
    free(x);
    return rc;
}
