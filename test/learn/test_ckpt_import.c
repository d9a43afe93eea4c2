#include "learn/ckpt.h"

#include "base/bytes.h"
#include "base/text.h"
#include "support/tmpdir.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static char dir[64];

static void set_up(void)
{
    snprintf(dir, sizeof dir, "%s", tmpdir_new());
}

static void tear_down(void)
{
    tmpdir_remove(dir);
}

/* What another program would have saved: our tensors, no metadata. */
static char *foreign(const struct policy *p, size_t *n)
{
    void *file = NULL;
    ck_assert_int_eq(ckpt_encode(&file, n, p, NULL, NULL, 0, NULL), 0);
    char *bytes = file, *header = bytes + 8;
    char *from = strstr(header, "\"__metadata__\""), *to = strchr(from, '}') + 1;
    while (*to == ',' || *to == ' ')
        to++;
    memset(from, ' ', (size_t)(to - from));
    return bytes;
}

static const char *put(const char *name, const char *bytes, size_t n)
{
    const char *path = tmpdir_path(dir, name);
    ck_assert_int_eq(text_write_file(path, bytes, n, NULL), 0);
    return path;
}

static struct policy *sample(int experts, enum mix_route route)
{
    struct policy_cfg c = policy_cfg_default(8);
    c.experts = experts;
    c.route = route;
    c.hidden = 5;
    c.critic_hidden = 4;
    c.actions = 6;
    c.critic_experts = 1;
    c.critic_route = MIX_SINGLE;
    struct policy *p = policy_new(&c, NULL);
    ck_assert_ptr_nonnull(p);
    policy_init_uniform(p, 3);
    return p;
}

static void comes_back(int experts, enum mix_route route,
                       const struct ckpt_import_cfg *cfg)
{
    struct policy *p = sample(experts, route);
    size_t n;
    char *bytes = foreign(p, &n);
    struct err e = {0};
    ck_assert_ptr_null(ckpt_load(put("plain", bytes, n), NULL, NULL, NULL, &e));
    e = (struct err){0};
    struct policy *q = ckpt_import(tmpdir_path(dir, "plain"), cfg, &e);
    ck_assert_msg(q != NULL, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(memcmp(&p->cfg, &q->cfg, sizeof p->cfg), 0);
    ck_assert_uint_eq(policy_crc32(p), policy_crc32(q));
    policy_free(q);
    policy_free(p);
    free(bytes);
}

START_TEST(shapes_tell_the_network)
{
    comes_back(1, MIX_SINGLE, NULL);
    comes_back(3, MIX_TOP1, NULL);
    comes_back(3, MIX_DENSE,
               &(struct ckpt_import_cfg){.has_route = true, .route = MIX_DENSE});
}
END_TEST

static void refused(const char *bytes, size_t n, int code, const char *says)
{
    struct err e = {0};
    struct policy *p = ckpt_import(put("bad", bytes, n), NULL, &e);
    ck_assert_msg(!p && e.code == code && strstr(e.detail, says), "%d %s", e.code,
                  e.detail);
}

/* Another text of the same length in the header. */
static void edit(char *bytes, const char *from, const char *to)
{
    char *at = strstr(bytes + 8, from);
    ck_assert_ptr_nonnull(at);
    memcpy(at, to, strlen(to));
}

START_TEST(refusals)
{
    struct policy *p = sample(2, MIX_TOP1);
    size_t n;
    char *bytes = foreign(p, &n);
    refused(bytes, 6, ERR_CORRUPT, "too short");
    refused(bytes, n - 4, ERR_CORRUPT, "");

    char *copy = malloc(n);
    memcpy(copy, bytes, n);
    edit(copy, "actor.expert.0.0.weight", "actor.expert.0.0.weighs");
    refused(copy, n, ERR_ABSENT, "'actor.expert.0.0.weight'");
    memcpy(copy, bytes, n);
    edit(copy, "critic.expert.0.0.bias", "critic.expert.0.0.bios");
    refused(copy, n, ERR_INVALID, "'critic.expert.0.0.bias' is missing");
    memcpy(copy, bytes, n);
    edit(copy, "\"F32\"", "\"F16\"");
    refused(copy, n, ERR_INVALID, "not F32");

    memcpy(copy, bytes, n);
    size_t header = (size_t)bytes_get_u64((const unsigned char *)copy);
    memset(copy + 8 + header, 0xff, 4); /* a NaN */
    refused(copy, n, ERR_NUMERIC, "NaN");
    refused("\x02\0\0\0\0\0\0\0{}", 10, ERR_ABSENT, "no tensor");

    struct err e = {0};
    ck_assert_ptr_null(ckpt_import(tmpdir_path(dir, "absent"), NULL, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    free(copy);
    free(bytes);
    policy_free(p);
}
END_TEST

Suite *suite_learn_ckpt_import(void);
Suite *suite_learn_ckpt_import(void)
{
    Suite *s = suite_create("learn/ckpt_import");
    TCase *t = tcase_create("learn/ckpt_import");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, shapes_tell_the_network);
    tcase_add_test(t, refusals);
    suite_add_tcase(s, t);
    return s;
}
