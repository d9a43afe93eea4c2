#include "serve/metrics.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const struct route table[] = {
    {HTTP_GET, "/a", ROUTE_OPEN, NULL},
    {HTTP_POST, "/b/{id}", ROUTE_OPEN, NULL},
    {HTTP_OTHER, NULL, ROUTE_OPEN, NULL},
};

static struct metrics *m;
static struct emit o;
static struct service_stats stats;
static struct policy_info info;

static void setup(void)
{
    struct err e = {0};
    m = metrics_new(2, table, 1000.5, "1.2.3", &e);
    ck_assert_ptr_nonnull(m);
    o = (struct emit){0};
    stats = (struct service_stats){0};
    info = (struct policy_info){0};
}

static void teardown(void)
{
    metrics_free(m);
    emit_free(&o);
}

static void has(const char *line)
{
    char want[256];
    snprintf(want, sizeof want, "\n%s\n", line);
    ck_assert_msg(strstr(o.at, want) != NULL, "no line '%s'", line);
}

static void has_not(const char *text)
{
    ck_assert_msg(strstr(o.at, text) == NULL, "there is '%s'", text);
}

START_TEST(workers_are_summed_up)
{
    metrics_request(m, 0, 0, 200, 0.001);
    metrics_request(m, 1, 0, 200, 0.003);
    metrics_request(m, 1, 0, 404, 100.0);
    metrics_request(m, 1, 2, 405, 0.001); /* no route */
    metrics_connections(m, 0, &(struct http_stats){.connections = 3, .refused = 1});
    metrics_connections(m, 1, &(struct http_stats){.connections = 4, .streams = 2});
    metrics_put(&o, m, &stats, &info, NULL);
    has("abrd_http_requests_total{route=\"/a\",method=\"GET\",code=\"200\"} 2");
    has("abrd_http_requests_total{route=\"/a\",method=\"GET\",code=\"404\"} 1");
    has("abrd_http_requests_total{route=\"none\",method=\"any\",code=\"405\"} 1");
    has("abrd_http_request_seconds_count{route=\"/a\",method=\"GET\"} 3");
    has("abrd_http_request_seconds_sum{route=\"/a\",method=\"GET\"} 100.004");
    has("abrd_http_request_seconds_bucket{route=\"/a\",method=\"GET\",le=\"0.00128\"} 1");
    has("abrd_http_request_seconds_bucket{route=\"/a\",method=\"GET\",le=\"5.24288\"} 2");
    has("abrd_http_request_seconds_bucket{route=\"/a\",method=\"GET\",le=\"+Inf\"} 3");
    has("abrd_http_connections 7");
    has("abrd_http_streams 2");
    has("abrd_http_refused_total 1");
    has_not("/b/{id}"); /* never asked: no lines */
}
END_TEST

START_TEST(what_the_service_counts)
{
    stats.decisions = 12345678901;
    stats.store_ok = true;
    stats.expert_decisions[2] = 5;
    stats.n_profiles = 1;
    strcpy(stats.profile[0].name, "news");
    stats.profile[0].rewards = 3;
    stats.profile[0].reward_sum = -1.5;
    stats.learner.rollbacks = 2;
    info.parameters = 77805;
    metrics_put(&o, m, &stats, &info, NULL);
    has("abrd_decisions_total 12345678901");
    has("abrd_store_up 1");
    has("abrd_expert_decisions_total{expert=\"2\"} 5");
    has("abrd_profile_chunks_total{profile=\"news\"} 3");
    has("abrd_profile_reward_sum{profile=\"news\"} -1.5");
    has("# TYPE abrd_profile_reward_sum gauge");
    has("abrd_learner_rollbacks_total 2");
    has("abrd_policy_parameters 77805");
    has("abrd_build_info{version=\"1.2.3\"} 1");
    has("process_start_time_seconds 1000.5");
    has_not("nan");
}
END_TEST

START_TEST(grown_profiles_have_lines_of_their_own)
{
    metrics_put(&o, m, &stats, &info, NULL);
    has_not("abrd_grown"); /* none has grown */
    emit_free(&o);
    o = (struct emit){0};
    stats.n_grown = 2;
    strcpy(stats.grown[0].name, "sports");
    strcpy(stats.grown[1].name, "lecture");
    stats.grown[0].experts = 2;
    stats.grown[0].version = 7;
    stats.grown[0].alpha = 1.25;
    stats.grown[0].tau = .5;
    stats.grown[0].share = .75;
    stats.grown[0].learner.steps = 2048;
    stats.grown[0].learner.check_score = -.5;
    stats.grown[1].base_version = 3;
    metrics_put(&o, m, &stats, &info, NULL);
    has("# TYPE abrd_grown_share gauge");
    has("abrd_grown_experts{profile=\"sports\"} 2");
    has("abrd_grown_version{profile=\"sports\"} 7");
    has("abrd_grown_alpha{profile=\"sports\"} 1.25");
    has("abrd_grown_tau{profile=\"sports\"} 0.5");
    has("abrd_grown_share{profile=\"sports\"} 0.75");
    has("abrd_grown_steps_total{profile=\"sports\"} 2048");
    has("abrd_grown_check_score{profile=\"sports\"} -0.5");
    has("abrd_grown_base_version{profile=\"lecture\"} 3");
}
END_TEST

START_TEST(what_untagged_viewers_get)
{
    struct untagged_stats *u = &stats.untagged;
    metrics_put(&o, m, &stats, &info, NULL);
    has("abrd_untagged_mode{mode=\"default\"} 1");
    has_not("abrd_merge_weight"); /* nothing is merged */
    has_not("abrd_identity_accuracy");
    emit_reset(&o);

    u->mode = UNTAGGED_MERGE;
    u->sessions = 7;
    u->decisions[BY_MERGE] = 70;
    u->tasks = 2;
    strcpy(u->task[1], "news");
    u->mix[1] = .75;
    u->experts = 2;
    u->weight[1] = .5;
    u->chosen[1] = 3;
    u->leaves = 11;
    u->depth = 5;
    u->left = 1;
    u->regret = .25;
    u->examples = 9;
    u->accuracy = .5;
    u->slots = 4;
    metrics_put(&o, m, &stats, &info, NULL);
    has("abrd_untagged_mode{mode=\"merge\"} 1");
    has("abrd_untagged_mode{mode=\"default\"} 0");
    has("abrd_untagged_sessions_total 7");
    has("abrd_untagged_decisions_total{by=\"merge\"} 70");
    has("abrd_untagged_mix{profile=\"news\"} 0.75");
    has("abrd_merge_weight{expert=\"1\"} 0.5");
    has("abrd_merge_chosen_total{expert=\"1\"} 3");
    has("abrd_merge_tree_leaves 11");
    has("abrd_merge_tree_depth 5");
    has("abrd_merge_left_cells 1");
    has("abrd_merge_regret_total 0.25");
    has("abrd_identity_accuracy 0.5");
    has("abrd_slots_total 4");
    has_not("nan");
}
END_TEST

START_TEST(an_unforeseen_status_is_counted_with_500)
{
    metrics_request(m, 0, 1, 599, 0.1);
    metrics_put(&o, m, &stats, &info, NULL);
    has("abrd_http_requests_total{route=\"/b/{id}\",method=\"POST\",code=\"500\"} 1");
}
END_TEST

Suite *suite_serve_metrics(void);
Suite *suite_serve_metrics(void)
{
    Suite *s = suite_create("serve/metrics");
    TCase *t = tcase_create("serve/metrics");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, workers_are_summed_up);
    tcase_add_test(t, what_the_service_counts);
    tcase_add_test(t, grown_profiles_have_lines_of_their_own);
    tcase_add_test(t, what_untagged_viewers_get);
    tcase_add_test(t, an_unforeseen_status_is_counted_with_500);
    suite_add_tcase(s, t);
    return s;
}
