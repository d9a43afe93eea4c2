/* abrd retrain, and abrd train --sessions, from outside. */
#include "abr/deciders/algo.h"
#include "base/text.h"
#include "cli/opt.h"
#include "learn/ckpt.h"
#include "support/program.h"
#include "support/stored.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *dir;

static void set_up(void)
{
    dir = tmpdir_new();
    stored_make(&(struct stored_cfg){
        .dir = dir, .sessions = 60, .seed = 3, .arms = 1, .policy = {"hyb"}});
}

static bool there(const char *name)
{
    return access(tmpdir_path(dir, name), F_OK) == 0;
}

TEST(a_candidate_is_a_file_for_an_arm)
{
    tmpdir_put(dir, "candidate.safetensors.part", "of abrd train");
    program_expect_in(dir, "retrain --data @ --enough 20 --steps 6000 --quiet", 0,
                      "@/candidate.safetensors: not in service");
    ck_assert(there("candidate.safetensors") && !there("candidate.safetensors.exam"));
    ck_assert(there("candidate.safetensors.part"));
    ck_assert(!there("policy.safetensors"));
    struct ckpt_meta m = {0};
    struct policy *p =
        ckpt_load(tmpdir_path(dir, "candidate.safetensors"), &m, NULL, NULL, NULL);
    struct policy *was =
        ckpt_load("deploy/policy/moe.safetensors", NULL, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_ne(policy_crc32(p), policy_crc32(was)); /* it learned */
    char crc[16];
    snprintf(crc, sizeof crc, "%08x", policy_crc32(was));
    ck_assert_str_eq(ckpt_meta_get(&m, "start_crc32"), crc);
    ck_assert_str_eq(ckpt_meta_get(&m, "own_links"),
                     "43"); /* of 57: one in four is held out */
    policy_free(p);
    policy_free(was);
    /* and a daemon's own weights go on, whose file does not say how they were trained */
    ck_assert_int_eq(rename(tmpdir_path(dir, "candidate.safetensors"),
                            tmpdir_path(dir, "policy.safetensors")),
                     0);
    program_expect_in(dir, "retrain --data @ --enough 20 --steps 6000 --quiet --out @/x",
                      0, "@/x: not in service");
    program_expect_in(dir, "eval --sessions @ --policy moe:@/policy.safetensors,moe:@/x",
                      0, "57 used");
}

TEST(too_few_sessions_and_bad_weights)
{
    program_expect_in(dir, "retrain --data @ --quiet", 0,
                      "no candidate: too few sessions");
    program_expect_in(dir, "retrain --data @ --profile sports --quiet", 1,
                      "no usable session");
    ck_assert(!there("candidate.safetensors"));
    program_expect_in(dir, "retrain --quiet", OPT_EXIT_USAGE, "--data DATA is missing");
    program_expect_in(dir, "retrain --data @ --out @/policy.safetensors", OPT_EXIT_USAGE,
                      "what a daemon decides with");
}

/* Both would show at the end of the training only. */
TEST(a_file_that_cannot_be_replaced_is_refused_first)
{
    char state[700];
    snprintf(state, sizeof state,
             "name = spring\nphase = runs\npromoted = \nstopped = \n"
             "arms = \"old:0.5:abrd,new:0.5:abrd:%s\"\n"
             "sessions = 1000\nstall-margin = 0\nstartup-margin = 0\nstarted-at = 1\n",
             tmpdir_path(dir, "candidate.safetensors"));
    tmpdir_put(dir, "trial.state", state);
    tmpdir_put(dir, "candidate.safetensors", "of the arm");
    program_expect_in(dir, "retrain --data @ --enough 20 --steps 6000 --quiet", 1,
                      "for the arm new of the trial spring: give another file");
    struct err e = {0};
    char *text =
        text_read_file(tmpdir_path(dir, "candidate.safetensors"), 1000, NULL, &e);
    ck_assert_str_eq(text, "of the arm");
    free(text);
    program_expect_in(dir, "retrain --data @ --enough 20 --out @/no/x --steps 6000", 1,
                      "--out: the folder of @/no/x cannot be written to");
}

TEST(train_takes_own_links)
{
    program_expect_in(dir,
                      "train --sessions @ --sessions-max 30 --quiet --out @/c "
                      "--checkpoint-every 0.001 & while ! [ -f @/c.part ] && kill -0 $! "
                      "2>/dev/null; do :; done; kill -INT $!; wait $!",
                      0, " --sessions @ --sessions-max 30");
    program_expect_in(dir, "train --sessions-max 30", OPT_EXIT_USAGE,
                      "--sessions-max needs --sessions");
    program_expect_in(dir,
                      "train --sessions @ --steps 4000 --quiet --out @/t.safetensors", 0,
                      "score it with");
    program_expect_in(dir, "policy show @/t.safetensors", 0, "own");
    program_expect_in(dir, "train --sessions @/none --steps 4000 --quiet --out @/t", 1,
                      "there is no store");
}

SUITE_SET_UP(cli_train_cmd_retrain, 120, set_up, NULL, a_candidate_is_a_file_for_an_arm,
             too_few_sessions_and_bad_weights,
             a_file_that_cannot_be_replaced_is_refused_first, train_takes_own_links);
