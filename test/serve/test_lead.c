#include "serve/lead.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/feat.h"
#include "base/bytes.h"
#include "serve/bus_local.h"
#include "serve/cluster_cfg.h"
#include "support/boards.h"
#include "support/trajs.h"

static struct boards keys;
static struct board board;
static struct traj traj;
static double mono;

/* A learner with all that is around it; its bus is a ring, so that a test says what arrives. */
struct rig {
    char name[16];
    struct bus bus;
    struct snap *snap;
    struct learner *learner;
    struct ledger *ledger;
    struct follow *follow;
    struct lead *lead;
    uint64_t trimmed, number;
    int rewinds, taken;
    struct bus_wire_common common;
};

static int announce(void *ctx, const struct policy *p, double now, double score,
                    struct err *e)
{
    struct rig *r = ctx;
    return lead_commit(r->lead, r->learner, p, now, score, e);
}

static int take_weights(void *ctx, struct policy *p, const struct bus_wire_weights *note,
                        struct err *e)
{
    struct rig *r = ctx;
    r->taken++;
    return snap_publish(r->snap, p, note->published_at, note->check_score, e);
}

static int take_common(void *ctx, const struct bus_wire_common *c, struct err *e)
{
    struct rig *r = ctx;
    (void)e;
    r->common = *c;
    return 0;
}

static void give_common(void *ctx, struct bus_wire_common *c, bool first)
{
    (void)ctx;
    c->has_explore = true;
    c->explore_share = first ? .5 : c->explore_share;
}

static void on_rewind(void *ctx)
{
    ((struct rig *)ctx)->rewinds++;
}

static void on_trim(void *ctx, uint64_t position)
{
    ((struct rig *)ctx)->trimmed = position;
}

static struct policy_cfg shape(int hidden)
{
    struct policy_cfg c = policy_cfg_default(FEAT_FULL_DIM);
    c.hidden = c.critic_hidden = hidden;
    return c;
}

static void begin(struct rig *r, const char *name, int hidden)
{
    *r = (struct rig){0};
    strcpy(r->name, name);
    struct policy_cfg cfg = shape(hidden);
    struct policy *p = policy_new(&cfg, NULL);
    policy_init(p, 3);
    p->version = 1;
    r->snap = snap_new(policy_clone(p, NULL), 0, 0, NULL);
    ck_assert_int_eq(bus_local_init(&r->bus, 64, NULL), 0);
    struct learner_cfg lc = {
        .online = online_cfg_default(), .announce = announce, .announce_ctx = r};
    lc.online.batch = 64;
    lc.online.capacity = 64 + TRAJ_STEPS;
    lc.online.tolerance = 1e9;
    bool fresh;
    r->learner = learner_new(&lc, p, NULL, 0, &fresh, r->snap, &r->bus, NULL);
    ck_assert_ptr_nonnull(r->learner);
    policy_free(p);
    r->ledger = ledger_new(NULL);
    struct follow_cfg fc = {.board = board,
                            .shape = cfg,
                            .weights = take_weights,
                            .common = take_common,
                            .ctx = r};
    r->follow = follow_new(&fc, NULL);
    struct lead_cfg cc = {.board = board,
                          .who = r->name,
                          .follow = r->follow,
                          .ledger = r->ledger,
                          .snap = r->snap,
                          .shape = cfg,
                          .rewind = on_rewind,
                          .trim = on_trim,
                          .common = give_common,
                          .ctx = r};
    r->lead = lead_new(&cc, NULL);
}

static void end(struct rig *r)
{
    lead_free(r->lead);
    follow_free(r->follow);
    ledger_free(r->ledger);
    learner_free(r->learner);
    r->bus.free(r->bus.self);
    snap_free(r->snap);
}

static struct rig a, b;

static void setup(void)
{
    board = boards_open(&keys);
    mono = 1000;
    begin(&a, "a", 16);
    begin(&b, "b", 16);
}

static void teardown(void)
{
    end(&a);
    end(&b);
    boards_free(&keys);
}

static int turn(struct rig *r)
{
    int rc = follow_turn(r->follow, lead_leading(r->lead), mono, mono, NULL);
    return rc < 0 ? rc : lead_turn(r->lead, r->learner, mono, mono, NULL);
}

static uint64_t version(struct rig *r)
{
    const struct weights *w = snap_get(r->snap);
    uint64_t v = w->policy->version;
    snap_put(r->snap, w);
    return v;
}

static uint32_t crc(struct rig *r)
{
    const struct weights *w = snap_get(r->snap);
    uint32_t c = policy_crc32(w->policy);
    snap_put(r->snap, w);
    return c;
}

static uint64_t counted(struct rig *r)
{
    struct ledger_stats s;
    ledger_stats(&s, r->ledger);
    return s.counted;
}

/* n trajectories of 32 steps arrive; every two make a batch. Returns what the last turn did. */
static int learn(struct rig *r, int n)
{
    int rc = 0;
    for (int i = 0; i < n; i++) {
        trajs_make(&traj, r->number + 1, 6, 32, false);
        traj.client = r->number;
        for (int k = 0; k < traj.n; k++)
            traj.step[k].policy = version(r);
        ck_assert(ledger_take(r->ledger, 5, ++r->number));
        ledger_advance(r->ledger, r->number);
        ck_assert(r->bus.send(r->bus.self, &traj));
        rc = learner_turn(r->learner, 0, mono, NULL);
    }
    return rc;
}

START_TEST(one_learns_and_the_other_follows)
{
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_int_eq(turn(&b), 0);
    ck_assert(lead_leading(a.lead) && !lead_leading(b.lead));
    ck_assert_int_eq(a.rewinds, 1);
    ck_assert_double_eq(b.common.explore_share, .5);

    mono += 3;
    ck_assert_int_eq(learn(&a, 2), 1);
    ck_assert_uint_eq(version(&a), 2);
    ck_assert_int_gt(keys.calls, 0);
    ck_assert_int_eq(turn(&b), 0);
    ck_assert_uint_eq(version(&b), 2);
    ck_assert_uint_eq(crc(&b), crc(&a));
    ck_assert_uint_eq(a.trimmed, 2);

    /* as long as it beats it stays */
    for (int i = 0; i < 20; i++) {
        mono += .5;
        ck_assert_int_eq(turn(&a), 0);
        ck_assert_int_eq(turn(&b), 0);
    }
    ck_assert(lead_leading(a.lead) && !lead_leading(b.lead));
}
END_TEST

START_TEST(the_next_goes_on_from_the_same_moment)
{
    turn(&a);
    turn(&b);
    learn(&a, 2);
    learn(&a, 1); /* half a batch, which nobody published */
    ck_assert_uint_eq(counted(&a), 3);

    double died = mono;
    while (!lead_leading(b.lead) && mono < died + 10) {
        mono += .25;
        ck_assert_int_eq(turn(&b), 0);
    }
    ck_assert_double_le(mono - died, 5);
    ck_assert(lead_leading(b.lead));
    ck_assert_uint_eq(counted(&b), 2);
    ck_assert_uint_eq(ledger_position(b.ledger), 2);
    ck_assert_int_eq(b.rewinds, 1);
    ck_assert(!ledger_take(b.ledger, 5, 2)); /* what was learned is known */
    struct online_stats s;
    learner_stats(b.learner, &s);
    ck_assert_uint_eq(s.updates, 1);
    ck_assert_uint_eq(s.trajectories, 2);

    /* two learners that go on from one moment with the same data come to the same weights */
    b.number = 2;
    ck_assert_int_eq(learn(&b, 2), 1);
    ck_assert_uint_eq(version(&b), 3);
    /* pieces of the one before are gone */
    ck_assert_int_eq(boards_count(&keys, "state.1."), 0);
    ck_assert_int_gt(boards_count(&keys, "state.2."), 0);
}
END_TEST

START_TEST(who_was_taken_for_dead_is_refused)
{
    turn(&a);
    turn(&b);
    learn(&a, 2);
    mono += CLUSTER_TAKE_S + 1; /* a is stopped meanwhile */
    turn(&b);
    mono += CLUSTER_TAKE_S + 1;
    turn(&b);
    ck_assert(lead_leading(b.lead) && lead_leading(a.lead));
    uint64_t weights = boards_rev(&keys, FOLLOW_WEIGHTS);
    uint32_t before = crc(&a);

    ck_assert_int_eq(learn(&a, 2), ERR_CONFLICT); /* its fresh weights are nobody's */
    ck_assert(!lead_leading(a.lead));
    ck_assert_uint_eq(boards_rev(&keys, FOLLOW_WEIGHTS), weights);
    ck_assert_uint_eq(crc(&a), before);
    ck_assert_int_eq(turn(&a), 0); /* and it follows */
    ck_assert_int_eq(learn(&b, 0), 0);
    b.number = 2;
    ck_assert_int_eq(learn(&b, 2), 1);
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(crc(&a), crc(&b));

    /* the same by its beat */
    mono += CLUSTER_TAKE_S + 1;
    turn(&a);
    mono += CLUSTER_TAKE_S + 1;
    turn(&a);
    ck_assert(lead_leading(a.lead));
    ck_assert_int_eq(turn(&b), 0);
    ck_assert(!lead_leading(b.lead));
}
END_TEST

START_TEST(who_resigns_is_followed_at_once)
{
    turn(&a);
    turn(&b);
    lead_resign(a.lead);
    ck_assert(!lead_leading(a.lead));
    ck_assert_int_eq(turn(&b), 0);
    ck_assert(lead_leading(b.lead));
}
END_TEST

START_TEST(a_board_that_is_away_deposes_nobody)
{
    turn(&a);
    turn(&b);
    keys.away = true;
    ck_assert_int_eq(learn(&a, 2), ERR_IO);
    ck_assert_uint_eq(version(&a), 1); /* not published, not used */
    for (int i = 0; i < 200; i++) {
        mono += 1;
        ck_assert_int_eq(turn(&b), ERR_IO);
        (void)turn(&a);
    }
    keys.away = false;
    ck_assert_int_eq(turn(&b), 0); /* has heard nothing for long, but neither could it */
    ck_assert(!lead_leading(b.lead));
    ck_assert_int_eq(turn(&a), 0);
    ck_assert(lead_leading(a.lead));
    ck_assert_int_eq(learn(&a, 2), 1);
    ck_assert_int_eq(turn(&b), 0);
    ck_assert_uint_eq(version(&b), version(&a));
    ck_assert_uint_eq(version(&a), 3);
}
END_TEST

START_TEST(what_was_refused_is_let_go)
{
    turn(&a);
    a.number = 100; /* trajectories were read, all of them refused */
    ledger_advance(a.ledger, 100);
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(a.trimmed, 0);
    mono += 5;
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(a.trimmed, 100);
    /* but not what waits for an update, nor what came after it */
    learn(&a, 1);
    mono += 5;
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(a.trimmed, 100);
    learn(&a, 1);
    ck_assert_uint_eq(a.trimmed, 102);
}
END_TEST

START_TEST(an_operators_order_keeps_what_waits)
{
    turn(&a);
    turn(&b);
    learn(&a, 3); /* the third waits */
    ck_assert_int_eq(learner_set_aside(a.learner, PPO_ACTOR, 0, 3, NULL), 0);
    ck_assert_int_eq(learner_turn(a.learner, 0, mono, NULL), 1);
    lead_resign(a.lead);
    turn(&b);
    ck_assert(lead_leading(b.lead));
    ck_assert_uint_eq(version(&b), version(&a));
    ck_assert_uint_eq(ledger_position(b.ledger), 2);
    ck_assert(ledger_take(b.ledger, 5, 3));
}
END_TEST

START_TEST(a_lost_answer_is_no_other_learner)
{
    turn(&a);
    turn(&b);
    keys.lose = 1; /* of the weights */
    ck_assert_int_eq(learn(&a, 2), ERR_IO);
    ck_assert(lead_leading(a.lead));
    ck_assert_int_eq(learn(&a, 2), 1);
    keys.lose = 1; /* of the beat */
    mono += CLUSTER_BEAT_S;
    (void)turn(&a);
    mono += CLUSTER_BEAT_S;
    ck_assert_int_eq(turn(&a), 0);
    mono += CLUSTER_BEAT_S;
    ck_assert_int_eq(turn(&a), 0);
    ck_assert(lead_leading(a.lead));
    ck_assert_int_eq(turn(&b), 0);
    ck_assert_uint_eq(crc(&b), crc(&a));
}
END_TEST

START_TEST(a_damaged_state_leaves_the_weights)
{
    turn(&a);
    learn(&a, 2);
    for (int i = 0; i < keys.n; i++)
        if (!strncmp(keys.value[i].key, "state.", 6)) memset(keys.value[i].data, 7, 100);
    lead_resign(a.lead);
    ck_assert_int_eq(turn(&b), 0);
    ck_assert(lead_leading(b.lead));
    ck_assert_uint_eq(crc(&b), crc(&a));
    ck_assert_uint_eq(ledger_position(b.ledger), 2);
    ck_assert_uint_eq(counted(&b), 2); /* the ledger came with them */
}
END_TEST

/* What is published of the ledger, as a node reads it. */
static struct ledger_view published(void)
{
    void *bytes;
    size_t n;
    uint64_t rev;
    struct bus_wire_weights note;
    struct ledger_view v;
    ck_assert_int_eq(board.get(board.self, FOLLOW_WEIGHTS, &bytes, &n, &rev, NULL), 0);
    ck_assert_int_eq(bus_wire_get_weights(&note, NULL, NULL, bytes, n, NULL), 0);
    ck_assert_uint_eq(note.position, 2);
    ck_assert_int_eq(ledger_view(&v, 5, note.ledger, note.ledger_n, NULL), 0);
    free(bytes);
    return v;
}

START_TEST(the_ledger_is_published_as_of_the_state)
{
    turn(&a);
    learn(&a, 3); /* the third waits for its batch */
    struct ledger_view v = published();
    ck_assert_uint_eq(v.position, 2);
    ck_assert(ledger_view_has(&v, 2) && !ledger_view_has(&v, 3));
    /* other weights, the same state: the ledger that belongs to it */
    ck_assert_int_eq(learner_set_aside(a.learner, PPO_ACTOR, 0, 3, NULL), 0);
    ck_assert_int_eq(learner_turn(a.learner, 0, mono, NULL), 1);
    v = published();
    ck_assert(ledger_view_has(&v, 2) && !ledger_view_has(&v, 3));
}
END_TEST

/* The board as a learner left it that wrote form 1: the ledger is behind the state. */
static void make_old(void)
{
    void *bytes;
    size_t n;
    uint64_t rev;
    struct bus_wire_weights note;
    const void *ckpt;
    size_t ckpt_n;
    ck_assert_int_eq(board.get(board.self, FOLLOW_WEIGHTS, &bytes, &n, &rev, NULL), 0);
    ck_assert_int_eq(bus_wire_get_weights(&note, &ckpt, &ckpt_n, bytes, n, NULL), 0);
    uint64_t old[] = {2, 2, 0, 0, 1, 5, 2, 2, 1, 6, 0, 0, 0};
    char key[64];
    void *state;
    size_t state_n;
    snprintf(key, sizeof key, "state.1.%d.0", note.state_slot);
    ck_assert_int_eq(board.get(board.self, key, &state, &state_n, &rev, NULL), 0);
    ck_assert_uint_eq(state_n, PARCEL_HEAD + note.state_bytes); /* one piece */
    state = realloc(state, state_n + sizeof old);
    unsigned char *to = (unsigned char *)state + state_n;
    for (size_t i = 0; i < sizeof old / 8; i++)
        bytes_put_u64(to + 8 * i, old[i]);
    note.state_bytes += sizeof old;
    note.state_crc =
        bytes_crc32(0, (unsigned char *)state + PARCEL_HEAD, note.state_bytes);
    state_n = parcel_seal(state, PARCEL_STATE, 1, note.state_bytes);
    ck_assert_int_eq(board.set(board.self, key, state, state_n, NULL), 0);
    free(state);

    void *sealed;
    size_t sealed_n;
    note.ledger_n = 0;
    ck_assert_int_eq(bus_wire_put_weights(&sealed, &sealed_n, &note, ckpt, ckpt_n, NULL),
                     0);
    unsigned char *body = (unsigned char *)sealed + PARCEL_HEAD;
    memmove(body + sealed_n - PARCEL_HEAD - 8 - ckpt_n,
            body + sealed_n - PARCEL_HEAD - ckpt_n, ckpt_n); /* no length before them */
    sealed_n = parcel_seal(sealed, PARCEL_WEIGHTS, 1, sealed_n - PARCEL_HEAD - 8);
    ck_assert_int_eq(board.set(board.self, FOLLOW_WEIGHTS, sealed, sealed_n, NULL), 0);
    free(sealed);
    free(bytes);
}

START_TEST(what_an_older_learner_left_is_gone_on_from)
{
    turn(&a);
    learn(&a, 2);
    lead_resign(a.lead);
    make_old();
    ck_assert_int_eq(turn(&b), 0);
    ck_assert(lead_leading(b.lead));
    ck_assert_uint_eq(counted(&b), 2);
    ck_assert(!ledger_take(b.ledger, 5, 2) && ledger_take(b.ledger, 5, 3));
    struct online_stats s;
    learner_stats(b.learner, &s);
    ck_assert_uint_eq(s.updates, 1); /* and the optimiser's state is there */
    struct ledger_view v = published();
    ck_assert(ledger_view_has(&v, 2) && !ledger_view_has(&v, 3));
}
END_TEST

/* ---- what a follower refuses ---- */

static uint64_t refused(struct rig *r)
{
    struct follow_stats s;
    follow_stats(&s, r->follow, mono);
    return s.refused;
}

START_TEST(weights_that_do_not_fit_are_refused)
{
    struct rig wide;
    turn(&a);
    turn(&b);
    begin(&wide, "wide", 24);
    ck_assert_int_eq(turn(&wide), 0);
    ck_assert_uint_eq(refused(&wide), 1);
    ck_assert_uint_eq(version(&wide), 1);
    /* nor can it go on from them */
    lead_resign(a.lead);
    ck_assert_int_lt(turn(&wide), 0);
    ck_assert(!lead_leading(wide.lead));
    end(&wide);

    /* a newer form, and a damaged one: what is at hand goes on */
    ck_assert_int_eq(turn(&b), 0);
    learn(&b, 2);
    turn(&a);
    uint32_t before = crc(&a);
    void *bytes;
    size_t n;
    uint64_t rev;
    ck_assert_int_eq(board.get(board.self, FOLLOW_WEIGHTS, &bytes, &n, &rev, NULL), 0);
    struct bus_wire_weights note;
    struct policy_cfg cfg = shape(16);
    struct err e = {0};
    bytes_put_u16((unsigned char *)bytes + 10, 3);
    ck_assert_ptr_null(follow_decode(&note, bytes, n, &cfg, &e));
    ck_assert_str_eq(
        e.detail,
        "is published weights of form 3; this abrd reads forms 1 to 2: upgrade it");
    ck_assert_int_eq(board.set(board.self, FOLLOW_WEIGHTS, bytes, n, NULL), 0);
    follow_afresh(a.follow);
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(refused(&a), 1);
    bytes_put_u16((unsigned char *)bytes + 10, 2);
    ((unsigned char *)bytes)[n / 2] ^= 1;
    ck_assert_int_eq(board.set(board.self, FOLLOW_WEIGHTS, bytes, n, NULL), 0);
    follow_afresh(a.follow);
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(refused(&a), 2);
    ck_assert_uint_eq(crc(&a), before);
    free(bytes);
}
END_TEST

Suite *suite_serve_lead(void);
Suite *suite_serve_lead(void)
{
    Suite *s = suite_create("serve/lead");
    TCase *t = tcase_create("serve/lead");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, one_learns_and_the_other_follows);
    tcase_add_test(t, the_next_goes_on_from_the_same_moment);
    tcase_add_test(t, who_was_taken_for_dead_is_refused);
    tcase_add_test(t, who_resigns_is_followed_at_once);
    tcase_add_test(t, a_board_that_is_away_deposes_nobody);
    tcase_add_test(t, what_was_refused_is_let_go);
    tcase_add_test(t, an_operators_order_keeps_what_waits);
    tcase_add_test(t, a_lost_answer_is_no_other_learner);
    tcase_add_test(t, a_damaged_state_leaves_the_weights);
    tcase_add_test(t, the_ledger_is_published_as_of_the_state);
    tcase_add_test(t, what_an_older_learner_left_is_gone_on_from);
    tcase_add_test(t, weights_that_do_not_fit_are_refused);
    suite_add_tcase(s, t);
    return s;
}
