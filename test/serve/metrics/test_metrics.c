#include "serve/metrics/metrics.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "support/suites.h"

static const struct route table[] = {
    {HTTP_GET, "/a", ROUTE_OPEN, NULL},
    {HTTP_POST, "/b/{id}", ROUTE_OPEN, NULL},
    {HTTP_OTHER, NULL, ROUTE_OPEN, NULL},
};

static struct metrics *m;
static struct emit o;
static struct service_stats stats;
static struct parts_stats parts;
static struct policy_info info;

static void setup(void)
{
    struct err e = {0};
    m = metrics_new(2, table, 1000.5, "1.2.3", &e);
    ck_assert_ptr_nonnull(m);
    o = (struct emit){0};
    stats = (struct service_stats){0};
    parts = (struct parts_stats){0};
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

TEST(workers_are_summed_up)
{
    metrics_request(m, 0, 0, 200, 0.001);
    metrics_request(m, 1, 0, 200, 0.003);
    metrics_request(m, 1, 0, 404, 100.0);
    metrics_request(m, 1, 2, 308, 0.001);
    metrics_request(m, 1, 2, 405, 0.001); /* no route */
    metrics_connections(m, 0, &(struct http_stats){.connections = 3, .refused = 1});
    metrics_connections(m, 1, &(struct http_stats){.connections = 4, .streams = 2});
    metrics_put(&o, m, &stats, &parts, &info, NULL);
    has("abrd_http_requests_total{route=\"/a\",method=\"GET\",code=\"200\"} 2");
    has("abrd_http_requests_total{route=\"/a\",method=\"GET\",code=\"404\"} 1");
    has("abrd_http_requests_total{route=\"none\",method=\"any\",code=\"308\"} 1");
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

TEST(counts_of_the_service)
{
    stats.decisions = 12345678901;
    stats.store_ok = true;
    stats.expert_decisions[2] = 5;
    stats.n_profiles = 1;
    strcpy(stats.profile[0].name, "news");
    stats.profile[0].rewards = 3;
    stats.profile[0].reward_sum = -1.5;
    stats.profile[0].expert[1] = 4;
    stats.profile[0].viewing = (struct viewing_sums){.by = {7, 2, 1},
                                                     .startup = {[5] = 2, [12] = 1},
                                                     .startup_s = 104.5,
                                                     .stall_s = 1.5,
                                                     .played_s = 40,
                                                     .points = 700,
                                                     .switches = 3,
                                                     .sessions = 4,
                                                     .over_stalls = 2,
                                                     .bound = 1};
    stats.profile[0].stall_ratio_max = .01;
    stats.learner.rollbacks = 2;
    stats.learner.check_best = .75;
    info.parameters = 77805;
    metrics_put(&o, m, &stats, &parts, &info, NULL);
    has("abrd_decisions_total 12345678901");
    has("abrd_store_up 1");
    has("abrd_expert_decisions_total{expert=\"2\"} 5");
    has("abrd_profile_chunks_total{profile=\"news\"} 3");
    has("abrd_profile_reward{profile=\"news\"} -1.5");
    has("# TYPE abrd_profile_reward gauge");
    has("# TYPE abrd_profile_startup_seconds histogram");
    has("abrd_profile_startup_seconds_bucket{profile=\"news\",le=\"2\"} 0");
    has("abrd_profile_startup_seconds_bucket{profile=\"news\",le=\"3\"} 2");
    has("abrd_profile_startup_seconds_bucket{profile=\"news\",le=\"+Inf\"} 3");
    has("abrd_profile_startup_seconds_sum{profile=\"news\"} 104.5");
    has("abrd_profile_startup_seconds_count{profile=\"news\"} 3");
    has("abrd_profile_stall_seconds_total{profile=\"news\"} 1.5");
    has("abrd_profile_played_seconds_total{profile=\"news\"} 40");
    has("abrd_profile_quality_points_total{profile=\"news\"} 700");
    has("abrd_profile_switches_total{profile=\"news\"} 3");
    has("abrd_profile_chunks_by_total{profile=\"news\",by=\"daemon\"} 7");
    has("abrd_profile_chunks_by_total{profile=\"news\",by=\"player\"} 1");
    has("abrd_profile_sessions_total{profile=\"news\"} 4");
    has("abrd_profile_sessions_over_stalls_total{profile=\"news\"} 2");
    has("abrd_profile_sessions_link_bound_total{profile=\"news\"} 1");
    has("abrd_profile_stall_ratio_max{profile=\"news\"} 0.01");
    has("abrd_profile_expert_decisions_total{profile=\"news\",expert=\"1\"} 4");
    has_not("abrd_profile_expert_decisions_total{profile=\"news\",expert=\"0\"}");
    has("abrd_learner_rollbacks_total 2");
    has("abrd_learner_check_best 0.75");
    has_not("abrd_policy_layer"); /* nothing was measured */
    has("abrd_policy_parameters 77805");
    has("abrd_build_info{version=\"1.2.3\"} 1");
    has("process_start_time_seconds 1000.5");
    has_not("nan");
}

TEST(every_layer_of_every_expert)
{
    struct vitals_stats *v = &stats.vitals;
    v->known = true;
    v->actor.experts = v->critic.experts = 2;
    v->actor.layers = v->critic.layers = 2;
    v->actor.expert[1].reached = true;
    v->actor.expert[1].layer[0] = (struct vitals_layer){
        .dormant = .25, .rank = 40, .effective = 12.5, .weight_rms = .125};
    v->critic.expert[0].layer[1].weight_rms = 2; /* not reached */
    metrics_put(&o, m, &stats, &parts, &info, NULL);
    has("abrd_policy_layer_dormant_ratio{network=\"actor\",expert=\"1\",layer=\"0\"} "
        "0.25");
    has("abrd_policy_layer_rank{network=\"actor\",expert=\"1\",layer=\"0\"} 40");
    has("abrd_policy_layer_rank_effective{network=\"actor\",expert=\"1\",layer=\"0\"} "
        "12.5");
    has("abrd_policy_layer_weight_rms{network=\"actor\",expert=\"1\",layer=\"0\"} 0.125");
    has("abrd_policy_layer_weight_rms{network=\"critic\",expert=\"0\",layer=\"1\"} 2");
    has_not("abrd_policy_layer_rank{network=\"critic\"");
}

TEST(added_profiles_have_lines_of_their_own)
{
    metrics_put(&o, m, &stats, &parts, &info, NULL);
    has_not("abrd_grown"); /* none has grown */
    emit_free(&o);
    o = (struct emit){0};
    parts.added.n = 2;
    strcpy(parts.added.at[0].name, "cycling");
    strcpy(parts.added.at[1].name, "course");
    parts.added.at[0].experts = 2;
    parts.added.at[0].version = 7;
    parts.added.at[0].alpha = 1.25;
    parts.added.at[0].tau = .5;
    parts.added.at[0].share = .75;
    parts.added.at[0].learner.steps = 2048;
    parts.added.at[0].learner.check_score = -.5;
    parts.added.at[1].base_version = 3;
    metrics_put(&o, m, &stats, &parts, &info, NULL);
    has("# TYPE abrd_grown_share gauge");
    has("abrd_grown_experts{profile=\"cycling\"} 2");
    has("abrd_grown_version{profile=\"cycling\"} 7");
    has("abrd_grown_alpha{profile=\"cycling\"} 1.25");
    has("abrd_grown_tau{profile=\"cycling\"} 0.5");
    has("abrd_grown_share{profile=\"cycling\"} 0.75");
    has("abrd_grown_steps_total{profile=\"cycling\"} 2048");
    has("abrd_grown_check_score{profile=\"cycling\"} -0.5");
    has("abrd_grown_base_version{profile=\"course\"} 3");
}

TEST(figures_of_viewers_without_a_hint)
{
    struct hintless_stats *u = &parts.hintless;
    metrics_put(&o, m, &stats, &parts, &info, NULL);
    has("abrd_untagged_mode{mode=\"default\"} 1");
    has_not("abrd_merge_weight"); /* nothing is merged */
    has_not("abrd_identity_accuracy");
    has_not("abrd_merge_heard_total"); /* a single node */
    emit_reset(&o);

    u->mode = HINTLESS_MERGE;
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
    u->shares = true;
    u->given = 11;
    u->heard = 22;
    u->missed = 33;
    u->pending = 4;
    u->makers = 5;
    u->heard_at = 1.75e9;
    metrics_put(&o, m, &stats, &parts, &info, NULL);
    has("abrd_untagged_mode{mode=\"merge\"} 1");
    has("abrd_merge_given_total 11");
    has("abrd_merge_heard_total 22");
    has("abrd_merge_missed_total 33");
    has("abrd_merge_pending 4");
    has("abrd_merge_makers 5");
    has("abrd_merge_read_timestamp_seconds 1750000000");
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

TEST(an_unforeseen_status_is_no_failure)
{
    static const int told[] = {200, 202, 203, 204, 500};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        metrics_request(m, 0, 0, told[i], 0.1);
    metrics_request(m, 0, 1, 299, 0.1);
    metrics_put(&o, m, &stats, &parts, &info, NULL);
    char line[80];
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        snprintf(line, sizeof line,
                 "abrd_http_requests_total{route=\"/a\",method=\"GET\",code=\"%d\"} 1",
                 told[i]);
        has(line);
    }
    has("abrd_http_requests_total{route=\"/b/{id}\",method=\"POST\",code=\"other\"} 1");
    has_not("method=\"POST\",code=\"500\"");
}

TEST(figures_of_the_last_update)
{
    metrics_put(&o, m, &stats, &parts, &info, NULL);
    has_not("abrd_learner_entropy"); /* there was none */
    has_not("abrd_policy_dormant");
    emit_reset(&o);
    stats.learner.last.steps = 3;
    stats.learner.last.entropy = 1.25;
    stats.learner.last.clip_share = .125;
    stats.learner.last.approx_kl = NAN;
    stats.learner.gate[PPO_ACTOR].experts = 2;
    stats.learner.last.expert_share[1] = .75;
    stats.vitals.known = true;
    stats.vitals.actor.dormant = .25;
    stats.vitals.critic.rank = 17;
    stats.store_lag_s = .5;
    stats.not_finite = 4;
    metrics_put(&o, m, &stats, &parts, &info, NULL);
    has("abrd_learner_entropy 1.25");
    has("abrd_learner_clip_share 0.125");
    has("abrd_learner_approx_kl NaN");
    has("abrd_learner_expert_share{expert=\"1\"} 0.75");
    has_not("abrd_learner_expert_share{expert=\"2\"}");
    has("abrd_policy_dormant_ratio{network=\"actor\"} 0.25");
    has("abrd_policy_rank{network=\"critic\"} 17");
    has("abrd_store_lag_seconds 0.5");
    has("abrd_decisions_not_finite_total 4");
}

TEST(limits_and_stages)
{
    struct admit_stats a = {1, 2, 3, 4, 5, 6, 7, 8};
    struct stages *s = metrics_stages(m, 1);
    hist_add(&s->seconds[STAGE_POLICY], .001);
    hist_add(&metrics_stages(m, 0)->seconds[STAGE_POLICY], .003);
    struct origin_stats from = {.transfers = 3,
                                .transfers_max = 256,
                                .begun = 9,
                                .refused = 1,
                                .bytes = 4000000000,
                                .failed = {[ORIGIN_SILENT] = 2, [ORIGIN_BROKEN] = 4}};
    parts.players = (struct players_stats){true, from};
    metrics_put(&o, m, &stats, &parts, &info, &a);
    has("abrd_origin_transfers 3");
    has("abrd_origin_transfers_max 256");
    has("abrd_origin_requests_total 9");
    has("abrd_origin_refused_total 1");
    has("abrd_origin_bytes_total 4000000000");
    has("abrd_origin_failures_total{why=\"unreachable\"} 0");
    has("abrd_origin_failures_total{why=\"silent\"} 2");
    has("abrd_origin_failures_total{why=\"broken\"} 4");
    has_not("why=\"none\"");
    has("abrd_limited_total{limit=\"address\"} 1");
    has("abrd_limited_total{limit=\"open\"} 2");
    has("abrd_limited_total{limit=\"session\"} 3");
    has("abrd_limited_total{limit=\"events\"} 4");
    has("abrd_limited_total{limit=\"transfers\"} 5");
    has("abrd_limited_total{limit=\"demo_viewers\"} 6");
    has("abrd_limited_total{limit=\"long_answers\"} 7");
    has("abrd_limited_total{limit=\"histories\"} 8");
    has("abrd_decision_stage_seconds_count{stage=\"policy\"} 2");
    has("abrd_decision_stage_seconds_sum{stage=\"policy\"} 0.004");
    has("abrd_decision_stage_seconds_count{stage=\"emit\"} 0");
}

/* The family of a name: histograms have three kinds of samples. */
static bool is_there(const char *name, size_t n)
{
    static const char *const ends[] = {"", "_bucket", "_sum", "_count"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t k = strlen(ends[i]);
        char want[160];
        if (k > n || strncmp(name + n - k, ends[i], k) != 0) continue;
        snprintf(want, sizeof want, "\n# TYPE %.*s ", (int)(n - k), name);
        if (strstr(o.at, want)) return true;
    }
    return false;
}

/* Every name in the file that looks like one of ours. */
static int names_in(const char *path)
{
    struct err e = {0};
    char *text = text_read_file(path, 1 << 20, NULL, &e);
    ck_assert_msg(text != NULL, "%s", e.detail);
    int found = 0;
    for (const char *p = text; *p;) {
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz_");
        bool ours = (n > 5 && strncmp(p, "abrd_", 5) == 0) ||
                    (n > 8 && strncmp(p, "process_", 8) == 0);
        if (ours) {
            ck_assert_msg(is_there(p, n), "%s names %.*s", path, (int)n, p);
            found++;
        }
        p += n ? n : 1;
    }
    free(text);
    return found;
}

TEST(alerts_and_dashboard_name_existing_metrics)
{
    struct admit_stats a = {0};
    stats.learner.last.steps = 1;
    stats.learner.gate[PPO_ACTOR].experts = stats.learner.gate[PPO_CRITIC].experts = 1;
    stats.vitals.known = true;
    parts.cluster.role = ROLE_DECIDE;
    metrics_put(&o, m, &stats, &parts, &info, &a);
    parts.cluster.role = ROLE_STANDALONE;
    ck_assert(is_there("abrd_decisions_total", 20));
    ck_assert(!is_there("abrd_nothing_total", 18));
    ck_assert_int_ge(names_in("deploy/alerts.yml"), 15);
    ck_assert_int_ge(names_in("deploy/grafana.json"), 60);
}

TEST(the_dashboard_is_one)
{
    json_error_t why;
    json_t *d = json_load_file("deploy/grafana.json", JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(d != NULL, "line %d: %s", why.line, why.text);
    json_t *panels = json_object_get(d, "panels"), *panel;
    size_t i;
    ck_assert_uint_gt(json_array_size(panels), 20);
    json_array_foreach(panels, i, panel)
    {
        ck_assert_int_eq(json_integer_value(json_object_get(panel, "id")), (int)i + 1);
        bool row = strcmp(json_string_value(json_object_get(panel, "type")), "row") == 0;
        ck_assert(row == !json_array_size(json_object_get(panel, "targets")));
        json_t *at = json_object_get(panel, "gridPos");
        ck_assert_int_le(json_integer_value(json_object_get(at, "x")) +
                             json_integer_value(json_object_get(at, "w")),
                         24);
    }
    json_decref(d);
}

SUITE_SET_UP(serve_metrics_metrics, 0, setup, teardown, workers_are_summed_up,
             counts_of_the_service, every_layer_of_every_expert,
             added_profiles_have_lines_of_their_own, figures_of_viewers_without_a_hint,
             an_unforeseen_status_is_no_failure, figures_of_the_last_update,
             limits_and_stages, alerts_and_dashboard_name_existing_metrics,
             the_dashboard_is_one);
