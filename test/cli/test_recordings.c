#include "cli/recordings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "support/stored.h"
#include "support/suites.h"
#include "support/tmpdir.h"

static const char *dir;
enum { SESSIONS = 40 };

static void set_up(void)
{
    dir = tmpdir_new();
    stored_make(&(struct stored_cfg){.dir = dir,
                                     .sessions = SESSIONS,
                                     .seed = 3,
                                     .trial = "spring",
                                     .arms = 2,
                                     .arm = {"old", "new"},
                                     .policy = {"rate", "hyb"}});
}

static void must_load(struct recordings *s, const struct recordings_cfg *cfg)
{
    struct err e = {0};
    ck_assert_msg(!recordings_load(s, cfg, &e), "%s: %s", e.field, e.detail);
}

TEST(sessions_are_counted)
{
    struct recordings s;
    struct recordings_cfg cfg = recordings_cfg_default();
    cfg.data = dir;
    must_load(&s, &cfg);
    ck_assert_int_eq(s.stored, SESSIONS);
    ck_assert_int_eq(s.n, SESSIONS - 3);
    ck_assert_int_eq(s.running, 1);
    ck_assert_int_eq(s.why[RECORDED_SHORT], 1);
    ck_assert_int_eq(s.why[RECORDED_HOLE], 1);
    ck_assert_str_eq(s.trial, "spring");
    ck_assert_int_eq(s.arms, 2);
    ck_assert_int_eq(s.arm[0].n + s.arm[1].n, s.n);
    ck_assert(!s.arm[0].known);
    recordings_free(&s);

    cfg.max = 10; /* a sample, and a larger one has it */
    must_load(&s, &cfg);
    ck_assert_int_eq(s.unsampled, SESSIONS - 1 - 10);
    char first[RECORDED_NAME];
    snprintf(first, sizeof first, "%s", s.at[0].terms.name);
    recordings_free(&s);
    cfg.max = 20;
    must_load(&s, &cfg);
    bool has = false;
    for (int i = 0; i < s.n; i++)
        has |= !strcmp(s.at[i].terms.name, first);
    ck_assert(has);
    recordings_free(&s);
}

/* Numbers of sessions by each filter, of those that stored_make made usable. */
TEST(filters)
{
    struct recordings s;
    static const struct {
        const char *profile, *arm, *network, *since, *until, *content, *label;
    } rows[] = {{.profile = "news"},
                {.arm = "old"},
                {.network = "slow"},
                {.since = "1700000600"}, /* 1.7e9 + 60 i: from session 10 on */
                {.until = "2023-11-14T22:23:20"},
                {.content = "film-1"},
                {.label = "device=tv"},
                {.profile = "news", .content = "film-1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct recordings_cfg cfg = recordings_cfg_default();
        cfg.data = dir;
        if (rows[i].profile)
            cfg.profiles = (struct field_list){1, {(char *)rows[i].profile}};
        if (rows[i].arm) cfg.arms = (struct field_list){1, {(char *)rows[i].arm}};
        if (rows[i].network)
            cfg.networks = (struct field_list){1, {(char *)rows[i].network}};
        if (rows[i].label) cfg.labels = (struct field_list){1, {(char *)rows[i].label}};
        cfg.since = rows[i].since;
        cfg.until = rows[i].until;
        cfg.content = rows[i].content;
        must_load(&s, &cfg);
        ck_assert_int_gt(s.filtered, 0);
        ck_assert_int_eq(s.filtered + s.running + s.why[RECORDED_SHORT] +
                             s.why[RECORDED_HOLE] + s.n,
                         SESSIONS);
        for (int k = 0; k < s.n; k++) {
            int place = atoi(s.at[k].terms.name + strlen("session-"));
            if (rows[i].profile) ck_assert_str_eq(s.profile[k], rows[i].profile);
            if (rows[i].arm) ck_assert_str_eq(s.arm[s.at[k].arm].name, rows[i].arm);
            if (rows[i].network) ck_assert_int_eq(place % 3, 0);
            if (rows[i].label) ck_assert_int_eq(place % 2, 1);
            if (rows[i].since) ck_assert_int_ge(place, 10);
            if (rows[i].until) ck_assert_int_lt(place, 10);
            if (rows[i].content) ck_assert_int_eq(place % 3, 1);
        }
        recordings_free(&s);
    }
    struct err e = {0};
    struct recordings_cfg cfg = recordings_cfg_default();
    cfg.data = dir;
    cfg.since = "yesterday";
    ck_assert_int_eq(recordings_load(&s, &cfg, &e), ERR_INVALID);
    e = (struct err){0};
    cfg.since = "2100-01-01";
    ck_assert_int_eq(recordings_load(&s, &cfg, &e), ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(e.detail, "of 40, 40 are left out"));
    e = (struct err){0};
    cfg = recordings_cfg_default();
    cfg.data = dir;
    cfg.networks = (struct field_list){1, {(char *)"quick"}};
    ck_assert_int_eq(recordings_load(&s, &cfg, &e), ERR_INVALID);
    e = (struct err){0};
    cfg = recordings_cfg_default();
    cfg.data = dir;
    cfg.labels = (struct field_list){1, {(char *)"colour=red"}};
    ck_assert_int_eq(recordings_load(&s, &cfg, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "--label");
}

TEST(the_plan_says_what_arms_decide)
{
    struct recordings s;
    struct recordings_cfg cfg = recordings_cfg_default();
    cfg.data = dir;
    tmpdir_put(dir, "policy.safetensors", "x");
    tmpdir_put(dir, "trial.state",
               "name = spring\nphase = runs\npromoted = \nstopped = \n"
               "arms = \"old:0.5:player,new:0.4:abrd,other:0.1:abrd:/x/y\"\n"
               "sessions = 1000\nstall-margin = 0\nstartup-margin = 0\nstarted-at = 1\n");
    must_load(&s, &cfg);
    ck_assert_int_eq(s.arms, 3);
    ck_assert(s.arm[0].known && !s.arm[0].policy[0]);
    ck_assert_ptr_nonnull(strstr(s.arm[1].policy, "/policy.safetensors"));
    ck_assert_int_eq(strncmp(s.arm[1].policy, "moe:", 4), 0);
    ck_assert_str_eq(s.arm[2].policy, "moe:/x/y");
    recordings_free(&s);
    cfg.decides = (struct field_list){1, {(char *)"new=hyb"}};
    must_load(&s, &cfg);
    ck_assert_str_eq(s.arm[1].policy, "hyb");
    recordings_free(&s);
}

static void put_state(const char *phase, const char *arms)
{
    char text[1000];
    snprintf(text, sizeof text,
             "name = spring\nphase = %s\npromoted = \nstopped = \narms = \"%s\"\n"
             "sessions = 1000\nstall-margin = 0\nstartup-margin = 0\nstarted-at = 1\n",
             phase, arms);
    tmpdir_put(dir, "trial.state", text);
}

/* A replay has the weights that sessions were recorded with. */
TEST(arms_of_another_profile_cannot_be_replayed)
{
    struct recordings s;
    struct recordings_cfg cfg = recordings_cfg_default();
    cfg.data = dir;
    put_state("runs", "old:0.5:rate,new:0.5:hyb@news");
    for (int i = 0; i < 2; i++) {
        must_load(&s, &cfg);
        ck_assert(s.arm[0].known && !s.arm[0].reweighted);
        ck_assert(!s.arm[1].known && s.arm[1].reweighted);
        ck_assert_str_eq(s.arm[1].policy, "");
        recordings_free(&s);
        cfg.decides = (struct field_list){1, {(char *)"new=hyb"}};
    }
    put_state("runs", "old:0.5:rate@news,new:0.5:hyb@news");
    must_load(&s, &cfg);
    ck_assert(s.arm[1].known && !s.arm[1].reweighted);
    recordings_free(&s);
}

TEST(the_file_of_an_arm_is_in_use)
{
    char file[512], link[512], arms[600];
    struct err e = {0};
    snprintf(file, sizeof file, "%s/candidate.safetensors", dir);
    snprintf(link, sizeof link, "%s/link", dir);
    ck_assert_int_eq(recordings_check_unused(dir, file, &e), 0); /* no trial */
    snprintf(arms, sizeof arms, "old:0.5:abrd,new:0.5:abrd:%s", file);
    put_state("runs", arms);
    ck_assert_int_eq(recordings_check_unused(dir, file, NULL), ERR_CONFLICT);
    tmpdir_put(dir, "candidate.safetensors", "x");
    ck_assert_int_eq(symlink(file, link), 0);
    ck_assert_int_eq(recordings_check_unused(dir, link, NULL), ERR_CONFLICT);
    ck_assert_int_eq(recordings_check_unused(dir, "other", &e), 0);
    put_state("promoted", arms);
    ck_assert_int_eq(recordings_check_unused(dir, file, NULL), ERR_CONFLICT);
    put_state("ended", arms);
    ck_assert_int_eq(recordings_check_unused(dir, file, &e), 0);
}

/* A folder that cannot be written to, as that of another user. */
TEST(reading_changes_nothing)
{
    struct recordings s;
    struct recordings_cfg cfg = recordings_cfg_default();
    char wal[512];
    snprintf(wal, sizeof wal, "%s/abrd.db-wal", dir);
    unlink(wal);
    cfg.data = dir;
    must_load(&s, &cfg);
    recordings_free(&s);
    ck_assert_int_ne(access(wal, F_OK), 0);

    /* a daemon writes meanwhile: what it writes later is not seen */
    struct store other, seen;
    char path[512];
    snprintf(path, sizeof path, "%s/abrd.db", dir);
    struct store_sqlite_cfg open = {.path = path, .reserve = -1};
    ck_assert_int_eq(store_sqlite_open(&other, &open, NULL), 0);
    ck_assert_int_eq(store_sqlite_read(&seen, path, NULL), 0);
    struct store_rec rec = {.kind = STORE_SESSION};
    rec.row = (struct track_row){.id = {9, 9, 9}, .levels = 2, .ladder_kbps = {1, 2}};
    ck_assert_int_eq(other.write(other.self, &rec, 1, NULL), 0);
    struct track_row row;
    struct step *steps = NULL;
    int n = 0;
    ck_assert_int_eq(
        seen.history(seen.self, &row, &(double){0}, &steps, &n, rec.row.id, 0, 9, NULL),
        ERR_ABSENT);
    seen.free(seen.self);
    must_load(&s, &cfg);
    ck_assert_int_eq(s.stored, SESSIONS + 1);
    recordings_free(&s);
    other.free(other.self);
    struct err e = {0};
    ck_assert_int_eq(store_sqlite_read(&seen, "/nowhere/abrd.db", &e), ERR_ABSENT);
}

SUITE_SET_UP(cli_recordings, 60, set_up, NULL, sessions_are_counted, filters,
             the_plan_says_what_arms_decide, arms_of_another_profile_cannot_be_replayed,
             the_file_of_an_arm_is_in_use, reading_changes_nothing);
