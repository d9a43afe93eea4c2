#include "serve/learner/published.h"

#include "support/suites.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static struct policy *make(uint64_t version)
{
    struct policy_cfg cfg = policy_cfg_default(4);
    cfg.hidden = cfg.critic_hidden = 2;
    struct policy *p = policy_new(&cfg, NULL);
    ck_assert_ptr_nonnull(p);
    p->version = version;
    for (size_t i = 0; i < p->actor->n; i++)
        p->actor->theta[i] = (float)version;
    return p;
}

START_TEST(readers_keep_what_they_hold)
{
    struct published *s = published_new(make(1), 10, .5, NULL);
    const struct weights *old = published_get(s);
    ck_assert_int_eq(published_swap(s, make(2), 11, .6, NULL), 0);
    ck_assert_int_eq(published_swap(s, make(3), 12, .7, NULL), 0);
    ck_assert_uint_eq(old->policy->version, 1);
    ck_assert_double_eq((double)old->policy->actor->theta[0], 1);
    const struct weights *now = published_get(s);
    ck_assert_uint_eq(now->policy->version, 3);
    ck_assert_double_eq(now->published_at, 12);
    ck_assert_double_eq(now->check_score, .7);
    published_put(s, old);
    published_put(s, now);
    ck_assert_int_eq(published_swap(s, make(4), 13, 0, NULL), 0);
    published_free(s);
}
END_TEST

struct shared {
    struct published *published;
    atomic_bool stop;
    atomic_int torn;
};

static void *read_weights(void *ctx)
{
    struct shared *c = ctx;
    while (!atomic_load(&c->stop)) {
        const struct weights *w = published_get(c->published);
        const struct policy *p = w->policy;
        for (size_t i = 0; i < p->actor->n; i++)
            if (p->actor->theta[i] != (float)p->version) atomic_fetch_add(&c->torn, 1);
        published_put(c->published, w);
    }
    return NULL;
}

START_TEST(nobody_sees_half_of_a_new_set)
{
    struct shared c = {.published = published_new(make(1), 0, 0, NULL)};
    pthread_t reader[3];
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&reader[i], NULL, read_weights, &c), 0);
    for (uint64_t v = 2; v < 300; v++)
        ck_assert_int_eq(published_swap(c.published, make(v), 0, 0, NULL), 0);
    atomic_store(&c.stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(reader[i], NULL);
    ck_assert_int_eq(atomic_load(&c.torn), 0);
    published_free(c.published);
}
END_TEST

SUITE_WITHIN(serve_learner_published, 30, readers_keep_what_they_hold,
             nobody_sees_half_of_a_new_set);
