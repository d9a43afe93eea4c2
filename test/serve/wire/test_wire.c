#include "serve/wire/wire.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "serve/wire/emit.h"
#include "serve/wire/wire_put.h"
#include "support/suites.h"

static struct err e;
static struct session_open in;
static struct question question;
static struct reward_in reward;
static struct wire_decide decided;
static struct profile profile;

static void clear(void)
{
    e = (struct err){0};
}

static int parse_open(const char *s)
{
    clear();
    return wire_open(&in, s, strlen(s), &e);
}

static int parse_question(const char *s)
{
    clear();
    return wire_question(&question, s, strlen(s), &e);
}

static int parse_reward(const char *s)
{
    clear();
    return wire_reward(&reward, s, strlen(s), &e);
}

TEST(a_session_may_refuse_to_explore)
{
    ck_assert_int_eq(parse_open("{\"ladder_kbps\":[300,750],\"chunk_s\":4}"), 0);
    ck_assert(!in.greedy);
    ck_assert_int_eq(
        parse_open("{\"ladder_kbps\":[300,750],\"chunk_s\":4,\"explore\":false}"), 0);
    ck_assert(in.greedy);
    ck_assert_int_eq(
        parse_open("{\"ladder_kbps\":[300,750],\"chunk_s\":4,\"explore\":0}"),
        ERR_INVALID);
    ck_assert_str_eq(e.field, "explore");
}

TEST(abandon_questions_and_answers)
{
    struct underway_in u;
    const char *body =
        "{\"chunk\":3,\"level\":2,\"bytes\":51200,\"elapsed_s\":1.25,\"buffer_s\":0}";
    ck_assert_int_eq(wire_underway(&u, body, strlen(body), &e), 0);
    ck_assert(u.chunk == 3 && u.level == 2 && u.bytes == 51200);
    ck_assert_double_eq(u.elapsed_s, 1.25);
    body = "{\"chunk\":3,\"level\":2,\"bytes\":51200,\"elapsed_s\":1.25}";
    clear();
    ck_assert_int_eq(wire_underway(&u, body, strlen(body), &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "buffer_s");
}

static int parse_decide(const char *s)
{
    clear();
    return wire_decide(&decided, s, strlen(s), &e);
}

static int parse_profile(const char *s)
{
    clear();
    return wire_profile(&profile, s, strlen(s), &e);
}

TEST(orders_for_routers)
{
    static const struct {
        const char *body, *field; /* NULL: accepted */
        int code;
    } gate[] = {{"{\"reset\":true}", NULL, 0},
                {"{\"reset\":false}", "reset", ERR_INVALID},
                {"{}", "reset", ERR_INVALID},
                {"{\"reset\":1}", "reset", ERR_INVALID},
                {"{\"reset\":true,\"now\":1}", "now", ERR_INVALID}};
    for (size_t i = 0; i < sizeof gate / sizeof *gate; i++) {
        clear();
        ck_assert_int_eq(wire_gate(gate[i].body, strlen(gate[i].body), &e), gate[i].code);
        if (gate[i].field) ck_assert_str_eq(e.field, gate[i].field);
    }

    int updates = -1;
    const char *body = "{\"updates\":12.0}";
    ck_assert_int_eq(wire_aside(&updates, body, strlen(body), NULL), 0);
    ck_assert_int_eq(updates, 12);
    static const char *const bad[] = {"{}", "{\"updates\":1.5}", "{\"updates\":\"2\"}",
                                      "{\"updates\":1e300}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        clear();
        ck_assert_int_lt(wire_aside(&updates, bad[i], strlen(bad[i]), &e), 0);
        ck_assert_str_eq(e.field, "updates");
    }
}

TEST(a_session_with_everything)
{
    ck_assert_int_eq(
        parse_open("{\"ladder_kbps\":[300,750.5,1200],\"chunk_s\":4,\"chunks\":48.0,"
                   "\"buffer_max_s\":30,\"mu\":[1,2.5,4.3],\"utility\":\"log\","
                   "\"content_id\":\"caf\\u00e9\",\"key\":\"18446744073709551615\","
                   "\"next_bytes\":[150000,null,600000]}"),
        0);
    ck_assert_int_eq(in.levels, 3);
    ck_assert(in.ladder_kbps[1] == 750.5);
    ck_assert(in.chunk_s == 4.0 && in.buffer_max_s == 30.0);
    ck_assert_int_eq(in.chunks, 48);
    ck_assert(in.has_mu && in.qoe.mu_stall == 4.3 && in.qoe.utility == QOE_LOG);
    ck_assert_str_eq(in.content_id, "caf\xc3\xa9");
    ck_assert(in.has_key && in.key == UINT64_MAX);
    ck_assert(in.has_next && in.next_bytes[1] == 0.0 && in.next_bytes[2] == 600000.0);
}

TEST(a_session_with_the_least)
{
    ck_assert_int_eq(
        parse_open("{\"ladder_kbps\":[300,750],\"chunk_s\":2,\"profile\":null}"), 0);
    ck_assert(!in.has_mu && !in.has_key && !in.has_next && !in.profile[0]);
    ck_assert_int_eq(in.chunks, 0);
    ck_assert(in.buffer_max_s == WIRE_BUFFER_MAX_S);
}

TEST(a_question_and_its_last_chunk)
{
    ck_assert_int_eq(
        parse_question("{\"chunk\":7,\"buffer_s\":12.25,\"last\":{\"chunk\":6,"
                       "\"level\":2,\"bytes\":591234,\"download_s\":1.9,"
                       "\"rebuffer_s\":0},\"next_bytes\":[1,2,3]}"),
        0);
    ck_assert_int_eq(question.chunk, 7);
    ck_assert(question.has_last && question.last.bytes == 591234);
    ck_assert(question.has_next && question.next_bytes[2] == 3.0);
    ck_assert_int_eq(parse_question("{\"chunk\":0,\"buffer_s\":0}"), 0);
    ck_assert(!question.has_last && !question.has_next);
}

TEST(the_three_kinds_of_report)
{
    ck_assert_int_eq(
        parse_reward("{\"chunk\":47,\"level\":1,\"bytes\":9,\"download_s\":1,"
                     "\"rebuffer_s\":0.5,\"final\":true}"),
        0);
    ck_assert(reward.has_outcome && !reward.has_external && reward.final);
    ck_assert_int_eq(parse_reward("{\"chunk\":3,\"reward\":-2.5}"), 0);
    ck_assert(!reward.has_outcome && reward.has_external && reward.external == -2.5);
    ck_assert_int_eq(reward.chunk, 3);
    ck_assert_int_eq(parse_reward("{\"chunk\":3,\"final\":true}"), 0);
    ck_assert(reward.final && !reward.has_outcome);

    ck_assert_int_eq(
        parse_reward("{\"chunk\":3,\"level\":1,\"bytes\":5,\"rebuffer_s\":0}"),
        ERR_INVALID);
    ck_assert_str_eq(e.field, "download_s");
    ck_assert_int_eq(parse_reward("{\"chunk\":3}"), ERR_INVALID);
    ck_assert_str_eq(e.field, "level");
}

TEST(a_stateless_question)
{
    ck_assert_int_eq(
        parse_decide(
            "{\"profile\":\"news\",\"ladder_kbps\":[1,2],\"chunk_s\":4,\"chunk\":10,"
            "\"chunks\":48,\"buffer_s\":8,\"last_level\":1,"
            "\"throughput_kbps\":[1,2,3,4,5,6,7,8,9,10],"
            "\"download_s\":[11,12,13,14,15,16,17,18,19,20]}"),
        0);
    ck_assert_str_eq(decided.profile, "news");
    ck_assert_int_eq(decided.view.n_history, VIEW_HISTORY);
    ck_assert(decided.view.throughput_kbps[0] == 3.0 &&
              decided.view.download_s[7] == 20.0);
    ck_assert_int_eq(decided.view.past.n, 10); /* the older ones are in the summary */
    ck_assert_double_eq_tol(decided.view.past.download_s, 15.5, 1e-12);
    ck_assert_int_eq(decided.view.last_level, 1);

    ck_assert_int_eq(parse_decide("{\"ladder_kbps\":[1,2],\"chunk_s\":4,\"buffer_s\":8}"),
                     0);
    ck_assert_int_eq(decided.view.last_level, -1);
    ck_assert_int_eq(decided.view.n_history, 0);
    ck_assert_int_eq(parse_decide("{\"ladder_kbps\":[1,2],\"chunk_s\":4,\"buffer_s\":8,"
                                  "\"throughput_kbps\":[1]}"),
                     ERR_INVALID);
    ck_assert_str_eq(e.field, "download_s");
}

TEST(a_profile)
{
    ck_assert_int_eq(parse_profile("{\"mu\":[1,1,6],\"utility\":\"pamoe\"}"), 0);
    ck_assert(profile.qoe.utility == QOE_PAMOE && profile.qoe.mu_stall == 6.0);
    ck_assert(!profile.grow);
    ck_assert_int_eq(parse_profile("{\"mu\":[3,1,3],\"grow\":true}"), 0);
    ck_assert(profile.grow);
    ck_assert_int_eq(parse_profile("{\"mu\":[3,1,3],\"grow\":1}"), ERR_INVALID);
    ck_assert_str_eq(e.field, "grow");
    ck_assert_int_eq(parse_profile("{}"), ERR_INVALID);
    ck_assert_str_eq(e.field, "weights");
    ck_assert_int_eq(parse_profile("{\"mu\":[1,1]}"), ERR_INVALID);
    ck_assert_str_eq(e.field, "mu");
    ck_assert_int_eq(parse_profile("{\"mu\":[1,1,1],\"utility\":\"cubic\"}"),
                     ERR_INVALID);
    ck_assert_str_eq(e.field, "utility");
}

TEST(named_weights_are_relative_to_standard)
{
    static const char *const bodies[] = {"{\"weights\":{\"stalls\":2}}",
                                         "{\"weights\":{\"stalls\":2.0,\"quality\":1}}"};
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(parse_profile(bodies[i]), 0);
        const struct qoe *k = &profile.qoe, *live = &qoe_find("live")->qoe;
        ck_assert(k->utility == QOE_POINTS && qoe_same_weights(k, live));
        ck_assert(!profile.own_stall_ratio_max && !profile.own_startup_max_s);
    }
    ck_assert_int_eq(parse_profile("{\"weights\":{}}"), 0);
    ck_assert(qoe_same_weights(&profile.qoe, qoe_standard()));

    ck_assert_int_eq(parse_open("{\"ladder_kbps\":[300,750],\"chunk_s\":4,\"weights\":"
                                "{\"switches\":3,\"stalls\":1.5}}"),
                     0);
    ck_assert(in.has_mu && qoe_same_weights(&in.qoe, &qoe_find("documentary")->qoe));
    ck_assert_int_eq(
        parse_decide("{\"ladder_kbps\":[300,750],\"chunk_s\":4,\"buffer_s\":1,"
                     "\"weights\":{\"switches\":3,\"stalls\":1.5}}"),
        0);
    ck_assert(decided.has_mu && decided.view.qoe.utility == QOE_POINTS &&
              qoe_same_weights(&decided.view.qoe, &qoe_find("documentary")->qoe));
    /* mu is what it was */
    ck_assert_int_eq(parse_profile("{\"mu\":[1,2,3]}"), 0);
    struct qoe mu = qoe_of_mu(1, 2, 3, QOE_LINEAR);
    ck_assert(qoe_same(&profile.qoe, &mu));
}

static const struct {
    const char *body, *field;
    int code;
} bad_weights[] = {
    {"\"weights\":{\"foo\":1}", "weights.foo", ERR_INVALID},
    {"\"weights\":{\"stalls\":\"2\"}", "weights.stalls", ERR_INVALID},
    {"\"weights\":[1,1,1]", "weights", ERR_INVALID},
    {"\"weights\":{\"startup\":101}", "weights.startup", ERR_RANGE},
    {"\"weights\":{\"quality\":-0.1}", "weights.quality", ERR_RANGE},
    {"\"weights\":{\"quality\":0,\"switches\":0,\"stalls\":0,\"startup\":0}", "weights",
     ERR_RANGE},
    {"\"weights\":{},\"mu\":[1,1,1]", "weights", ERR_INVALID},
    {"\"weights\":{},\"utility\":\"points\"", "utility", ERR_INVALID},
    {"\"mu\":[1,1,1],\"utility\":\"points\"", "utility", ERR_INVALID},
};

TEST(bad_weights_name_the_field)
{
    char body[400];
    for (int kind = 0; kind < 3; kind++) {
        const char *begin = kind == 0   ? ""
                            : kind == 1 ? "\"ladder_kbps\":[300,750],\"chunk_s\":4,"
                                        : "\"ladder_kbps\":[300,750],\"chunk_s\":4,"
                                          "\"buffer_s\":0,";
        snprintf(body, sizeof body, "{%s%s}", begin, bad_weights[_i].body);
        int rc = kind == 0   ? parse_profile(body)
                 : kind == 1 ? parse_open(body)
                             : parse_decide(body);
        ck_assert_msg(rc == bad_weights[_i].code &&
                          !strcmp(e.field, bad_weights[_i].field),
                      "%s gave %d, field '%s': %s", body, rc, e.field, e.detail);
        if (!strcmp(e.field, "utility") && strstr(body, "mu"))
            ck_assert_ptr_nonnull(strstr(e.detail, "send weights"));
    }
}

TEST(a_profile_states_its_ceilings)
{
    ck_assert_int_eq(parse_profile("{\"weights\":{},\"stall_ratio_max\":0.02,"
                                   "\"startup_max_s\":0}"),
                     0);
    ck_assert(profile.own_stall_ratio_max && profile.own_startup_max_s);
    ck_assert(profile.qoe.stall_ratio_max == .02 && profile.qoe.startup_max_s == 0);
    static const char *const bad[][2] = {
        {"\"stall_ratio_max\":0.6", "stall_ratio_max"},
        {"\"stall_ratio_max\":0.00001", "stall_ratio_max"},
        {"\"stall_ratio_max\":-1", "stall_ratio_max"},
        {"\"startup_max_s\":61", "startup_max_s"},
        {"\"startup_max_s\":0.01", "startup_max_s"},
        {"\"startup_max_s\":\"3\"", "startup_max_s"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char body[100];
        snprintf(body, sizeof body, "{\"weights\":{},%s}", bad[i][0]);
        ck_assert_int_lt(parse_profile(body), 0);
        ck_assert_str_eq(e.field, bad[i][1]);
    }
}

TEST(quality_of_levels_and_chunks)
{
#define VIDEO "{\"ladder_kbps\":[300,750],\"chunk_s\":4"
    ck_assert_int_eq(parse_open(VIDEO ",\"quality\":[0,90.5],\"next_quality\":[null,0]}"),
                     0);
    ck_assert(in.quality_from == QUALITY_LEVEL && in.quality[1] == 90.5);
    ck_assert(in.has_next_quality && isnan(in.next_quality[0]) &&
              in.next_quality[1] == 0);
    ck_assert_int_eq(parse_open(VIDEO ",\"height\":[360,720]}"), 0);
    ck_assert(in.quality_from == QUALITY_CURVE && in.n_height == 2);
    ck_assert_int_eq(parse_open(VIDEO "}"), 0);
    ck_assert(in.quality_from == QUALITY_CURVE && !in.n_height && !in.has_next_quality);
    static const char *const bad[][2] = {{",\"quality\":[1]}", "quality"},
                                         {",\"quality\":[]}", "quality"},
                                         {",\"quality\":[1,null]}", "quality[1]"},
                                         {",\"height\":[1080]}", "height"},
                                         {",\"next_quality\":[1]}", "next_quality"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char body[200];
        snprintf(body, sizeof body, VIDEO "%s", bad[i][0]);
        ck_assert_int_eq(parse_open(body), ERR_INVALID);
        ck_assert_str_eq(e.field, bad[i][1]);
    }
    ck_assert_int_eq(parse_question("{\"chunk\":1,\"buffer_s\":2,\"next_quality\":"
                                    "[null,7.25]}"),
                     0);
    ck_assert(question.has_next_quality && question.n_next_quality == 2 &&
              isnan(question.next_quality[0]) && question.next_quality[1] == 7.25);
    ck_assert_int_eq(parse_question("{\"chunk\":1,\"buffer_s\":2,\"next_quality\":[]}"),
                     ERR_INVALID);
    ck_assert_str_eq(e.field, "next_quality");

    ck_assert_int_eq(parse_decide(VIDEO ",\"buffer_s\":2,\"quality\":[40,80],"
                                        "\"next_quality\":[null,70],\"last_level\":1}"),
                     0);
    const struct view *v = &decided.view;
    ck_assert(v->points[0] == 40 && v->points[1] == 70 && v->last_points == 80);
    ck_assert(decided.from[0] == QUALITY_LEVEL && decided.from[1] == QUALITY_CHUNK);
    ck_assert_int_eq(
        parse_decide(VIDEO ",\"buffer_s\":2,\"last_level\":0,\"last_quality\":33}"), 0);
    ck_assert(v->last_points == 33 && v->points[1] == 100);
    ck_assert(decided.from[1] == QUALITY_CURVE);
    /* checked although that of the chunk counts */
    ck_assert_int_eq(parse_decide(VIDEO ",\"buffer_s\":2,\"quality\":[-1,80],"
                                        "\"next_quality\":[10,70]}"),
                     ERR_RANGE);
    ck_assert_str_eq(e.field, "quality[0]");
    ck_assert(v->stalled_s == 0 && v->played_s == 0);
    ck_assert_int_eq(
        parse_decide(VIDEO ",\"buffer_s\":2,\"stalled_s\":1.5,\"played_s\":60}"), 0);
    ck_assert(v->stalled_s == 1.5 && v->played_s == 60);
#undef VIDEO
}

#define LEAST "\"ladder_kbps\":[300,750],\"chunk_s\":4"
static const struct {
    const char *body, *field;
    int code;
} bad[] = {
    {"", "", ERR_INVALID},
    {"   ", "", ERR_INVALID},
    {"[]", "", ERR_INVALID},
    {"{" LEAST, "", ERR_INVALID},
    {"{" LEAST "}x", "", ERR_INVALID},
    {"{" LEAST ",\"chunk_s\":4}", "", ERR_INVALID},
    {"{" LEAST ",\"chunks\":1e400}", "", ERR_INVALID},
    {"{" LEAST ",\"chunks\":NaN}", "", ERR_INVALID},
    {"{" LEAST ",\"content_id\":\"\xff\"}", "", ERR_INVALID},
    {"{" LEAST ",\"content_id\":\"a\\u0000b\"}", "", ERR_INVALID},
    {"{\"chunk_s\":4}", "ladder_kbps", ERR_INVALID},
    {"{\"ladder_kbps\":[300,750]}", "chunk_s", ERR_INVALID},
    {"{" LEAST ",\"profle\":\"news\"}", "profle", ERR_INVALID},
    {"{" LEAST ",\"chunks\":\"48\"}", "chunks", ERR_INVALID},
    {"{" LEAST ",\"chunks\":4.5}", "chunks", ERR_INVALID},
    {"{" LEAST ",\"chunks\":3000000000}", "chunks", ERR_RANGE},
    {"{" LEAST ",\"chunks\":1e30}", "chunks", ERR_RANGE},
    {"{" LEAST ",\"chunks\":true}", "chunks", ERR_INVALID},
    {"{" LEAST ",\"buffer_max_s\":[]}", "buffer_max_s", ERR_INVALID},
    {"{" LEAST ",\"profile\":7}", "profile", ERR_INVALID},
    {"{" LEAST ",\"utility\":\"log\"}", "utility", ERR_INVALID},
    {"{" LEAST ",\"mu\":[1,2]}", "mu", ERR_INVALID},
    {"{" LEAST ",\"mu\":[1,2,3,4]}", "mu", ERR_RANGE},
    {"{" LEAST ",\"mu\":[1,2,\"3\"]}", "mu[2]", ERR_INVALID},
    {"{" LEAST ",\"key\":-1}", "key", ERR_RANGE},
    {"{" LEAST ",\"key\":9007199254740993}", "key", ERR_RANGE},
    {"{" LEAST ",\"key\":\"18446744073709551616\"}", "key", ERR_RANGE},
    {"{" LEAST ",\"key\":\"1 \"}", "key", ERR_INVALID},
    {"{" LEAST ",\"next_bytes\":[1]}", "next_bytes", ERR_INVALID},
    {"{\"chunk_s\":4,\"ladder_kbps\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,"
     "21,22,23,24,25,26,27,28,29,30,31,32,33]}",
     "ladder_kbps", ERR_RANGE},
    {"{\"chunk_s\":4,\"ladder_kbps\":[1,null]}", "ladder_kbps[1]", ERR_INVALID},
    {"{\"chunk_s\":4,\"ladder_kbps\":{\"0\":1}}", "ladder_kbps", ERR_INVALID},
    {"{" LEAST
     ",\"content_id\":\"0123456789012345678901234567890123456789012345678901234567"
     "89012345678901234567890123456789012345678901234567890123456789012345678901234567\""
     "}",
     "content_id", ERR_RANGE},
};

TEST(bad_sessions_name_the_field)
{
    int rc = parse_open(bad[_i].body);
    ck_assert_msg(rc == bad[_i].code && e.code == rc &&
                      strcmp(e.field, bad[_i].field) == 0,
                  "%s gave %d, field '%s': %s", bad[_i].body, rc, e.field, e.detail);
    ck_assert_str_ne(e.detail, "");
}

TEST(nested_fields_have_a_path)
{
    ck_assert_int_eq(
        parse_question("{\"chunk\":1,\"buffer_s\":2,\"last\":{\"chunk\":0}}"),
        ERR_INVALID);
    ck_assert_str_eq(e.field, "last.level");
    ck_assert_int_eq(parse_question("{\"chunk\":1,\"buffer_s\":2,\"last\":{\"chunk\":0,"
                                    "\"lvl\":2}}"),
                     ERR_INVALID);
    ck_assert_str_eq(e.field, "last.lvl");
    ck_assert_int_eq(parse_question("{\"chunk\":1,\"buffer_s\":2,\"last\":[]}"),
                     ERR_INVALID);
    ck_assert_str_eq(e.field, "last");
}

TEST(deep_nesting_is_an_error_and_no_crash)
{
    char body[16384];
    memset(body, '[', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    ck_assert_int_eq(parse_open(body), ERR_INVALID);
}

TEST(written_objects_are_readable)
{
    struct answer a = {.chunk = 3,
                       .level = 1,
                       .levels = 2,
                       .kbps = 750.0,
                       .quality = 63.7,
                       .quality_from = QUALITY_LEVEL,
                       .policy = 12,
                       .expert = 2,
                       .prob = {1.0 / 3.0, 2.0 / 3.0},
                       .value = -0.1,
                       .entropy = 0.6365141682948128,
                       .sampled = true};
    struct emit o = {0};
    wire_put_answer(&o, &a);
    ck_assert_str_eq(
        o.at,
        "{\"chunk\":3,\"level\":1,\"kbps\":750,\"quality\":63.7,\"quality_from\":"
        "\"level\",\"policy\":12,\"expert\":2,"
        "\"probabilities\":[0.333333,0.666667],"
        "\"mode\":\"sample\",\"by\":\"router\",\"value\":-0.1,\"entropy\":0.636514}");
    emit_free(&o);

    a.sampled = false;
    wire_put_answer(&o, &a);
    ck_assert_ptr_nonnull(strstr(o.at, "\"expert\":2,"));
    ck_assert_ptr_nonnull(strstr(o.at, "\"mode\":\"greedy\""));
    emit_free(&o);
    a.expert = -1;
    wire_put_answer(&o, &a);
    ck_assert_ptr_nonnull(strstr(o.at, "\"expert\":-1,"));
    ck_assert_ptr_nonnull(strstr(o.at, "\"mode\":\"fallback\""));
    emit_free(&o);
}

TEST(history_as_csv)
{
    struct history_step steps[2] = {{.chunk = 0,
                                     .level = 1,
                                     .decided_level = 1,
                                     .expert = 2,
                                     .bytes = 1000,
                                     .kbps = 750,
                                     .quality = 85.25,
                                     .buffer_s = 0,
                                     .download_s = 0.5,
                                     .rebuffer_s = 0.25,
                                     .reward = -0.1,
                                     .logp = -0.5,
                                     .policy = 4,
                                     .reported = true,
                                     .followed = true},
                                    {.chunk = 1, .kbps = 300, .policy = 4}};
    struct history h = {.n = 2,
                        .steps = steps,
                        .opened = {.observed = true,
                                   .trial = "spring",
                                   .arm = "a",
                                   .labels.value = {[LABELS_CDN] = "edge"}}};
    struct emit o = {0};
    wire_put_history_csv_head(&o);
    wire_put_history_csv(&o, &h);
    ck_assert_str_eq(
        o.at,
        "chunk,level,decided_level,kbps,buffer_s,reported,followed,sampled,"
        "bytes,download_s,rebuffer_s,reward,external,logp,expert,policy,"
        "quality,mode,trial,arm,device,cdn,country,app,network,experiment,tenant\r\n"
        "0,1,1,750,0,1,1,0,1000,0.5,0.25,-0.1,,-0.5,2,4,85.25,observe,spring,a,,edge,"
        ",,,,\r\n"
        "1,,0,300,0,0,0,0,,,,,,0,0,4,0,observe,spring,a,,edge,,,,,\r\n");
    emit_free(&o);
}

SUITE(serve_wire_wire, a_session_with_everything, a_session_with_the_least,
      a_question_and_its_last_chunk, the_three_kinds_of_report, a_stateless_question,
      a_profile, named_weights_are_relative_to_standard,
      ROWS(bad_weights_name_the_field, bad_weights), a_profile_states_its_ceilings,
      quality_of_levels_and_chunks, ROWS(bad_sessions_name_the_field, bad),
      nested_fields_have_a_path, deep_nesting_is_an_error_and_no_crash,
      written_objects_are_readable, history_as_csv, orders_for_routers,
      a_session_may_refuse_to_explore, abandon_questions_and_answers);
