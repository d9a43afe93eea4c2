#include "serve/session/track.h"
#include "support/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* One viewer whose policy is a constant: level 2 of 4, sampled. */
struct viewer {
    struct track track;
    struct steps pool;
    struct changes changes;
    double now;
};

static struct track_row make_row(int chunks)
{
    struct track_row row = {.key = 7,
                            .profile = "pensieve",
                            .ladder_kbps = {300, 750, 1850, 4300},
                            .levels = 4,
                            .chunk_s = 4,
                            .chunks = chunks,
                            .buffer_max_s = 60,
                            .qoe = qoe_find("pensieve")->qoe,
                            .opened_at = 100,
                            .explores = true};
    return row;
}

static void begin_with(struct viewer *v, int chunks, int keep, int cap)
{
    *v = (struct viewer){.now = 100};
    struct track_row row = make_row(chunks);
    ck_assert_int_eq(track_steps_init(&v->pool, cap, keep, NULL), 0);
    track_init(&v->track, &row);
}

static void begin(struct viewer *v, int chunks)
{
    begin_with(v, chunks, TRACK_KEEP, 1000);
}

static void end(struct viewer *v)
{
    track_drop(&v->track, &v->pool);
    track_steps_release(&v->pool);
}

static struct verdict verdict(int level)
{
    struct verdict d = {.level = level, .policy = 3, .logp = -.5f, .sampled = true};
    d.prob[level] = 1;
    return d;
}

static struct outcome outcome(int chunk, int level)
{
    return (struct outcome){.chunk = chunk,
                            .level = level,
                            .bytes = 100000 + chunk,
                            .download_s = 1 + chunk / 100.0,
                            .rebuffer_s = chunk ? 0 : .5};
}

static struct question question(int chunk)
{
    struct question q = {.chunk = chunk, .buffer_s = 4 + chunk};
    if (chunk > 0) {
        q.has_last = true;
        q.last = outcome(chunk - 1, 2);
    }
    return q;
}

/* Who decided an outcome's chunk: its forecast judges the download. */
TEST(an_outcome_says_whether_the_common_policy_decided)
{
    const struct {
        int tag;
        enum service_by by;
        bool common;
    } rows[] = {{0, BY_ROUTER, true},
                {0, BY_DEFAULT, true},
                {0, BY_IDENTITY, true},
                {0, BY_MERGE, false},
                {TRAJ_TAG_OWN, BY_ROUTER, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct viewer v;
        struct view view;
        struct answer a;
        begin(&v, 20);
        v.track.row.tag = (uint8_t)rows[i].tag;
        for (int chunk = 0; chunk < 2; chunk++) {
            struct question q = question(chunk);
            struct verdict d = verdict(2);
            d.by = rows[i].by;
            ck_assert_int_eq(track_peek(&view, &a, &v.track, &v.pool, &q, NULL), 0);
            track_changes_clear(&v.changes);
            ck_assert_int_eq(
                track_decide(&a, &v.track, &v.pool, &q, &d, ++v.now, &v.changes, NULL),
                0);
        }
        ck_assert_int_eq(v.changes.rewards, 1);
        ck_assert(v.changes.outcome.common == rows[i].common);
        end(&v);
    }
}

/* peek and decide in one; the answer's level, or the error. */
static int ask(struct viewer *v, const struct question *q, struct err *e)
{
    struct view view;
    struct answer a;
    int rc = track_peek(&view, &a, &v->track, &v->pool, q, e);
    if (rc < 0) return rc;
    if (rc == 1) return 1000 + a.level;
    struct verdict d = verdict(2);
    track_changes_clear(&v->changes);
    rc = track_decide(&a, &v->track, &v->pool, q, &d, ++v->now, &v->changes, e);
    return rc ? rc : a.level;
}

static int ask_chunk(struct viewer *v, int chunk)
{
    struct question q = question(chunk);
    return ask(v, &q, NULL);
}

static int report(struct viewer *v, const struct outcome *o, bool final,
                  struct reward_out *out, struct err *e)
{
    struct reward_in in = {.final = final};
    if (o) {
        in.has_outcome = true;
        in.outcome = *o;
    }
    track_changes_clear(&v->changes);
    return track_report(out, &v->track, &v->pool, &in, ++v->now, &v->changes, e);
}

/* What a client measured before may be more than a chunk has: the rate counts. */
TEST(a_long_download_before_the_session_keeps_its_rate)
{
    const struct {
        double kbps, download_s, bytes;
    } rows[] = {{1e8, 3600, 4e9}, {1e8, .32, 4e9}, {1e8, .1, 1.25e9}, {2000, 4, 1e6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct viewer v;
        struct view view;
        struct answer a;
        begin(&v, 20);
        struct question q = question(0);
        q.link.n = 1;
        q.link.kbps[0] = rows[i].kbps;
        q.link.download_s[0] = rows[i].download_s;
        ck_assert_int_eq(track_peek(&view, &a, &v.track, &v.pool, &q, NULL), 0);
        ck_assert_int_eq(view.n_history, 1);
        ck_assert_double_eq_tol(view.throughput_kbps[0] / rows[i].kbps, 1, 1e-9);
        ck_assert_int_eq(ask(&v, &q, NULL), 2);
        ck_assert_int_eq(v.track.measured.n, 1);
        ck_assert_double_eq_tol(v.track.measured.bytes[0], rows[i].bytes, 1);
        end(&v);
    }
}

TEST(a_repeat_gets_the_same_answer)
{
    struct viewer v;
    begin(&v, 48);
    ck_assert_int_eq(ask_chunk(&v, 0), 2);
    ck_assert_int_eq(ask_chunk(&v, 0), 1002);
    ck_assert_int_eq(ask_chunk(&v, 1), 2);
    ck_assert_int_eq(ask_chunk(&v, 1), 1002);
    ck_assert_int_eq(ask_chunk(&v, 0), 1002); /* late, but remembered */
    ck_assert_int_eq(v.track.n, 2);
    end(&v);
}

TEST(a_contradiction_is_refused_and_changes_nothing)
{
    struct viewer v;
    struct err e = {0};
    begin(&v, 48);
    ask_chunk(&v, 0);
    ask_chunk(&v, 1);
    struct track before = v.track;

    struct question q = question(1);
    q.buffer_s += 1;
    ck_assert_int_eq(ask(&v, &q, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, "chunk");

    q = question(2);
    q.last = outcome(0, 2); /* chunk 0 again, but slower than it was */
    q.last.download_s += 1;
    e = (struct err){0};
    ck_assert_int_eq(ask(&v, &q, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, "last.download_s");
    ck_assert_mem_eq(&before, &v.track, sizeof before);
    end(&v);
}

TEST(next_bytes_may_be_left_out_of_a_repeat)
{
    struct viewer v;
    begin(&v, 48);
    struct question q = question(0);
    q.has_next = true;
    q.next_bytes[3] = 5000;
    ck_assert_int_eq(ask(&v, &q, NULL), 2);
    ck_assert_int_eq(ask(&v, &q, NULL), 1002);
    q.has_next = false;
    ck_assert_int_eq(ask(&v, &q, NULL), 1002);
    q.has_next = true;
    q.next_bytes[3] = 5001;
    ck_assert_int_eq(ask(&v, &q, NULL), ERR_CONFLICT);
    end(&v);
}

TEST(rewards_are_computed_from_what_was_measured)
{
    struct viewer v;
    begin(&v, 3);
    ask_chunk(&v, 0);
    struct reward_out r;

    /* 1850 kbit/s, .5 s stall, no switch before the first chunk */
    struct outcome o = outcome(0, 2);
    ck_assert_int_eq(report(&v, &o, false, &r, NULL), 0);
    ck_assert_double_eq_tol(r.reward, 1.85 - 4.3 * .5, 1e-12);
    ck_assert(r.followed && !r.repeated);
    ck_assert_int_eq(v.changes.rewards, 1);

    ck_assert_int_eq(report(&v, &o, false, &r, NULL), 0);
    ck_assert(r.repeated);
    ck_assert_int_eq(v.changes.rewards, 0);
    ck_assert_int_eq(v.changes.n, 0);

    /* the next question carries it as well: the same answer, counted once */
    ck_assert_int_eq(ask_chunk(&v, 1), 2);
    ck_assert_int_eq(v.changes.rewards, 0);

    o = outcome(1, 0); /* the player's own choice: 300 kbit/s */
    ck_assert_int_eq(report(&v, &o, false, &r, NULL), 0);
    ck_assert_double_eq_tol(r.reward, .3 - (1.85 - .3), 1e-12);
    ck_assert(!r.followed);
    ck_assert_int_eq(v.changes.not_followed, 1);
    end(&v);
}

TEST(a_finished_video_is_a_terminal_trajectory)
{
    struct viewer v;
    begin(&v, 3);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(ask_chunk(&v, i), 2);
    ck_assert(!v.changes.has_traj);
    struct outcome o = outcome(2, 2);
    struct reward_out r;
    ck_assert_int_eq(report(&v, &o, false, &r, NULL), 0);

    const struct traj *t = &v.changes.traj;
    ck_assert(v.changes.has_traj);
    ck_assert(!t->truncated);
    ck_assert_int_eq(t->n, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(t->step[i].chunk, i);
        ck_assert_int_eq(t->step[i].action, 2);
        ck_assert_int_eq(t->step[i].last_level, i ? 2 : -1);
        ck_assert_int_eq((int)t->step[i].policy, 3);
    }
    track_changes_clear(&v.changes);
    track_close(&v.track, &v.pool, 1, &v.changes);
    ck_assert(v.changes.closed && v.changes.row.terminal && !v.changes.has_traj);
    end(&v);
}

TEST(the_replay_sees_what_the_decisions_saw)
{
    struct viewer v;
    begin(&v, 20);
    float seen[20][FEAT_FULL_DIM];
    for (int i = 0; i < 20; i++) {
        struct question q = question(i);
        q.has_next = i % 2;
        for (int k = 0; k < 4; k++)
            q.next_bytes[k] = 150000 * (k + 1) + i;
        struct view view;
        struct answer a;
        ck_assert_int_eq(track_peek(&view, &a, &v.track, &v.pool, &q, NULL), 0);
        feat_observe(seen[i], FEAT_FULL, &view);
        ck_assert_int_eq(ask(&v, &q, NULL), 2);
    }
    struct outcome o = outcome(19, 2);
    struct reward_out r;
    ck_assert_int_eq(report(&v, &o, true, &r, NULL), 0);
    ck_assert(v.changes.has_traj);

    static float obs[TRAJ_STEPS + 1][FEAT_FULL_DIM];
    uint32_t mask[TRAJ_STEPS + 1];
    int action[TRAJ_STEPS + 1];
    ck_assert_int_eq(traj_states(&v.changes.traj), 20);
    ck_assert(traj_observe(obs[0], mask, action, &v.changes.traj, FEAT_FULL));
    ck_assert_mem_eq(obs, seen, sizeof seen);
    ck_assert_uint_eq(mask[7], 0xf);
    end(&v);
}

/* Three kinds of chunks: of which all is known, of which the decided level is not, nothing. */
static void give_quality(struct question *q)
{
    q->has_next_quality = q->chunk % 3 != 2;
    for (int k = 0; k < 4; k++)
        q->next_quality[k] = 20 * k + .01 * q->chunk;
    if (q->chunk % 3 == 1) q->next_quality[2] = NAN;
}

static void begin_in_points(struct viewer *v, int chunks)
{
    begin(v, chunks);
    v->track.row.qoe = *qoe_standard();
    v->track.row.quality_from = QUALITY_LEVEL;
    memcpy(v->track.row.points, (double[]){11.5, 33.123456, 66, 99}, 4 * sizeof(double));
}

/* What a viewer sees of a chunk at level 2. */
static double quality_of(int chunk)
{
    return chunk % 3 == 0 ? round(100 * (40 + .01 * chunk)) / 100 : 66;
}

TEST(the_quality_of_a_chunk_is_that_of_its_question)
{
    struct viewer v;
    begin_in_points(&v, 20);
    float seen[20][FEAT_FULL_DIM];
    for (int i = 0; i < 20; i++) {
        struct question q = question(i);
        give_quality(&q);
        struct view view;
        struct answer a, again;
        ck_assert_int_eq(track_peek(&view, &a, &v.track, &v.pool, &q, NULL), 0);
        ck_assert_double_eq(view.points[2], quality_of(i));
        ck_assert_double_eq(view.points[1], i % 3 == 2 ? 33.123456 : 20 + .01 * i);
        if (i) ck_assert_double_eq(view.last_points, quality_of(i - 1));
        feat_observe(seen[i], FEAT_FULL, &view);
        ck_assert_int_eq(ask(&v, &q, NULL), 2);

        /* a repeat, with and without what it says of the next chunk; another one is refused */
        ck_assert_int_eq(track_peek(&view, &again, &v.track, &v.pool, &q, NULL), 1);
        ck_assert_double_eq(again.quality, quality_of(i));
        ck_assert_int_eq(again.quality_from, i % 3 ? QUALITY_LEVEL : QUALITY_CHUNK);
        struct question other = q;
        other.has_next_quality = false;
        ck_assert_int_eq(ask(&v, &other, NULL), 1002);
        other.has_next_quality = true;
        other.next_quality[1] = 77;
        ck_assert_int_eq(ask(&v, &other, NULL), ERR_CONFLICT);
        struct view underway;
        ck_assert_int_eq(track_underway(&underway, &v.track, &v.pool, i, NULL), 0);
        ck_assert_double_eq(underway.points[2], quality_of(i));
        if (i) ck_assert_double_eq(underway.last_points, quality_of(i - 1));
    }

    /* the reward is of the same numbers: a fall from chunk 18 to chunk 19 would cost, a rise not */
    struct outcome o = outcome(19, 2);
    struct reward_out r;
    o.rebuffer_s = .5;
    ck_assert_int_eq(report(&v, &o, true, &r, NULL), 0);
    const struct qoe *k = qoe_standard();
    double rise = quality_of(19) - quality_of(18);
    ck_assert_double_gt(rise, 0);
    ck_assert_double_eq_tol(
        r.reward, k->mu_quality * quality_of(19) - k->mu_rise * rise - k->mu_stall * .5,
        1e-9);
    const struct traj *t = &v.changes.traj;
    ck_assert_double_eq_tol(t->step[3].reward,
                            k->mu_quality * quality_of(3) -
                                k->mu_switch * (quality_of(2) - quality_of(3)),
                            1e-9);

    /* and so does the learner's replay */
    static float obs[TRAJ_STEPS + 1][FEAT_FULL_DIM];
    uint32_t mask[TRAJ_STEPS + 1];
    int action[TRAJ_STEPS + 1];
    ck_assert(v.changes.has_traj);
    ck_assert(traj_observe(obs[0], mask, action, &v.changes.traj, FEAT_FULL));
    ck_assert_mem_eq(obs, seen, sizeof seen);
    memset(&v.changes.traj.step[3].points, 0, sizeof v.changes.traj.step[3].points);
    ck_assert(traj_observe(obs[0], mask, action, &v.changes.traj, FEAT_FULL));
    ck_assert_mem_ne(obs[3], seen[3], sizeof seen[3]);
    end(&v);
}

TEST(nothing_is_known_of_a_chunk_that_the_player_chose)
{
    struct viewer v;
    begin_in_points(&v, 20);
    struct question q = question(0);
    give_quality(&q);
    ck_assert_int_eq(ask(&v, &q, NULL), 2);
    q = question(4); /* chunks 1 to 3 were fetched without the daemon */
    q.last = outcome(3, 1);
    struct view view;
    struct answer a;
    ck_assert_int_eq(track_peek(&view, &a, &v.track, &v.pool, &q, NULL), 0);
    ck_assert_double_eq(view.last_points, 33.123456);
    ck_assert_int_eq(ask(&v, &q, NULL), 2);
    struct history_step h;
    track_history(&h, &v.pool.at[v.pool.at[v.track.newest].prev], &v.track.row);
    ck_assert_double_eq(h.quality, 33.123456);
    end(&v);
}

TEST(another_level_is_never_used_for_training)
{
    struct viewer v;
    begin(&v, 48);
    for (int i = 0; i < 4; i++)
        ask_chunk(&v, i);
    struct outcome o = outcome(3, 1);
    struct reward_out r;
    ck_assert_int_eq(report(&v, &o, false, &r, NULL), 0);

    /* 0, 1, 2 are used for training; the critic bootstraps from the state of 3 */
    ck_assert(v.changes.has_traj && v.changes.traj.truncated);
    ck_assert_int_eq(v.changes.traj.n, 3);
    ck_assert_int_eq(v.changes.traj.step[3].chunk, 3);

    struct question q = question(4);
    q.last = o;
    ck_assert_int_eq(ask(&v, &q, NULL), 2);
    ck_assert(!v.changes.has_traj);
    ask_chunk(&v, 5);
    ask_chunk(&v, 6);
    track_changes_clear(&v.changes);
    track_close(&v.track, &v.pool, 1, &v.changes);
    ck_assert(v.changes.has_traj && v.changes.traj.truncated);
    ck_assert_int_eq(v.changes.traj.n, 2); /* 4 and 5, from 6 */
    ck_assert_int_eq(v.changes.traj.step[0].chunk, 4);
    ck_assert_int_eq(v.changes.traj.step[0].last_level, 1);
    ck_assert(!v.changes.row.terminal);
    end(&v);
}

TEST(a_seek_cuts_and_goes_on)
{
    struct viewer v;
    begin(&v, 48);
    for (int i = 0; i < 3; i++)
        ask_chunk(&v, i);
    struct question q = {.chunk = 30, .buffer_s = 0, .has_last = true};
    q.last = outcome(2, 2);
    ck_assert_int_eq(ask(&v, &q, NULL), 2);
    ck_assert(v.changes.has_traj && v.changes.traj.truncated);
    ck_assert_int_eq(v.changes.traj.n, 2);

    /* and back to a chunk it has had */
    q.chunk = 2;
    q.last = outcome(30, 2);
    ck_assert_int_eq(ask(&v, &q, NULL), 2);
    ck_assert(!v.changes.has_traj); /* chunk 30 alone had no state behind it */
    end(&v);
}

TEST(the_chunk_just_played_may_be_asked_again)
{
    struct viewer v;
    begin(&v, 48);
    ask_chunk(&v, 0);
    ask_chunk(&v, 1);
    struct question q = {.chunk = 1, .buffer_s = 1, .has_last = true};
    q.last = outcome(1, 2);
    ck_assert_int_eq(ask(&v, &q, NULL), 2);
    ck_assert_int_eq(v.track.n, 3);
    end(&v);
}

TEST(a_missing_outcome_cuts)
{
    struct viewer v;
    begin(&v, 48);
    ask_chunk(&v, 0);
    ask_chunk(&v, 1);
    struct question q = question(2);
    q.has_last = false;
    ck_assert_int_eq(ask(&v, &q, NULL), 2);
    ck_assert(v.changes.has_traj);
    ck_assert_int_eq(v.changes.traj.n, 1);
    end(&v);
}

TEST(outcomes_without_a_decision_are_kept)
{
    struct viewer v;
    begin(&v, 48);
    ask_chunk(&v, 0);
    ask_chunk(&v, 1);
    /* the daemon was away for 2, 3 and 4; the player comes back at 5 */
    struct question q = {.chunk = 5, .buffer_s = 9, .has_last = true};
    q.last = outcome(4, 0);
    struct view view;
    struct answer a;
    ck_assert_int_eq(track_peek(&view, &a, &v.track, &v.pool, &q, NULL), 0);
    ck_assert_int_eq(view.last_level, 0);
    ck_assert_int_eq(view.n_history, 2); /* chunk 1 never came in */
    ck_assert_int_eq(ask(&v, &q, NULL), 2);
    ck_assert_int_eq(v.changes.n, 3);
    ck_assert_int_eq(v.changes.not_followed, 1);

    struct history_step h;
    track_history(&h, &v.pool.at[v.pool.at[v.track.newest].prev], &v.track.row);
    ck_assert_int_eq(h.chunk, 4);
    ck_assert_int_eq(h.level, 0);
    ck_assert_int_eq(h.decided_level, -1);
    ck_assert(h.reported && !h.followed);
    end(&v);
}

TEST(a_late_outcome_counts_but_is_not_used_for_training)
{
    struct viewer v;
    begin(&v, 48);
    ask_chunk(&v, 0);
    struct question q = question(1);
    q.has_last = false;
    ck_assert_int_eq(ask(&v, &q, NULL), 2);

    struct outcome o = outcome(0, 2);
    struct reward_out r;
    ck_assert_int_eq(report(&v, &o, false, &r, NULL), 0);
    ck_assert_int_eq(v.changes.rewards, 1);
    ck_assert_int_eq(v.track.measured.n, 1);
    ck_assert_int_eq(v.track.head, -1);

    o = outcome(1, 2);
    ck_assert_int_eq(report(&v, &o, true, &r, NULL), 0);
    ck_assert(!v.changes.has_traj);
    end(&v);
}

TEST(long_play_is_cut_without_loss)
{
    struct viewer v;
    begin(&v, 0);
    for (int i = 0; i <= TRAJ_STEPS; i++) {
        ck_assert_int_eq(ask_chunk(&v, i), 2);
        ck_assert_int_eq(v.changes.has_traj, i == TRAJ_STEPS);
    }
    ck_assert_int_eq(v.changes.traj.n, TRAJ_STEPS);
    ck_assert(v.changes.traj.truncated);
    ck_assert_int_eq(v.changes.traj.step[TRAJ_STEPS].chunk, TRAJ_STEPS);
    ck_assert_int_eq(v.track.head_n, 1);
    ask_chunk(&v, TRAJ_STEPS + 1);
    ck_assert_int_le(v.track.n, TRACK_KEEP);
    end(&v);
}

TEST(a_greedy_session_keeps_few_steps)
{
    struct viewer v;
    begin(&v, 0);
    v.track.row.explores = false;
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(ask_chunk(&v, i), 2);
    ck_assert_int_eq(v.track.n, TRACK_KEEP);
    ck_assert_int_eq(v.track.measured.n, VIEW_HISTORY);
    end(&v);
    ck_assert_int_le(v.pool.used, TRACK_KEEP + 1);
}

TEST(an_empty_pool_takes_the_oldest_of_its_own)
{
    struct viewer v;
    begin_with(&v, 0, TRACK_KEEP, 3);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(ask_chunk(&v, i), 2);
    ck_assert_int_eq(ask_chunk(&v, 3), 2);
    ck_assert(v.changes.starved);
    ck_assert_int_eq(v.track.n, 3);
    ck_assert_int_eq(ask_chunk(&v, 4), 2); /* goes on */
    end(&v);

    struct viewer w;
    begin_with(&w, 0, TRACK_KEEP, 1);
    w.pool.used = w.pool.cap; /* other sessions have all steps */
    ck_assert_int_eq(ask_chunk(&w, 0), ERR_FULL);
    track_steps_release(&w.pool);
}

TEST(final_closes_and_repeats_are_marked)
{
    struct viewer v;
    begin(&v, 0);
    ask_chunk(&v, 0);
    struct outcome o = outcome(0, 2);
    struct reward_out r;
    ck_assert_int_eq(report(&v, &o, true, &r, NULL), 0);
    ck_assert(v.changes.closed && v.changes.row.terminal);
    ck_assert(v.changes.has_traj && !v.changes.traj.truncated);

    ck_assert_int_eq(report(&v, &o, true, &r, NULL), 0);
    ck_assert(r.repeated);
    ck_assert(!v.changes.closed);
    o = outcome(1, 2);
    struct err e = {0};
    ck_assert_int_eq(report(&v, &o, false, &r, &e), ERR_ABSENT);
    struct question q = question(1);
    ck_assert_int_eq(ask(&v, &q, NULL), ERR_ABSENT);
    end(&v);
}

TEST(external_rewards_are_stored_apart)
{
    struct viewer v;
    begin(&v, 48);
    ask_chunk(&v, 0);
    struct reward_in in = {.has_external = true, .chunk = 0, .external = 12};
    struct reward_out r;
    track_changes_clear(&v.changes);
    ck_assert_int_eq(track_report(&r, &v.track, &v.pool, &in, 1, &v.changes, NULL), 0);
    ck_assert(!r.repeated);
    track_changes_clear(&v.changes);
    ck_assert_int_eq(track_report(&r, &v.track, &v.pool, &in, 1, &v.changes, NULL), 0);
    ck_assert(r.repeated);
    in.external = 13;
    struct err e = {0};
    ck_assert_int_eq(track_report(&r, &v.track, &v.pool, &in, 1, &v.changes, &e),
                     ERR_CONFLICT);
    ck_assert_str_eq(e.field, "reward");
    in.chunk = 9;
    ck_assert_int_eq(track_report(&r, &v.track, &v.pool, &in, 1, &v.changes, NULL),
                     ERR_ABSENT);
    end(&v);
}

static void same_track(const struct viewer *v, const struct viewer *w)
{
    ck_assert_mem_eq(&w->track.measured, &v->track.measured, sizeof w->track.measured);
    ck_assert_int_eq(w->track.head < 0, v->track.head < 0);
    if (v->track.head >= 0) {
        ck_assert_mem_eq(&w->track.before, &v->track.before, sizeof w->track.before);
        ck_assert_int_eq(w->track.head_n, v->track.head_n);
    }
    ck_assert_uint_eq(w->track.ords, v->track.ords);
    const struct step *a = &v->pool.at[v->track.newest],
                      *b = &w->pool.at[w->track.newest];
    ck_assert_mem_eq(&a->points, &b->points, sizeof a->points);
    ck_assert_double_eq(w->track.last_at, v->track.last_at);
}

/* What a store would hold, and a session put together again from it. */
static struct step stored[400];
static int n_stored;

static void keep(const struct changes *c)
{
    for (int k = 0; k < c->n; k++) {
        const struct step *s = &c->step[k];
        int at = (int)s->ord;
        ck_assert(at >= n_stored || stored[at].rev < s->rev);
        stored[at] = *s;
        if (at >= n_stored) n_stored = at + 1;
    }
}

static void restore(struct viewer *w)
{
    begin(w, 0);
    for (int i = 0; i < n_stored; i++)
        ck_assert_int_eq(track_restore(&w->track, &w->pool, &stored[i], NULL), 0);
}

/* It goes on as the one that stayed, wherever the restart falls. */
TEST(restored_steps_give_the_same_session)
{
    struct viewer v, w;
    begin(&v, 0);
    for (int i = 0; i < 60; i++) {
        struct question q = question(i);
        if (i % 13 == 5) q.has_last = false;     /* no outcome */
        if (i % 17 == 8) q.last.level = 1;       /* not followed */
        if (i % 23 == 11) q.last.chunk = i + 90; /* fetched elsewhere */
        give_quality(&q);
        ck_assert_int_eq(ask(&v, &q, NULL), 2);
        keep(&v.changes);
        restore(&w);
        same_track(&v, &w);

        ck_assert_int_eq(ask(&w, &q, NULL), 1002);
        struct view a, b;
        struct answer unused;
        q = question(i + 1);
        ck_assert_int_eq(track_peek(&a, &unused, &v.track, &v.pool, &q, NULL), 0);
        ck_assert_int_eq(track_peek(&b, &unused, &w.track, &w.pool, &q, NULL), 0);
        ck_assert_mem_eq(&a, &b, sizeof a);
        end(&w);

        /* the same between an outcome and the next question */
        if (i % 7 != 3) continue;
        struct outcome o = outcome(i, i % 2 ? 2 : 3);
        struct reward_out r;
        ck_assert_int_eq(report(&v, &o, false, &r, NULL), 0);
        keep(&v.changes);
        restore(&w);
        same_track(&v, &w);
        end(&w);
        if (o.level == 2) continue;
        q = (struct question){.chunk = i + 1, .has_last = true, .last = o};
        ck_assert_int_eq(ask(&v, &q, NULL), 2);
        keep(&v.changes);
        i++;
    }
    end(&v);
}

SUITE(serve_session_track, a_repeat_gets_the_same_answer,
      a_contradiction_is_refused_and_changes_nothing,
      next_bytes_may_be_left_out_of_a_repeat, rewards_are_computed_from_what_was_measured,
      a_finished_video_is_a_terminal_trajectory, the_replay_sees_what_the_decisions_saw,
      the_quality_of_a_chunk_is_that_of_its_question,
      nothing_is_known_of_a_chunk_that_the_player_chose,
      another_level_is_never_used_for_training, a_seek_cuts_and_goes_on,
      the_chunk_just_played_may_be_asked_again, a_missing_outcome_cuts,
      a_long_download_before_the_session_keeps_its_rate,
      an_outcome_says_whether_the_common_policy_decided,
      outcomes_without_a_decision_are_kept,
      a_late_outcome_counts_but_is_not_used_for_training, long_play_is_cut_without_loss,
      a_greedy_session_keeps_few_steps, an_empty_pool_takes_the_oldest_of_its_own,
      final_closes_and_repeats_are_marked, external_rewards_are_stored_apart,
      restored_steps_give_the_same_session);
