#include "serve/store/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abr/deciders/forecast_own.h"
#include "base/log.h"
#include "base/text.h"
#include "learn/ckpt.h"
#include "support/capture.h"
#include "support/sample.h"
#include "support/served.h"
#include "support/suites.h"
#include "support/tmpdir.h"

static const char *dir;
static char data[300], shipped[300];

static void save(const char *path, uint64_t version, const char *extra)
{
    struct policy *p = sample_policy(sample_cfg(MIX_DENSE));
    p->version = version;
    ck_assert_int_eq(ckpt_save(path, p, NULL, extra, extra ? strlen(extra) : 0, NULL), 0);
    policy_free(p);
}

static void setup(void)
{
    dir = tmpdir_new();
    snprintf(data, sizeof data, "%s/data", dir);
    snprintf(shipped, sizeof shipped, "%s/shipped", dir);
    save(shipped, 1, "not the learner's");
}

TEST(one_user_at_a_time)
{
    struct folder a, b;
    struct err e = {0};
    ck_assert_int_eq(folder_open(&a, data, NULL), 0);
    ck_assert_int_eq(folder_open(&b, data, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, data);
    folder_close(&a);
    ck_assert_int_eq(folder_open(&b, data, NULL), 0);
    folder_close(&b);
    folder_close(&b);

    ck_assert_int_eq(folder_open(&a, NULL, NULL), 0); /* nothing is kept */
    ck_assert_int_eq(a.lock, -1);
    e = (struct err){0};
    ck_assert_int_eq(folder_open(&a, shipped, &e), ERR_IO); /* a file is in the way */
}

/* The version of the weights a start would take; *learned: with the learner's state. */
static uint64_t begins_with(struct folder *f, bool *learned)
{
    void *state;
    size_t n;
    struct policy *p = folder_policy(f, shipped, NULL, &state, &n, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    uint64_t version = p->version;
    if (learned) *learned = state != NULL;
    free(state);
    policy_free(p);
    return version;
}

TEST(the_newest_sound_weights_win)
{
    struct folder f;
    char prev[600], bad[600], text[] = "{\"not\": \"weights\"}";
    bool learned;
    ck_assert_int_eq(folder_open(&f, data, NULL), 0);
    snprintf(prev, sizeof prev, "%s.prev", f.policy);
    snprintf(bad, sizeof bad, "%s.bad", f.policy);

    ck_assert_uint_eq(begins_with(&f, &learned), 1);
    ck_assert(!learned);
    save(prev, 6, "state");
    save(f.policy, 7, "state");
    ck_assert_uint_eq(begins_with(&f, &learned), 7);
    ck_assert(learned);

    FILE *file = fopen(f.policy, "wb");
    fputs(text, file);
    fclose(file);
    ck_assert_uint_eq(begins_with(&f, NULL), 6);
    ck_assert_int_eq(access(bad, R_OK), 0); /* renamed, not deleted */
    ck_assert_int_ne(access(f.policy, R_OK), 0);
    ck_assert_int_eq(truncate(prev, 50), 0);
    ck_assert_uint_eq(begins_with(&f, NULL), 1);
    ck_assert_uint_eq(f.refused, 2);

    void *state;
    size_t n;
    struct err e = {0};
    ck_assert_ptr_null(folder_policy(&f, NULL, NULL, &state, &n, NULL, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    folder_close(&f);
}

TEST(what_cannot_be_served_is_refused)
{
    struct folder f;
    struct err e = {0};
    void *state;
    size_t n;
    struct policy *p = sample_policy(sample_cfg(MIX_DENSE));
    struct ckpt_meta meta = {0};
    ckpt_meta_set(&meta, "layout", "blind");
    ck_assert_int_eq(ckpt_save(shipped, p, &meta, NULL, 0, NULL), 0);
    policy_free(p);
    ck_assert_int_eq(folder_open(&f, NULL, NULL), 0);
    ck_assert_ptr_null(folder_policy(&f, shipped, NULL, &state, &n, NULL, &e));
    ck_assert_int_eq(e.code, ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(e.detail, "blind"));
    folder_close(&f);
}

/* Starts from a checkpoint whose correction is of this forecast; returns what the log says. */
static char *begins_corrected(struct folder *f, uint32_t of, int *input_n)
{
    static const float weights[FORECAST_OWN] = {1};
    struct policy *p = sample_policy(sample_cfg(MIX_DENSE));
    policy_copy_input(p, weights, FORECAST_OWN);
    p->input_of = of;
    ck_assert_int_eq(ckpt_save(f->policy, p, NULL, "state", 5, NULL), 0);
    policy_free(p);

    struct log log = log_init(STDERR_FILENO, LOG_INFO, false);
    void *state;
    size_t n;
    capture_begin(STDERR_FILENO);
    p = folder_policy(f, NULL, NULL, &state, &n, &log, NULL);
    char *said = capture_end();
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_nonnull(state); /* the rest is as good as before */
    ck_assert_uint_eq(p->input_of, forecast_crc32());
    *input_n = p->input_n;
    policy_free(p);
    free(state);
    return said;
}

TEST(a_correction_of_another_forecast_is_dropped)
{
    struct folder f;
    int n;
    ck_assert_int_eq(folder_open(&f, data, NULL), 0);
    char *said = begins_corrected(&f, forecast_crc32(), &n);
    ck_assert_int_eq(n, FORECAST_OWN);
    ck_assert_str_eq(said, "");
    free(said);
    const uint32_t foreign[] = {0, forecast_crc32() + 1}; /* 0: an older program's */
    for (int i = 0; i < 2; i++) {
        said = begins_corrected(&f, foreign[i], &n);
        ck_assert_int_eq(n, 0);
        ck_assert_ptr_nonnull(strstr(said, "correction of the forecast is dropped"));
        ck_assert_ptr_nonnull(strstr(said, f.policy));
        free(said);
    }
    ck_assert_uint_eq(f.refused, 0);
    folder_close(&f);
}

/* ---- every file of ours, every damage: what a start says ---- */

enum damage { REMOVED, EMPTY, FLIPPED, DAMAGES };

static struct served f;

static void start_logged(const char *path, struct log *log)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    *log = log_init(fd, LOG_INFO, false);
    f.cfg.log = log;
    served_start(&f);
    close(fd);
}

static void copy_to(const char *from, const char *name)
{
    char to[600];
    size_t n = 0;
    snprintf(to, sizeof to, "%s/%s", f.data, name);
    char *bytes = text_read_file(from, 64 << 20, &n, NULL);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(text_write_file(to, bytes, n, NULL), 0);
    free(bytes);
}

/* The top bit: of the secret, another one may turn a digit into a digit. */
static void harm(const char *path, enum damage d)
{
    size_t n = 0;
    char *bytes = text_read_file(path, 64 << 20, &n, NULL);
    ck_assert_msg(bytes != NULL, "%s is not there", path);
    bytes[n / 2] = (char)(bytes[n / 2] ^ 0x80);
    if (d == REMOVED)
        ck_assert_int_eq(unlink(path), 0);
    else
        ck_assert_int_eq(text_write_file(path, bytes, d == EMPTY ? 0 : n, NULL), 0);
    free(bytes);
}

static const struct harmed {
    const char *file, *says[DAMAGES]; /* one of the lines, which names the file */
} HARMED[] = {
    {"untagged.state",
     {"untagged.state is not there: restore it from a backup", "is renamed to .bad",
      "is renamed to .bad"}},
    {"policy.safetensors",
     {"policy.safetensors is not there: restore it from a backup", "error  policy",
      "error  policy"}},
    {"grown-sport.safetensors",
     {"grown-sport.safetensors is not there: restore it from a backup",
      "profile sport is answered by the common policy",
      "profile sport is answered by the common policy"}},
    {"secret",
     {"secret is not there: restore it from a backup", "secret is damaged",
      "secret is damaged"}},
};
enum { HARMED_N = sizeof HARMED / sizeof *HARMED };

static uint64_t counted(void)
{
    struct service_stats *s = calloc(1, sizeof *s);
    service_stats(s, f.service);
    uint64_t n =
        s->files_missing + s->checkpoints_refused + served_parts(&f).hintless.refused;
    free(s);
    return n;
}

/* A folder that has them all, and a start that has nothing to say. */
static void furnish(const char *told, struct log *log)
{
    served_begin(&f, true);
    f.cfg.secret = true;
    start_logged(told, log);
    struct profile p = {
        .name = "sport", .qoe = qoe_of_mu(1, 2, 3, QOE_LINEAR), .grow = true};
    ck_assert_int_eq(service_profile_put(f.service, &p, NULL), 1);
    served_kill(&f);
    copy_to(f.policy, "policy.safetensors");
    copy_to(f.policy, "policy.safetensors.prev");
    start_logged(told, log);
    ck_assert_uint_eq(counted(), 0);
    served_kill(&f);
}

static char *lines_of(const char *told)
{
    size_t n;
    char *text = text_read_file(told, 1 << 20, &n, NULL);
    ck_assert_ptr_nonnull(text);
    return text;
}

TEST(no_file_is_lost_in_silence)
{
    const struct harmed *h = &HARMED[_i / DAMAGES];
    enum damage d = (enum damage)(_i % DAMAGES);
    char told[300], path[600];
    struct log log;
    snprintf(told, sizeof told, "%s/told", dir);
    furnish(told, &log);
    char *text = lines_of(told);
    ck_assert_msg(!strstr(text, " warn ") && !strstr(text, " error "), "%s", text);
    free(text);

    snprintf(path, sizeof path, "%s/%s", f.data, h->file);
    harm(path, d);
    start_logged(told, &log);
    text = lines_of(told);
    ck_assert_msg(strstr(text, h->says[d]) != NULL, "%s, damage %d: %s", h->file, d,
                  text);
    ck_assert_msg(strstr(text, " warn ") || strstr(text, " error "), "%s", text);
    ck_assert_uint_eq(counted(), 1);
    free(text);
    served_kill(&f);
    f.cfg.log = NULL;
    served_end(&f);
}

SUITE_SET_UP(serve_store_folder, 0, setup, NULL, one_user_at_a_time,
             the_newest_sound_weights_win, a_correction_of_another_forecast_is_dropped,
             what_cannot_be_served_is_refused,
             TIMES(no_file_is_lost_in_silence, HARMED_N *DAMAGES));
