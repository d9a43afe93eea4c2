/* What a folder of an older version becomes. */
#include "serve/session/core.h"

#include <check.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/served.h"
#include "support/suites.h"

static struct served f;

static void setup(void)
{
    served_begin(&f, true);
    f.cfg.explore_share = 0;
    served_start(&f);
}

static void teardown(void)
{
    served_end(&f);
}

static void run_sql(const char *sql)
{
    char path[400], *why = NULL;
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/abrd.db", f.data);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_exec(db, sql, NULL, NULL, &why);
    ck_assert_msg(!why, "%s", why);
    sqlite3_close(db);
}

static struct profile put(const char *name)
{
    struct profile p = {.qoe = qoe_of_mu(1, 5, 2, QOE_LINEAR)};
    snprintf(p.name, sizeof p.name, "%s", name);
    ck_assert_int_eq(service_profile_put(f.service, &p, NULL), 1);
    return p;
}

/* Makes the folder that of schema 2, in which `from` was called `to`. */
static void age(const char *from, const char *to)
{
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    served_kill(&f);
    char sql[2500];
    snprintf(sql, sizeof sql,
             "UPDATE profiles SET name = '%s' WHERE name = '%s';"
             "UPDATE sessions SET profile = '%s' WHERE profile = '%s';"
             "UPDATE sessions SET crc = NULL; UPDATE steps SET crc = NULL;"
             "ALTER TABLE sessions DROP COLUMN mu_rise;"
             "ALTER TABLE sessions DROP COLUMN mu_start;"
             "ALTER TABLE sessions DROP COLUMN stall_ratio_max;"
             "ALTER TABLE sessions DROP COLUMN startup_max_s;"
             "ALTER TABLE sessions DROP COLUMN quality_from;"
             "ALTER TABLE sessions DROP COLUMN quality;"
             "ALTER TABLE steps DROP COLUMN points;"
             "ALTER TABLE profiles DROP COLUMN mu_rise;"
             "ALTER TABLE profiles DROP COLUMN mu_start;"
             "ALTER TABLE profiles DROP COLUMN stall_ratio_max;"
             "ALTER TABLE profiles DROP COLUMN startup_max_s;"
             "DROP INDEX sessions_trial;"
             "ALTER TABLE sessions DROP COLUMN viewer;"
             "ALTER TABLE sessions DROP COLUMN label_device;"
             "ALTER TABLE sessions DROP COLUMN label_cdn;"
             "ALTER TABLE sessions DROP COLUMN label_country;"
             "ALTER TABLE sessions DROP COLUMN label_app;"
             "ALTER TABLE sessions DROP COLUMN label_network;"
             "ALTER TABLE sessions DROP COLUMN label_experiment;"
             "ALTER TABLE sessions DROP COLUMN label_tenant;"
             "ALTER TABLE sessions DROP COLUMN observed;"
             "ALTER TABLE sessions DROP COLUMN trial;"
             "ALTER TABLE sessions DROP COLUMN arm;"
             "ALTER TABLE sessions DROP COLUMN unit;"
             "ALTER TABLE sessions DROP COLUMN network;"
             "ALTER TABLE sessions DROP COLUMN assigned;"
             "ALTER TABLE sessions DROP COLUMN startup_s;"
             "ALTER TABLE sessions DROP COLUMN stall_s;"
             "ALTER TABLE sessions DROP COLUMN played_s;"
             "ALTER TABLE sessions DROP COLUMN points;"
             "ALTER TABLE sessions DROP COLUMN reward;"
             "ALTER TABLE sessions DROP COLUMN chunks_seen;"
             "ALTER TABLE sessions DROP COLUMN switches;"
             "PRAGMA user_version = 2;",
             to, from, to, from);
    run_sql(sql);
}

/* How often the log has this text. */
static int times_said(FILE *log, const char *text)
{
    char line[LOG_LINE];
    int n = 0;
    rewind(log);
    while (fgets(line, sizeof line, log))
        n += strstr(line, text) != NULL;
    return n;
}

TEST(a_profile_whose_name_is_built_in_now_is_kept)
{
    struct profile was = put("kids"), got;
    put("sports-own"); /* this name is taken */
    struct session_open in = served_request(3, 48);
    struct session_opened o;
    strcpy(in.profile, "kids");
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    struct question q = served_question(1, o.first.level);
    struct answer before, after;
    ck_assert_int_eq(service_ask(&before, f.service, f.worker, o.session, &q, NULL), 0);
    char file[400], other[400];
    snprintf(file, sizeof file, "%s/grown-sports.safetensors", f.data);
    snprintf(other, sizeof other, "%s/grown-sports-own2.safetensors", f.data);
    age("kids", "sports");
    FILE *experts = fopen(file, "w");
    ck_assert_int_eq(fclose(experts), 0);

    FILE *said = tmpfile();
    struct log log = log_init(fileno(said), LOG_WARN, false);
    f.cfg.log = &log;
    for (int i = 0; i < 2; i++) {
        served_start(&f);
        ck_assert_int_eq(service_profile_get(&got, f.service, "sports", NULL), 0);
        ck_assert(got.builtin && qoe_same(&got.qoe, &qoe_find("sports")->qoe));
        ck_assert_int_eq(service_profile_get(&got, f.service, "sports-own2", NULL), 0);
        ck_assert(!got.builtin && qoe_same(&got.qoe, &was.qoe));

        /* its session goes on, with its name, its weights and the same answer */
        struct history h;
        ck_assert_int_eq(service_history(&h, f.service, o.session, NULL), 0);
        ck_assert_str_eq(h.opened.profile, "sports-own2");
        ck_assert(qoe_same(&h.opened.qoe, &was.qoe));
        service_history_free(&h);
        ck_assert_int_eq(service_ask(&after, f.service, f.worker, o.session, &q, NULL),
                         0);
        ck_assert_int_eq(after.level, before.level);
        ck_assert_double_eq(after.value, before.value);
        served_kill(&f);
    }
    /* said once, and the experts' file, which is no such file, was looked at under the new name */
    ck_assert_int_eq(times_said(said, "kept as 'sports-own2'"), 1);
    ck_assert_int_ne(access(file, F_OK), 0);
    strcat(other, ".bad");
    ck_assert_int_eq(access(other, F_OK), 0);
    f.cfg.log = NULL;
    fclose(said);
}

TEST(sessions_with_the_papers_weights_keep_them)
{
    struct session_open in = served_request(3, 48);
    struct session_opened o;
    strcpy(in.profile, "paper-news");
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    age("paper-news", "news"); /* as it was called */
    served_start(&f);
    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, o.session, NULL), 0);
    ck_assert_str_eq(h.opened.profile, "news");
    ck_assert(qoe_same(&h.opened.qoe, &qoe_find("paper-news")->qoe));
    service_history_free(&h);
    struct outcome one = served_outcome(0, 1);
    struct reward_in in_reward = {.has_outcome = true, .outcome = one};
    struct reward_out out;
    ck_assert_int_eq(service_reward(&out, f.service, o.session, &in_reward, NULL), 0);
    ck_assert_double_eq_tol(out.reward, 6 * .75 - one.rebuffer_s, 1e-9);

    /* its reward, in Mbit/s, is not counted among those of today's news */
    static struct service_stats s;
    service_stats(&s, f.service);
    for (int i = 0; i < s.n_profiles; i++)
        ck_assert_uint_eq(s.profile[i].rewards, !strcmp(s.profile[i].name, "custom"));
}

TEST(a_free_name_is_found_or_refused)
{
    static struct profile p[12];
    char name[SERVICE_NAME];
    strcpy(p[0].name, "sports");
    for (int n = 1; n < 10; n++) {
        ck_assert_int_eq(profiles_free_name(name, p, n, "sports"), 0);
        ck_assert(!qoe_find(name));
        strcpy(p[n].name, name);
    }
    ck_assert_str_eq(p[9].name, "sports-own9");
    ck_assert_int_eq(profiles_free_name(name, p, 10, "sports"), ERR_FULL);
    char longest[SERVICE_NAME];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ck_assert_int_eq(profiles_free_name(name, p, 10, longest), 0);
    ck_assert_uint_eq(strlen(name), SERVICE_NAME - 1);
    ck_assert_str_eq(name + strlen(name) - 4, "-own");
}

/* ---- a ladder of 20 levels, of which the policy sees a window ---- */

enum { LONG = 20 };

static struct session_opened open_long(void)
{
    struct session_open in = served_request(9, 48);
    in.levels = LONG;
    for (int k = 0; k < LONG; k++)
        in.ladder_kbps[k] = 200 * pow(1.2, k);
    struct session_opened o;
    struct err e = {0};
    ck_assert_msg(!service_open(&o, f.service, f.worker, &in, &e), "%s: %s", e.field,
                  e.detail);
    return o;
}

static struct answer ask_long(const char *session, int chunk, int last_level)
{
    double bytes = 100e3 * (last_level + 1);
    struct question q = {
        .chunk = chunk, .buffer_s = 6 + chunk, .has_last = true, .has_next = true};
    q.last = (struct outcome){.chunk = chunk - 1,
                              .level = last_level,
                              .bytes = (int64_t)bytes,
                              .download_s = bytes * 8e-3 / (9000 + 700 * (chunk % 3))};
    q.has_next_quality = true;
    for (int k = 0; k < LONG; k++) {
        q.next_bytes[k] = 90000 * (k + 1);
        q.next_quality[k] = 5 * k + .25 * chunk;
    }
    struct answer a;
    struct err e = {0};
    ck_assert_msg(!service_ask(&a, f.service, f.worker, session, &q, &e), "%s: %s",
                  e.field, e.detail);
    return a;
}

static void check_same(const struct answer *a, const struct answer *b)
{
    ck_assert_int_eq(a->level, b->level);
    ck_assert_double_eq(a->quality, b->quality);
    ck_assert_int_eq(a->levels, LONG);
    ck_assert_mem_eq(a->prob, b->prob, sizeof(double[LONG]));
}

TEST(a_session_of_a_long_ladder_goes_on)
{
    struct session_opened o = open_long();
    int level = o.first.level;
    struct answer last = o.first;
    for (int i = 1; i < 9; i++) {
        last = ask_long(o.session, i, level);
        if (i < 8) level = last.level;
    }
    ck_assert_int_eq(service_commit(f.service, NULL), 0);
    served_kill(&f);
    served_start(&f);
    struct answer again = ask_long(o.session, 8, level);
    check_same(&again, &last);
    struct answer next = ask_long(o.session, 9, last.level);
    /* the same session without a restart */
    struct session_opened twin = open_long();
    struct answer b = twin.first;
    for (int i = 1; i < 10; i++)
        b = ask_long(twin.session, i, b.level);
    check_same(&next, &b);
    int seen = 0, above = 0;
    for (int k = 0; k < LONG; k++) {
        seen += next.prob[k] > 0;
        above += k >= FEAT_LEVELS && next.prob[k] > 0;
    }
    ck_assert_int_le(seen, FEAT_LEVELS);
    ck_assert_int_gt(above, 0);
}

SUITE_SET_UP(serve_session_service_restore, 60, setup, teardown,
             a_session_of_a_long_ladder_goes_on,
             a_profile_whose_name_is_built_in_now_is_kept,
             sessions_with_the_papers_weights_keep_them, a_free_name_is_found_or_refused);
