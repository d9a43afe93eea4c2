#include "serve/learner/cells.h"

#include "abr/emulator/player.h"
#include "abr/traces/gen.h"
#include "base/rng.h"
#include "serve/session/decide.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double Z_BOUND = 1.72; /* Student, 5 % one-sided, 23 degrees of freedom */
static const double Z_WORSE = 3.6;  /* 0.08 % one-sided, 23 degrees */
static const double Z_BETTER = 4.5; /* 0.008 % one-sided, 23 degrees */
static const double LEAST_UNIT = .25;
static const double SLACK = 1.02; /* of stalls and start-ups */
static const double LINK_S = 320;

enum { SHIPPED, CHAMPION, CHALLENGER, WHO };
enum { RANDOM = CELLS_KINDS - 2, RECORDED = CELLS_KINDS - 1, LADDERS = 4 };

struct cells_seen {
    double score; /* mean scaled reward per chunk */
    double stall_s, media_s, startup_s;
};

struct cells_link {
    struct trace *trace; /* owned; NULL: none */
    const struct video *video;
    struct emu_cfg emu;
    uint64_t number; /* of its kind, in order of arrival */
    uint64_t source; /* of a recorded link; 0: unknown */
    bool known[2];   /* SHIPPED, CHAMPION have played it */
    struct cells_seen seen[WHO][QOE_PROFILES];
};

struct cells {
    struct cells_cfg cfg;
    struct decider decider;
    struct packed *packed;
    struct policy *policy[2]; /* SHIPPED, CHAMPION */
    struct policy *challenger;
    struct video *video[1 + LADDERS]; /* the default one; others */
    int replaced[CELLS_KINDS];        /* links of a kind made so far */
    uint64_t recorded;
    struct cells_link link[CELLS_KINDS][CELLS_LINKS_MAX];
    struct cells_report report;
};

const char *cells_kind_name(int kind)
{
    assert(kind >= 0 && kind < CELLS_KINDS);
    return kind == RANDOM ? "random" : kind == RECORDED ? "recorded" : gen_kinds[kind];
}

const char *cells_why_name(enum cells_why why)
{
    static const char *const names[] = {"fine",   "below shipped", "below champion",
                                        "stalls", "start-up",      "not finite"};
    return names[why];
}

const char *cells_verdict_name(enum cells_verdict v)
{
    static const char *const names[] = {"worse", "even", "better", "fallen"};
    return names[v];
}

/* Ladders unlike the default one: few and many levels, short and long chunks. */
static int cells_videos(struct cells *c, int most, struct err *e)
{
    static const struct {
        int levels;
        double chunk_s, lowest_kbps, top_kbps;
    } ladders[LADDERS] = {
        {4, 2, 400, 3000}, {8, 4, 150, 8000}, {10, 6, 230, 16000}, {5, 2, 250, 2500}};
    c->video[0] = video_default(e);
    if (!c->video[0]) return ERR_MEMORY;
    if (c->video[0]->levels > most)
        return err_set(e, ERR_INVALID,
                       "the policy chooses among %d levels; the exam needs %d", most,
                       c->video[0]->levels);
    for (int i = 0; i < LADDERS; i++) {
        double kbps[VIEW_LEVELS], levels = ladders[i].levels;
        for (int k = 0; k < ladders[i].levels; k++)
            kbps[k] = round(
                ladders[i].lowest_kbps *
                pow(ladders[i].top_kbps / ladders[i].lowest_kbps, k / (levels - 1)));
        int n = (int)(192 / ladders[i].chunk_s);
        c->video[1 + i] = video_generate(ladders[i].levels, n, ladders[i].chunk_s, kbps,
                                         .2, c->cfg.seed + (uint64_t)i, e);
        if (!c->video[1 + i]) return ERR_MEMORY;
    }
    return 0;
}

/* Places for links of a kind. */
static int cells_most(const struct cells *c, int kind)
{
    return kind == RECORDED ? c->cfg.recorded : c->cfg.links;
}

static void link_set(struct cells *c, struct cells_link *l, struct trace *t,
                     uint64_t number)
{
    trace_free(l->trace);
    *l = (struct cells_link){
        .trace = t, .video = c->video[0], .emu = emu_cfg_default(), .number = number};
    struct rng r;
    rng_init(&r, c->cfg.seed ^ 0x63656c6c, number);
    int ladder = 1 + (int)rng_below(&r, LADDERS);
    double buffer_s = 8 * exp(rng_uniform(&r) * log(8)), rtt_s = rng_range(&r, .02, .2);
    if (number % 2) {
        l->emu.buffer_max_s = buffer_s;
        l->emu.rtt_s = rtt_s;
    }
    if (number % 4 == 3 &&
        decide_serves(&c->policy[SHIPPED]->cfg, c->video[ladder]->levels))
        l->video = c->video[ladder];
    l->emu.buffer_max_s = fmax(l->emu.buffer_max_s, 2 * l->video->chunk_s);
}

/* The next link of a generated kind takes the place of the oldest. */
static int cells_generate(struct cells *c, int kind, struct err *e)
{
    uint64_t i = (uint64_t)c->replaced[kind], seed = c->cfg.seed * 7919 + 20;
    struct trace *t = kind == RANDOM ? gen_random_link(LINK_S, seed, i, e)
                                     : gen_trace(gen_kinds[kind], LINK_S, seed, i, e);
    if (!t) return ERR_MEMORY;
    link_set(c, &c->link[kind][c->replaced[kind]++ % c->cfg.links], t, i);
    return 0;
}

struct cells *cells_new(const struct cells_cfg *cfg, const struct policy *shipped,
                        struct err *e)
{
    assert(cfg->links >= 4 && cfg->links % 2 == 0);
    assert(cfg->recorded >= cfg->links && cfg->recorded <= CELLS_LINKS_MAX);
    assert(cfg->recorded % 2 == 0);
    struct cells *c = calloc(1, sizeof *c);
    if (!c) {
        err_set(e, ERR_MEMORY, "no memory for the exam");
        return NULL;
    }
    c->cfg = *cfg;
    c->report.worst = c->report.better = -1;
    if (decide_init(&c->decider, &shipped->cfg, e)) goto fail;
    c->packed = packed_new(&shipped->cfg, e);
    c->policy[SHIPPED] = policy_clone(shipped, e);
    c->policy[CHAMPION] = policy_clone(shipped, e);
    c->challenger = policy_clone(shipped, e);
    if (!c->packed || !c->policy[SHIPPED] || !c->policy[CHAMPION] || !c->challenger)
        goto fail;
    if (cells_videos(c, shipped->cfg.actions, e)) goto fail;
    for (int kind = 0; kind < RECORDED; kind++)
        for (int i = 0; i < cfg->links; i++)
            if (cells_generate(c, kind, e)) goto fail;
    return c;

fail:
    err_set(e, ERR_MEMORY, "no memory for the learner's emulation");
    cells_free(c);
    return NULL;
}

void cells_free(struct cells *c)
{
    if (!c) return;
    for (int kind = 0; kind < CELLS_KINDS; kind++)
        for (int i = 0; i < CELLS_LINKS_MAX; i++)
            trace_free(c->link[kind][i].trace);
    for (int i = 0; i <= LADDERS; i++)
        video_free(c->video[i]);
    policy_free(c->challenger);
    policy_free(c->policy[CHAMPION]);
    policy_free(c->policy[SHIPPED]);
    packed_free(c->packed);
    free(c);
}

/* ---- playing */

/* The loaded weights on one link, from its first row. score NaN: not finite. */
static void cells_play(struct cells_seen *out, struct cells *c,
                       const struct cells_link *l, const struct qoe *qoe)
{
    struct emu_world world = {l->video, l->trace, l->emu};
    struct player player;
    player_start(&player, &world, 1, qoe, -1);
    double scale = feat_reward_scale(&player.view);
    *out = (struct cells_seen){0};
    int chunks = 0;
    for (bool end = false; !end; chunks++) {
        struct verdict v;
        if (!decide_cautious(&v, c->packed, &c->decider, &player.view)) {
            out->score = NAN;
            return;
        }
        end = player_step(&player, v.level, 1);
        out->score += player.last.reward / scale;
        if (chunks)
            out->stall_s += player.last.stall_s;
        else
            out->startup_s = player.last.stall_s;
    }
    out->score /= chunks;
    out->media_s = chunks * l->video->chunk_s;
    c->report.sessions++;
}

/* All profiles on all kinds of links: the first half of each kind if from is 0 and to is 1, all if to is 2. */
static void play_links(struct cells *c, int who, const struct policy *p, int from, int to)
{
    packed_load(c->packed, p);
    for (int kind = 0; kind < CELLS_KINDS; kind++)
        for (int i = cells_most(c, kind) / 2 * from; i < cells_most(c, kind) / 2 * to;
             i++) {
            struct cells_link *l = &c->link[kind][i];
            if (!l->trace || (who != CHALLENGER && l->known[who])) continue;
            for (int k = 0; k < QOE_PROFILES; k++)
                cells_play(&l->seen[who][k], c, l, &qoe_profiles[k].qoe);
            if (who != CHALLENGER) l->known[who] = true;
        }
}

static int cells_links(const struct cells *c, int kind)
{
    int n = 0;
    while (n < cells_most(c, kind) && c->link[kind][n].trace)
        n++;
    return kind == RECORDED && n < CELLS_RECORDED_LEAST ? 0 : n;
}

/* Links of a kind that were played: of both halves, or of the first one. */
static int cells_played(const struct cells *c, int kind, int halves)
{
    int n = cells_links(c, kind), most = cells_most(c, kind) / 2 * halves;
    return n < most ? n : most;
}

/* ---- judging */

/* Mean and standard error of a - b over n links. */
struct cells_loss {
    double mean, error;
};

static struct cells_loss loss_of(const double *loss, int n)
{
    double sum = 0, square = 0;
    for (int i = 0; i < n; i++)
        sum += loss[i];
    double mean = sum / n;
    for (int i = 0; i < n; i++)
        square += (loss[i] - mean) * (loss[i] - mean);
    return (struct cells_loss){mean, n > 1 ? sqrt(square / (n - 1) / n) : 0};
}

static struct cells_loss cell_loss(const struct cells *c, int kind, int profile, int who,
                                   int against, int n)
{
    double loss[CELLS_LINKS_MAX];
    for (int i = 0; i < n; i++) {
        const struct cells_link *l = &c->link[kind][i];
        loss[i] = l->seen[against][profile].score - l->seen[who][profile].score;
    }
    return loss_of(loss, n);
}

static double cell_mean(const struct cells *c, int kind, int profile, int who, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += c->link[kind][i].seen[who][profile].score;
    return sum / n;
}

static double cell_unit(const struct cells *c, int kind, int profile, int n)
{
    return fmax(fabs(cell_mean(c, kind, profile, SHIPPED, n)), LEAST_UNIT);
}

struct cells_felt {
    double stall_ratio, startup_s;
};

static struct cells_felt cell_felt(const struct cells *c, int kind, int profile, int who,
                                   int n)
{
    double stall_s = 0, media_s = 0, startup_s = 0;
    for (int i = 0; i < n; i++) {
        const struct cells_seen *s = &c->link[kind][i].seen[who][profile];
        stall_s += s->stall_s;
        media_s += s->media_s;
        startup_s += s->startup_s;
    }
    return (struct cells_felt){stall_s / (stall_s + media_s), startup_s / n};
}

static bool exceeds(double challenger, double shipped, double champion, double ceiling)
{
    return ceiling > 0 && challenger > ceiling &&
           challenger > SLACK * fmax(shipped, champion);
}

/* Does the challenger stall significantly more than the shipped policy? */
static bool stalls_more(const struct cells *c, int kind, int profile, int n)
{
    double more[CELLS_LINKS_MAX];
    for (int i = 0; i < n; i++) {
        const struct cells_link *l = &c->link[kind][i];
        more[i] =
            l->seen[CHALLENGER][profile].stall_s - l->seen[SHIPPED][profile].stall_s;
    }
    struct cells_loss m = loss_of(more, n);
    return m.mean - Z_BOUND * m.error > 0;
}

static enum cells_why cell_why(const struct cells *c, int kind, int profile, int n,
                               const struct cells_loss *shipped,
                               const struct cells_loss *champion, double margin)
{
    if (!isfinite(shipped->mean)) return CELLS_NOT_FINITE;
    double z = shipped->mean > margin ? Z_BOUND : Z_WORSE;
    if (shipped->mean - z * shipped->error > 1e-9) return CELLS_BELOW_SHIPPED;
    if (champion->mean - Z_WORSE * champion->error > 1e-9) return CELLS_BELOW_CHAMPION;
    const struct qoe *q = &qoe_profiles[profile].qoe;
    struct cells_felt felt[WHO];
    for (int who = 0; who < WHO; who++)
        felt[who] = cell_felt(c, kind, profile, who, n);
    if (exceeds(felt[CHALLENGER].stall_ratio, felt[SHIPPED].stall_ratio,
                felt[CHAMPION].stall_ratio, q->stall_ratio_max) &&
        stalls_more(c, kind, profile, n))
        return CELLS_STALLS;
    if (exceeds(felt[CHALLENGER].startup_s, felt[SHIPPED].startup_s,
                felt[CHAMPION].startup_s, q->startup_max_s))
        return CELLS_STARTUP;
    return CELLS_FINE;
}

/* Loss (who - against is negative) per link of a group, in units of its cells. Returns their number. The
 * sample of a kind is a link, with its mean over profiles. */
static int group_loss(double *loss, const struct cells *c, int group, int who,
                      int against, int halves)
{
    int m = 0;
    for (int kind = 0; kind < CELLS_KINDS; kind++) {
        int n = cells_played(c, kind, halves), fair = c->cfg.links / 2 * halves;
        if (group >= CELLS_KINDS && n > fair) n = fair;
        if (!n || (group < CELLS_KINDS && group != kind)) continue;
        memset(loss + m, 0, sizeof *loss * (size_t)n);
        for (int k = 0; k < QOE_PROFILES; k++) {
            if (group >= CELLS_KINDS && group != CELLS_KINDS + k) continue;
            double unit = cell_unit(c, kind, k, n);
            if (group < CELLS_KINDS) unit *= QOE_PROFILES;
            for (int i = 0; i < n; i++) {
                const struct cells_link *l = &c->link[kind][i];
                loss[m + i] += (l->seen[against][k].score - l->seen[who][k].score) / unit;
            }
        }
        m += n;
    }
    return m;
}

/* Fills the groups of the report; are all losses within the margin? */
static bool judge_groups(struct cells *c, int halves)
{
    struct cells_report *r = &c->report;
    double loss[CELLS_KINDS * CELLS_LINKS_MAX];
    bool fine = true;
    for (int g = 0; g < CELLS_GROUPS; g++) {
        int n = group_loss(loss, c, g, CHALLENGER, SHIPPED, halves);
        r->group[g] = (struct cells_group){.links = n};
        if (!n) continue;
        struct cells_loss a = loss_of(loss, n);
        group_loss(loss, c, g, CHALLENGER, CHAMPION, halves);
        double bound = a.mean + Z_BOUND * a.error;
        r->group[g].loss = (float)a.mean;
        r->group[g].loss_bound = (float)bound;
        r->group[g].gain = (float)-loss_of(loss, n).mean;
        r->group[g].worse = !(bound <= c->cfg.margin);
        fine = fine && !r->group[g].worse;
    }
    return fine;
}

/* Fills the rows of the report; are they all fine? */
static bool judge_cells(struct cells *c, int halves)
{
    struct cells_report *r = &c->report;
    r->n = r->worse = 0;
    r->worst = -1;
    for (int kind = 0; kind < CELLS_KINDS; kind++) {
        int n = cells_played(c, kind, halves);
        for (int k = 0; n && k < QOE_PROFILES; k++) {
            double unit = cell_unit(c, kind, k, n);
            struct cells_loss a = cell_loss(c, kind, k, CHALLENGER, SHIPPED, n);
            struct cells_loss b = cell_loss(c, kind, k, CHALLENGER, CHAMPION, n);
            struct cells_row *row = &r->row[r->n];
            *row = (struct cells_row){
                .profile = (uint8_t)k,
                .kind = (uint8_t)kind,
                .why = (uint8_t)cell_why(c, kind, k, n, &a, &b, c->cfg.margin * unit),
                .links = n,
                .shipped = (float)cell_mean(c, kind, k, SHIPPED, n),
                .champion = (float)cell_mean(c, kind, k, CHAMPION, n),
                .challenger = (float)cell_mean(c, kind, k, CHALLENGER, n),
                .loss = (float)(a.mean / unit),
                .loss_bound = (float)((a.mean + Z_BOUND * a.error) / unit),
                .gain = (float)(-b.mean / unit),
            };
            const struct cells_row *worst = r->worst < 0 ? NULL : &r->row[r->worst];
            bool bad = row->why != CELLS_FINE;
            if (!worst || (bad && worst->why == CELLS_FINE) ||
                (bad == (worst->why != CELLS_FINE) &&
                 row->loss_bound > worst->loss_bound))
                r->worst = r->n;
            r->worse += bad;
            r->n++;
        }
    }
    return !r->worse;
}

/* Is a cell's loss against the shipped policy significantly above `margin`? who: CHAMPION or CHALLENGER */
static bool clearly_below(const struct cells *c, int who, int halves, double margin)
{
    for (int kind = 0; kind < CELLS_KINDS; kind++) {
        int n = cells_played(c, kind, halves);
        for (int k = 0; n && k < QOE_PROFILES; k++) {
            struct cells_loss a = cell_loss(c, kind, k, who, SHIPPED, n);
            if (!(a.mean - Z_WORSE * a.error <= margin * cell_unit(c, kind, k, n) + 1e-9))
                return true;
        }
    }
    return false;
}

static bool significant(const double *gain, int n)
{
    if (n < 2) return false;
    struct cells_loss g = loss_of(gain, n);
    return g.mean - Z_BETTER * g.error > 0;
}

/* The first group in which the challenger is better than the champion; -1: none. */
static int better_group(const struct cells *c)
{
    double gain[CELLS_KINDS * CELLS_LINKS_MAX];
    for (int g = CELLS_GROUPS - 1; g >= 0; g--) {
        int n = group_loss(gain, c, g, CHAMPION, CHALLENGER, 2);
        if (significant(gain, n)) return g;
    }
    return -1;
}

enum cells_verdict cells_judge(struct cells *c, const struct policy *challenger)
{
    struct cells_report *r = &c->report;
    policy_copy(c->challenger, challenger);
    r->exams++;
    r->better = -1;
    play_links(c, SHIPPED, c->policy[SHIPPED], 0, 2);
    play_links(c, CHAMPION, c->policy[CHAMPION], 0, 2);
    play_links(c, CHALLENGER, challenger, 0, 1);
    bool early = clearly_below(c, CHALLENGER, 1, c->cfg.margin);
    if (!early) play_links(c, CHALLENGER, challenger, 1, 2);
    int halves = early ? 1 : 2;
    bool fine = judge_cells(c, halves);
    fine = judge_groups(c, halves) && fine && !early;
    if (fine) r->better = better_group(c);
    r->verdict = !fine ? CELLS_WORSE : r->better >= 0 ? CELLS_BETTER : CELLS_EVEN;
    if (r->verdict != CELLS_BETTER && clearly_below(c, CHAMPION, 2, 0))
        r->verdict = CELLS_FALLEN;
    return r->verdict;
}

/* Replaces an eighth of the generated links by new ones. If memory runs out, the old ones stay. */
static void cells_refresh(struct cells *c)
{
    int n = (c->cfg.links + 7) / 8;
    for (int kind = 0; kind < RECORDED; kind++)
        for (int i = 0; i < n; i++)
            if (cells_generate(c, kind, NULL)) return;
}

void cells_promote(struct cells *c)
{
    policy_copy(c->policy[CHAMPION], c->challenger);
    for (int kind = 0; kind < CELLS_KINDS; kind++)
        for (int i = 0; i < cells_most(c, kind); i++) {
            struct cells_link *l = &c->link[kind][i];
            memcpy(l->seen[CHAMPION], l->seen[CHALLENGER], sizeof l->seen[CHAMPION]);
        }
    cells_refresh(c);
}

void cells_champion(struct cells *c, const struct policy *p)
{
    policy_copy(c->policy[CHAMPION], p);
    for (int kind = 0; kind < CELLS_KINDS; kind++)
        for (int i = 0; i < cells_most(c, kind); i++)
            c->link[kind][i].known[CHAMPION] = false;
}

const struct policy *cells_shipped(const struct cells *c)
{
    return c->policy[SHIPPED];
}

const struct cells_report *cells_report(const struct cells *c)
{
    return &c->report;
}

/* Where a new link belongs: in place of its source's oldest one, if the source has its share. Else in a
 * free place or that of the oldest. */
static int cells_place(const struct cells *c, uint64_t source)
{
    const struct cells_link *l = c->link[RECORDED];
    int most = c->cfg.recorded, oldest = -1, own = -1, own_n = 0, i = 0;
    for (; i < most && l[i].trace; i++) {
        if (oldest < 0 || l[i].number < l[oldest].number) oldest = i;
        if (!source || l[i].source != source) continue;
        if (own < 0 || l[i].number < l[own].number) own = i;
        own_n++;
    }
    if (own >= 0 && own_n + 1 > c->cfg.source_share * most) return own;
    return i < most ? i : oldest;
}

void cells_record(struct cells *c, struct trace *link, uint64_t source)
{
    uint64_t number = c->recorded++;
    struct cells_link *l = &c->link[RECORDED][cells_place(c, source)];
    link_set(c, l, link, number);
    l->source = source;
    int n = 0;
    while (n < c->cfg.recorded && c->link[RECORDED][n].trace)
        n++;
    c->report.recorded = n;
}
