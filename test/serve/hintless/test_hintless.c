/* Viewers without a hint, through the service: slots, modes, labels. */
#include "serve/metrics/metrics.h"
#include "support/untagged_viewers.h"

/* ---- default: the mean hint ---- */

/* By hand, relative to `standard`: each profile's weights over its weight of quality (1, 1, 1, 1.5,
 * 1.25, 1.5). Then all are scaled to the mean of the profiles' sums. */
static struct qoe mean_of(const double p[6])
{
    static const double unit[4] = {.8469, 1.061, 28.7959, 28.7959 / 4};
    static const double of[6][4] = {{1, 1, 1, 1},    {1, 3, 1.5, 1},     {1, 1, 2, 1},
                                    {1.5, .5, 1, 2}, {1.25, .5, 1.5, 1}, {1.5, 1, 1, .5}};
    double mu[4] = {0}, sums = 0;
    for (int v = 0; v < 6; v++) {
        for (int i = 0; i < 4; i++)
            mu[i] += p[v] * of[v][i] / of[v][0];
        for (int i = 0; i < 4; i++)
            sums += p[v] * of[v][i];
    }
    double by = sums / (mu[0] + mu[1] + mu[2] + mu[3]);
    for (int i = 0; i < 4; i++)
        mu[i] *= unit[i];
    return (struct qoe){.mu_quality = by * mu[0],
                        .mu_switch = by * mu[1],
                        .mu_stall = by * mu[2],
                        .mu_start = by * mu[3],
                        .utility = QOE_POINTS,
                        .stall_ratio_max = .01,
                        .startup_max_s = 3};
}

static void same_hint(const struct qoe *got, const struct qoe *want)
{
    ck_assert_double_eq_tol(got->mu_quality, want->mu_quality, 1e-12);
    ck_assert_double_eq_tol(got->mu_switch, want->mu_switch, 1e-12);
    ck_assert_double_eq_tol(got->mu_stall, want->mu_stall, 1e-12);
    ck_assert_double_eq_tol(got->mu_start, want->mu_start, 1e-12);
    ck_assert_double_eq(got->mu_rise, 0);
    ck_assert_int_eq(got->utility, QOE_POINTS);
    ck_assert_double_eq(got->stall_ratio_max, want->stall_ratio_max);
    ck_assert_double_eq(got->startup_max_s, want->startup_max_s);
}

START_TEST(the_mean_hint_follows_the_labels)
{
    start(HINTLESS_DEFAULT);
    static const struct watching news = {.label = "news", .mbps = 2, .chunks = 8},
                                 live = {.label = "live", .mbps = 2, .chunks = 8};
    struct session_opened o = open_session(&news, 1);
    ck_assert_int_eq(o.first.by, BY_DEFAULT);
    ck_assert(qoe_same(&o.qoe, qoe_standard()));
    ck_assert(!o.hinted);

    for (uint64_t k = 0; k < 6; k++)
        watch(&news, 10 + k);
    for (uint64_t k = 0; k < 2; k++)
        watch(&live, 20 + k);
    /* within the slot nothing changes */
    o = open_session(&news, 30);
    ck_assert_int_eq(o.first.by, BY_DEFAULT);

    next_slot();
    struct hintless_stats s = stats();
    ck_assert(s.known);
    ck_assert_uint_eq(s.labels, 8);
    ck_assert_uint_eq(s.slots, 1);
    double keep = exp2(-1. / 3), n = 8 * keep + 20, q = 20. / 6;
    double psi[6] = {q / n, q / n, (2 * keep + q) / n, (6 * keep + q) / n, q / n, q / n};
    for (int v = 0; v < 6; v++)
        ck_assert_double_eq_tol(s.mix[v], psi[v], 1e-12);
    ck_assert_str_eq(s.task[2], "live");
    ck_assert_str_eq(s.task[3], "news");

    struct session_open in = served_request(31, 48);
    in.profile[0] = '\0';
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    ck_assert_int_eq(o.first.by, BY_MEAN_HINT);
    struct qoe want = mean_of(psi);
    same_hint(&o.qoe, &want);

    /* the router answers as it would be asked with these weights by name */
    in.has_mu = true;
    in.qoe = o.qoe;
    in.key++;
    struct session_opened twin;
    f.cfg.explore_share = 0;
    served_kill(&f);
    served_start(&f);
    ck_assert_int_eq(service_open(&twin, f.service, f.worker, &in, NULL), 0);
    ck_assert_mem_eq(twin.first.prob, o.first.prob, sizeof twin.first.prob);
}
END_TEST

START_TEST(hintless_sessions_never_explore)
{
    f.cfg.learn = true;
    start(HINTLESS_DEFAULT);
    static const struct watching anyone = {.mbps = 2, .chunks = 40};
    for (uint64_t k = 0; k < 10; k++) {
        struct session_opened o = open_session(&anyone, k);
        ck_assert(!o.explores && !o.first.sampled);
        watch(&anyone, 100 + k);
    }
    ck_assert_int_ge(service_learn(f.service, NULL), 0);
    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.learner.trajectories, 0);
    ck_assert_uint_eq(stats().sessions, 20);
    ck_assert_uint_eq(stats().decisions[BY_DEFAULT], 410);
}
END_TEST

/* ---- identify ---- */

START_TEST(a_content_tells_who_watches_it)
{
    start(HINTLESS_IDENTIFY);
    static const struct watching fan = {.hint = "news",
                                        .content = "match",
                                        .mbps = 2,
                                        .chunks = 8},
                                 guest = {.content = "match", .mbps = 2, .chunks = 3},
                                 other = {
                                     .content = "unheard-of", .mbps = 2, .chunks = 3};
    for (uint64_t k = 0; k < 10; k++)
        watch(&fan, k);
    ck_assert_int_eq(open_session(&guest, 50).first.by, BY_DEFAULT);
    next_slot();
    struct session_opened o = open_session(&guest, 51);
    ck_assert_int_eq(o.first.by, BY_IDENTITY);
    ck_assert_int_eq(open_session(&other, 52).first.by, BY_DEFAULT);

    /* ten of news, and four to begin with in equal parts: what their mean would get */
    double ten = 10 * exp2(-1. / 2000), all = ten + 4, q = 4. / 6;
    double p[6] = {q / all, q / all, q / all, (ten + q) / all, q / all, q / all};
    f.cfg.explore_share = 0;
    served_kill(&f);
    served_start(&f);
    struct session_open in = served_request(53, 48);
    struct session_opened twin;
    in.profile[0] = '\0';
    in.has_mu = true;
    in.qoe = mean_of(p);
    ck_assert_int_eq(service_open(&twin, f.service, f.worker, &in, NULL), 0);
    for (int k = 0; k < in.levels; k++)
        ck_assert_float_eq_tol(twin.first.prob[k], o.first.prob[k], 1e-5);
}
END_TEST

START_TEST(the_head_learns_who_sits_at_which_link)
{
    start(HINTLESS_IDENTIFY);
    static const struct watching fast = {.hint = "news", .mbps = 9, .chunks = 30},
                                 slow = {.hint = "live", .mbps = .6, .chunks = 30};
    for (uint64_t k = 0; k < 60; k++) {
        watch(&fast, 2 * k);
        watch(&slow, 2 * k + 1);
    }
    next_slot();
    next_slot(); /* the head of a slot is that of its beginning */
    struct hintless_stats s = stats();
    ck_assert_uint_gt(s.examples, 100);
    ck_assert_double_gt(s.accuracy, .8);

    static const struct watching who[] = {{.mbps = 9, .chunks = 30},
                                          {.mbps = .6, .chunks = 30}};
    for (int i = 0; i < 2; i++) {
        struct session_opened o = open_session(&who[i], 900 + (uint64_t)i);
        struct answer a = o.first;
        for (int k = 1; k < 20; k++) {
            struct question q = ask_next(&who[i], k, a.level);
            a = ask(&o, &q);
        }
        ck_assert_int_eq(a.by, BY_IDENTITY);
    }
    s = stats();
    ck_assert_uint_gt(s.decisions[BY_IDENTITY], 0);
}
END_TEST

/* ---- merge ---- */

static double share_of(int k)
{
    return stats().weight[k];
}

START_TEST(the_merge_follows_what_pays)
{
    /* experts that flip between levels: rewards are steep, so look around more */
    struct tanbr_cfg *b = &f.optional.hintless.bandit;
    b->c = .1;
    b->nu1 = 1;
    b->gamma = .1;
    b->lambda = 1;
    b->border = 0;
    f.cfg.data_dir = NULL;
    start(HINTLESS_MERGE);
    struct hintless_stats s = stats();
    ck_assert_int_eq(s.experts, 3);
    for (int k = 0; k < 3; k++) /* the root's candidate */
        ck_assert_double_eq_tol(s.weight[k], 1. / 3, 1e-6);

    static const struct watching anyone = {.label = "standard", .mbps = 2, .chunks = 20};
    uint64_t key = 0;
    double early = 0, late = 0;
    enum { SLOTS = 60 };
    for (int t = 0; t < SLOTS; t++) {
        for (int i = 0; i < 4; i++) {
            struct answer a = watch(&anyone, key++);
            ck_assert_int_eq(a.by, BY_MERGE);
            ck_assert_int_eq(a.expert, -1);
            ck_assert_uint_eq(a.policy, stats().slots + 1);
        }
        next_slot();
        if (t < 10) early += stats().reward / 10;
        if (t >= SLOTS - 10) late += stats().reward / 10;
    }
    s = stats();
    ck_assert_uint_eq(s.slots, SLOTS);
    ck_assert_uint_eq(s.empty_slots, 0);
    ck_assert_int_gt(s.leaves, 1);
    ck_assert_msg(late > early + .1 && late > .6, "%.3f at first, %.3f at last", early,
                  late);
    ck_assert_double_gt(share_of(1), share_of(0));
    ck_assert_double_gt(share_of(1), share_of(2));
    ck_assert_uint_gt(s.chosen[1], SLOTS / 2);
    ck_assert_double_ge(s.regret, 0);
    ck_assert(isfinite(s.expected));
}
END_TEST

START_TEST(a_merge_begins_with_what_an_emulation_says)
{
    f.optional.hintless.bandit = hintless_cfg_default().bandit;
    f.optional.hintless.merge_links = 1;
    start(HINTLESS_MERGE);
    struct hintless_stats s = stats(), again;
    ck_assert_int_gt(s.leaves, 5);
    ck_assert_double_eq_tol(s.weight[0] + s.weight[1] + s.weight[2], 1, 1e-6);
    ck_assert(s.expected > -1 && s.expected < 1.2);
    live_through(0, 2);
    s = stats();
    served_kill(&f);
    served_start(&f);
    again = stats();
    ck_assert_mem_eq(s.weight, again.weight, sizeof s.weight);
    ck_assert_int_eq(s.leaves, again.leaves);
    ck_assert_uint_eq(again.slots, 2);

    /* on other links the merges are worth something else: the bandit begins anew */
    served_kill(&f);
    f.optional.hintless.merge_links = 2;
    served_start(&f);
    ck_assert_uint_eq(stats().refused, 0);
    ck_assert_int_gt(stats().leaves, 5);
}
END_TEST

START_TEST(a_slot_without_viewers_teaches_nothing)
{
    f.cfg.data_dir = NULL;
    start(HINTLESS_MERGE);
    for (int t = 0; t < 50; t++)
        next_slot();
    struct hintless_stats s = stats();
    ck_assert_uint_eq(s.slots, 50);
    ck_assert_uint_eq(s.empty_slots, 50);
    ck_assert_int_eq(s.leaves, 1);
    ck_assert_double_eq(s.regret, 0);
    ck_assert_double_eq_tol(s.weight[0], 1. / 3, 1e-6);

    /* tagged viewers are none of its business */
    static const struct watching tagged = {.hint = "news", .mbps = 2, .chunks = 20};
    ck_assert_int_eq(watch(&tagged, 1).by, BY_ROUTER);
    next_slot();
    ck_assert_uint_eq(stats().empty_slots, 51);
}
END_TEST

START_TEST(experts_have_names)
{
    start(HINTLESS_MERGE);
    ck_assert_str_eq(stats().expert[0], "expert 0");
    ck_assert_str_eq(stats().expert[2], "expert 2");
    served_kill(&f);

    struct ckpt_meta *m = calloc(1, sizeof *m);
    struct policy *p = ckpt_load(experts, m, NULL, NULL, NULL);
    ckpt_meta_set(m, "experts_for", "live,,sports");
    ck_assert_int_eq(ckpt_save(experts, p, m, NULL, 0, NULL), 0);
    policy_free(p);
    free(m);
    served_start(&f);
    ck_assert_str_eq(stats().expert[0], "live");
    ck_assert_str_eq(stats().expert[1], "expert 1");
    ck_assert_str_eq(stats().expert[2], "sports");
}
END_TEST

START_TEST(a_slot_ends_by_sessions_too)
{
    f.optional.hintless.slot_sessions = 3;
    start(HINTLESS_MERGE);
    static const struct watching anyone = {.mbps = 2, .chunks = 2};
    watch(&anyone, 1);
    watch(&anyone, 2);
    service_tick(f.service);
    ck_assert_uint_eq(stats().slots, 0);
    watch(&anyone, 3);
    service_tick(f.service);
    service_tick(f.service);
    ck_assert_uint_eq(stats().slots, 1);
    f.now += 299;
    service_tick(f.service);
    ck_assert_uint_eq(stats().slots, 1);
    f.now += 1;
    service_tick(f.service);
    ck_assert_uint_eq(stats().slots, 2);
}
END_TEST

START_TEST(a_chunk_of_a_slot_that_is_over_comes_late)
{
    start(HINTLESS_MERGE);
    static const struct watching anyone = {.mbps = 2, .chunks = 20};
    struct session_opened o = open_session(&anyone, 1);
    struct question q = ask_next(&anyone, 1, o.first.level);
    struct answer a = ask(&o, &q); /* the first chunk of a session does not count */
    next_slot();
    ck_assert_uint_eq(stats().empty_slots, 1);
    q = ask_next(&anyone, 2, a.level);
    a = ask(&o, &q);
    ck_assert_uint_eq(a.policy, o.first.policy + 1);
    ck_assert_uint_eq(stats().late, 1);

    /* another level than decided says nothing of the merge */
    q = ask_next(&anyone, 3, a.level ? 0 : 1);
    a = ask(&o, &q);
    ck_assert_uint_eq(stats().late, 1);
    next_slot();
    ck_assert_uint_eq(stats().empty_slots, 2);
    q = ask_next(&anyone, 4, a.level);
    a = ask(&o, &q);
    ck_assert_uint_eq(stats().late, 2);
    q = ask_next(&anyone, 5, a.level);
    ask(&o, &q);
    next_slot();
    ck_assert_uint_eq(stats().empty_slots, 2);
}
END_TEST

/* ---- labels and profiles ---- */

START_TEST(an_end_says_what_the_viewer_was)
{
    start(HINTLESS_DEFAULT);
    static const struct watching anyone = {.mbps = 2, .chunks = 3};
    struct session_opened o = open_session(&anyone, 1);
    struct reward_in in = {.has_outcome = true,
                           .outcome = over_link(&anyone, 0, o.first.level),
                           .profile = "news"};
    struct reward_out r;
    struct err e = {0};
    ck_assert_int_eq(service_reward(&r, f.service, o.session, &in, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "profile");
    in.final = true;
    strcpy(in.profile, "nobody");
    e = (struct err){0};
    ck_assert_int_eq(service_reward(&r, f.service, o.session, &in, &e), ERR_ABSENT);
    ck_assert_str_eq(e.field, "profile");
    strcpy(in.profile, "news");
    ck_assert_int_eq(service_reward(&r, f.service, o.session, &in, NULL), 0);
    ck_assert(!r.repeated);
    ck_assert_int_eq(service_reward(&r, f.service, o.session, &in, NULL), 0);
    ck_assert(r.repeated);
    ck_assert_uint_eq(stats().labels, 1);

    strcpy(in.profile, "live");
    e = (struct err){0};
    ck_assert_int_eq(service_reward(&r, f.service, o.session, &in, &e), ERR_CONFLICT);
    ck_assert_int_eq(service_close(f.service, o.session, "live", NULL), ERR_CONFLICT);
    ck_assert_int_eq(service_close(f.service, o.session, "news", NULL), 0);
    ck_assert_int_eq(service_close(f.service, o.session, NULL, NULL), 0);

    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, o.session, NULL), 0);
    ck_assert_str_eq(h.opened.profile, "news");
    ck_assert(!h.opened.hinted);
    ck_assert_int_eq(h.steps[0].by, BY_DEFAULT);
    service_history_free(&h);

    /* closed without a word, nothing can be added */
    o = open_session(&anyone, 2);
    ck_assert_int_eq(service_close(f.service, o.session, "", NULL), 0);
    ck_assert_int_eq(service_close(f.service, o.session, "news", NULL), ERR_CONFLICT);

    /* a hint and a label say the same */
    static const struct watching tagged = {.hint = "live", .mbps = 2, .chunks = 3};
    o = open_session(&tagged, 3);
    ck_assert_int_eq(service_close(f.service, o.session, "news", NULL), ERR_CONFLICT);
    ck_assert_int_eq(service_close(f.service, o.session, "live", NULL), 0);
    ck_assert_uint_eq(stats().labels, 1);
}
END_TEST

START_TEST(a_new_profile_becomes_a_task_with_the_next_slot)
{
    start(HINTLESS_IDENTIFY);
    struct profile p = {.name = "course", .qoe = qoe_of_weights((double[]){1, 3, 1, 1})};
    ck_assert_int_eq(service_profile_put(f.service, &p, NULL), 1);
    struct profile log_ = {.name = "aaa", .qoe = qoe_of_mu(1, 1, 1, QOE_LOG)};
    ck_assert_int_eq(service_profile_put(f.service, &log_, NULL), 1);
    static const struct watching told = {.label = "course",
                                         .content = "l",
                                         .mbps = 2,
                                         .chunks = 8},
                                 guest = {.content = "l", .mbps = 2, .chunks = 3};
    watch(&told, 1); /* not a task yet: no label */
    ck_assert_uint_eq(stats().labels, 0);
    next_slot();
    ck_assert_int_eq(stats().tasks, 7);
    ck_assert_str_eq(stats().task[6], "course");
    for (uint64_t k = 0; k < 9; k++)
        watch(&told, 10 + k);
    next_slot();
    struct hintless_stats s = stats();
    ck_assert_uint_eq(s.labels, 9);
    ck_assert_double_gt(s.mix[6], .35);
    ck_assert_int_eq(open_session(&guest, 30).first.by, BY_IDENTITY);

    served_kill(&f);
    served_start(&f);
    s = stats();
    ck_assert_int_eq(s.tasks, 7);
    ck_assert_str_eq(s.task[6], "course");
    ck_assert_int_eq(open_session(&guest, 31).first.by, BY_IDENTITY);
}
END_TEST

/* ---- a profile that is deleted ---- */

static int task_named(const struct hintless_stats *s, const char *name)
{
    for (int v = 0; v < s->tasks; v++)
        if (!strcmp(s->task[v], name)) return v;
    return -1;
}

static double mix_of(const char *name)
{
    struct hintless_stats s = stats();
    int v = task_named(&s, name);
    ck_assert_msg(v >= 0, "no task '%s'", name);
    return s.mix[v];
}

static void put_profile(const char *name, enum qoe_utility utility)
{
    struct profile p = {.qoe = qoe_of_mu(1, 9, 1, utility)};
    if (utility == QOE_POINTS) p.qoe = qoe_of_weights((double[]){1, 9, 1, 1});
    snprintf(p.name, sizeof p.name, "%s", name);
    ck_assert_int_ge(service_profile_put(f.service, &p, NULL), 0);
}

/* The mix, the metrics and the status name it or do not. */
static void named(const char *name, bool is)
{
    static const struct route none[] = {{HTTP_OTHER, NULL, ROUTE_OPEN, NULL}};
    struct service_stats *s = calloc(1, sizeof *s);
    struct policy_info info = {0};
    struct metrics *m = metrics_new(1, none, 0, "1", NULL);
    struct emit o = {0};
    char line[100];
    service_stats(s, f.service);
    struct parts_stats parts = served_parts(&f);
    metrics_put(&o, m, s, &parts, &info, NULL);
    snprintf(line, sizeof line, "\nabrd_untagged_mix{profile=\"%s\"} ", name);
    ck_assert_int_eq(strstr(o.at, line) != NULL, is);
    ck_assert_int_eq(task_named(&parts.hintless, name) >= 0, is);
    double sum = 0;
    for (int v = 0; v < parts.hintless.tasks; v++)
        sum += parts.hintless.mix[v];
    ck_assert_double_eq_tol(sum, 1, 1e-9);
    emit_free(&o);
    metrics_free(m);
    free(s);
}

static const struct watching
    LECTURER = {.label = "course", .content = "l", .mbps = 2, .chunks = 12},
    TALKER = {.label = "talk", .content = "t", .mbps = 5, .chunks = 12};

/* Two profiles beside the built-in ones, both watched. */
static void two_profiles(enum hintless_mode mode)
{
    start(mode);
    put_profile("course", QOE_POINTS);
    next_slot();
    put_profile("talk", QOE_POINTS);
    next_slot();
    for (uint64_t k = 0; k < 9; k++) {
        watch(&LECTURER, 10 + 2 * k);
        watch(&TALKER, 11 + 2 * k);
    }
    next_slot();
    named("course", true);
    named("talk", true);
    ck_assert_double_gt(mix_of("course"), .2);
}

START_TEST(a_deleted_profile_leaves_the_mix)
{
    static const struct watching hinted = {.hint = "course", .mbps = 2, .chunks = 12};
    two_profiles((enum hintless_mode)_i);
    struct session_opened o = open_session(&hinted, 50);
    struct answer a = o.first;
    for (int k = 1; k < 12; k++) {
        struct question q = ask_next(&hinted, k, a.level);
        a = ask(&o, &q);
    }
    ck_assert_int_eq(service_profile_delete(f.service, "course", NULL), 0);
    finish(&hinted, &o, 11, a.level); /* it counts for nothing any more */
    next_slot();
    named("course", false);
    named("talk", true);
    ck_assert_int_eq(stats().tasks, 7);
    ck_assert_double_gt(mix_of("talk"), .25);
    struct hintless_stats before = stats();

    served_kill(&f); /* the state file knows no more of it */
    served_start(&f);
    struct hintless_stats after = stats();
    ck_assert_uint_eq(after.refused, 0);
    ck_assert_int_eq(after.tasks, 7);
    ck_assert_mem_eq(after.mix, before.mix, sizeof after.mix);
    ck_assert_mem_eq(after.task, before.task, sizeof after.task);
    next_slot();
    named("course", false);
}
END_TEST

START_TEST(a_profile_that_is_put_again_begins_anew)
{
    two_profiles((enum hintless_mode)_i);
    /* at once, and another one takes its place as well */
    ck_assert_int_eq(service_profile_delete(f.service, "course", NULL), 0);
    put_profile("course", QOE_POINTS);
    next_slot();
    ck_assert_double_eq_tol(mix_of("course"), mix_of("live"), 1e-12);
    ck_assert_double_gt(mix_of("talk"), mix_of("live") + .1);

    ck_assert_int_eq(service_profile_delete(f.service, "course", NULL), 0);
    next_slot();
    named("course", false);
    put_profile("seminar", QOE_POINTS);
    ck_assert_int_eq(service_profile_delete(f.service, "talk", NULL), 0);
    put_profile("course", QOE_POINTS);
    next_slot();
    named("talk", false);
    ck_assert_double_eq_tol(mix_of("course"), mix_of("live"), 1e-12);
    ck_assert_double_eq_tol(mix_of("seminar"), mix_of("live"), 1e-12);
    for (uint64_t k = 0; k < 9; k++)
        watch(&LECTURER, 80 + k);
    next_slot();
    ck_assert_double_gt(mix_of("course"), mix_of("live") + .1);
    ck_assert_int_eq(stats().tasks, 8);
}
END_TEST

/* Without the end of a slot in between, also over a restart. */
START_TEST(a_delete_is_not_forgotten_by_a_restart)
{
    two_profiles(HINTLESS_MERGE);
    ck_assert_int_eq(service_profile_delete(f.service, "course", NULL), 0);
    put_profile("course", QOE_POINTS);
    ck_assert_int_eq(service_drain(f.service, NULL), 0);
    served_kill(&f);
    f.optional.hintless.mode = HINTLESS_DEFAULT; /* the bandit is carried meanwhile */
    f.optional.hintless.merge_policy = NULL;
    served_start(&f);
    ck_assert_uint_eq(stats().refused, 0);
    named("course", true); /* the slot is the same */
    next_slot();
    ck_assert_double_eq_tol(mix_of("course"), mix_of("live"), 1e-12);
    served_kill(&f);
    f.optional.hintless.mode = HINTLESS_MERGE;
    f.optional.hintless.merge_policy = experts;
    served_start(&f);
    ck_assert_uint_eq(stats().refused, 0);
    next_slot();
    ck_assert_double_eq_tol(mix_of("course"), mix_of("live"), 1e-12);
}
END_TEST

START_TEST(a_profile_that_is_not_in_points_any_more_leaves_too)
{
    two_profiles(HINTLESS_DEFAULT);
    put_profile("course", QOE_LOG);
    next_slot();
    named("course", false);
    named("talk", true);
}
END_TEST

START_TEST(the_mean_hint_forgets_a_deleted_profile)
{
    static const struct watching guest = {.content = "new", .mbps = 2, .chunks = 3};
    two_profiles(HINTLESS_DEFAULT);
    ck_assert_int_eq(service_profile_delete(f.service, "course", NULL), 0);
    ck_assert_int_eq(service_profile_delete(f.service, "talk", NULL), 0);
    for (uint64_t k = 0; k < 9; k++)
        watch(&(struct watching){.label = "live", .mbps = 2, .chunks = 12}, 70 + k);
    next_slot();
    struct hintless_stats s = stats();
    ck_assert_int_eq(s.tasks, 6);
    struct session_opened o = open_session(&guest, 60);
    ck_assert_int_eq(o.first.by, BY_MEAN_HINT);
    struct qoe want = mean_of(s.mix);
    same_hint(&o.qoe, &want);
}
END_TEST

/* Many come and go; there is always room for the next ones. */
START_TEST(places_are_free_again)
{
    start(HINTLESS_IDENTIFY);
    for (int i = 0; i < 3 * PROFILE_MIX_TASKS; i++) {
        char name[SERVICE_NAME];
        snprintf(name, sizeof name, "p%d", i);
        put_profile(name, QOE_POINTS);
        next_slot();
        named(name, true);
        if (i % 2) continue;
        ck_assert_int_eq(service_profile_delete(f.service, name, NULL), 0);
        next_slot();
        named(name, false);
        if (i < 2) continue;
        snprintf(name, sizeof name, "p%d", i - 1);
        ck_assert_int_eq(service_profile_delete(f.service, name, NULL), 0);
    }
}
END_TEST

START_TEST(a_stateless_question_gets_the_same)
{
    start(HINTLESS_MERGE);
    struct session_open in = served_request(1, 48);
    struct view v = view_default();
    v.levels = 6;
    memcpy(v.ladder_kbps, in.ladder_kbps, sizeof in.ladder_kbps);
    v.chunk_s = 4;
    v.buffer_max_s = 60;
    v.last_level = -1;
    struct answer a;
    ck_assert_int_eq(service_decide(&a, f.service, f.worker, NULL, false, &v, 0, NULL),
                     0);
    ck_assert_int_eq(a.by, BY_MERGE);
    ck_assert_int_eq(a.expert, -1);
    ck_assert_int_eq(service_decide(&a, f.service, f.worker, NULL, true, &v, 0, NULL), 0);
    ck_assert_int_eq(a.by, BY_ROUTER);
}
END_TEST

/* ---- what cannot be merged ---- */

static void refuses(int code)
{
    struct err e = {0};
    f.optional.hintless.mode = HINTLESS_MERGE;
    ck_assert_ptr_null(service_new(&f.cfg, &e));
    ck_assert_int_eq(e.code, code);
    ck_assert_str_ne(e.field, "");
    ck_assert_str_ne(e.detail, "");
}

START_TEST(what_cannot_be_merged_is_refused)
{
    f.optional.hintless.merge_policy = NULL;
    refuses(ERR_ABSENT);
    f.optional.hintless.merge_policy = "/nonexistent/experts.safetensors";
    refuses(ERR_ABSENT);
    f.optional.hintless.merge_policy = experts;
    make_experts(1);
    refuses(ERR_INVALID);

    struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
    cfg.actions = 4; /* fewer than the router's */
    struct policy *p = policy_new(&cfg, NULL);
    ck_assert_int_eq(ckpt_save(experts, p, NULL, NULL, 0, NULL), 0);
    policy_free(p);
    refuses(ERR_INVALID);

    cfg = policy_cfg_default(FEAT_PAPER_DIM);
    p = policy_new(&cfg, NULL);
    ck_assert_int_eq(ckpt_save(experts, p, NULL, NULL, 0, NULL), 0);
    policy_free(p);
    refuses(ERR_INVALID);

    make_experts(3);
    f.optional.hintless.bandit.rho = 2;
    struct err e = {0};
    ck_assert_ptr_null(service_new(&f.cfg, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
}
END_TEST

static void *make_service(void *ctx, struct err *e)
{
    return service_new(ctx, e);
}

static void destroy_service(void *s)
{
    service_free(s);
}

START_TEST(every_failing_allocation_of_a_start_is_told)
{
    start(HINTLESS_MERGE);
    live_through(0, 2);
    served_kill(&f);
    f.cfg.max_sessions = 10;
    ck_assert_int_gt(alloc_each_fails(make_service, destroy_service, &f.cfg), 60);
}
END_TEST

START_TEST(deciding_and_hearing_allocate_nothing)
{
    f.cfg.data_dir = NULL;
    start(HINTLESS_MERGE);
    static const struct watching guest = {.content = "b", .mbps = 3, .chunks = 20};
    struct session_opened o = open_session(&guest, 500);
    struct answer a = o.first;
    int failed = 0;
    alloc_watch();
    for (int k = 1; k < 40; k++) {
        struct question q = ask_next(&guest, k, a.level);
        failed += service_ask(&a, f.service, f.worker, o.session, &q, NULL);
    }
    long calls = alloc_calls();
    ck_assert_int_eq(calls, 0);
    ck_assert_int_eq(failed, 0);
}
END_TEST

Suite *suite_serve_hintless_hintless(void);
Suite *suite_serve_hintless_hintless(void)
{
    Suite *s = suite_create("serve/untagged");
    TCase *t = tcase_create("serve/untagged");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, the_mean_hint_follows_the_labels);
    tcase_add_test(t, hintless_sessions_never_explore);
    tcase_add_test(t, a_content_tells_who_watches_it);
    tcase_add_test(t, the_head_learns_who_sits_at_which_link);
    tcase_add_test(t, the_merge_follows_what_pays);
    tcase_add_test(t, a_merge_begins_with_what_an_emulation_says);
    tcase_add_test(t, a_slot_without_viewers_teaches_nothing);
    tcase_add_test(t, experts_have_names);
    tcase_add_test(t, a_slot_ends_by_sessions_too);
    tcase_add_test(t, a_chunk_of_a_slot_that_is_over_comes_late);
    tcase_add_test(t, an_end_says_what_the_viewer_was);
    tcase_add_test(t, a_new_profile_becomes_a_task_with_the_next_slot);
    tcase_add_loop_test(t, a_deleted_profile_leaves_the_mix, HINTLESS_DEFAULT,
                        HINTLESS_MERGE + 1);
    tcase_add_loop_test(t, a_profile_that_is_put_again_begins_anew, HINTLESS_DEFAULT,
                        HINTLESS_MERGE + 1);
    tcase_add_test(t, a_delete_is_not_forgotten_by_a_restart);
    tcase_add_test(t, a_profile_that_is_not_in_points_any_more_leaves_too);
    tcase_add_test(t, the_mean_hint_forgets_a_deleted_profile);
    tcase_add_test(t, places_are_free_again);
    tcase_add_test(t, a_stateless_question_gets_the_same);
    tcase_add_test(t, what_cannot_be_merged_is_refused);
    tcase_add_test(t, every_failing_allocation_of_a_start_is_told);
    tcase_add_test(t, deciding_and_hearing_allocate_nothing);
    suite_add_tcase(s, t);
    return s;
}
