/* abrd policy from outside. */
#include "cli/opt.h"
#include "policy/join.h"
#include "learn/ckpt.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A policy of one expert with a start of that name. */
static void save(const char *path, uint64_t seed, const char *profile, const char *start)
{
    struct policy_cfg c = policy_cfg_default(8);
    c.experts = c.critic_experts = 1;
    c.route = c.critic_route = MIX_SINGLE;
    c.hidden = c.critic_hidden = 4;
    struct policy *p = policy_new(&c, NULL);
    policy_init_uniform(p, seed);
    struct ckpt_meta m = {0};
    ckpt_meta_set(&m, "profile", "%s", profile);
    ckpt_meta_set(&m, "start_crc32", "%s", start);
    ckpt_meta_set(&m, "layout", "blind");
    ck_assert_int_eq(ckpt_save(path, p, &m, NULL, 0, NULL), 0);
    policy_free(p);
}

/* text with the folder in place of every @ */
static const char *run(char buf[1024], const char *text, const char *dir)
{
    size_t used = 0;
    for (; *text; text++) {
        int got = snprintf(buf + used, 1024 - used, "%.*s", *text == '@' ? -1 : 1,
                           *text == '@' ? dir : text);
        used += (size_t)got;
        ck_assert_uint_lt(used, 1024);
    }
    return buf;
}

TEST(joins_and_merges)
{
    char args[1024];
    const char *dir = tmpdir_new();
    save(tmpdir_path(dir, "a"), 1, "live", "0000abcd");
    save(tmpdir_path(dir, "b"), 2, "news", "0000abcd");
    program_expect(run(args, "policy join @/a @/b --out @/both", dir), 0, "");
    struct ckpt_meta m = {0};
    struct policy *p = ckpt_load(tmpdir_path(dir, "both"), &m, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(p->cfg.experts, 2);
    ck_assert_str_eq(ckpt_meta_get(&m, "experts_for"), "live,news");
    ck_assert_str_eq(ckpt_meta_get(&m, "start_crc32"), "0000abcd");
    ck_assert_str_eq(ckpt_meta_get(&m, "layout"), "blind");

    program_expect(
        run(args, "policy merge @/both --weights 1,3 --out @/half --json -", dir), 0,
        "\"key\": \"merged\", \"value\": \"0.25,0.75\"");
    struct policy *half = ckpt_load(tmpdir_path(dir, "half"), &m, NULL, NULL, NULL);
    struct policy_cfg c = join_merged_cfg(&p->cfg);
    struct policy *want = policy_new(&c, NULL);
    ck_assert_int_eq(join_merge(want, p, (float[]){.25f, .75f}), 0);
    ck_assert_mem_eq(half->actor->theta, want->actor->theta,
                     want->actor->n * sizeof(float));
    ck_assert_str_eq(ckpt_meta_get(&m, "merged"), "0.25,0.75");

    program_expect(run(args, "policy show @/both @/half", dir), 0, "experts_for");
    program_expect(run(args, "policy show @/half --json -", dir), 0,
                   "\"key\": \"forecast\", \"value\": \"as shipped\"");
    policy_copy_input(half, (const float[]){1, 2}, 2);
    ck_assert_int_eq(ckpt_save(tmpdir_path(dir, "own"), half, NULL, NULL, 0, NULL), 0);
    program_expect(run(args, "policy show @/own --json -", dir), 0,
                   "\"key\": \"forecast\", \"value\": \"corrected\"");
    policy_free(want);
    policy_free(half);
    policy_free(p);
}

TEST(imports_what_passes_the_exam)
{
    char args[1024];
    const char *dir = tmpdir_new();
    const char *shipped = "deploy/policy/moe.safetensors";
    program_expect(
        run(args, "policy import deploy/policy/moe.safetensors --out @/x", dir),
        OPT_EXIT_DONE, "exam_lowest_level");
    struct ckpt_meta m = {0};
    struct policy *own = ckpt_load(shipped, NULL, NULL, NULL, NULL);
    struct policy *got = ckpt_load(tmpdir_path(dir, "x"), &m, NULL, NULL, NULL);
    ck_assert(own && got);
    ck_assert_uint_eq(policy_crc32(own), policy_crc32(got));
    ck_assert_str_eq(ckpt_meta_get(&m, "imported_from"), "moe.safetensors");
    ck_assert_str_eq(ckpt_meta_get(&m, "layout"), "plan");

    /* weights of 0 always take the lowest level */
    struct policy *idle = policy_new(&own->cfg, NULL);
    ck_assert_int_eq(ckpt_save(tmpdir_path(dir, "idle"), idle, NULL, NULL, 0, NULL), 0);
    program_expect(run(args, "policy import @/idle --out @/y", dir), OPT_EXIT_FAILED,
                   "train it further");
    ck_assert_ptr_null(fopen(tmpdir_path(dir, "y"), "r"));
    save(tmpdir_path(dir, "small"), 1, "live", "0000abcd");
    program_expect(run(args, "policy import @/small --out @/y", dir), OPT_EXIT_FAILED,
                   "takes 8 inputs, but the daemon observes 208 or 128");
    program_expect(run(args, "policy import @/small", dir), OPT_EXIT_USAGE, "--out");
    program_expect(run(args, "policy import @/small --out @/y --route best", dir),
                   OPT_EXIT_USAGE, "best");
    policy_free(idle);
    policy_free(got);
    policy_free(own);
}

TEST(what_it_refuses)
{
    char args[1024];
    const char *dir = tmpdir_new();
    save(tmpdir_path(dir, "a"), 1, "live", "0000abcd");
    save(tmpdir_path(dir, "b"), 2, "news", "0000abce");
    program_expect(run(args, "policy join @/a @/b --out @/both", dir), OPT_EXIT_FAILED,
                   "only policies that were tuned from the same start");
    program_expect(run(args, "policy join @/a @/none --out @/both", dir), OPT_EXIT_FAILED,
                   "none");
    program_expect(run(args, "policy merge @/a --weights 1 --out @/c", dir),
                   OPT_EXIT_FAILED, "is not a joined policy");
    save(tmpdir_path(dir, "b"), 2, "news", "0000abcd");
    program_expect(run(args, "policy join @/a @/b --out @/both", dir), 0, "");
    program_expect(run(args, "policy merge @/both --weights 1", dir), OPT_EXIT_FAILED,
                   "1 numbers are given for 2 experts");
    program_expect(run(args, "policy merge @/both --weights 0,0", dir), OPT_EXIT_FAILED,
                   "all are 0");
    program_expect(run(args, "policy merge @/both --weights 1,-1", dir), OPT_EXIT_FAILED,
                   "--weights");
    program_expect(run(args, "policy merge @/both", dir), OPT_EXIT_USAGE,
                   "--weights X,... is missing");
    program_expect(run(args, "policy keep @/both --experts 1 --out @/c", dir), 0,
                   "single");
    program_expect(run(args, "policy keep @/both --experts 2 --out @/c", dir),
                   OPT_EXIT_FAILED, "--experts");
    program_expect(run(args, "policy keep @/both --experts .5 --out @/c", dir),
                   OPT_EXIT_FAILED, "whole number");
    program_expect("policy", OPT_EXIT_USAGE, "commands");
    program_expect("policy sell", OPT_EXIT_USAGE, "there is no command 'policy sell'");
}

SUITE(cli_cmd_policy, joins_and_merges, imports_what_passes_the_exam, what_it_refuses);
