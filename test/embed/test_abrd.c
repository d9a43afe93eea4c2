/* The library's face against the modules behind it: what it decides is what `abrd eval` plays. */
#include "abrd/policy.h"

#include "abr/emulator/feat.h"
#include "abr/emulator/replay.h"
#include "base/text.h"
#include "learn/ckpt.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 6, CHUNKS = 30, ROWS = 200, LONGEST = 32 };

static const double ladder[LEVELS] = {300, 750, 1200, 1850, 2850, 4300};

static const char *dir;
static char file[100];

/* busy: experts set aside, as bits */
static void save_busy(const char *layout, int dim, uint64_t busy)
{
    struct policy_cfg cfg = policy_cfg_default(dim);
    struct policy *p = policy_new(&cfg, NULL);
    policy_init(p, 11);
    p->actor->busy = busy;
    struct ckpt_meta meta = {0};
    ckpt_meta_set(&meta, "layout", "%s", layout);
    ck_assert_int_eq(ckpt_save(file, p, &meta, NULL, 0, NULL), 0);
    policy_free(p);
}

static void save(const char *layout, int dim)
{
    save_busy(layout, dim, 0);
}

static void begin(void)
{
    dir = tmpdir_new();
    snprintf(file, sizeof file, "%s/p.safetensors", dir);
    save("full", FEAT_FULL_DIM);
}

static void sizes(int64_t bytes[CHUNKS * LEVELS])
{
    for (int c = 0; c < CHUNKS; c++)
        for (int k = 0; k < LEVELS; k++)
            bytes[c * LEVELS + k] = (int64_t)(ladder[k] * (400 + 37 * (c % 7)));
}

static struct abrd_trace *link_of(double time_s[ROWS], double mbps[ROWS])
{
    for (int i = 0; i < ROWS; i++) {
        time_s[i] = i;
        mbps[i] = .4 + .9 * (i * 7 % 5);
    }
    struct abrd_trace *t = abrd_trace_new(time_s, mbps, ROWS, NULL);
    ck_assert_ptr_nonnull(t);
    return t;
}

struct seen {
    struct abrd_session *session;
    struct abrd_emulator *emulator;
    double buffer_s, qoe;
};

static int same(void *ctx, const struct replay_step *step, struct err *e)
{
    (void)e;
    struct seen *s = ctx;
    struct abrd_decision d;
    struct abrd_fetched got;
    ck_assert_int_eq(abrd_session_decide(s->session, s->buffer_s, &d, NULL), 0);
    ck_assert_int_eq(d.chunk, step->chunk);
    ck_assert_int_eq(d.level, step->level);
    ck_assert_double_eq(d.kbps, step->kbps);
    ck_assert_int_eq(d.expert, step->choice->expert);
    for (int k = 0; k < step->view->levels; k++)
        ck_assert_double_eq(d.probability[k], (double)step->choice->prob[k]);
    ck_assert_int_eq(abrd_emulator_fetch(s->emulator, d.level, &got, NULL), 0);
    ck_assert_int_eq(got.chunk, step->chunk);
    ck_assert_double_eq(got.outcome.bytes, (double)step->bytes);
    ck_assert_double_eq(got.outcome.download_s, step->download_s);
    ck_assert_double_eq(got.outcome.stall_s, step->stall_s);
    ck_assert_double_eq(got.buffer_s, step->buffer_after_s);
    ck_assert_int_eq(abrd_session_report(s->session, &got.outcome, NULL), 0);
    s->buffer_s = got.buffer_s;
    s->qoe += step->reward;
    return 0;
}

TEST(it_plays_as_eval_does)
{
    static const char *const profiles[] = {"documentary", "live", "news", "pensieve"};
    ck_assert_double_eq(abrd_viewer_named("news").quality, 1.5);
    ck_assert_double_eq(abrd_viewer_named("paper-news").quality, 6);
    ck_assert_int_eq(abrd_viewer_named("nobody").utility, ABRD_POINTS);
    int64_t bytes[CHUNKS * LEVELS];
    double time_s[ROWS], mbps[ROWS];
    sizes(bytes);
    struct abrd_policy *p = abrd_policy_load(file, NULL);
    struct abrd_video *v = abrd_video_new(ladder, LEVELS, 4, CHUNKS, bytes, NULL);
    struct abrd_trace *t = link_of(time_s, mbps);
    struct video *video = video_new(LEVELS, CHUNKS, 4, ladder, NULL);
    memcpy(video->bytes, bytes, sizeof bytes);
    struct trace *trace = trace_new(ROWS, "t", NULL);
    memcpy(trace->time_s, time_s, sizeof time_s);
    memcpy(trace->mbps, mbps, sizeof mbps);
    const struct emu_world world = {video, trace, emu_cfg_default()};
    struct algo algo;
    const struct algo_ctx ctx = {.policy_path = file};
    ck_assert_int_eq(algo_new(&algo, "moe", &ctx, NULL), 0);

    for (int j = 0; j < 8; j++) { /* without ceilings, then with them */
        int i = j % 4;
        struct qoe qoe = qoe_find(profiles[i])->qoe;
        if (j >= 4) {
            qoe.stall_ratio_max = .02;
            qoe.startup_max_s = 3;
        }
        struct abrd_viewer who = abrd_viewer_named(profiles[i]);
        who.stall_ratio_max = qoe.stall_ratio_max;
        who.startup_max_s = qoe.startup_max_s;
        struct seen s = {abrd_session_new(p, v, &who, NULL),
                         abrd_emulator_new(v, t, who.buffer_max_s, NULL), 0, 0};
        const struct replay r = {
            .world = &world, .qoe = &qoe, .first_level = -1, .algo = &algo};
        ck_assert_int_eq(replay_run(&r, same, &s, NULL), 0);
        ck_assert_int_eq(abrd_session_chunks(s.session), CHUNKS);
        ck_assert_double_eq(abrd_session_qoe(s.session), s.qoe);

        /* behind the end there is nothing */
        struct abrd_decision d;
        struct abrd_fetched got;
        struct abrd_error e = {0};
        ck_assert_int_eq(abrd_session_decide(s.session, 4, &d, &e), ABRD_RANGE);
        ck_assert_str_eq(e.text, "chunk: the video has 30, all were reported");
        ck_assert_int_eq(abrd_emulator_fetch(s.emulator, 0, &got, NULL), ABRD_RANGE);
        abrd_session_free(s.session);
        abrd_emulator_free(s.emulator);
    }
    algo_free(&algo);
    trace_free(trace);
    video_free(video);
    abrd_trace_free(t);
    abrd_video_free(v);
    abrd_policy_free(p);
}

/* Ladders of which the policy sees a window. */
TEST(long_ladders_play_as_eval_does)
{
    static const int lengths[] = {13, 20, LONGEST};
    double time_s[ROWS], mbps[ROWS], kbps[LONGEST];
    struct abrd_policy *p = abrd_policy_load(file, NULL);
    struct abrd_trace *t = link_of(time_s, mbps);
    struct trace *trace = trace_new(ROWS, "t", NULL);
    memcpy(trace->time_s, time_s, sizeof time_s);
    memcpy(trace->mbps, mbps, sizeof mbps);
    struct algo algo;
    const struct algo_ctx ctx = {.policy_path = file};
    ck_assert_int_eq(algo_new(&algo, "moe", &ctx, NULL), 0);
    for (int i = 0; i < 3; i++) {
        int levels = lengths[i];
        for (int k = 0; k < levels; k++)
            kbps[k] = 100 * pow(1.15, k);
        int64_t bytes[CHUNKS * LONGEST];
        struct video *video = video_new(levels, CHUNKS, 4, kbps, NULL);
        for (int c = 0; c < CHUNKS * levels; c++)
            bytes[c] = video->bytes[c] =
                (int64_t)(kbps[c % levels] * (400 + 37 * (c / levels % 7)));
        struct abrd_video *v = abrd_video_new(kbps, levels, 4, CHUNKS, bytes, NULL);
        ck_assert_ptr_nonnull(v);
        struct qoe qoe = qoe_find("documentary")->qoe;
        qoe.stall_ratio_max = .02;
        qoe.startup_max_s = 3;
        struct abrd_viewer who = abrd_viewer_named("documentary");
        who.stall_ratio_max = qoe.stall_ratio_max;
        who.startup_max_s = qoe.startup_max_s;
        struct seen s = {abrd_session_new(p, v, &who, NULL),
                         abrd_emulator_new(v, t, who.buffer_max_s, NULL), 0, 0};
        const struct emu_world world = {video, trace, emu_cfg_default()};
        const struct replay r = {
            .world = &world, .qoe = &qoe, .first_level = -1, .algo = &algo};
        ck_assert_int_eq(replay_run(&r, same, &s, NULL), 0);
        ck_assert_int_eq(abrd_session_chunks(s.session), CHUNKS);
        ck_assert_double_eq(abrd_session_qoe(s.session), s.qoe);
        abrd_session_free(s.session);
        abrd_emulator_free(s.emulator);
        abrd_video_free(v);
        video_free(video);
    }
    algo_free(&algo);
    trace_free(trace);
    abrd_trace_free(t);
    abrd_policy_free(p);
}

/* ---- a program that was compiled for API 2: 12 probabilities, and what follows them */

struct decision_2 {
    int chunk, level;
    double kbps;
    int expert;
    double value, probability[12], quality;
    int quality_from;
};
#undef abrd_session_decide
int abrd_session_decide(const struct abrd_session *s, double buffer_s,
                        struct decision_2 *out, struct abrd_error *e);

TEST(a_program_compiled_for_api_2_gets_its_own_struct)
{
    double kbps[20];
    for (int k = 0; k < 20; k++)
        kbps[k] = 300 * (k + 1);
    struct abrd_policy *p = abrd_policy_load(file, NULL);
    struct abrd_viewer who = abrd_viewer_named("news");
    for (int levels = 6; levels <= 20; levels += levels == 6 ? 6 : 8) {
        struct abrd_video *v = abrd_video_new(kbps, levels, 4, 0, NULL, NULL);
        struct abrd_session *s = abrd_session_new(p, v, &who, NULL);
        ck_assert_int_eq(
            abrd_session_report(s, &(struct abrd_outcome){1, 3e5, 1, 0}, NULL), 0);
        struct {
            struct decision_2 d;
            unsigned char behind[256];
        } room;
        memset(&room, 0xa5, sizeof room);
        struct abrd_decision now;
        struct abrd_error e = {0};
        int rc = abrd_session_decide(s, 9, &room.d, &e);
        ck_assert_int_eq(abrd_session_decide_long(s, 9, &now, NULL), 0);
        for (size_t i = 0; i < sizeof room.behind; i++)
            ck_assert_uint_eq(room.behind[i], 0xa5);
        if (levels > 12) {
            ck_assert_int_eq(rc, ABRD_RANGE);
            ck_assert_ptr_nonnull(strstr(e.text, "levels: the program was compiled for"));
        } else {
            ck_assert_int_eq(rc, 0);
            ck_assert_int_eq(room.d.level, now.level);
            ck_assert_int_eq(room.d.chunk, 1);
            ck_assert_double_eq(room.d.quality, now.quality);
            ck_assert_mem_eq(room.d.probability, now.probability,
                             sizeof room.d.probability);
        }
        abrd_session_free(s);
        abrd_video_free(v);
    }
    abrd_policy_free(p);
}
#define abrd_session_decide abrd_session_decide_long

TEST(live_seeks_and_sizes)
{
    struct abrd_policy *p = abrd_policy_load(file, NULL);
    struct abrd_video *v = abrd_video_new(ladder, LEVELS, 2, 0, NULL, NULL);
    struct abrd_viewer who = abrd_viewer_named("live");
    who = abrd_viewer_named("paper-live");
    who.utility = ABRD_LOG;
    struct abrd_session *s = abrd_session_new(p, v, &who, NULL);
    const struct abrd_outcome o = {2, 300000, 1.5, .25};
    struct abrd_decision before, after;
    ck_assert_int_eq(abrd_session_report(s, &o, NULL), 0);
    ck_assert_double_eq_tol(abrd_session_qoe(s), log(1200 / 300.) - 6 * .25, 1e-12);

    int64_t bytes[LEVELS] = {1, 2, 3, 4, 5, VIDEO_BYTES_MAX};
    ck_assert_int_eq(abrd_session_decide(s, 4, &before, NULL), 0);
    ck_assert_int_eq(abrd_session_sizes(s, bytes, NULL), 0);
    ck_assert_int_eq(abrd_session_decide(s, 4, &after, NULL), 0);
    ck_assert(memcmp(before.probability, after.probability, sizeof after.probability));
    ck_assert_int_eq(abrd_session_seek(s, 70, NULL), 0);
    ck_assert_int_eq(abrd_session_decide(s, 0, &after, NULL), 0);
    ck_assert_int_eq(after.chunk, 70);
    /* no switch counts after a jump */
    ck_assert_int_eq(abrd_session_report(s, &(struct abrd_outcome){0, 1e5, 1, 0}, NULL),
                     0);
    ck_assert_double_eq_tol(abrd_session_qoe(s), log(1200 / 300.) - 6 * .25, 1e-12);
    ck_assert_int_eq(abrd_session_chunks(s), 2);
    abrd_session_free(s);
    abrd_video_free(v);
    abrd_policy_free(p);
}

/* code and beginning of the words; clears e */
static void told(struct abrd_error *e, int code, const char *words)
{
    ck_assert_msg(e->code == code && !strncmp(e->text, words, strlen(words)), "%d: %s",
                  e->code, e->text);
    *e = (struct abrd_error){0};
}

TEST(what_is_wrong_is_named)
{
    struct abrd_error e = {0};
    ck_assert_ptr_null(abrd_policy_load("/no/such/file", &e));
    told(&e, ABRD_ABSENT, "/no/such/file");
    ck_assert_ptr_null(abrd_policy_read("nothing", 7, &e));
    told(&e, ABRD_CORRUPT, "checkpoint: ");
    ck_assert_ptr_null(abrd_trace_load("/no/such/file", &e));
    told(&e, ABRD_ABSENT, "/no/such/file");

    const double down[2] = {300, 200}, nan_rate[2] = {300, (double)NAN};
    ck_assert_ptr_null(abrd_video_new(down, 2, 4, 10, NULL, &e));
    told(&e, ABRD_RANGE, "ladder_kbps[1]: 200 does not lie above");
    ck_assert_ptr_null(abrd_video_new(nan_rate, 2, 4, 10, NULL, &e));
    told(&e, ABRD_RANGE, "ladder_kbps[1]: nan is not within");
    ck_assert_ptr_null(abrd_video_new(ladder, 33, 4, 10, NULL, &e));
    told(&e, ABRD_RANGE, "levels: 33 ");
    const int64_t none[2] = {5, 0};
    ck_assert_ptr_null(abrd_video_new(ladder, 2, 4, 1, none, &e));
    told(&e, ABRD_RANGE, "bytes[1]: 0 ");
    ck_assert_ptr_null(abrd_trace_new(ladder, ladder, 1, &e));
    told(&e, ABRD_RANGE, "rows: 1 ");
    ck_assert_ptr_null(abrd_trace_new((double[]){0, 9}, (double[]){1, -1}, 2, &e));
    told(&e, ABRD_RANGE, "trace: row 1");

    struct abrd_policy *p = abrd_policy_load(file, NULL);
    struct abrd_video *v = abrd_video_new(ladder, LEVELS, 4, 2, NULL, NULL),
                      *live = abrd_video_new(ladder, LEVELS, 4, 0, NULL, NULL);
    struct abrd_viewer who = abrd_viewer_named("no such name");
    ck_assert_double_eq(who.stalls, 1);
    ck_assert_int_eq(who.utility, ABRD_POINTS);
    who.quality = who.switches = who.stalls = who.startup = 0;
    ck_assert_ptr_null(abrd_session_new(p, v, &who, &e));
    told(&e, ABRD_RANGE, "quality: ");
    who = abrd_viewer_named("news");
    who.buffer_max_s = 3;
    ck_assert_ptr_null(abrd_session_new(p, v, &who, &e));
    told(&e, ABRD_RANGE, "buffer_max_s: 3 ");

    double time_s[ROWS], mbps[ROWS];
    struct abrd_trace *t = link_of(time_s, mbps);
    ck_assert_ptr_null(abrd_emulator_new(live, t, 60, &e));
    told(&e, ABRD_RANGE, "chunks: 0 ");
    ck_assert_ptr_null(abrd_emulator_new(v, t, 1, &e));
    told(&e, ABRD_RANGE, "buffer_max_s");

    who = abrd_viewer_named("news");
    struct abrd_session *s = abrd_session_new(p, v, &who, NULL);
    struct abrd_decision d;
    ck_assert_int_eq(abrd_session_decide(s, (double)NAN, &d, &e), ABRD_RANGE);
    told(&e, ABRD_RANGE, "buffer_s: nan ");
    ck_assert_int_eq(abrd_session_report(s, &(struct abrd_outcome){6, 1, 1, 0}, &e),
                     ABRD_RANGE);
    told(&e, ABRD_RANGE, "level: 6 ");
    ck_assert_int_eq(abrd_session_report(s, &(struct abrd_outcome){1, 1, 0, 0}, &e),
                     ABRD_RANGE);
    /* the first failure stays */
    ck_assert_int_eq(abrd_session_seek(s, 2, &e), ABRD_RANGE);
    told(&e, ABRD_RANGE, "download_s: 0 ");
    ck_assert_int_eq(abrd_session_chunks(s), 0);
    abrd_session_free(s);
    abrd_trace_free(t);
    abrd_video_free(live);
    abrd_video_free(v);
    abrd_policy_free(p);

    save("paper", FEAT_PAPER_DIM);
    ck_assert_ptr_null(abrd_policy_load(file, &e));
    told(&e, ABRD_INVALID, "the policy reads 48 inputs of layout 'paper'");
}

TEST(who_is_set_aside_decides_nothing)
{
    struct abrd_video *v = abrd_video_new(ladder, LEVELS, 4, 0, NULL, NULL);
    for (int idle = 0; idle < 3; idle++) {
        save_busy("full", FEAT_FULL_DIM, 7 & ~(uint64_t)(1 << idle));
        struct abrd_policy *p = abrd_policy_load(file, NULL);
        ck_assert_ptr_nonnull(p);
        struct abrd_viewer who = abrd_viewer_named("news");
        struct abrd_session *s = abrd_session_new(p, v, &who, NULL);
        struct abrd_decision d;
        ck_assert_int_eq(abrd_session_decide(s, 4, &d, NULL), 0);
        ck_assert_int_eq(d.expert, idle);
        abrd_session_free(s);
        abrd_policy_free(p);
    }
    abrd_video_free(v);
}

TEST(weights_from_memory_are_the_same)
{
    size_t n;
    char *data = text_read_file(file, 1 << 24, &n, NULL);
    ck_assert_ptr_nonnull(data);
    struct abrd_policy *p = abrd_policy_load(file, NULL),
                       *q = abrd_policy_read(data, n, NULL);
    free(data);
    ck_assert_ptr_nonnull(q);
    struct abrd_video *v = abrd_video_new(ladder, LEVELS, 4, 0, NULL, NULL);
    struct abrd_viewer who = abrd_viewer_named("news");
    struct abrd_session *a = abrd_session_new(p, v, &who, NULL),
                        *b = abrd_session_new(q, v, &who, NULL);
    struct abrd_decision x, y;
    ck_assert_int_eq(abrd_session_decide(a, 8, &x, NULL), 0);
    ck_assert_int_eq(abrd_session_decide(b, 8, &y, NULL), 0);
    ck_assert_mem_eq(x.probability, y.probability, sizeof x.probability);
    ck_assert_double_eq(x.value, y.value);
    abrd_session_free(a);
    abrd_session_free(b);
    abrd_video_free(v);
    abrd_policy_free(p);
    abrd_policy_free(q);
}

TEST(quality_is_of_the_chunk_the_level_or_the_curve)
{
    struct abrd_error e = {0};
    struct abrd_policy *p = abrd_policy_load(file, NULL);
    struct abrd_video *v = abrd_video_new(ladder, LEVELS, 4, 3, NULL, NULL);
    struct abrd_viewer who = abrd_viewer_named("standard");
    struct abrd_session *s = abrd_session_new(p, v, &who, NULL);
    struct abrd_decision d;
    double curve[LEVELS];
    quality_curve(curve, ladder, NULL, LEVELS);
    ck_assert_int_eq(abrd_session_decide(s, 0, &d, NULL), 0);
    ck_assert_int_eq(d.quality_from, ABRD_CURVE);
    ck_assert_double_eq(d.quality, curve[d.level]);
    abrd_session_free(s);

    const double level[LEVELS] = {10, 20, 30, 40, 50, 60};
    double chunk[3 * LEVELS];
    for (int i = 0; i < 3 * LEVELS; i++)
        chunk[i] = i < LEVELS ? 70.004 + i : (double)NAN;
    ck_assert_int_eq(abrd_video_set_quality(v, level, chunk, NULL), 0);
    const int height[LEVELS] = {144, 240, 360, 480, 720, 1080};
    ck_assert_int_eq(abrd_video_set_heights(v, height, NULL),
                     0); /* not those that are set */
    s = abrd_session_new(p, v, &who, NULL);
    ck_assert_int_eq(abrd_session_decide(s, 0, &d, NULL), 0);
    ck_assert_int_eq(d.quality_from, ABRD_CHUNK);
    ck_assert_double_eq(d.quality, 70 + d.level);
    struct abrd_outcome o = {5, 300000, 1, 2};
    ck_assert_int_eq(abrd_session_report(s, &o, NULL), 0);
    ck_assert_int_eq(abrd_session_decide(s, 4, &d, NULL), 0);
    ck_assert_int_eq(d.quality_from, ABRD_LEVEL);
    ck_assert_double_eq(d.quality, level[d.level]);
    o = (struct abrd_outcome){0, 300000, 1, 0};
    ck_assert_int_eq(abrd_session_report(s, &o, NULL), 0);
    ck_assert_double_eq_tol(abrd_session_quality(s), (75 + 10) / 2., 1e-12);
    const struct qoe *k = qoe_standard();
    ck_assert_double_eq_tol(abrd_session_qoe(s),
                            k->mu_quality * 85 - k->mu_start * 2 - k->mu_switch * 65,
                            1e-9);
    double next[LEVELS] = {1, 2, 3, 4, 5, 101};
    ck_assert_int_eq(abrd_session_next_quality(s, next, &e), ABRD_RANGE);
    ck_assert_ptr_nonnull(strstr(e.text, "points[5]"));
    next[5] = (double)NAN;
    ck_assert_int_eq(abrd_session_next_quality(s, next, NULL), 0);
    ck_assert_int_eq(abrd_session_decide(s, 4, &d, NULL), 0);
    ck_assert_int_eq(d.quality_from, d.level == 5 ? ABRD_LEVEL : ABRD_CHUNK);
    ck_assert_double_eq(d.quality, d.level == 5 ? 60 : d.level + 1);
    abrd_session_free(s);

    /* weights and ceilings have limits */
    e = (struct abrd_error){0};
    who.startup = 101;
    ck_assert_ptr_null(abrd_session_new(p, v, &who, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "startup"));
    who = abrd_viewer_named("standard");
    who.stall_ratio_max = .7;
    e = (struct abrd_error){0};
    ck_assert_ptr_null(abrd_session_new(p, v, &who, &e));
    ck_assert_ptr_nonnull(strstr(e.text, "stall_ratio_max"));
    for (int i = 0; i < QOE_PROFILES; i++) {
        who = abrd_viewer_named(qoe_profiles[i].name);
        s = abrd_session_new(p, v, &who, NULL);
        ck_assert_ptr_nonnull(s);
        abrd_session_free(s);
    }
    abrd_video_free(v);
    abrd_policy_free(p);
}

SUITE_SET_UP(embed_abrd, 0, begin, NULL, it_plays_as_eval_does,
             long_ladders_play_as_eval_does,
             a_program_compiled_for_api_2_gets_its_own_struct, live_seeks_and_sizes,
             quality_is_of_the_chunk_the_level_or_the_curve, what_is_wrong_is_named,
             who_is_set_aside_decides_nothing, weights_from_memory_are_the_same);
