#include "abr/eval.h"
#include "base/pool.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/emulate/viewers.h"
#include "cli/emulate/emulate_page.h"
#include "cli/emulate/gap.h"
#include "cli/emulate/sequence.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/setup.h"
#include "serve/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct emulate {
    struct setup setup;
    struct out_cfg out;
    struct field_list profiles; /* names, "all", "untagged" */
    struct field_list hintless; /* modes to compare */
    int viewers, at_once, score, threads, links;
    double seconds, explore, slot;
    uint64_t seed;
    bool learn, quiet, silent;
    bool played; /* there are rows */
    const char *lie, *report;
    struct emulate_page *page; /* --report; else NULL */
    const char *server, *policy, *kind, *save, *grow, *merge_policy;
    const char *spec, *save_phases; /* --sequence */
    struct sequence *sequence;      /* owned; NULL: none */
    struct online_cfg online;       /* settings of the learner */

    char policy_path[HOME_PATH], merge_path[HOME_PATH], exam_path[HOME_PATH];
    struct corpus *play, *other; /* without a common trace; other only with --score */
    struct video *video;
    struct viewers_cfg crowd;
};

static struct emulate emulate_default(void)
{
    return (struct emulate){
        .setup = setup_default(),
        .viewers = 200,
        .at_once = 64,
        .links = 40,
        .seconds = 320,
        .explore = .2,
        .lie = "up",
        .slot = hintless_cfg_default().slot_s,
        .threads = pool_cpus(),
        .online = service_cfg_default().online,
    };
}

/* Viewers with --weights or --mu, the last ones with a hint, have a profile with experts of its own. */
static void name_added(const struct emulate *o, struct viewers_profile *p)
{
    snprintf(p->name, sizeof p->name, "%s", o->grow);
    p->custom = false;
    p->silent = o->silent;
}

static bool has_added(const struct emulate *o, const struct viewers_profile *p)
{
    return o->grow && !o->silent && !strcmp(p->name, o->grow);
}

/* The mix: viewers with a hint (names or weights), then viewers without. */
static int read_profiles(struct emulate *o, struct err *e)
{
    struct viewers_cfg *c = &o->crowd;
    int rc = sequence_profiles(c, &o->setup, &o->profiles, e);
    if (rc || !o->grow) return rc;
    int last = c->n_profiles - 1;
    name_added(o, &c->profile[last - !c->profile[last].name[0]]);
    return 0;
}

static int emulate_load(struct emulate *o, struct err *e)
{
    if (o->kind) {
        o->play = corpus_generate(o->kind, o->links, o->seconds, o->seed, e);
        /* another seed: other links of the same kind */
        if (o->score && o->play)
            o->other = corpus_generate(o->kind, o->score, o->seconds, ~o->seed, e);
    } else if (o->score) {
        o->setup.part = "train";
        o->play = setup_corpus(&o->setup, e);
        o->setup.part = "test";
        if (o->play) o->other = setup_corpus(&o->setup, e);
    } else {
        o->play = setup_corpus(&o->setup, e);
    }
    if (!o->play || (o->score && !o->other)) return e->code;
    o->video = setup_video(&o->setup, e);
    if (!o->video) return e->code;

    if (!o->merge_policy && home_find(o->merge_path, HOME_MERGE, NULL) == 0)
        o->merge_policy = o->merge_path;
    if (home_find(o->exam_path, "traces", NULL)) o->exam_path[0] = '\0';
    if (!o->policy) return home_find(o->policy_path, HOME_POLICY, e);
    snprintf(o->policy_path, sizeof o->policy_path, "%s", o->policy);
    return 0;
}

static void unload(struct emulate *o)
{
    if (o->sequence) sequence_free(o->sequence);
    free(o->sequence);
    video_free(o->video);
    corpus_free(o->other);
    corpus_free(o->play);
}

static bool emulate_show_progress(void *ctx, double share, int finished)
{
    char note[32];
    snprintf(note, sizeof note, "%d viewers", finished);
    progress_show(ctx, share, note);
    return interrupt_seen();
}

static int open_backend(struct backend *backend, const struct emulate *o,
                        enum hintless_mode mode, struct err *e)
{
    if (o->server) return backend_remote(backend, o->server, e);
    struct service_cfg c = service_cfg_default();
    struct parts_cfg optional = parts_cfg_default();
    c.optional = &optional;
    c.policy_path = o->policy_path;
    c.seed = o->seed;
    c.learn = o->learn ? LEARN_ON : LEARN_OFF;
    c.explore_share = o->explore;
    c.online = o->online;
    optional.hintless.mode = mode;
    optional.hintless.slot_s = o->slot;
    optional.hintless.merge_policy = o->merge_policy;
    optional.hintless.exam_traces = o->exam_path[0] ? o->exam_path : NULL;
    return backend_local(backend, &c, e);
}

static void brief_who(struct out *rows, const char *mode, const char *profile, int n)
{
    if (mode) out_brief(rows, "untagged", true, "%s", mode);
    out_brief(rows, "profile", true, "%s", profile);
    out_brief(rows, "viewers", false, "%d", n);
}

/* The mean over all profiles, each on its own scale (qoe_chunk_range). */
static void print_scaled(struct out *rows, const struct viewers_cfg *c,
                         const struct viewers_result *r, const char *mode)
{
    double scaled = 0;
    int viewers = 0;
    for (int i = 0; i < c->n_profiles; i++) {
        const struct viewers_row *p = &r->profile[i];
        scaled += p->room > 0 ? p->viewers * p->gain / p->room : 0;
        viewers += p->viewers;
    }
    scaled /= viewers ? viewers : 1;
    out_row(rows);
    out_cells(rows, "untagged=%s policy=%s profile=%s set=%s n=%d scaled=%.4f", mode,
              "moe", "together", c->corpus->name, viewers, scaled);
    brief_who(rows, mode, "together", viewers);
    out_brief(rows, "scaled", false, "%.4f", scaled);
}

/* What the viewers of a profile saw, as columns and as brief cells. */
static void print_seen(struct out *rows, const struct viewers_row *p, const char *mode)
{
    double n = (double)p->chunks; /* 0: the figures are not known */
    double stall_ratio = p->stall_s / (p->stall_s + p->media_s);
    double minutes = p->media_s / 60;
    double per_min = (double)p->switches / minutes, by_player = (double)p->by_player / n;
    out_cells(rows,
              "quality=%.2f stall_ratio=%.4f switches_per_min=%.2f startup_median_s=%.2f "
              "startup_p90_s=%.2f by_player=%.4f",
              p->quality / n, stall_ratio, per_min, p->startup_median_s, p->startup_p90_s,
              by_player);
    if (!p->chunks) return;
    out_brief(rows, "start s (p90)", false, "%.2f (%.2f)", p->startup_median_s,
              p->startup_p90_s);
    out_brief(rows, "stall %", false, "%.2f", 100 * stall_ratio);
    out_brief(rows, "quality", false, "%.1f", p->quality / n);
    out_brief(rows, "switches/min", false, "%.2f", per_min);
    out_brief(rows, "player %", false, "%.1f", 100 * by_player);
    if (p->room > 0) out_real(rows, "scaled", p->gain / p->room, 4);
    if (p->room > 0 && mode) out_brief(rows, "scaled", false, "%.4f", p->gain / p->room);
}

/* mode NULL: there is no comparison. phase NULL: there is no sequence. */
static void print_crowd(struct out *rows, const struct viewers_cfg *c,
                        const struct viewers_result *r, const char *door,
                        const char *mode, const char *phase)
{
    for (int i = 0; i < c->n_profiles; i++) {
        const struct viewers_row *p = &r->profile[i];
        double n = (double)p->chunks;
        const char *name = c->profile[i].name[0] ? c->profile[i].name : VIEWERS_HINTLESS;
        out_row(rows);
        if (phase) out_text(rows, "phase", phase);
        if (mode) out_text(rows, "untagged", mode);
        out_cells(rows,
                  "policy=%s profile=%s set=%s door=%s n=%d chunks=%lld mean_qoe=%.3f "
                  "bitrate_mbps=%.3f stall_s=%.4f switch_mbps=%.3f sampled=%.2f",
                  "moe", name, c->corpus->name, door, p->viewers, (long long)p->chunks,
                  p->reward / n, p->bitrate_mbps / n, p->stall_s / n, p->switch_mbps / n,
                  (double)p->sampled / n);
        char crc[16];
        snprintf(crc, sizeof crc, "%08x", (unsigned)p->levels_crc);
        out_text(rows, "levels_crc", crc);
        if (phase) out_brief(rows, "phase", true, "%s", phase);
        brief_who(rows, mode, name, p->viewers);
        print_seen(rows, p, mode);
    }
    if (mode) print_scaled(rows, c, r, mode);
    if (phase) return;
    out_say(rows,
            "start s: median and 90th percentile of viewers; stall %%: of stalled and "
            "played time;\nquality: 0 to 100; player %%: chunks that the daemon did "
            "not decide");
    out_say(rows, "policy versions %llu .. %llu, levels crc %08x",
            (unsigned long long)r->first_policy, (unsigned long long)r->last_policy,
            (unsigned)r->levels_crc);
}

static int print_exams(struct out *rows, struct backend *backend, struct err *e)
{
    struct backend_exams x;
    int rc = backend->exams(backend->self, &x, e);
    if (rc) return rc;
    out_say(rows,
            "exam scores of published policies: first %.4f, best %.4f, last %.4f; the "
            "largest fall below the best so far: %.2f %%; %llu updates, %llu held, %llu "
            "rolled "
            "back",
            x.first, x.best, x.last, 100 * x.fall, (unsigned long long)x.updates,
            (unsigned long long)x.held, (unsigned long long)x.rollbacks);
    return 0;
}

/* Greedy scores on links that were not used for learning. */
struct scores {
    struct eval_row before, after, oracle;
};

static void scores_free(struct scores *s)
{
    eval_row_free(&s->before);
    eval_row_free(&s->after);
    eval_row_free(&s->oracle);
}

static int score_profile(struct scores *out, const struct emulate *o, const char *learned,
                         const struct viewers_profile *profile, struct err *e)
{
    struct eval_cfg c = eval_cfg_default();
    c.emu = o->crowd.emu;
    c.threads = o->threads;
    c.seed = o->seed;
    c.count_first = true;
    const char *name = profile->name[0] ? profile->name : VIEWERS_HINTLESS;
    const struct {
        struct eval_row *row;
        const char *policy, *path;
    } play[] = {
        {&out->before, "moe", o->policy_path},
        {&out->after, "moe", learned},
        {&out->oracle, "oracle", NULL},
    };

    int rc = 0;
    for (int i = 0; i < 3 && !rc; i++) {
        struct algo_ctx ctx = {o->seed, play[i].path};
        rc = eval_run(play[i].row, play[i].policy, &ctx, name, &profile->qoe, o->other,
                      o->video, &c, e);
    }
    return rc;
}

static void print_row(struct out *rows, const struct eval_row *r, const char *policy,
                      const char *set)
{
    out_row(rows);
    out_cells(rows,
              "policy=%s profile=%s set=%s n=%d mean_qoe=%.3f ci_lo=%.3f ci_hi=%.3f "
              "bitrate_mbps=%.3f stall_s=%.4f switch_mbps=%.3f",
              policy, r->profile, set, r->n, r->mean_qoe, r->ci_lo, r->ci_hi,
              r->bitrate_mbps, r->stall_s, r->switch_mbps);
    out_cells(rows,
              "quality=%.2f stall_ratio=%.4f switches_per_min=%.2f startup_median_s=%.2f "
              "startup_p90_s=%.2f",
              r->quality, r->stall_ratio, r->switches_per_min, r->startup_median_s,
              r->startup_p90_s);
    out_brief(rows, "profile", true, "%s", r->profile);
    out_brief(rows, "scored", true, "%s", policy);
    out_brief(rows, "start s (p90)", false, "%.2f (%.2f)", r->startup_median_s,
              r->startup_p90_s);
    out_brief(rows, "stall %", false, "%.2f", 100 * r->stall_ratio);
    out_brief(rows, "quality", false, "%.1f", r->quality);
    out_brief(rows, "switches/min", false, "%.2f", r->switches_per_min);
    out_brief(rows, "QoE", false, "%.2f", r->mean_qoe);
}

static void add_scores(struct gap *g, const struct scores *s, double scale)
{
    gap_add(g, s->before.trace_qoe, s->after.trace_qoe, s->oracle.trace_qoe, scale);
}

static int print_scores(struct out *rows, const struct scores *s, const char *set,
                        uint64_t seed, struct err *e)
{
    struct gap g;
    int rc = gap_init(&g, s->before.n, e);
    if (rc) return rc;
    add_scores(&g, s, 1.0);
    print_row(rows, &s->before, "before", set);
    print_row(rows, &s->oracle, "oracle", set);
    print_row(rows, &s->after, "after", set);
    gap_print(rows, &g, seed);
    gap_free(&g);

    double near = s->oracle.mean_qoe - s->before.mean_qoe;
    if (near <= .03 * s->oracle.mean_qoe)
        out_say(rows, "%s: the policy was within 3 %% of the oracle before learning",
                s->before.profile);
    return 0;
}

/* Saves the current weights, for --save and for scoring. */
static int fetch_weights(char *path, size_t size, struct backend *backend,
                         const char *added, const char *save, struct err *e)
{
    snprintf(path, size, "%s", save ? save : "/tmp/abrd-emulate-XXXXXX");
    if (!save) {
        int fd = mkstemp(path);
        if (fd < 0) return err_field(e, ERR_IO, path, "cannot be created");
        close(fd);
    }

    void *weights = NULL;
    size_t n = 0;
    int rc = backend->weights(backend->self, added, &weights, &n, e);
    if (!rc) rc = text_write_file(path, weights, n, e);
    free(weights);
    return rc;
}

/* Ends a run that a signal stopped. The weights learned until then are saved, but not scored. */
static int save_stopped(const struct emulate *o, struct backend *backend, struct err *e)
{
    if (!o->save)
        return err_set(e, ERR_IO, "stopped by a signal; the rows show what was played");
    char path[HOME_PATH];
    int rc = fetch_weights(path, sizeof path, backend, o->grow, o->save, e);
    if (rc) return rc;
    return err_set(e, ERR_IO,
                   "stopped by a signal; the rows show what was played, %s has the "
                   "weights of that moment",
                   o->save);
}

/* The scale of a profile's QoE, by which it is divided, so that larger weights do not count more. */
static double profile_scale(const struct qoe *k)
{
    return k->utility == QOE_POINTS ? k->mu_quality
                                    : k->mu_quality + k->mu_switch + k->mu_stall;
}

/* All profiles: a trace counts with the sum over profiles, each on its scale. */
static void print_together(struct out *rows, const struct gap *g, const struct emulate *o)
{
    out_row(rows);
    out_cells(rows, "policy=%s profile=%s set=%s n=%d", "after", "together",
              o->other->name, g->n);
    out_brief(rows, "profile", true, "together");
    out_brief(rows, "scored", true, "after");
    gap_print(rows, g, o->seed);
}

/* Greedily, with the weights that decide for this profile now. */
static int score_one(struct out *rows, struct gap *all, const struct emulate *o,
                     struct backend *backend, const char *common,
                     const struct viewers_profile *profile, struct err *e)
{
    char own[HOME_PATH];
    const char *learned = common;
    if (has_added(o, profile)) {
        int rc = fetch_weights(own, sizeof own, backend, o->grow, NULL, e);
        if (rc) return rc;
        learned = own;
    }
    struct scores s = {0};
    int rc = score_profile(&s, o, learned, profile, e);
    if (!rc) rc = print_scores(rows, &s, o->other->name, o->seed, e);
    if (!rc) add_scores(all, &s, profile_scale(&profile->qoe));
    scores_free(&s);
    if (learned == own) unlink(own);
    return rc;
}

static int score(struct out *rows, const struct emulate *o, struct backend *backend,
                 struct err *e)
{
    char learned[HOME_PATH], own[HOME_PATH];
    const char *save = o->grow ? NULL : o->save;
    int rc = fetch_weights(learned, sizeof learned, backend, NULL, save, e);
    if (!rc && o->save && !save)
        rc = fetch_weights(own, sizeof own, backend, o->grow, o->save, e);
    if (rc || !o->score) goto out;

    struct gap all;
    rc = gap_init(&all, o->other->n, e);
    for (int i = 0; i < o->crowd.n_profiles && !rc; i++) {
        rc = score_one(rows, &all, o, backend, learned, &o->crowd.profile[i], e);
        if (interrupt_seen() && !rc) rc = err_set(e, ERR_IO, "stopped by a signal");
    }
    if (!rc && o->crowd.n_profiles > 1) print_together(rows, &all, o);
    gap_free(&all);
out:
    if (!save) unlink(learned);
    return rc;
}

/* Puts the profile of viewers with --mu, with experts of its own. A running daemon gets it from its
 * operator. */
static int grow(const struct emulate *o, struct backend *backend, struct err *e)
{
    for (int i = 0; i < o->crowd.n_profiles; i++) {
        const struct viewers_profile *p = &o->crowd.profile[i];
        if (!has_added(o, p) || !backend->grow) continue;
        struct profile put = {.qoe = p->qoe, .grow = true};
        snprintf(put.name, sizeof put.name, "%s", p->name);
        int rc = backend->grow(backend->self, &put, e);
        if (rc) return rc;
    }
    return 0;
}

static bool has_hintless(const struct emulate *o)
{
    bool any = o->crowd.no_hint > 0;
    for (int i = 0; i < o->crowd.n_profiles; i++)
        any |= !o->crowd.profile[i].name[0] && !o->crowd.profile[i].custom;
    for (int k = 0; o->sequence && k < o->sequence->n; k++) {
        const struct sequence_phase *p = &o->sequence->phase[k];
        any |= p->no_hint > 0;
        for (int i = 0; i < p->profiles.n; i++)
            any |= !strncmp(p->profiles.item[i], VIEWERS_HINTLESS,
                            sizeof VIEWERS_HINTLESS - 1);
    }
    return any;
}

/* Plays one phase and prints its rows. */
static int play_phase(struct emulate *o, struct out *rows, struct backend *backend, int i,
                      struct progress *bar, bool *stopped, struct err *e)
{
    struct sequence_world w;
    int rc = sequence_load(&w, o->sequence, i, o->seed + (uint64_t)i, e);
    if (rc) return rc;
    struct viewers_result result;
    w.crowd.progress = emulate_show_progress;
    w.crowd.progress_ctx = bar;
    if (w.crowd.one_address && !backend->from)
        rc = err_field(e, ERR_CONFLICT, "--sequence",
                       "one-address cannot be combined with --server");
    if (!rc) rc = viewers_play(&result, &w.crowd, backend, e);
    if (!rc)
        print_crowd(rows, &w.crowd, &result, o->server ? "http" : "in process", NULL,
                    o->sequence->phase[i].name);
    if (!rc) *stopped = result.stopped;
    if (!rc) o->played = true;
    if (!rc && o->save_phases) {
        char learned[HOME_PATH], path[HOME_PATH];
        int n = snprintf(path, sizeof path, "%s-%d.safetensors", o->save_phases, i + 1);
        rc = n < HOME_PATH
                 ? fetch_weights(learned, sizeof learned, backend, NULL, path, e)
                 : err_field(e, ERR_RANGE, "--save-phases", "is too long");
    }
    sequence_unload(&w);
    return rc;
}

/* All phases on one daemon. */
static int play_sequence(struct emulate *o, struct out *rows, struct backend *backend,
                         struct err *e)
{
    struct progress bar;
    progress_init(&bar, "emulate", o->quiet);
    interrupt_catch();
    bool stopped = false;
    int rc = 0;
    for (int i = 0; i < o->sequence->n && !rc && !stopped; i++)
        rc = play_phase(o, rows, backend, i, &bar, &stopped, e);
    progress_end(&bar);
    if (!rc && o->learn && backend->exams) rc = print_exams(rows, backend, e);
    if (!rc && stopped) rc = save_stopped(o, backend, e);
    char learned[HOME_PATH];
    if (!rc && o->save)
        rc = fetch_weights(learned, sizeof learned, backend, NULL, o->save, e);
    return rc;
}

/* Reads the sequence and loads every phase once: an error in the last one is found at the start. */
static int read_sequence(struct emulate *o, struct err *e)
{
    o->sequence = calloc(1, sizeof *o->sequence);
    if (!o->sequence) return err_set(e, ERR_MEMORY, "out of memory");
    struct sequence_phase otherwise = {.setup = o->setup,
                                       .profiles = o->profiles,
                                       .viewers = o->viewers,
                                       .at_once = o->at_once,
                                       .links = o->links,
                                       .seconds = o->seconds,
                                       .no_hint = o->crowd.no_hint,
                                       .label = o->crowd.label,
                                       .drift = o->crowd.drift,
                                       .liars = o->crowd.liars,
                                       .contents = o->crowd.contents,
                                       .lie = o->lie};
    if (o->kind) otherwise.kinds.item[otherwise.kinds.n++] = o->kind;
    int rc = sequence_read(o->sequence, o->spec, &otherwise, e);
    for (int i = 0; i < o->sequence->n && !rc; i++) {
        struct sequence_world w;
        rc = sequence_load(&w, o->sequence, i, o->seed + (uint64_t)i, e);
        if (!rc) sequence_unload(&w);
    }
    return rc;
}

/* mode NULL: the default of `abrd serve`, or the mode of the server. */
static int emulate(struct emulate *o, struct out *rows, const char *mode, struct err *e)
{
    struct backend backend = {0};
    enum hintless_mode hintless = has_hintless(o) ? HINTLESS_SHIPPED : HINTLESS_DEFAULT;
    int rc = mode ? hintless_mode_parse(&hintless, mode, e) : 0;
    if (!rc) rc = open_backend(&backend, o, hintless, e);
    if (!rc) rc = grow(o, &backend, e);
    if (!rc && o->sequence) rc = play_sequence(o, rows, &backend, e);
    if (rc || o->sequence) {
        backend_free(&backend);
        return rc;
    }

    struct progress bar;
    progress_init(&bar, mode ? mode : "emulate", o->quiet);
    interrupt_catch();
    o->crowd.viewers = o->viewers;
    o->crowd.at_once = o->at_once;
    o->crowd.seed = o->seed;
    o->crowd.emu = setup_emu(&o->setup);
    o->crowd.corpus = o->play;
    o->crowd.video = o->video;
    o->crowd.progress = emulate_show_progress;
    o->crowd.progress_ctx = &bar;
    struct viewers_result result;
    rc = viewers_play(&result, &o->crowd, &backend, e);
    progress_end(&bar);

    if (!rc)
        print_crowd(rows, &o->crowd, &result, o->server ? "http" : "in process", mode,
                    NULL);
    if (!rc) o->played = true;
    if (!rc && o->learn && backend.exams) rc = print_exams(rows, &backend, e);
    if (!rc && result.stopped) rc = save_stopped(o, &backend, e);
    if (!rc && (o->score || o->save)) rc = score(rows, o, &backend, e);
    backend_free(&backend);
    return rc;
}

/* The same viewers for every mode. */
static int emulate_all(struct emulate *o, struct out *rows, struct err *e)
{
    if (!o->hintless.n) return emulate(o, rows, NULL, e);
    int rc = 0;
    for (int i = 0; i < o->hintless.n && !rc; i++)
        rc = emulate(o, rows, o->hintless.item[i], e);
    return rc;
}

/* Which options contradict each other, or NULL. */
static const char *contradiction(const struct emulate *o)
{
    const struct {
        bool there;
        const char *what;
    } all[] = {
        {o->setup.traces && o->kind, "--traces and --kind cannot be combined"},
        {o->grow && !o->setup.mu && !o->setup.weights.n,
         "--grow needs --mu or --weights"},
        {o->grow && o->save && (o->silent || !o->learn),
         "--grow with --save needs --learn, and excludes --silent"},
        {o->grow && o->server && (o->score || o->save),
         "with --server the added experts stay in the daemon's data folder: score them "
         "with abrd eval --policy moe:FILE"},
        {o->spec && (o->score || o->report || o->grow || o->hintless.n),
         "--sequence cannot be combined with --score, --report, --grow or --untagged"},
        {o->save_phases && !o->spec, "--save-phases needs --sequence"},
        {o->silent && !o->grow, "--silent needs --grow"},
        {o->server && o->learn,
         "--learn cannot be combined with --server: the daemon's own --learn applies"},
        {o->server && o->hintless.n, "--untagged cannot be combined with --server: the "
                                     "daemon's own --untagged applies"},
        {o->hintless.n > 1 && (o->score || o->save || o->report),
         "--score, --save and --report need a single mode in --untagged"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].there) return all[i].what;
    return NULL;
}

int cmd_emulate(int argc, char **argv)
{
    struct emulate o = emulate_default();
    const struct field opts[] = {
        {"viewers", "N", "number of viewers", FIELD_TO(o.viewers), .lo = 1, .hi = 1e6},
        {"at-once", "N", "number of viewers that watch at the same time",
         FIELD_TO(o.at_once), .lo = 1, .hi = 1e4},
        {"profile", "A,B", SETUP_PROFILE_HELP "; untagged: no hint (default: all)",
         FIELD_TO(o.profiles)},
        SETUP_WEIGHTS(o.setup),
        {"grow", "NAME",
         "make the viewers of --weights or --mu a profile of this name with added "
         "experts",
         FIELD_TO(o.grow)},
        {"silent", NULL,
         "do not ask for the viewers of --grow, to compare what the other viewers get",
         FIELD_TO(o.silent)},
        {"no-hint", "SHARE", "share of the viewers without a hint",
         FIELD_TO(o.crowd.no_hint), .lo = 0, .hi = 1},
        {"label", "SHARE",
         "share of the viewers without a hint that name their profile at the end",
         FIELD_TO(o.crowd.label), .lo = 0, .hi = 1},
        {"contents", "N",
         "number of contents, each watched mostly by viewers of one profile; 0: none",
         FIELD_TO(o.crowd.contents), .lo = 0, .hi = 1e6},
        {"drift", "ROUNDS",
         "number of cycles of the mix of profiles during the run; 0: an even mix",
         FIELD_TO(o.crowd.drift), .lo = 0, .hi = 1e4},
        {"liars", "SHARE",
         "share of the viewers that report false measurements, at the limit of what is "
         "accepted",
         FIELD_TO(o.crowd.liars), .lo = 0, .hi = 1},
        {"lie", "HOW", "direction of the false measurements: up, down or noise",
         FIELD_TO(o.lie)},
        {"untagged", "A,B",
         "modes of --untagged to compare for viewers without a hint: default, identify, "
         "merge (not with --server)",
         FIELD_TO(o.hintless)},
        {"slot", "S",
         "length of a slot, after which the mix and the merge change, in seconds",
         FIELD_TO(o.slot), .lo = 1, .hi = 1e7},
        {"merge-policy", "FILE",
         "policy whose experts are merged (default: the shipped one)",
         FIELD_TO(o.merge_policy)},
        {"traces", "DIR",
         "folder of traces to use as links; with --score only the train part is played",
         FIELD_TO(o.setup.traces)},
        {"kind", "NAME",
         "use generated links of this kind instead of traces (abrd trace generate lists "
         "the kinds)",
         FIELD_TO(o.kind)},
        {"links", "N", "number of generated links", FIELD_TO(o.links), .lo = 1,
         .hi = 1e5},
        {"seconds", "S", "length of generated links, in seconds", FIELD_TO(o.seconds),
         .lo = 10, .hi = 1e5},
        {"video", "PATH",
         "video: folder of chunk sizes, sabre JSON, MPD or HLS (default: a generated "
         "one)",
         FIELD_TO(o.setup.video)},
        {"rtt-ms", "MS", "round-trip time of each chunk, in milliseconds",
         FIELD_TO(o.setup.rtt_ms), .lo = 0, .hi = 1e4},
        {"buffer-s", "S", "largest buffer of a player, in seconds",
         FIELD_TO(o.setup.buffer_s), .lo = 1, .hi = 3600},
        {"server", "URL", "use the daemon at this URL instead of one in this process",
         FIELD_TO(o.server)},
        {"policy", "FILE", "weights to start from (default: the shipped ones)",
         FIELD_TO(o.policy)},
        {"learn", NULL, "learn from the viewers (not with --server)", FIELD_TO(o.learn)},
        {"explore", "SHARE", "share of the viewers that explore", FIELD_TO(o.explore),
         .lo = 0, .hi = 1},
        {"score", "N",
         "score the policy without exploration at the end, on N other links or on the "
         "test part of --traces; 0: never",
         FIELD_TO(o.score), .lo = 0, .hi = 1e4},
        {"sequence", "SPEC|FILE",
         "phases of viewers, one after another: words KEY=VALUE, ';' or a new line "
         "between "
         "phases; the keys are name, viewers, at-once, kind, traces, part, links, "
         "seconds, "
         "video, ladder, chunk-s, chunks, spread, profile, weights, mu, no-hint, label, "
         "drift, contents, liars, lie, one-address, explore-keys; a missing key is as "
         "the "
         "option of that name",
         FIELD_TO(o.spec)},
        {"save-phases", "PREFIX",
         "save the weights after each phase as PREFIX-1.safetensors, ...",
         FIELD_TO(o.save_phases)},
        {"batch", "N", "steps of exploring sessions in one update",
         FIELD_TO(o.online.batch), .lo = 32, .hi = SERVICE_BATCH_MAX,
         .flags = FIELD_ADVANCED},
        {"save", "FILE",
         "save the weights at the end, or when a signal stops the run; with --grow the "
         "weights for the profile with added experts",
         FIELD_TO(o.save)},
        {"threads", "N", "threads that score", FIELD_TO(o.threads), .lo = 1, .hi = 64,
         .shown = "one per processor"},
        {"seed", "N", "seed of links, start points and exploration", FIELD_TO(o.seed)},
        {"report", "FILE.html",
         "HTML page with what the viewers saw and timelines, with CSV and JSON next to "
         "it",
         FIELD_TO(o.report)},
        OPT_QUIET(o.quiet),
        OUT_WIDE(o.out),
        OUT_OPTIONS(o.out),
        {0},
    };
    struct field all[FIELD_TABLE_MAX + 1] = {{0}};
    field_bind(all, opts, NULL);
    field_bind(all, online_fields, &o.online);
    struct setup_terms terms;
    setup_terms(&terms);
    const struct opt_cmd cmd = {
        .name = "emulate",
        .terms_heading = "profiles",
        .terms = terms.at,
        .about =
            "Plays emulated viewers whose decisions come from a daemon (--server), or "
            "from "
            "the\n"
            "same code in this process. Prints what the viewers saw, per profile. --wide "
            "adds the\n"
            "QoE and what concerns learning. Without learning, the same seed gives the "
            "same\n"
            "levels both ways: compare the levels_crc. --grow adds experts to the policy "
            "for one\n"
            "profile; only these learn from its viewers. With --silent the levels_crc of "
            "the other\n"
            "viewers shows that nothing changes for them. --score with --learn prints "
            "how "
            "much of\n"
            "the gap to the oracle was closed.",
        .opts = all,
        .example = "abrd emulate --viewers 100 --profile news,untagged\n"
                   "abrd emulate --server http://127.0.0.1:8080 --viewers 100\n"
                   "abrd emulate --viewers 2000 --no-hint 1 --label 0.5 --drift 2 "
                   "--untagged default,identify\n"
                   "abrd emulate --kind volatile-low --viewers 2000 --learn --explore 1 "
                   "--score 40\n"
                   "abrd emulate --learn --noise 0 --sequence 'kind=volatile-low "
                   "viewers=2000; kind=lte,wifi viewers=500 profile=live:2,news'",
    };
    int first = opt_parse(&cmd, argc, argv);
    if (first < 0) return opt_status(first);
    const char *wrong = contradiction(&o);
    if (wrong) return opt_usage("emulate", "%s", wrong);
    int short_of = cmd_blas("emulate", o.threads);
    if (short_of) return short_of;

    struct err e = {0};
    if (viewers_lie_parse(&o.crowd.lie, o.lie, &e))
        return opt_usage("emulate", "--lie %s", e.detail);
    struct out *rows = out_new(&o.out, &e);
    int rc = rows ? read_profiles(&o, &e) : e.code;
    if (!rc) rc = emulate_load(&o, &e);
    if (!rc && o.spec) rc = read_sequence(&o, &e);
    if (!rc && o.report)
        rc = emulate_page_new(&o.page, o.report, &o.crowd, o.viewers, o.video, &e);
    if (!rc) rc = emulate_all(&o, rows, &e);
    if (!rc && o.page) rc = emulate_page_write(o.page, &o.crowd, &e);
    /* a failed run has no result: files of an earlier run stay as they are */
    if (rows && (!rc || (o.played && interrupt_seen()))) {
        int written = out_finish(rows, rc ? NULL : &e);
        if (!rc) rc = written;
    }
    out_free(rows);
    emulate_page_free(o.page);
    unload(&o);
    return rc ? cmd_fail("emulate", &e) : OPT_EXIT_DONE;
}
