#include "abr/train/teacher_files.h"

#include "learn/ckpt.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdlib.h>
#include <string.h>

/* A file of an untrained policy with these metadata; NULL leaves one out. */
static const char *policy_file(const char *dir, const char *name, const char *profile,
                               const char *players, const char *layout, int actions)
{
    struct policy_cfg c = policy_cfg_default(FEAT_FULL_DIM);
    c.actions = actions;
    c.hidden = c.critic_hidden = 4;
    struct policy *p = policy_new(&c, NULL);
    struct ckpt_meta m = {0};
    if (profile) ckpt_meta_set(&m, "profile", "%s", profile);
    if (players) ckpt_meta_set(&m, "players", "%s", players);
    if (layout) ckpt_meta_set(&m, "layout", "%s", layout);
    const char *path = tmpdir_path(dir, name);
    ck_assert_int_eq(ckpt_save(path, p, &m, NULL, 0, NULL), 0);
    policy_free(p);
    return path;
}

struct kind {
    const char *profile, *players;
    int n,
        tag[QOE_PROFILES]; /* of ten: 10 drawn weights, 11 ladders, 12 .. 21 drawn players */
};

TEST(by_what_they_were_trained_on)
{
    static const struct kind kinds[] = {
        {NULL, NULL, 1, {TEACH_ALL}},
        {NULL, "any", 1, {TEACH_ALL}},
        {NULL, "drawn", 10, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21}},
        {NULL, "standard", 10, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
        {"drawn", "any", 1, {10}},
        {"news", NULL, 2, {3, 15}},
        {"news", "standard", 1, {3}},
        {"live", "drawn", 1, {14}},
    };
    const char *dir = tmpdir_new();
    struct abr_env_cfg env = abr_env_cfg_default();
    struct policy_cfg student = policy_cfg_default(FEAT_FULL_DIM);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct teacher_files m = {0};
        const char *path =
            policy_file(dir, "a", kinds[k].profile, kinds[k].players, "full", 12);
        struct err e = {0};
        ck_assert_msg(teacher_files_add(&m, path, &student, &env, &e) == 0, "%s",
                      e.detail);
        ck_assert_int_eq(m.n, 1);
        ck_assert_int_eq(m.teachers.n, kinds[k].n);
        for (int i = 0; i < kinds[k].n; i++) {
            ck_assert_int_eq(m.teachers.tag[i], kinds[k].tag[i]);
            ck_assert_ptr_eq(m.teachers.policy[i], m.policy[0]);
        }
        teacher_files_free(&m);
        ck_assert_int_eq(m.n, 0);
    }
}

/* Who met whole videos alone does not teach what to do with shorter ones. */
TEST(shorter_videos_have_teachers_of_their_own)
{
    const char *dir = tmpdir_new();
    struct abr_env_cfg env = abr_env_cfg_default();
    struct policy_cfg student = policy_cfg_default(FEAT_FULL_DIM);
    struct teacher_files m = {0};
    struct err e = {0};
    env.lengths = .5;
    const char *path = policy_file(dir, "a", NULL, "any", "full", 12);
    ck_assert_msg(teacher_files_add(&m, path, &student, &env, &e) == 0, "%s", e.detail);
    const int whole = 2 * QOE_PROFILES + 2;
    ck_assert_int_eq(m.teachers.n, whole);
    for (int i = 0; i < whole; i++)
        ck_assert_int_eq(m.teachers.tag[i], i);
    ck_assert_int_eq(abr_env_tag_short(&env, 0), whole);
    teacher_files_free(&m);
}

TEST(what_players_an_environment_has)
{
    struct abr_env_cfg env = abr_env_cfg_default();
    ck_assert_str_eq(teacher_files_players(&env), "any");
    env.players = 0;
    ck_assert_str_eq(teacher_files_players(&env), "any"); /* some have no known end */
    env.live = 0;
    ck_assert_str_eq(teacher_files_players(&env), "standard");
    env.players = 1;
    ck_assert_str_eq(teacher_files_players(&env), "drawn");
}

TEST(who_cannot_teach)
{
    const char *dir = tmpdir_new();
    struct abr_env_cfg env = abr_env_cfg_default();
    struct policy_cfg student = policy_cfg_default(FEAT_FULL_DIM);
    struct teacher_files m = {0};
    struct err e = {0};
    const char *path = policy_file(dir, "a", NULL, NULL, "paper", 12);
    ck_assert_int_eq(teacher_files_add(&m, path, &student, &env, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, path);
    ck_assert_ptr_nonnull(strstr(e.detail, "observes layout paper, the student full"));
    path = policy_file(dir, "a", NULL, NULL, NULL, 12);
    ck_assert_int_eq(teacher_files_add(&m, path, &student, &env, &e), ERR_CONFLICT);
    path = policy_file(dir, "a", NULL, NULL, "full", 6);
    ck_assert_int_eq(teacher_files_add(&m, path, &student, &env, &e), ERR_CONFLICT);

    path = policy_file(dir, "a", "news", NULL, "full", 12);
    env.n_profiles = 1; /* standard alone */
    e = (struct err){0};
    ck_assert_int_eq(teacher_files_add(&m, path, &student, &env, &e), ERR_CONFLICT);
    ck_assert_msg(strstr(e.detail, "was trained for news, the student is not") != NULL,
                  "%s", e.detail);
    ck_assert_int_eq(m.teachers.n, 0);
    e = (struct err){0};
    ck_assert_int_eq(teacher_files_add(&m, tmpdir_path(dir, "none"), &student, &env, &e),
                     ERR_ABSENT);
    teacher_files_free(&m);
}

/* One of all profiles with drawn players knows a kind per profile, so only a few fit. */
TEST(more_than_can_be_kept)
{
    const char *dir = tmpdir_new();
    struct abr_env_cfg env = abr_env_cfg_default();
    struct policy_cfg student = policy_cfg_default(FEAT_FULL_DIM);
    struct teacher_files m = {0};
    struct err e = {0};
    const char *path = policy_file(dir, "a", NULL, "drawn", "full", 12);
    for (int i = 0; i < TEACHERS_MAX / QOE_PROFILES; i++)
        ck_assert_int_eq(teacher_files_add(&m, path, &student, &env, &e), 0);
    uint32_t crc = m.crc;
    ck_assert_int_eq(teacher_files_add(&m, path, &student, &env, &e), ERR_FULL);
    ck_assert(crc != 0);
    teacher_files_free(&m);

    path = policy_file(dir, "a", NULL, NULL, "full", 12);
    for (int i = 0; i < TEACHERS_MAX; i++)
        ck_assert_int_eq(teacher_files_add(&m, path, &student, &env, &e), 0);
    ck_assert_int_eq(teacher_files_add(&m, path, &student, &env, &e), ERR_FULL);
    teacher_files_free(&m);
}

SUITE(abr_train_teacher_files, by_what_they_were_trained_on,
      shorter_videos_have_teachers_of_their_own, what_players_an_environment_has,
      who_cannot_teach, more_than_can_be_kept);
