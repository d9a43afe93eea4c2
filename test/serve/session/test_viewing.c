#include "serve/session/viewing.h"

#include "serve/session/sessions.h"
#include "support/suites.h"

#include <string.h>

static struct track_row make_row(const char *profile)
{
    return (struct track_row){.ladder_kbps = {300, 750},
                              .points = {40, 70},
                              .levels = 2,
                              .chunk_s = 4,
                              .buffer_max_s = 60,
                              .qoe = qoe_find(profile)->qoe,
                              .opened_at = 1};
}

/* last -1: the session's first chunk */
static struct step make_step(int level, int last, double wait_s)
{
    return (struct step){.flags = STEP_DECIDED | STEP_REPORTED | STEP_FOLLOWED,
                         .decided = (int8_t)level,
                         .level = (int8_t)level,
                         .last_level = (int8_t)last,
                         .download_s = 1,
                         .rebuffer_s = wait_s};
}

TEST(a_session_by_hand)
{
    struct track_row row = make_row("standard");
    struct viewing v = {0};
    struct viewing_sums s = {0};
    struct step steps[] = {make_step(0, -1, 2.5), make_step(1, 0, 0),
                           make_step(1, 1, .5)};
    for (int i = 0; i < 3; i++)
        viewing_chunk(&v, &s, &row, &steps[i]);
    ck_assert_double_eq_tol(s.startup_s, 2.5, 1e-12);
    ck_assert_uint_eq(s.startup[5], 1); /* 2 < 2.5 <= 3 */
    ck_assert_double_eq_tol(s.stall_s, .5, 1e-12);
    ck_assert_double_eq_tol(s.played_s, 12, 1e-12);
    ck_assert_double_eq_tol(s.points, 40 + 70 + 70, 1e-12);
    ck_assert_uint_eq(s.switches, 1);
    ck_assert_uint_eq(s.by[VIEWING_DAEMON], 3);
    ck_assert_uint_eq(s.over_startup, 0); /* the ceiling is 3 s */
    ck_assert_uint_eq(s.sessions, 0);

    viewing_end(&v, &s, &row.qoe); /* .5 / 12.5: 4 %, and not at the lowest level */
    ck_assert_uint_eq(s.sessions, 1);
    ck_assert_uint_eq(s.over_stalls, 1);
    ck_assert_uint_eq(s.bound, 0);
}

/* A player that reports no wait waited for the download at least. */
static const struct {
    double wait_s;
    int bucket;
    bool over;
} starts[] = {{0, 2, false},   {1, 2, false},  {1.01, 3, false}, {3, 5, false},
              {3.01, 6, true}, {60, 11, true}, {3600, 12, true}};
TEST(start_ups_are_counted_in_buckets)
{
    struct track_row row = make_row("standard");
    struct viewing v = {0};
    struct viewing_sums s = {0};
    struct step first = make_step(0, -1, starts[_i].wait_s);
    viewing_chunk(&v, &s, &row, &first);
    for (int i = 0; i <= VIEWING_BOUNDS; i++)
        ck_assert_uint_eq(s.startup[i], i == starts[_i].bucket);
    ck_assert_uint_eq(s.over_startup, starts[_i].over);
    ck_assert_double_eq(s.stall_s, 0);

    row.qoe.startup_max_s = 0; /* no ceiling, nothing above it */
    memset(&s, 0, sizeof s);
    viewing_chunk(&v, &s, &row, &first);
    ck_assert_uint_eq(s.over_startup, 0);
}

/* At the lowest level throughout, with stalls beyond the ceiling; else it was chosen. */
static const struct {
    const char *profile;
    int levels[2];
    double stall_s;
    unsigned over, bound;
} ends[] = {
    {"standard", {0, 0}, 1, 1, 1}, {"standard", {0, 1}, 1, 1, 0},
    {"standard", {1, 0}, 1, 1, 0}, {"standard", {0, 0}, .05, 0, 0},
    {"pensieve", {0, 0}, 1, 0, 1}, /* no ceiling: measured by that of `standard` */
    {"pensieve", {0, 1}, 1, 0, 0},
};
TEST(sessions_that_their_link_bounds)
{
    struct track_row row = make_row(ends[_i].profile);
    struct viewing v = {0};
    struct viewing_sums s = {0};
    struct step first = make_step(ends[_i].levels[0], -1, 9),
                second =
                    make_step(ends[_i].levels[1], ends[_i].levels[0], ends[_i].stall_s);
    viewing_chunk(&v, &s, &row, &first);
    viewing_chunk(&v, &s, &row, &second);
    viewing_end(&v, &s, &row.qoe);
    ck_assert_uint_eq(s.sessions, 1);
    ck_assert_uint_eq(s.over_stalls, ends[_i].over);
    ck_assert_uint_eq(s.bound, ends[_i].bound);
    ck_assert_double_eq_tol(s.bound_stall_s, ends[_i].bound ? ends[_i].stall_s : 0, 1e-6);
    ck_assert_double_eq_tol(s.bound_played_s, ends[_i].bound ? 8 : 0, 1e-6);

    struct viewing_sums twice = {0};
    viewing_add(&twice, &s);
    viewing_add(&twice, &s);
    ck_assert_uint_eq(twice.sessions, 2);
    ck_assert_double_eq_tol(twice.played_s, 2 * s.played_s, 1e-12);
    ck_assert_double_eq_tol(twice.points, 2 * s.points, 1e-12);
    ck_assert_uint_eq(twice.bound, 2 * s.bound);
}

TEST(a_session_without_an_outcome_is_none)
{
    struct viewing v = {0};
    struct viewing_sums s = {0};
    viewing_end(&v, &s, qoe_standard());
    ck_assert_uint_eq(s.sessions, 0);
}

/* ---- in the table of sessions ---- */

static struct sessions *make_sessions(void)
{
    struct sessions_cfg cfg = {.max = 10, .keep = TRACK_KEEP, .spare = 100};
    struct sessions *s = sessions_new(&cfg, NULL);
    ck_assert_ptr_nonnull(s);
    return s;
}

static void open_one(struct sessions *s, struct track_row *row, int level)
{
    struct changes c;
    track_changes_clear(&c);
    struct answer a;
    struct question q = {0};
    struct verdict v = {.level = level};
    ck_assert_int_eq(sessions_open(&a, s, row, &q, &v, &c, NULL), 0);
}

static void report(struct sessions *s, const struct track_row *row, int chunk, int level,
                   double wait_s, bool final)
{
    struct changes c;
    track_changes_clear(&c);
    struct reward_out out;
    struct reward_in in = {.has_outcome = true,
                           .outcome = {.chunk = chunk,
                                       .level = level,
                                       .bytes = 1000,
                                       .download_s = 1,
                                       .rebuffer_s = wait_s},
                           .final = final};
    ck_assert_int_eq(sessions_report(&out, s, row->id, &in, 2, &c, NULL), 0);
}

TEST(decided_here_changed_or_the_players_own)
{
    struct sessions *s = make_sessions();
    struct track_row row = make_row("standard");
    open_one(s, &row, 1);
    report(s, &row, 0, 0, 2, false);  /* another level than the one decided */
    report(s, &row, 0, 0, 2, false);  /* a repeat */
    report(s, &row, 1, 1, .25, true); /* not asked for, and the last */
    struct session_stats st;
    sessions_stats(&st, s);
    const struct viewing_sums *v = &st.slot[0].viewing;
    ck_assert_uint_eq(v->by[VIEWING_DAEMON], 0);
    ck_assert_uint_eq(v->by[VIEWING_OTHER_LEVEL], 1);
    ck_assert_uint_eq(v->by[VIEWING_PLAYER], 1);
    ck_assert_uint_eq(v->switches, 1);
    ck_assert_double_eq_tol(v->startup_s, 2, 1e-12);
    ck_assert_double_eq_tol(v->stall_s, .25, 1e-12);
    ck_assert_uint_eq(v->sessions, 1); /* it ended with its last report */
    ck_assert_uint_eq(v->over_stalls, 1);
    sessions_free(s);
}

/* A restart keeps what a session has seen, but the sums are of the process. */
TEST(a_restored_session_goes_on)
{
    struct sessions *s = make_sessions();
    struct track_row row = make_row("standard");
    memset(row.id, 7, sizeof row.id);
    struct step steps[2] = {make_step(0, -1, 2), make_step(0, 0, 3)};
    steps[1].chunk = 1;
    steps[1].ord = 1;
    ck_assert_int_eq(sessions_restore(s, &row, steps, 2, 2, NULL), 0);
    struct session_stats st;
    sessions_stats(&st, s);
    ck_assert_double_eq(st.slot[0].viewing.played_s, 0);
    report(s, &row, 2, 0, 0, true);
    sessions_stats(&st, s);
    ck_assert_double_eq(st.slot[0].viewing.played_s, 4);
    ck_assert_double_eq(st.slot[0].viewing.stall_s, 0);
    ck_assert_uint_eq(st.slot[0].viewing.bound, 1); /* 3 / (3 + 12) */
    ck_assert_double_eq_tol(st.slot[0].viewing.bound_played_s, 12, 1e-6);
    sessions_free(s);
}

TEST(a_session_that_expires_has_ended)
{
    struct sessions *s = make_sessions();
    struct track_row row = make_row("standard");
    open_one(s, &row, 0);
    report(s, &row, 0, 0, 2, false);
    struct changes c;
    track_changes_clear(&c);
    ck_assert(sessions_expire(s, 100, 100, &c));
    struct session_stats st;
    sessions_stats(&st, s);
    ck_assert_uint_eq(st.slot[0].viewing.sessions, 1);
    ck_assert_uint_eq(st.slot[0].viewing.over_stalls, 0);
    sessions_free(s);
}

SUITE(serve_session_viewing, a_session_by_hand,
      ROWS(start_ups_are_counted_in_buckets, starts),
      ROWS(sessions_that_their_link_bounds, ends), a_session_without_an_outcome_is_none,
      decided_here_changed_or_the_players_own, a_restored_session_goes_on,
      a_session_that_expires_has_ended);
