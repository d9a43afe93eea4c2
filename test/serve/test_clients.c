#include "serve/clients.h"

#include <check.h>
#include <string.h>

#include "support/alloc.h"

static struct clients *r;

static void setup(void)
{
    r = clients_new(3, sizeof(int), 7, NULL);
    ck_assert_ptr_nonnull(r);
}

static void teardown(void)
{
    clients_free(r);
}

static const unsigned char *key_of(const char *name)
{
    static unsigned char key[CLIENTS_KEY];
    clients_key(key, r, "", 0, name);
    return key;
}

static void put(const char *name, int value, double now)
{
    clients_put(r, key_of(name), &value, now);
}

/* -1: not there */
static int get(const char *name)
{
    int value = -1;
    bool there = clients_get(&value, r, key_of(name));
    ck_assert(there == (value != -1));
    return value;
}

START_TEST(what_was_put_is_there_until_it_is_forgotten)
{
    ck_assert_int_eq(get("a"), -1);
    put("a", 1, 1);
    put("b", 2, 1);
    put("a", 3, 2);
    ck_assert_int_eq(get("a"), 3);
    ck_assert_int_eq(clients_count(r), 2);
    clients_forget(r, key_of("a"));
    clients_forget(r, key_of("nobody"));
    ck_assert_int_eq(get("a"), -1);
    ck_assert_int_eq(get("b"), 2);
}
END_TEST

START_TEST(who_was_silent_longest_goes)
{
    put("a", 1, 1);
    put("b", 2, 2);
    put("c", 3, 3);
    put("a", 4, 4);
    put("d", 5, 5);
    ck_assert_int_eq(get("b"), -1);
    ck_assert_int_eq(get("a") + get("c") + get("d"), 12);
    ck_assert_int_eq(clients_count(r), 3);
}
END_TEST

START_TEST(keys_differ_by_address_name_and_seed)
{
    unsigned char a[CLIENTS_KEY], b[CLIENTS_KEY];
    struct clients *other = clients_new(1, 8, 8, NULL);
    clients_key(a, r, "\x01", 1, "x");
    clients_key(b, r, "\x01", 1, "x");
    ck_assert_mem_eq(a, b, CLIENTS_KEY);
    clients_key(b, r, "\x02", 1, "x");
    ck_assert_mem_ne(a, b, CLIENTS_KEY);
    clients_key(b, r, "\x01", 1, "y");
    ck_assert_mem_ne(a, b, CLIENTS_KEY);
    clients_key(b, r, "\x01x", 2, "");
    ck_assert_mem_eq(a, b, CLIENTS_KEY); /* so addresses are all of one length */
    clients_key(b, other, "\x01", 1, "x");
    ck_assert_mem_ne(a, b, CLIENTS_KEY);
    clients_free(other);
}
END_TEST

static void *make(void *ctx, struct err *why)
{
    (void)ctx;
    return clients_new(2, 100, 1, why);
}

static void destroy(void *made)
{
    clients_free(made);
}

START_TEST(memory_is_refused_at_every_allocation)
{
    ck_assert_int_gt(alloc_each_fails(make, destroy, NULL), 0);
}
END_TEST

Suite *suite_serve_clients(void);
Suite *suite_serve_clients(void)
{
    Suite *s = suite_create("serve/clients");
    TCase *t = tcase_create("serve/clients");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, what_was_put_is_there_until_it_is_forgotten);
    tcase_add_test(t, who_was_silent_longest_goes);
    tcase_add_test(t, keys_differ_by_address_name_and_seed);
    tcase_add_test(t, memory_is_refused_at_every_allocation);
    suite_add_tcase(s, t);
    return s;
}
