/* abrd train: makes a policy with PPO. */
#include "abr/train/teacher_files.h"
#include "abr/train/recipe.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/pool.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/interrupt.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/override.h"
#include "cli/progress.h"
#include "cli/recordings.h"
#include "cli/setup.h"
#include "cli/train/train_curve.h"
#include "cli/train/train_page.h"
#include "learn/ckpt.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct work {
    const char *preset, *variant, *part, *video_path, *out_path, *start, *resume, *csv;
    struct field_list traces, teachers;
    struct out_cfg out;
    int64_t steps, asked_steps; /* asked: 0 if the option is not given */
    uint64_t seed;
    int threads;
    double checkpoint_s;
    bool quiet;
    struct override override;
    struct recordings_cfg sessions;   /* --sessions, if its data is set */
    char changes[RECIPE_FIELDS_TEXT]; /* of the recipe, as text */
    char resumed[RECIPE_FIELDS_TEXT]; /* the same, split */

    struct recipe recipe;
    int n_corpora;
    struct corpus *corpora[WORLDS_CORPORA];
    uint32_t traces_crc;
    struct recordings recordings;
    struct corpus own; /* their links, borrowed */
    struct video *video;
    struct worlds *worlds;
    struct recipe_world world;
    struct policy *policy;
    struct teacher_files teacher_files;
    uint32_t start_crc;
    struct train *train;
    FILE *curve;
    const char *page_path;
    char tag_text[64];
    struct train_page *page; /* --report; else NULL */
    char part_path[4096];    /* where unfinished training is kept */
    bool stopped;

    /* sums over the first and the last tenth of the steps, for the closing table */
    struct rollout_stats first, last;
};

/* ---- traces, video, teachers */

/* Links of recorded sessions, as a corpus. */
static int load_sessions(struct work *w, struct err *e)
{
    struct recordings *s = &w->recordings;
    int rc = w->sessions.data ? recordings_load(s, &w->sessions, e) : 0;
    if (rc || !w->sessions.data) return rc;
    snprintf(w->own.name, sizeof w->own.name, "own");
    w->own.traces = calloc((size_t)s->n, sizeof *w->own.traces);
    if (!w->own.traces) return err_set(e, ERR_MEMORY, "no memory for %d links", s->n);
    for (int i = 0; i < s->n; i++)
        w->own.traces[w->own.n++] = s->at[i].link;
    w->corpora[w->n_corpora++] = &w->own;
    return 0;
}

static int load_traces(struct work *w, struct err *e)
{
    enum corpus_part part;
    int rc = setup_part(&part, w->part, e);
    if (rc) return rc;
    int most = WORLDS_CORPORA - (w->sessions.data != NULL);
    if (w->traces.n > most)
        return err_field(e, ERR_FULL, "--traces", "more than %d folders", most);

    uint32_t crc = 0;
    for (int i = 0; i < w->traces.n; i++) {
        struct corpus *c = corpus_load(w->traces.item[i], part, e);
        if (!c) return e->code;
        w->corpora[w->n_corpora++] = c;
        crc = crc * 31 + corpus_hash(c);
    }
    rc = load_sessions(w, e);
    if (!rc && w->sessions.data) crc = crc * 31 + corpus_hash(&w->own);
    w->traces_crc = crc;
    return rc;
}

static int make_worlds(struct work *w, struct err *e)
{
    int rc = load_traces(w, e);
    if (rc) return rc;
    w->video = w->video_path ? video_load(w->video_path, NULL, e) : video_default(e);
    if (!w->video) return e->code;

    struct worlds_cfg c = {
        .n_corpora = w->n_corpora,
        .min_mbps = w->recipe.min_mbps,
        .splices = w->recipe.splices,
        .links = w->recipe.links,
        .link_s = w->recipe.link_s,
        .video = w->video,
        .ladders = w->recipe.ladders,
        .seed = w->seed,
    };
    for (int i = 0; i < w->n_corpora; i++)
        c.corpora[i] = w->corpora[i];
    /* the presets of the paper use only the given traces */
    if (w->n_corpora && w->recipe.traces_only) c.links = 0;
    w->worlds = worlds_new(&c, e);
    return w->worlds ? 0 : e->code;
}

static int load_teachers(struct work *w, struct err *e)
{
    if (w->teachers.n && w->recipe.train.rollout.advice > 0.0)
        return err_field(e, ERR_CONFLICT, "--teacher",
                         "cannot be combined with --advice");
    for (int i = 0; i < w->teachers.n; i++) {
        int rc = teacher_files_add(&w->teacher_files, w->teachers.item[i],
                                   &w->recipe.policy, &w->recipe.env, e);
        if (rc) return rc;
    }
    w->recipe.train.rollout.teachers = w->teacher_files.teachers;
    return 0;
}

/* Weights to begin with: of the same networks and the same observation layout. */
static int load_start(struct work *w, struct err *e)
{
    if (!w->start) return 0;
    struct ckpt_meta m = {0};
    struct policy *p = ckpt_load(w->start, &m, NULL, NULL, e);
    if (!p) return e->code;
    p->actor->busy = p->critic->busy = 0; /* here all experts learn */
    const char *theirs = ckpt_meta_get(&m, "layout");
    const char *ours = feat_layout_name(w->recipe.env.layout);
    int rc = 0;
    if (memcmp(&p->cfg, &w->recipe.policy, sizeof p->cfg) != 0)
        rc = err_field(e, ERR_CONFLICT, w->start,
                       "has different networks: give the same --experts, --hidden, "
                       "--layers, --route and --prior");
    else if (!theirs || strcmp(theirs, ours) != 0)
        rc = err_field(
            e, ERR_CONFLICT, w->start,
            "has observation layout %s, but this run has %s: give the same --layout",
            theirs ? theirs : "unknown", ours);
    else if (!w->resume)
        policy_copy(w->policy, p);
    w->start_crc = policy_crc32(p);
    policy_free(p);
    return rc;
}

static void trace_names(char *out, size_t n, const struct work *w)
{
    *out = '\0';
    for (int i = 0; i < w->n_corpora; i++) {
        size_t used = strlen(out);
        snprintf(out + used, n - used, "%s%s", i ? "," : "", w->corpora[i]->name);
    }
    if (!w->n_corpora) snprintf(out, n, "none");
}

static void describe_gates(struct ckpt_meta *m, const struct work *w)
{
    char text[GATE_TEXT];
    gate_text(text, train_gate(w->train, PPO_ACTOR), w->policy->actor->cfg.experts);
    ckpt_meta_set(m, "gate.actor", "%s", text);
    gate_text(text, train_gate(w->train, PPO_CRITIC), w->policy->critic->cfg.experts);
    ckpt_meta_set(m, "gate.critic", "%s", text);
}

static void train_describe(struct ckpt_meta *m, const struct work *w)
{
    char names[256];
    trace_names(names, sizeof names, w);
    ckpt_meta_set(m, "preset", "%s", w->preset);
    ckpt_meta_set(m, "variant", "%s", w->variant);
    ckpt_meta_set(m, "steps", "%" PRId64, w->steps);
    ckpt_meta_set(m, "seed", "%" PRIu64, w->seed);
    ckpt_meta_set(m, "traces", "%s", names);
    ckpt_meta_set(m, "traces_part", "%s", w->part);
    ckpt_meta_set(m, "traces_crc32", "%08" PRIx32, w->traces_crc);
    if (w->recipe.splices) ckpt_meta_set(m, "splices", "%d", w->recipe.splices);
    ckpt_meta_set(m, "generated_links", "%d", w->worlds->n_traces - w->worlds->n_real);
    ckpt_meta_set(m, "video", "%s", w->video->name);
    ckpt_meta_set(m, "layout", "%s", feat_layout_name(w->recipe.env.layout));
    if (w->recipe.profile != RECIPE_ALL)
        ckpt_meta_set(m, "profile", "%s", recipe_profiles[w->recipe.profile]);
    ckpt_meta_set(m, "players", "%s", teacher_files_players(&w->recipe.env));
    if (w->recipe.env.lengths > 0.0) ckpt_meta_set(m, "lengths", "any");
    if (*w->changes) ckpt_meta_set(m, "changes", "%s", w->changes);
    if (w->teachers.n) {
        ckpt_meta_set(m, "teachers", "%d", w->teachers.n);
        ckpt_meta_set(m, "teachers_crc32", "%08" PRIx32, w->teacher_files.crc);
    }
    if (w->start) ckpt_meta_set(m, "start_crc32", "%08" PRIx32, w->start_crc);
    ckpt_meta_set(m, "recipe_crc32", "%08" PRIx32, recipe_fields_hash(&w->recipe));
    if (w->train) describe_gates(m, w);
    ckpt_meta_set(m, "program", "abrd %s", CMD_VERSION);
}

/* ---- saving and resuming */

static int save_part(struct work *w, struct err *e)
{
    if (w->curve && fflush(w->curve)) /* a resumed training needs the rows so far */
        return err_field(e, ERR_IO, w->csv, "cannot be written");
    size_t n = train_state_size(w->train);
    void *state = malloc(n);
    if (!state) return err_set(e, ERR_MEMORY, "no memory for the training state");
    train_state_get(w->train, state);
    struct ckpt_meta m = {0};
    train_describe(&m, w);
    int rc = ckpt_save(w->part_path, w->policy, &m, state, n, e);
    free(state);
    return rc;
}

static int same_entry(const struct ckpt_meta *a, const struct ckpt_meta *b,
                      const char *key, const char *path, struct err *e)
{
    const char *x = ckpt_meta_get(a, key), *y = ckpt_meta_get(b, key);
    if ((!x && !y) || (x && y && !strcmp(x, y))) return 0;
    return err_field(e, ERR_CONFLICT, path, "was made with %s %s, but this run has %s",
                     key, x ? x : "none", y ? y : "none");
}

/* The file says what was changed about the recipe. */
static int read_changes(struct work *w, const struct ckpt_meta *m, struct err *e)
{
    const char *saved = ckpt_meta_get(m, "changes");
    if (!saved) saved = "";
    if (*w->changes && strcmp(w->changes, saved) != 0)
        return err_field(
            e, ERR_CONFLICT, w->resume,
            "was made with %.100s, not with the changes of this command line",
            *saved ? saved : "an unchanged recipe");
    snprintf(w->changes, sizeof w->changes, "%s", saved);
    snprintf(w->resumed, sizeof w->resumed, "%s", saved);
    struct err why = {0};
    int rc = recipe_fields_read(&w->override.changes, w->resumed, &why);
    return rc ? err_field(e, rc, w->resume, "%s", why.detail) : 0;
}

static struct work work_default(void)
{
    return (struct work){.preset = "tuned",
                         .variant = "pamoe",
                         .part = "all",
                         .out_path = "policy.safetensors",
                         .seed = 1,
                         .checkpoint_s = 60.0,
                         .sessions = recordings_cfg_default(),
                         .threads = pool_cpus()};
}

/* The file has the values of these options. Given ones must be the same, defaults need not be. */
static int check_resumed(const struct work *w, const struct ckpt_meta *m, struct err *e)
{
    const struct work usual = work_default();
    char steps[24], seed[24];
    snprintf(steps, sizeof steps, "%" PRId64, w->asked_steps);
    snprintf(seed, sizeof seed, "%" PRIu64, w->seed);
    const struct {
        const char *option, *given;
        bool is_default;
        const char *saved;
    } all[] = {{"--steps", steps, !w->asked_steps, ckpt_meta_get(m, "steps")},
               {"--seed", seed, w->seed == usual.seed, ckpt_meta_get(m, "seed")},
               {"--preset", w->preset, !strcmp(w->preset, usual.preset),
                ckpt_meta_get(m, "preset")},
               {"--variant", w->variant, !strcmp(w->variant, usual.variant),
                ckpt_meta_get(m, "variant")},
               {"--part", w->part, !strcmp(w->part, usual.part),
                ckpt_meta_get(m, "traces_part")}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i].is_default && strcmp(all[i].given, all[i].saved))
            return err_field(e, ERR_CONFLICT, all[i].option,
                             "%s began with %s, not with %s: leave the option out",
                             w->resume, all[i].saved, all[i].given);
    return 0;
}

/* Steps, seed, preset, variant and part come from the file. */
static int read_resume(struct work *w, struct policy **policy, void **state, size_t *n,
                       struct ckpt_meta *m, struct err *e)
{
    *policy = ckpt_load(w->resume, m, state, n, e);
    if (!*policy) return e->code;
    const char *steps = ckpt_meta_get(m, "steps"), *seed = ckpt_meta_get(m, "seed");
    if (!*state || !steps || !seed || !ckpt_meta_get(m, "preset") ||
        !ckpt_meta_get(m, "variant") || !ckpt_meta_get(m, "traces_part"))
        return err_field(e, ERR_INVALID, w->resume,
                         "holds a finished policy, not interrupted training");
    int rc = check_resumed(w, m, e);
    if (rc) return rc;
    w->preset = ckpt_meta_get(m, "preset");
    w->variant = ckpt_meta_get(m, "variant");
    w->part = ckpt_meta_get(m, "traces_part");
    rc = text_int(&w->steps, steps, 1, INT64_MAX, "steps", e);
    if (!rc) rc = text_u64(&w->seed, seed, "seed", e);
    return rc ? rc : read_changes(w, m, e);
}

static int check_resume(const struct work *w, const struct ckpt_meta *saved,
                        struct err *e)
{
    static const char *const keys[] = {"traces_crc32",    "video",
                                       "generated_links", "recipe_crc32",
                                       "teachers_crc32",  "start_crc32"};
    struct ckpt_meta mine = {0};
    train_describe(&mine, w);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        int rc = same_entry(saved, &mine, keys[i], w->resume, e);
        if (rc) return rc;
    }
    return 0;
}

static void add_rewards(struct rollout_stats *sum, const struct rollout_stats *s)
{
    for (int i = 0; i < ROLLOUT_TAGS; i++) {
        if (!s->steps[i]) continue;
        int n = sum->steps[i] + s->steps[i];
        sum->reward[i] += (s->reward[i] - sum->reward[i]) * s->steps[i] / n;
        sum->steps[i] = n;
    }
}

/* ---- the loop */

/* A policy that cannot be written is refused before the work. */
static int train_check_folder(const struct work *w, struct err *e)
{
    char dir[PATH_MAX];
    if (access(text_folder_of(dir, w->out_path), W_OK | X_OK) == 0) return 0;
    return err_field(e, ERR_IO, w->out_path, "its folder cannot be written to");
}

static int train_loop(struct work *w, struct err *e)
{
    struct progress bar;
    progress_init(&bar, "train", w->quiet);
    double saved_s = clock_mono();
    int rc = 0;
    while (!rc && !train_done(w->train) && !interrupt_seen()) {
        struct train_row row;
        rc = train_iterate(w->train, &row);
        if (rc) {
            err_set(e, rc, "the update of iteration %" PRId64 " is not finite",
                    row.iteration);
            break;
        }
        if (w->curve)
            train_curve_row(w->curve, &row, w->policy->cfg.experts,
                            abr_env_tags(&w->recipe.env));
        if (w->page) train_page_add(w->page, &row);
        double share = (double)row.steps / (double)w->steps;
        if (share <= 0.1) add_rewards(&w->first, &row.rollout);
        if (share > 0.9) add_rewards(&w->last, &row.rollout);

        char note[96];
        snprintf(note, sizeof note, "%.2f M steps, reward %.3f, entropy %.2f",
                 (double)row.steps / 1e6, row.rollout.reward[0], row.ppo.entropy);
        progress_show(&bar, share, note);
        if (w->checkpoint_s > 0.0 && clock_mono() - saved_s >= w->checkpoint_s) {
            rc = save_part(w, e);
            saved_s = clock_mono();
        }
    }
    progress_end(&bar);
    w->stopped = !rc && !train_done(w->train);
    return rc;
}

/* The command that resumes the training, on stderr. */
static void say_how_to_resume(const struct work *w)
{
    fprintf(stderr,
            "abrd train: stopped after %" PRId64 " of %" PRId64
            " steps; resume with\n  abrd train --resume %s --out %s",
            train_steps(w->train), w->steps, w->part_path, w->out_path);
    for (int i = 0; i < w->traces.n; i++)
        fprintf(stderr, " --traces %s", w->traces.item[i]);
    if (w->sessions.data)
        fprintf(stderr, " --sessions %s --sessions-max %d", w->sessions.data,
                w->sessions.max);
    if (w->video_path) fprintf(stderr, " --video %s", w->video_path);
    for (int i = 0; i < w->teachers.n; i++)
        fprintf(stderr, " --teacher %s", w->teachers.item[i]);
    if (w->start) fprintf(stderr, " --start %s", w->start);
    if (w->csv) fprintf(stderr, " --csv %s", w->csv);
    if (w->out.json) fprintf(stderr, " --json %s", w->out.json);
    if (w->page_path) fprintf(stderr, " --report %s", w->page_path);
    fputc('\n', stderr);
}

static const char *tag_name(const struct work *w, int tag, char *buf, size_t n)
{
    const struct abr_env_cfg *c = &w->recipe.env;
    if (tag == c->n_profiles) return "drawn weights";
    if (tag == c->n_profiles + 1) return "drawn ladders";
    const char *kind = "";
    int at = tag;
    if (tag >= abr_env_tag_short(c, 0)) {
        kind = ", shorter";
        at = tag - abr_env_tag_short(c, 0);
        if (at == c->n_profiles) return "drawn weights, shorter";
    } else if (tag > c->n_profiles + 1) {
        kind = ", drawn player";
        at = tag - abr_env_tag_drawn(c, 0);
    }
    snprintf(buf, n, "profile %d%s", at, kind);
    for (int i = 0; i < QOE_PROFILES; i++)
        if (qoe_same_weights(&c->profiles[at], &qoe_profiles[i].qoe))
            snprintf(buf, n, "%s%s", qoe_profiles[i].name, kind);
    return buf;
}

static const char *curve_name(void *ctx, int tag)
{
    struct work *w = ctx;
    return tag_name(w, tag, w->tag_text, sizeof w->tag_text);
}

/* Rewards while exploring, as the learner saw them: they show that it learned, they are no score. */
static int train_report(const struct work *w, struct out *o, struct err *e)
{
    char names[256], buf[64];
    trace_names(names, sizeof names, w);
    for (int tag = 0; tag < abr_env_tags(&w->recipe.env); tag++) {
        if (!w->last.steps[tag]) continue;
        out_row(o);
        out_cells(
            o, "policy=%s profile=%s set=%s n=%d first_reward=%.3f last_reward=%.3f",
            w->variant, tag_name(w, tag, buf, sizeof buf), names, w->last.steps[tag],
            w->first.steps[tag] ? w->first.reward[tag] : (double)NAN,
            w->last.reward[tag]);
    }
    out_say(
        o,
        "%s: reward per chunk (QoE%s) in the first and in the last tenth of the training",
        w->out_path, w->recipe.env.scale_reward ? " over the sum of weights" : "");
    out_say(o, "score it with: abrd eval --policy moe:%s --profile all", w->out_path);
    return out_finish(o, e);
}

static int train_finish(struct work *w, struct out *o, struct err *e)
{
    struct ckpt_meta m = {0};
    train_describe(&m, w);
    if (w->recipe.prior_end) w->policy->cfg.prior.gain = w->recipe.prior_end;
    int rc = ckpt_save(w->out_path, w->policy, &m, NULL, 0, e);
    if (rc) return rc;
    unlink(w->part_path); /* there is nothing left to resume */
    if (w->page) rc = train_page_write(w->page, curve_name, w, e);
    return rc ? rc : train_report(w, o, e);
}

static int make_recipe(struct work *w, struct recipe *r, struct err *e)
{
    int rc = recipe_make(r, w->preset, w->variant, w->steps, w->seed, e);
    return rc ? rc : recipe_fields_apply(r, &w->override.changes, e);
}

static int train_run(struct work *w, struct out *o, struct err *e)
{
    struct ckpt_meta saved = {0};
    void *state = NULL;
    size_t n = 0;
    int rc = train_check_folder(w, e);
    if (rc) return rc;
    if (w->resume) rc = read_resume(w, &w->policy, &state, &n, &saved, e);
    if (!rc) rc = make_recipe(w, &w->recipe, e);
    if (rc) goto out;
    w->recipe.train.rollout.threads = w->threads;
    w->recipe.train.ppo.threads = w->threads;
    rc = load_teachers(w, e);
    if (!rc) rc = make_worlds(w, e);
    if (rc) goto out;

    if (!w->policy) {
        w->policy = policy_new(&w->recipe.policy, e);
        if (!w->policy) {
            rc = e->code;
            goto out;
        }
        recipe_init(w->policy, &w->recipe, w->seed);
    }
    rc = load_start(w, e);
    if (!rc && w->resume) rc = check_resume(w, &saved, e);
    if (rc) goto out;
    w->world = (struct recipe_world){&w->recipe, w->worlds};
    w->train = train_new(&w->recipe.train, w->policy, recipe_env, &w->world, e);
    if (!w->train) goto out;
    if (w->resume) rc = train_state_put(w->train, state, n, e);
    if (rc) goto out;
    if (w->csv) {
        w->curve =
            train_curve_open(w->csv, w->resume ? train_steps(w->train) : 0,
                             w->policy->cfg.experts, abr_env_tags(&w->recipe.env), e);
        rc = w->curve ? 0 : e->code;
        if (rc) goto out;
    }

    if (w->page_path) {
        w->page = train_page_new(w->page_path, w->policy->cfg.experts,
                                 abr_env_tags(&w->recipe.env), e);
        rc = w->page ? 0 : e->code;
        if (rc) goto out;
    }
    interrupt_catch();
    rc = train_loop(w, e);
    if (!rc && w->stopped) {
        rc = save_part(w, e);
        if (!rc) say_how_to_resume(w);
    } else if (!rc) {
        rc = train_finish(w, o, e);
    }
out:
    train_page_free(w->page);
    w->page = NULL;
    free(state);
    return rc;
}

int cmd_train(int argc, char **argv)
{
    struct work w = work_default();
    override_init(&w.override);
    const struct field own[] = {
        {"preset", "NAME",
         "preset of all settings: tuned (the shipped policy), paper (PA-MoE as "
         "published) or code (as in its authors' code)",
         FIELD_TO(w.preset)},
        {"variant", "NAME",
         "network: mlp, moe (dense), smoe (top-1) or pamoe (with noise)",
         FIELD_TO(w.variant)},
        {"steps", "N", "chunks to learn from; 0: the preset's number", FIELD_TO(w.steps),
         .lo = 0, .hi = 1e12},
        {"seed", "N", "seed of the first weights, of links, videos and actions",
         FIELD_TO(w.seed)},
        {"threads", "N", "threads that train; the result does not depend on their number",
         FIELD_TO(w.threads), .lo = 1, .hi = 64, .shown = "one per processor"},
        {"traces", "DIR,...", "folders of traces, in addition to the generated links",
         FIELD_TO(w.traces)},
        {"sessions", "DATA",
         "links of the sessions that a daemon recorded, in addition, from its data "
         "folder "
         "or a backup; to resume later, give a backup",
         FIELD_TO(w.sessions.data)},
        {"sessions-max", "N", "use a sample of at most N recorded sessions",
         FIELD_TO(w.sessions.max), .lo = 1, .hi = 1e6},
        {"part", "NAME", "part of the traces to use, split by name: all, train or test",
         FIELD_TO(w.part)},
        {"video", "PATH",
         "video: folder of chunk sizes, sabre JSON, MPD or HLS (default: a generated "
         "one)",
         FIELD_TO(w.video_path)},
        {"teacher", "FILE,...",
         "policies to imitate at first (see --imitate), each for the viewers that it was "
         "trained for",
         FIELD_TO(w.teachers)},
        {"start", "FILE",
         "policy whose weights training starts from; its networks and observation must "
         "be the same",
         FIELD_TO(w.start)},
        {"out", "FILE", "file for the policy; until training ends it is FILE.part",
         FIELD_TO(w.out_path)},
        {"resume", "FILE",
         "continue training from a .part file; the result is the same as without the "
         "interruption",
         FIELD_TO(w.resume)},
        {"csv", "FILE",
         "file for the curve as CSV, one row per update; - is standard output",
         FIELD_TO(w.csv), .flags = FIELD_OUTPUT},
        {"json", "FILE",
         "file for the rows as JSON, {\"rows\": [...]}; - is standard output",
         FIELD_TO(w.out.json), .flags = FIELD_OUTPUT},
        {"checkpoint-every", "S", "seconds between .part files; 0: only when stopped",
         FIELD_TO(w.checkpoint_s), .lo = 0, .hi = 1e6},
        {"report", "FILE.html", "HTML page with the curves, with CSV and JSON next to it",
         FIELD_TO(w.page_path)},
        OPT_QUIET(w.quiet),
    };
    enum { OWN = sizeof own / sizeof *own };
    struct field opts[FIELD_TABLE_MAX + 1];
    static_assert(OWN + RECIPE_FIELDS_MAX <= FIELD_TABLE_MAX, "the table of options");
    memcpy(opts, own, sizeof own);
    override_options(opts + OWN, &w.override);
    const struct opt_cmd cmd = {
        .name = "train",
        .about =
            "Trains a policy with PPO in the emulator, on generated links and on the "
            "traces of\n"
            "--traces. Ctrl-C saves the training and prints the command that continues "
            "it.\n"
            "Each option from --experts on changes one setting of the preset; its "
            "default in\n"
            "each preset is in parentheses. The policy's metadata lists the changes.",
        .opts = opts,
        .example =
            "abrd train --preset tuned --steps 2000000 --out my.safetensors\n"
            "abrd train --experts 6 --noise 0 --lr 1e-3,1e-5 --no-hint\n"
            "abrd train --teacher a.safetensors,b.safetensors --out student.safetensors\n"
            "abrd eval --policy moe:my.safetensors,mpc --profile all",
    };
    int first = opt_parse(&cmd, argc, argv);
    if (first < 0) return opt_status(first);
    int short_of = cmd_blas("train", w.threads);
    if (short_of) return short_of;
    w.asked_steps = w.steps;
    if (!w.steps) w.steps = recipe_steps(w.preset);
    if (snprintf(w.part_path, sizeof w.part_path, "%s.part", w.out_path) >=
        (int)sizeof w.part_path)
        return opt_usage("train", "--out: the path is too long");

    if (!w.sessions.data && recordings_option(&w.sessions))
        return opt_usage("train", "--sessions-max needs --sessions DATA");

    struct err e = {0};
    struct recipe probe;
    override_taken(&w.override);
    if (make_recipe(&w, &probe, &e) ||
        recipe_fields_write(w.changes, &w.override.changes, &e))
        return opt_usage("train", "--%s: %s", e.field, e.detail);

    w.out.taken = w.csv && strcmp(w.csv, "-") == 0;
    struct out *o = out_new(&w.out, &e);
    int code = o && !train_run(&w, o, &e) ? OPT_EXIT_DONE : OPT_EXIT_FAILED;
    if (code) cmd_fail("train", &e);

    if (w.curve && !train_curve_close(w.curve) && !code) {
        fprintf(stderr, "abrd train: %s: could not be written in full\n", w.csv);
        code = OPT_EXIT_FAILED;
    }
    train_free(w.train);
    policy_free(w.policy);
    teacher_files_free(&w.teacher_files);
    worlds_free(w.worlds);
    video_free(w.video);
    for (int i = 0; i < w.n_corpora; i++)
        if (w.corpora[i] != &w.own) corpus_free(w.corpora[i]);
    free(w.own.traces);
    recordings_free(&w.recordings);
    out_free(o);
    return code;
}
