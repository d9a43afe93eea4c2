/* The simulation in the unit tests: a hundred seeds (make sim has more), the corpus of those that once found
 * something, and each rule broken on purpose. */
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/suites.h"
#include "support/tmpdir.h"

enum { PARTS = 10, SEEDS = 10, BREAK_TRIES = 100 };

static const char *dir;
static char policy[256], experts[256];

static void setup(void)
{
    if (!access("/dev/shm", W_OK)) setenv("TMPDIR", "/dev/shm", 0);
    dir = tmpdir_new();
    sim_policies(policy, experts, dir);
}

static struct sim_result run(uint64_t seed, enum sim_break broken)
{
    struct sim_cfg cfg = {
        .seed = seed, .dir = dir, .policy = policy, .experts = experts, .broken = broken};
    struct sim_result r;
    sim_run(&r, &cfg);
    return r;
}

static void finds_nothing(uint64_t seed)
{
    struct sim_result r = run(seed, BREAK_NOTHING);
    ck_assert_msg(r.rule == SIM_NONE,
                  "seed %llu, step %d: %s: %s (make sim FIRST=%llu SEEDS=1 VERBOSE=1)",
                  (unsigned long long)seed, r.step, sim_rule_name(r.rule), r.detail,
                  (unsigned long long)seed);
    ck_assert_int_gt(r.steps, 100);
}

TEST(seeds_find_nothing)
{
    for (int i = 0; i < SEEDS; i++)
        finds_nothing((uint64_t)(1 + _i * SEEDS + i));
}

TEST(the_corpus_finds_nothing)
{
    FILE *f = fopen("test/sim/corpus.txt", "r");
    ck_assert_ptr_nonnull(f);
    char line[256];
    int seeds = 0;
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#') continue;
        char *end;
        uint64_t seed = strtoull(line, &end, 10);
        ck_assert_msg(end != line && *end == ' ', "not a seed and a note: %s", line);
        finds_nothing(seed);
        seeds++;
    }
    fclose(f);
    ck_assert_int_gt(seeds, 3);
}

TEST(a_seed_replays_to_the_bit)
{
    struct sim_result a = run(7, BREAK_NOTHING), b = run(7, BREAK_NOTHING),
                      c = run(8, BREAK_NOTHING);
    ck_assert_uint_eq(a.hash, b.hash);
    ck_assert_mem_eq(&a.counts, &b.counts, sizeof a.counts);
    ck_assert_uint_ne(a.hash, c.hash);
}

/* Each rule broken on purpose is noticed, and as the rule that it is. */
TEST(what_is_broken_is_found)
{
    enum sim_break b = (enum sim_break)(BREAK_NOTHING + 1 + _i);
    int found = 0;
    for (uint64_t seed = 1; seed <= BREAK_TRIES && !found; seed++) {
        struct sim_result r = run(seed, b);
        if (r.rule == SIM_NONE) continue; /* this world had no occasion */
        ck_assert_msg(r.rule == sim_break_rule(b), "seed %llu: %s instead of %s: %s",
                      (unsigned long long)seed, sim_rule_name(r.rule),
                      sim_rule_name(sim_break_rule(b)), r.detail);
        found++;
    }
    ck_assert_int_eq(found, 1);
}

TEST(fewer_events_break_the_same_rule)
{
    struct sim_cfg cfg = {.seed = 2,
                          .dir = dir,
                          .policy = policy,
                          .experts = experts,
                          .broken = BREAK_COUNT};
    struct sim_result r;
    sim_run(&r, &cfg);
    ck_assert_int_eq(r.rule, SIM_COUNTS);
    bool *skip = calloc((size_t)r.step + 1, sizeof *skip);
    int left = sim_minimise(skip, r.step + 1, &cfg, r.rule);
    ck_assert_int_le(left, 8);
    struct sim_cfg again = cfg;
    struct sim_result less;
    again.skip = skip;
    again.steps = r.step + 1;
    sim_run(&less, &again);
    ck_assert_int_eq(less.rule, SIM_COUNTS);
    free(skip);
}

SUITE_SET_UP(sim_sim, 0, setup, NULL, TIMES(seeds_find_nothing, PARTS),
             the_corpus_finds_nothing, a_seed_replays_to_the_bit,
             TIMES(what_is_broken_is_found, BREAKS - BREAK_NOTHING - 1),
             fewer_events_break_the_same_rule);
