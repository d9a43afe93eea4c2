/* abrd retrain: a candidate policy from a daemon's own sessions, for an arm of a trial. */
#include "abr/deciders/forecast_own.h"
#include "abr/eval.h"
#include "abr/train/recipe.h"
#include "abr/train/recipe_fields.h"
#include "base/pool.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/eval/eval_recorded.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/recordings.h"
#include "cli/train/candidate.h"
#include "learn/ckpt.h"
#include "serve/learner/exam.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HELD_OUT = 4, /* one session in so many is not learned from */
    PATH_SIZE = 4096,
};

struct retrain {
    struct recordings_cfg sessions;
    const char *out_path, *traces;
    struct out_cfg out;
    int64_t steps;
    uint64_t seed;
    int threads, enough;
    bool quiet;

    char from[PATH_SIZE], candidate[PATH_SIZE], part[PATH_SIZE + 8],
        corpus_dir[PATH_SIZE];
    struct ckpt_meta meta; /* of the recipe */
    char changes[RECIPE_FIELDS_TEXT], changes_kept[RECIPE_FIELDS_TEXT];
    struct recipe recipe;
    struct recordings recordings;
    struct corpus own, *corpus; /* own borrows links */
    int n_held;
    struct eval_session *held; /* (n_held) */
    struct video *video;
    struct worlds *worlds;
    struct recipe_world world;
    struct policy *published, *policy;
    struct train *train;
    bool stopped, saved; /* saved: this run wrote the file `part` */
};

struct verdict {
    const char *result; /* "candidate", "worse in the exam", ... */
    double exam[2];     /* published, candidate */
    struct eval_row row[2];
    double diff, lo, hi, stall, stall_lo, stall_hi;
};

/* ---- what is there ---- */

/* The weights that decide now: the learner's newest checkpoint, else the shipped ones. */
static int find_published(struct retrain *r, struct err *e)
{
    char policy[PATH_SIZE];
    recordings_published(policy, sizeof policy, r->sessions.data);
    if (!*policy)
        return err_field(e, ERR_ABSENT, r->sessions.data, "has no policy.safetensors");
    snprintf(r->from, sizeof r->from, "%s", strchr(policy, ':') + 1);
    r->published = ckpt_load(r->from, NULL, NULL, NULL, e);
    if (!r->published) return e->code;
    (void)forecast_own_drop_foreign(r->published);
    return 0;
}

/* A daemon's checkpoint does not say how it was trained: then the shipped policy does. */
static int find_recipe(struct retrain *r, struct err *e)
{
    struct policy *p = ckpt_load(r->from, &r->meta, NULL, NULL, e);
    char shipped[HOME_PATH];
    int rc = p ? 0 : e->code;
    policy_free(p);
    if (!rc && !ckpt_meta_get(&r->meta, "preset")) {
        rc = home_find(shipped, HOME_POLICY, e);
        p = rc ? NULL : ckpt_load(shipped, &r->meta, NULL, NULL, e);
        if (!p) return e->code;
        policy_free(p);
    }
    const char *preset = ckpt_meta_get(&r->meta, "preset"),
               *variant = ckpt_meta_get(&r->meta, "variant"),
               *changes = ckpt_meta_get(&r->meta, "changes");
    if (rc) return rc;
    struct recipe_changes c = {{NULL}};
    snprintf(r->changes, sizeof r->changes, "%s", changes ? changes : "");
    snprintf(r->changes_kept, sizeof r->changes_kept, "%s", r->changes);
    rc = recipe_make(&r->recipe, preset ? preset : "tuned", variant ? variant : "pamoe",
                     r->steps, r->seed, e);
    if (!rc) rc = recipe_fields_read(&c, r->changes, e);
    if (!rc) rc = recipe_fields_apply(&r->recipe, &c, e);
    if (rc) return rc;
    /* training goes on with the prior that the file has */
    if (r->recipe.prior_end) r->recipe.policy.prior.gain = r->recipe.prior_end;
    if (memcmp(&r->published->cfg, &r->recipe.policy, sizeof r->recipe.policy) != 0)
        return err_field(e, ERR_CONFLICT, r->from,
                         "has other networks than its recipe: train it with abrd train "
                         "--start and --sessions");
    /* the weights are good: go on where their training ended, more carefully */
    struct train_cfg *t = &r->recipe.train;
    double slower = t->lr_end / t->ppo.lr;
    if (slower < 1) {
        t->ppo.lr = 3 * t->lr_end < t->ppo.lr ? 3 * t->lr_end : t->ppo.lr;
        t->ppo.critic_lr *= fmin(1, 3 * slower);
    }
    t->rollout.threads = t->ppo.threads = r->threads;
    return 0;
}

/* Links to learn from, and sessions to judge with: one in HELD_OUT, in the order of time. */
static int split_sessions(struct retrain *r, struct err *e)
{
    struct recordings *s = &r->recordings;
    struct eval_session *all = eval_recorded_sessions(s, false, e);
    r->held = all;
    snprintf(r->own.name, sizeof r->own.name, "own");
    r->own.traces = calloc((size_t)s->n + 1, sizeof *r->own.traces);
    if (!all || !r->own.traces)
        return err_set(e, ERR_MEMORY, "no memory for %d sessions", s->n);
    for (int i = 0; i < s->n; i++) {
        if (i % HELD_OUT == HELD_OUT - 1)
            r->held[r->n_held++] = all[i];
        else
            r->own.traces[r->own.n++] = s->at[i].link;
    }
    return 0;
}

static int make_training(struct retrain *r, struct err *e)
{
    const char *dir = r->traces;
    if (!dir && home_find(r->corpus_dir, "traces", e)) return e->code;
    r->corpus = corpus_load(dir ? dir : r->corpus_dir, CORPUS_TRAIN, e);
    r->video = r->corpus ? video_default(e) : NULL;
    if (!r->video) return e->code;
    const struct worlds_cfg c = {.n_corpora = 2,
                                 .corpora = {&r->own, r->corpus},
                                 .min_mbps = r->recipe.min_mbps,
                                 .splices = r->recipe.splices,
                                 .links = r->recipe.traces_only ? 0 : r->recipe.links,
                                 .link_s = r->recipe.link_s,
                                 .video = r->video,
                                 .ladders = r->recipe.ladders,
                                 .seed = r->seed};
    r->worlds = worlds_new(&c, e);
    r->policy = r->worlds ? policy_new(&r->recipe.policy, e) : NULL;
    if (!r->policy) return e->code;
    policy_copy(r->policy, r->published);
    r->policy->actor->busy = r->policy->critic->busy = 0; /* here all experts learn */
    r->world = (struct recipe_world){&r->recipe, r->worlds};
    r->train = train_new(&r->recipe.train, r->policy, recipe_env, &r->world, e);
    return r->train ? 0 : e->code;
}

static int run_training(struct retrain *r, struct err *e)
{
    struct progress bar;
    int rc = make_training(r, e);
    progress_init(&bar, "retrain", r->quiet);
    while (!rc && !train_done(r->train) && !interrupt_seen()) {
        struct train_row row;
        rc = train_iterate(r->train, &row);
        if (rc) err_set(e, rc, "an update is not finite");
        progress_show(&bar, (double)row.steps / (double)r->steps, "");
    }
    progress_end(&bar);
    r->stopped = !rc && !train_done(r->train);
    return r->stopped ? err_set(e, ERR_IO, "stopped; there is no candidate") : rc;
}

/* ---- the candidate's exams ---- */

static int save_part(struct retrain *r, struct err *e)
{
    static const char *const KEEP[] = {"preset", "variant", "layout", "players",
                                       "lengths"};
    struct ckpt_meta m = {0};
    for (size_t i = 0; i < sizeof KEEP / sizeof *KEEP; i++) {
        const char *value = ckpt_meta_get(&r->meta, KEEP[i]);
        if (value) ckpt_meta_set(&m, KEEP[i], "%s", value);
    }
    if (*r->changes_kept) ckpt_meta_set(&m, "changes", "%s", r->changes_kept);
    ckpt_meta_set(&m, "steps", "%lld", (long long)r->steps);
    ckpt_meta_set(&m, "seed", "%llu", (unsigned long long)r->seed);
    ckpt_meta_set(&m, "start_crc32", "%08x", policy_crc32(r->published));
    ckpt_meta_set(&m, "traces", "own,%s", r->corpus->name);
    ckpt_meta_set(&m, "own_links", "%d", r->own.n);
    ckpt_meta_set(&m, "program", "abrd %s", CMD_VERSION);
    return ckpt_save(r->part, r->policy, &m, NULL, 0, e);
}

static int take_exam(struct verdict *v, struct retrain *r, struct err *e)
{
    struct exam *x = exam_new(&r->recipe.policy, e);
    if (!x) return e->code;
    v->exam[0] = exam_score(x, r->published);
    v->exam[1] = exam_score(x, r->policy);
    exam_free(x);
    return 0;
}

/* Both on the sessions that were not learned from, each with its own link, video, buffer and profile. */
static int play_held(struct verdict *v, const struct retrain *r, struct err *e)
{
    const struct algo_ctx ctx = {.seed = r->seed};
    struct eval_cfg cfg = eval_cfg_default();
    char spec[2][PATH_SIZE + 16];
    cfg.threads = r->threads;
    snprintf(spec[0], sizeof spec[0], "moe:%s", r->from);
    snprintf(spec[1], sizeof spec[1], "moe:%s", r->part);
    int rc = 0;
    for (int i = 0; i < 2 && !rc; i++)
        rc = eval_run_sessions(&v->row[i], spec[i], &ctx, "own", r->held, r->n_held, &cfg,
                               e);
    if (rc) return rc;
    eval_paired(&v->diff, &v->lo, &v->hi, &v->row[1], &v->row[0], r->seed);
    eval_paired_stall(&v->stall, &v->stall_lo, &v->stall_hi, &v->row[1], &v->row[0],
                      r->seed);
    return 0;
}

static int examine(struct verdict *v, struct retrain *r, struct err *e)
{
    int rc = save_part(r, e);
    r->saved = !rc;
    if (!rc) rc = take_exam(v, r, e);
    if (!rc) rc = play_held(v, r, e);
    if (rc) return rc;
    v->result = candidate_verdict(
        &(struct candidate_exams){v->exam[0], v->exam[1], v->hi, v->stall_lo});
    if (strcmp(v->result, CANDIDATE_GOOD) != 0) return 0;
    if (!rename(r->part, r->candidate) && !text_sync_folder_of(r->candidate)) return 0;
    return err_field(e, ERR_IO, r->candidate, "cannot be written");
}

/* ---- the command ---- */

static void retrain_report(const struct retrain *r, const struct verdict *v,
                           struct out *o)
{
    const struct recordings *s = &r->recordings;
    recordings_say(o, s, r->sessions.data);
    out_row(o);
    out_cells(o, "result=%s sessions=%d learned=%d held_out=%d", v->result, s->n,
              r->own.n, r->n_held);
    if (r->n_held && v->row[0].n) {
        out_cells(o, "exam_published=%.4f exam_candidate=%.4f", v->exam[0], v->exam[1]);
        out_interval(o, "own_diff", v->diff, v->lo, v->hi, 3);
        out_interval(o, "own_stall_diff", v->stall, v->stall_lo, v->stall_hi, 4);
    }
    if (!strcmp(v->result, CANDIDATE_GOOD))
        out_say(o,
                "%s: not in service. Compare it with what decides now: abrd trial start "
                "NAME now:0.5:abrd,new:0.5:abrd:%s",
                r->candidate, r->candidate);
    else
        out_say(o, "no candidate: %s", v->result);
}

/* A candidate that cannot be written is refused before the work. */
static int check_place(const struct retrain *r, struct err *e)
{
    char dir[PATH_MAX];
    if (access(text_folder_of(dir, r->candidate), W_OK | X_OK) == 0)
        return recordings_check_unused(r->sessions.data, r->candidate, e);
    return err_field(e, ERR_IO, "--out",
                     "the folder of %s cannot be written to: give another file",
                     r->candidate);
}

static int retrain_run(struct retrain *r, struct out *o, struct err *e)
{
    struct verdict v = {.result = "too few sessions"};
    int rc = recordings_load(&r->recordings, &r->sessions, e);
    if (!rc && r->recordings.n >= r->enough) {
        rc = check_place(r, e);
        if (!rc) rc = find_published(r, e);
        if (!rc) rc = find_recipe(r, e);
        if (!rc) rc = split_sessions(r, e);
        if (!rc) rc = run_training(r, e);
        if (!rc) rc = examine(&v, r, e);
    }
    if (!rc) retrain_report(r, &v, o);
    if (!rc) rc = out_finish(o, e);
    for (int i = 0; i < 2; i++)
        eval_row_free(&v.row[i]);
    if (r->saved) unlink(r->part);
    return rc;
}

static void retrain_free(struct retrain *r)
{
    train_free(r->train);
    policy_free(r->policy);
    policy_free(r->published);
    worlds_free(r->worlds);
    video_free(r->video);
    corpus_free(r->corpus);
    free(r->own.traces);
    free(r->held);
    recordings_free(&r->recordings);
}

/* A candidate never takes the place of weights that decide. Exit code, or -1. */
static int check_out(struct retrain *r)
{
    int n = r->out_path ? snprintf(r->candidate, sizeof r->candidate, "%s", r->out_path)
                        : snprintf(r->candidate, sizeof r->candidate,
                                   "%s/candidate.safetensors", r->sessions.data);
    if (n >= (int)sizeof r->candidate)
        return opt_usage("retrain", "--out: the path is too long");
    char name[256];
    text_last_component(name, sizeof name, r->candidate);
    if (!strcmp(name, "policy.safetensors") || !strcmp(name, "policy.safetensors.prev"))
        return opt_usage("retrain",
                         "--out: %s is what a daemon decides with; a candidate "
                         "has another name",
                         name);
    /* FILE.part is that of abrd train --out FILE */
    snprintf(r->part, sizeof r->part, "%s.exam", r->candidate);
    return -1;
}

int cmd_retrain(int argc, char **argv)
{
    struct retrain r = {.sessions = recordings_cfg_default(),
                        .steps = 400000,
                        .seed = 1,
                        .enough = 200,
                        .threads = pool_cpus()};
    const struct field opts[] = {
        {"data", "DATA", "data folder of a daemon, which may be running, or a backup",
         FIELD_TO(r.sessions.data)},
        {"out", "FILE", "file for the candidate (default: DATA/candidate.safetensors)",
         FIELD_TO(r.out_path)},
        {"steps", "N", "chunks to learn from", FIELD_TO(r.steps), .lo = 1000, .hi = 1e12},
        {"enough", "N", "make no candidate from fewer usable sessions",
         FIELD_TO(r.enough), .lo = 8, .hi = 1e6},
        {"traces", "DIR",
         "folder of other links to learn from (default: the bundled ones)",
         FIELD_TO(r.traces)},
        {"seed", "N", "seed of links, videos and actions", FIELD_TO(r.seed)},
        {"threads", "N", "threads that train; the result does not depend on their number",
         FIELD_TO(r.threads), .lo = 1, .hi = 64, .shown = "one per processor"},
        {"profile", "A,B", "sessions of these profiles", FIELD_TO(r.sessions.profiles),
         .group = "recorded sessions"},
        RECORDINGS_OPTIONS(r.sessions),
        OPT_QUIET(r.quiet),
        OUT_OPTIONS(r.out),
        {0}};
    const struct opt_cmd cmd = {
        .name = "retrain",
        .about =
            "Trains the published weights on, with the links of the daemon's own "
            "sessions "
            "and the\n"
            "bundled ones. The result takes the daemon's exam, and plays one session in "
            "four that it\n"
            "did not learn from. Unless it is worse than the published weights, it "
            "becomes a file for\n"
            "an arm of a trial. It is never put into service.",
        .opts = opts,
        .example = "abrd retrain --data /var/lib/abrd\n"
                   "abrd trial start autumn "
                   "now:0.5:abrd,new:0.5:abrd:/var/lib/abrd/candidate.safetensors",
    };
    int first = opt_parse(&cmd, argc, argv);
    if (first < 0) return opt_status(first);
    if (!r.sessions.data) return opt_usage("retrain", "--data DATA is missing");
    int code = check_out(&r);
    if (code < 0) code = cmd_blas("retrain", r.threads);
    if (code) return code;
    struct err e = {0};
    struct out *o = out_new(&r.out, &e);
    interrupt_catch();
    code = o && !retrain_run(&r, o, &e) ? OPT_EXIT_DONE : cmd_fail("retrain", &e);
    out_free(o);
    retrain_free(&r);
    return code;
}
