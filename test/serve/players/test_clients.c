#include "serve/players/clients.h"

#include <string.h>

#include "support/alloc.h"
#include "support/suites.h"

static struct clients *c;

static void setup(void)
{
    c = clients_new(3, sizeof(int), 7, NULL);
    ck_assert_ptr_nonnull(c);
}

static void teardown(void)
{
    clients_free(c);
}

static const unsigned char *key_of(const char *name)
{
    static unsigned char key[CLIENTS_KEY];
    clients_key(key, c, "", 0, name);
    return key;
}

static void put(const char *name, int value)
{
    int old;
    uint64_t since = clients_get(&old, c, key_of(name));
    ck_assert(clients_put(c, key_of(name), &value, since));
}

/* -1: not there */
static int get(const char *name)
{
    int value = -1;
    uint64_t change = clients_get(&value, c, key_of(name));
    ck_assert(!change == (value == -1));
    return value;
}

static void forget(const char *name)
{
    int old;
    ck_assert(clients_forget(c, key_of(name), clients_get(&old, c, key_of(name))));
}

TEST(what_was_put_is_there_until_it_is_forgotten)
{
    ck_assert_int_eq(get("a"), -1);
    put("a", 1);
    put("b", 2);
    put("a", 3);
    ck_assert_int_eq(get("a"), 3);
    ck_assert_int_eq(clients_count(c), 2);
    forget("a");
    forget("nobody");
    ck_assert_int_eq(get("a"), -1);
    ck_assert_int_eq(get("b"), 2);
}

TEST(who_comes_too_late_changes_nothing)
{
    int mine = 7, old;
    ck_assert(!clients_put(c, key_of("a"), &mine, 5)); /* the entry is gone */
    put("a", 1);
    ck_assert(!clients_put(c, key_of("a"), &mine, 0)); /* somebody is, already */
    uint64_t since = clients_get(&old, c, key_of("a"));
    put("a", 2);
    ck_assert(!clients_put(c, key_of("a"), &mine, since));
    ck_assert(!clients_forget(c, key_of("a"), since));
    ck_assert_int_eq(get("a"), 2);
    /* a client that came back is not the entry from before */
    since = clients_get(&old, c, key_of("a"));
    forget("a");
    put("a", 3);
    ck_assert(!clients_put(c, key_of("a"), &mine, since));
    ck_assert_int_eq(get("a"), 3);
}

TEST(who_was_silent_longest_goes)
{
    put("a", 1);
    put("b", 2);
    put("c", 3);
    put("a", 4);
    put("d", 5);
    ck_assert_int_eq(get("b"), -1);
    ck_assert_int_eq(get("a") + get("c") + get("d"), 12);
    ck_assert_int_eq(clients_count(c), 3);
    /* the first, the last and one in between leave, and the order stays */
    forget("d");
    put("e", 6);
    forget("a");
    put("f", 7);
    forget("c");
    put("g", 8);
    put("h", 9);
    ck_assert_int_eq(get("e"), -1);
    ck_assert_int_eq(get("f") + get("g") + get("h"), 24);
    for (int i = 0; i < 3; i++)
        forget((const char *[]){"g", "f", "h"}[i]);
    ck_assert_int_eq(clients_count(c), 0);
    put("a", 1);
    ck_assert_int_eq(get("a"), 1);
}

/* 200,000 times each other one of 65,536 looked at would take a quarter of an hour */
TEST(a_full_table_is_as_fast_as_another)
{
    enum { FULL = 65536, MORE = 200000 };
    struct clients *full = clients_new(FULL, 200, 7, NULL);
    unsigned char key[CLIENTS_KEY], entry[200] = {0};
    for (int i = 0; i < FULL + MORE; i++) {
        clients_key(key, full, &i, sizeof i, "");
        ck_assert(clients_put(full, key, entry, 0));
    }
    ck_assert_int_eq(clients_count(full), FULL);
    clients_free(full);
}

TEST(keys_differ_by_address_name_and_seed)
{
    unsigned char a[CLIENTS_KEY], b[CLIENTS_KEY];
    struct clients *other = clients_new(1, 8, 8, NULL);
    clients_key(a, c, "\x01", 1, "x");
    clients_key(b, c, "\x01", 1, "x");
    ck_assert_mem_eq(a, b, CLIENTS_KEY);
    clients_key(b, c, "\x02", 1, "x");
    ck_assert_mem_ne(a, b, CLIENTS_KEY);
    clients_key(b, c, "\x01", 1, "y");
    ck_assert_mem_ne(a, b, CLIENTS_KEY);
    clients_key(b, c, "\x01x", 2, "");
    ck_assert_mem_eq(a, b, CLIENTS_KEY); /* so addresses are all of one length */
    clients_key(b, other, "\x01", 1, "x");
    ck_assert_mem_ne(a, b, CLIENTS_KEY);
    clients_free(other);
}

static void *make(void *ctx, struct err *why)
{
    (void)ctx;
    return clients_new(2, 100, 1, why);
}

static void destroy(void *made)
{
    clients_free(made);
}

TEST(memory_is_refused_at_every_allocation)
{
    ck_assert_int_gt(alloc_each_fails(make, destroy, NULL), 0);
}

SUITE_SET_UP(serve_players_clients, 0, setup, teardown,
             what_was_put_is_there_until_it_is_forgotten,
             who_comes_too_late_changes_nothing, who_was_silent_longest_goes,
             a_full_table_is_as_fast_as_another, keys_differ_by_address_name_and_seed,
             memory_is_refused_at_every_allocation);
