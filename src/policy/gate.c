#include "policy/gate.h"

#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 64 }; /* rows scored at a time */

_Static_assert(sizeof(struct gate) == 16 + 4 * MIX_EXPERTS_MAX, "no padding");

struct gate_cfg gate_cfg_default(void)
{
    return (struct gate_cfg){.gap = 0.5};
}

static uint64_t all_of(int experts)
{
    return UINT64_MAX >> (MIX_EXPERTS_MAX - experts);
}

/* Sums over the rows of one tag. */
struct task {
    int rows;
    double score[MIX_EXPERTS_MAX];
};

static void add_scores(struct task *tasks, const struct mix *m, const float *x,
                       const int *tag, int n)
{
    int experts = m->cfg.experts;
    float g[CHUNK * MIX_EXPERTS_MAX];
    for (int at = 0; at < n; at += CHUNK) {
        int rows = n - at < CHUNK ? n - at : CHUNK;
        mix_scores(g, m, x + (size_t)at * (size_t)m->cfg.in, rows);
        for (int i = 0; i < rows; i++) {
            int v = tag ? tag[at + i] : 0;
            assert(v >= 0 && v < GATE_TASKS);
            tasks[v].rows++;
            for (int k = 0; k < experts; k++)
                tasks[v].score[k] += (double)g[i * experts + k];
        }
    }
}

/* Line 7 of the algorithm for one task. */
static uint64_t close_ones(const struct task *t, double gap, const struct mix *m)
{
    double top = -INFINITY;
    for (int k = 0; k < m->cfg.experts; k++)
        if (!(m->busy >> k & 1)) top = fmax(top, t->score[k]);
    uint64_t close = 0;
    for (int k = 0; k < m->cfg.experts; k++)
        if (fabs(t->score[k] - top) < gap * t->rows) close |= (uint64_t)1 << k;
    return close;
}

void gate_round(struct gate *g, const struct gate_cfg *cfg, const struct mix *m,
                const float *x, const int *tag, int n)
{
    g->rounds++;
    bool settled = g->flags == all_of(m->cfg.experts);
    if (cfg->latch == 0 || g->rounds <= cfg->latch || settled) return;
    if (m->cfg.route == MIX_SINGLE) return;

    struct task tasks[GATE_TASKS] = {0};
    add_scores(tasks, m, x, tag, n);
    for (int v = 0; v < GATE_TASKS; v++)
        if (tasks[v].rows) g->flags |= close_ones(&tasks[v], cfg->gap, m);
}

struct mix_gate_losses gate_losses(float *cost, const struct gate *g,
                                   const struct gate_cfg *cfg, double balance,
                                   int experts)
{
    for (int k = 0; k < experts; k++)
        cost[k] = (float)(cfg->locality * (double)g->moved[k]);
    return (struct mix_gate_losses){.balance = (float)balance,
                                    .cost = cfg->locality > 0.0 ? cost : NULL,
                                    .still = gate_latched(g, cfg, experts)};
}

void gate_moved(struct gate *g, const struct mix *m, const float *before)
{
    for (int k = 0; k < m->cfg.experts; k++) {
        struct mix_range r = mix_expert(&m->cfg, k);
        double sum = 0.0;
        for (size_t i = r.at; i < r.at + r.n; i++) {
            double d = (double)m->theta[i] - (double)before[i];
            sum += d * d;
        }
        g->moved[k] = (float)sqrt(sum);
    }
}

int gate_converged(const struct gate *g, int experts)
{
    int n = 0;
    for (int k = 0; k < experts; k++)
        n += (int)(g->flags >> k & 1);
    return n;
}

bool gate_latched(const struct gate *g, const struct gate_cfg *cfg, int experts)
{
    return cfg->latch > 0 && g->flags == all_of(experts);
}

void gate_reset(struct gate *g)
{
    g->rounds = 0;
    g->flags = 0;
}

void gate_text(char out[GATE_TEXT], const struct gate *g, int experts)
{
    char flags[MIX_EXPERTS_MAX + 1] = "";
    for (int k = 0; k < experts; k++)
        flags[k] = g->flags >> k & 1 ? '1' : '0';
    snprintf(out, GATE_TEXT, "flags=%s rounds=%lld", flags, (long long)g->rounds);
}

static int not_a_gate(const char *text, int experts, struct err *e)
{
    return err_field(e, ERR_INVALID, "gate",
                     "'%.80s' is no state of a gate over %d experts (flags=... rounds=N)",
                     text, experts);
}

int gate_parse(struct gate *g, const char *text, int experts, struct err *e)
{
    static const char head[] = "flags=", then[] = " rounds=";
    if (strncmp(text, head, sizeof head - 1) != 0) return not_a_gate(text, experts, e);
    const char *at = text + sizeof head - 1;
    uint64_t flags = 0, rounds;
    int n = (int)strspn(at, "01");
    if (n != experts || strncmp(at + n, then, sizeof then - 1) != 0)
        return not_a_gate(text, experts, e);
    for (int k = 0; k < n; k++)
        flags |= (uint64_t)(at[k] == '1') << k;
    if (text_u64(&rounds, at + n + sizeof then - 1, "gate", NULL) || rounds > INT64_MAX)
        return not_a_gate(text, experts, e);
    g->flags = flags;
    g->rounds = (int64_t)rounds;
    return 0;
}

void gate_choose(int *chosen, const struct mix *m, const float *x, int n)
{
    memset(chosen, 0, (size_t)n * sizeof *chosen);
    if (m->cfg.route == MIX_SINGLE) return;
    int experts = m->cfg.experts;
    float g[CHUNK * MIX_EXPERTS_MAX];
    for (int at = 0; at < n; at += CHUNK) {
        int rows = n - at < CHUNK ? n - at : CHUNK;
        mix_scores(g, m, x + (size_t)at * (size_t)m->cfg.in, rows);
        for (int i = 0; i < rows; i++) {
            int best = -1;
            for (int k = 0; k < experts; k++) {
                if (m->busy >> k & 1) continue;
                if (best < 0 || g[i * experts + k] > g[i * experts + best]) best = k;
            }
            chosen[at + i] = best;
        }
    }
}
