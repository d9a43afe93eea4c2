/* Services of one cluster around a real NATS server; the test takes their turns one by one. */
#include "serve/session/service.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/cluster/bus_nats.h"
#include "support/nats.h"
#include "support/served.h"
#include "support/suites.h"

static struct nats server;
static struct served node, learner;

static void role(struct served *f, enum cluster_role role, const char *name)
{
    served_begin(f, true);
    f->optional.cluster.role = role;
    f->optional.cluster.url = server.url;
    snprintf(f->optional.cluster.node, sizeof f->optional.cluster.node, "%s", name);
    f->cfg.explore_share = 1;
    f->cfg.online.batch = 8;
    served_without_exams(f);
}

static void setup(void)
{
    nats_begin(&server);
    role(&node, ROLE_DECIDE, "node");
    role(&learner, ROLE_LEARN, "learner");
}

static void teardown(void)
{
    served_end(&node);
    served_end(&learner);
    nats_end(&server);
}

static struct service_stats stats(struct served *f)
{
    struct service_stats s;
    service_stats(&s, f->service);
    return s;
}

static void turn(struct served *f)
{
    (void)service_learn(f->service, NULL);
    service_periodic(f->service);
    ck_assert_int_eq(service_commit(f->service, NULL), 0);
}

/* Turns of all that run until it holds. */
#define UNTIL(condition)                                                    \
    for (double until_ = clock_mono() + PATIENCE_S; !(condition);) {        \
        ck_assert_msg(clock_mono() < until_, "waited for: %s", #condition); \
        if (node.service) turn(&node);                                      \
        if (learner.service) turn(&learner);                                \
    }

static void play(struct served *f, uint64_t key)
{
    struct session_opened o = served_open(f, key, 4);
    served_play(f, &o, 4);
}

static void start_both(void)
{
    served_start(&learner);
    served_start(&node);
    UNTIL(served_parts(&learner).cluster.leading &&
          served_parts(&node).cluster.connected);
}

TEST(what_is_played_here_is_learned_there)
{
    start_both();
    for (uint64_t k = 0; k < 6; k++)
        play(&node, k);
    UNTIL(served_parts(&learner).cluster.counted == 6);
    UNTIL(stats(&node).policy_version == stats(&learner).policy_version &&
          stats(&node).policy_version >= 3);
    UNTIL(!served_parts(&node).cluster.buffered); /* acknowledged by another thread */
    struct cluster_stats c = served_parts(&node).cluster;
    ck_assert_str_eq(c.learner, "learner");
    ck_assert_uint_eq(c.published, 6);
    ck_assert_uint_eq(served_parts(&learner).cluster.missing, 0);

    /* one learns, the others decide */
    struct session_opened o;
    struct session_open in = served_request(1, 4);
    struct err e = {0};
    ck_assert_int_eq(service_open(&o, learner.service, learner.worker, &in, &e),
                     ERR_FULL);
    ck_assert_str_eq(e.detail, "this node learns: ask one that decides");
}

TEST(a_node_keeps_the_last_weights)
{
    start_both();
    ck_assert(stats(&learner).learning && !stats(&node).learning);
    uint64_t before = stats(&node).policy_version;
    for (uint64_t k = 0; k < 4; k++)
        play(&node, k);
    UNTIL(stats(&node).policy_version > before);
    uint64_t version = stats(&node).policy_version;
    ck_assert_int_eq(service_drain(node.service, NULL), 0);
    served_kill(&node);
    nats_kill(&server);
    served_start(&node);
    ck_assert_uint_eq(stats(&node).policy_version, version);
    nats_again(&server);
}

TEST(a_killed_node_sends_what_it_had_stored)
{
    start_both();
    play(&node, 1);
    UNTIL(served_parts(&learner).cluster.counted == 1 &&
          served_parts(&node).cluster.buffered == 0);
    nats_kill(&server);
    play(&node, 2);
    play(&node, 3);
    ck_assert_int_eq(service_commit(node.service, NULL), 0);
    ck_assert_int_eq(served_parts(&node).cluster.buffered, 2);
    served_kill(&node);
    served_start(&node);
    /* the first one, too, when the store had not heard that it had arrived */
    ck_assert_int_ge(served_parts(&node).cluster.buffered, 2);
    nats_again(&server);
    UNTIL(served_parts(&learner).cluster.counted == 3);
    play(&node, 4);
    UNTIL(served_parts(&learner).cluster.counted == 4);
    ck_assert_uint_eq(served_parts(&learner).cluster.missing, 0);
    ck_assert_int_eq(served_parts(&learner).cluster.makers,
                     1); /* the same one as before */

    /* all is confirmed: nothing is sent after the next start */
    UNTIL(served_parts(&node).cluster.buffered +
              served_parts(&node).cluster.unconfirmed ==
          0);
    turn(&node);
    served_kill(&node);
    served_start(&node);
    ck_assert_int_eq(served_parts(&node).cluster.buffered, 0);
}

/* A node that has not heard yet of what the learner published last. */
TEST(a_node_that_starts_reads_first_what_is_counted)
{
    start_both();
    uint64_t version = stats(&learner).policy_version;
    for (uint64_t k = 0; k < 6; k++) /* batches of two: all are published */
        play(&node, k);
    ck_assert_int_eq(service_commit(node.service, NULL), 0);
    for (double until = clock_mono() + PATIENCE_S; served_parts(&node).cluster.buffered;)
        ck_assert_double_lt(clock_mono(), until);
    served_kill(&node);
    node.service = NULL;
    UNTIL(stats(&learner).policy_version == version + 3);
    served_start(&node);
    ck_assert_int_eq(served_parts(&node).cluster.buffered, 6);
    UNTIL(served_parts(&node).cluster.buffered == 0);
    play(&node, 6);
    play(&node, 7);
    UNTIL(served_parts(&learner).cluster.counted == 8);
    UNTIL(served_parts(&node).cluster.buffered == 0);
    turn(&learner);
    ck_assert_uint_eq(served_parts(&learner).cluster.again, 0);
}

TEST(the_next_learner_loses_and_repeats_nothing)
{
    struct served second;
    role(&second, ROLE_LEARN, "second");
    start_both();
    for (uint64_t k = 0; k < 5; k++) /* batches of two: one is left over */
        play(&node, k);
    UNTIL(served_parts(&learner).cluster.counted == 5);
    uint64_t steps = stats(&learner).learner.steps;
    served_kill(&learner);
    learner.service = NULL;

    served_start(&second);
    UNTIL((turn(&second), served_parts(&second).cluster.leading));
    UNTIL((turn(&second), served_parts(&second).cluster.counted == 5));
    ck_assert_uint_eq(stats(&second).learner.steps, steps);
    ck_assert_uint_eq(stats(&second).learner.trajectories, 5);
    ck_assert_uint_eq(served_parts(&second).cluster.term, 2);
    play(&node, 9);
    UNTIL((turn(&second), served_parts(&second).cluster.counted == 6));
    UNTIL((turn(&second), stats(&node).policy_version == stats(&second).policy_version));
    served_end(&second);
}

/* Whatever is in the stream up to there is gone, as if its servers had lost it; what comes next has a
 * higher place. */
static void empty_stream(uint64_t place)
{
    struct bus_nats_cfg cfg = {
        .url = server.url, .name = "abrd", .who = "thief", .replicas = 1};
    struct bus_nats *n = bus_nats_new(&cfg, NULL);
    ck_assert_ptr_nonnull(n);
    bus_nats_trim(n, place);
    bus_nats_free(n);
}

/* again: the node is killed before it knows that anything was lost. */
static void lose(bool again)
{
    start_both();
    play(&node, 1);
    play(&node, 2);
    UNTIL(served_parts(&learner).cluster.counted == 2);
    UNTIL(served_parts(&node).cluster.unconfirmed == 0 &&
          served_parts(&node).cluster.buffered == 0);
    served_kill(&learner);
    learner.service = NULL;

    for (uint64_t k = 3; k < 8; k++)
        play(&node, k);
    UNTIL(served_parts(&node).cluster.unconfirmed == 5 &&
          served_parts(&node).cluster.buffered == 0);
    empty_stream(1000);
    if (again) {
        served_kill(&node);
        served_start(&node);
        UNTIL(served_parts(&node).cluster.unconfirmed == 5);
        empty_stream(2000);
    }
    served_start(&learner);
    UNTIL(served_parts(&learner).cluster.leading);
    /* a batch later weights are published, and with them how far the learner has read */
    play(&node, 8);
    play(&node, 9);
    UNTIL(served_parts(&learner).cluster.counted == 9);
    ck_assert_uint_ge(served_parts(&node).cluster.resent, 5);
    ck_assert_uint_eq(served_parts(&learner).cluster.missing, 0);
    ck_assert_uint_eq(
        served_parts(&node).cluster.dropped + served_parts(&node).cluster.let_go, 0);
}

TEST(what_the_stream_has_lost_is_learned_after_all)
{
    lose(false);
}

TEST(what_was_lost_before_a_restart_is_learned_too)
{
    lose(true);
}

TEST(profiles_are_put_everywhere)
{
    served_start(&learner);
    served_start(&node);
    struct profile p = {.name = "sport", .qoe = qoe_of_mu(1, 2, 3, QOE_LINEAR)}, got;
    UNTIL(served_parts(&learner).cluster.leading &&
          served_parts(&node).cluster.connected);
    ck_assert_int_eq(service_profile_put(node.service, &p, NULL), 1);
    ck_assert_int_eq(service_profile_get(&got, node.service, "sport", NULL), 0);
    UNTIL(!service_profile_get(&got, learner.service, "sport", NULL));
    p.qoe.mu_switch = 5;
    ck_assert_int_eq(service_profile_put(learner.service, &p, NULL), 0);
    UNTIL(!service_profile_get(&got, node.service, "sport", NULL) &&
          got.qoe.mu_switch == 5);
    struct err e;
    strcpy(p.name, "news");
    ck_assert_int_eq(service_profile_put(node.service, &p, NULL), ERR_CONFLICT);
    /* what no node could read does not get on the bucket */
    strcpy(p.name, "Sport");
    ck_assert_int_eq(service_profile_put(node.service, &p, NULL), ERR_INVALID);
    strcpy(p.name, "custom");
    ck_assert_int_eq(service_profile_put(node.service, &p, NULL), ERR_CONFLICT);
    struct profile nothing = {.name = "nothing", .qoe = qoe_of_mu(0, 0, 0, QOE_LINEAR)};
    ck_assert_int_eq(service_profile_put(node.service, &nothing, NULL), ERR_RANGE);
    ck_assert_int_eq(service_profile_delete(node.service, "kids", NULL), ERR_ABSENT);
    ck_assert_int_eq(service_profile_delete(node.service, "sport", NULL), 0);
    UNTIL(service_profile_get(&got, learner.service, "sport", NULL) == ERR_ABSENT);

    nats_kill(&server);
    e = (struct err){0};
    strcpy(p.name, "late");
    ck_assert_int_eq(service_profile_put(node.service, &p, &e), ERR_IO);
    ck_assert_int_eq(service_profile_get(&got, node.service, "late", NULL), ERR_ABSENT);
    nats_again(&server);
}

static int added_version(struct served *f)
{
    struct added_stats s = served_parts(f).added;
    return s.n ? (int)s.at[0].version : 0;
}

static void play_as(struct served *f, const char *profile, uint64_t key)
{
    struct session_open in = served_request(key, 4);
    snprintf(in.profile, sizeof in.profile, "%s", profile);
    struct session_opened o;
    struct err e = {0};
    ck_assert_msg(!service_open(&o, f->service, f->worker, &in, &e), "%s", e.detail);
    served_play(f, &o, 4);
}

/* Two nodes and two learners: a profile that one of the nodes is asked to grow. */
TEST(profiles_grow_on_all_nodes)
{
    struct served other, second;
    role(&other, ROLE_DECIDE, "other");
    role(&second, ROLE_LEARN, "second");
    served_start(&learner);
    served_start(&node);
    served_start(&other);
    UNTIL((turn(&other), served_parts(&learner).cluster.leading &&
                             served_parts(&node).cluster.connected &&
                             served_parts(&other).cluster.connected));
    uint64_t common = stats(&node).policy_version;
    struct profile p = {.name = "sport",
                        .qoe = qoe_of_mu(1, 2, 3, QOE_LINEAR),
                        .grow = true},
                   got;
    ck_assert_int_eq(service_profile_put(node.service, &p, NULL), 1);
    ck_assert_int_eq(service_profile_get(&got, node.service, "sport", NULL), 0);
    ck_assert(got.grow);
    ck_assert_int_eq(added_version(&node), 0); /* which the learner makes */
    UNTIL((turn(&other), added_version(&node) == 1 && added_version(&other) == 1));
    ck_assert_int_eq(service_profile_put(node.service, &p, NULL), 0); /* as it is */
    ck_assert_int_eq(service_profile_get(&got, other.service, "sport", NULL), 0);
    ck_assert(got.grow);
    struct err e = {0};
    p.qoe.mu_switch = 9; /* experts learn for the weights there are */
    ck_assert_int_eq(service_profile_put(other.service, &p, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, "mu");

    /* sessions on both teach one set of experts, and not the common policy */
    node.now = other.now = learner.now += 1;
    for (uint64_t k = 0; k < 3; k++) {
        play_as(&node, "sport", k);
        play_as(&other, "sport", 100 + k);
    }
    UNTIL((turn(&other), added_version(&learner) == 4 && added_version(&node) == 4 &&
                             added_version(&other) == 4));
    struct service_stats s = stats(&learner);
    ck_assert_uint_eq(served_parts(&learner).added.at[0].learner.trajectories, 6);
    ck_assert_uint_eq(s.learner.trajectories, 0);
    ck_assert_uint_eq(stats(&node).policy_version, common);
    ck_assert_uint_eq(served_parts(&node).added.at[0].decisions, 12);
    ck_assert_uint_eq(served_parts(&other).cluster.added_taken, 4);

    /* a learner that takes over goes on; a node that starts has what it had */
    served_kill(&learner);
    served_kill(&node);
    served_start(&node);
    ck_assert_int_eq(added_version(&node) > 0, 1);
    learner.service = NULL;
    served_start(&second);
    ck_assert_int_eq(served_parts(&second).added.n, 0); /* it stands by */
    UNTIL((turn(&second), turn(&other), served_parts(&second).cluster.leading));
    ck_assert_int_eq(added_version(&second), 4);
    ck_assert_uint_eq(served_parts(&second).added.at[0].learner.trajectories, 6);
    node.now = other.now += 1;
    play_as(&node, "sport", 11);
    play_as(&other, "sport", 12);
    UNTIL((turn(&second), turn(&other),
           added_version(&node) == 5 && added_version(&other) == 5));

    /* one that is deleted and put anew with other weights while a node takes no turns */
    ck_assert_int_eq(service_profile_delete(node.service, "sport", NULL), 0);
    UNTIL((turn(&second), !added_version(&second)));
    p.qoe.mu_switch = 9;
    ck_assert_int_eq(service_profile_put(node.service, &p, NULL), 1);
    UNTIL((turn(&second), added_version(&node) == 1));
    ck_assert_int_eq(added_version(&other), 5);
    UNTIL((turn(&second), turn(&other), added_version(&other) == 1));
    ck_assert_int_eq(service_profile_get(&got, other.service, "sport", NULL), 0);
    ck_assert_double_eq(got.qoe.mu_switch, 9);

    ck_assert_int_eq(service_profile_delete(other.service, "sport", NULL), 0);
    ck_assert_int_eq(added_version(&other), 0);
    UNTIL(
        (turn(&second), turn(&other), !added_version(&node) && !added_version(&second)));
    ck_assert_int_eq(service_profile_get(&got, node.service, "sport", NULL), ERR_ABSENT);
    /* who had it goes on by the common policy, and so does a session that was open */
    play_as(&node, "pensieve", 13);
    served_end(&other);
    served_end(&second);
}

SUITE_SET_UP(serve_cluster_cluster, 120, setup, teardown,
             what_is_played_here_is_learned_there, a_node_keeps_the_last_weights,
             a_killed_node_sends_what_it_had_stored,
             a_node_that_starts_reads_first_what_is_counted,
             the_next_learner_loses_and_repeats_nothing,
             what_the_stream_has_lost_is_learned_after_all,
             what_was_lost_before_a_restart_is_learned_too, profiles_are_put_everywhere,
             profiles_grow_on_all_nodes);
