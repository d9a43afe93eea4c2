/* abrd eval --routing, from outside. */
#include "cli/eval/eval_routing.h"

#include "support/program.h"
#include "support/suites.h"

#include <string.h>

#define GOLDEN "--traces test/golden/traces --video test/golden/video"
#define SHIPPED "deploy/policy/moe.safetensors"

TEST(a_policy_against_itself)
{
    struct program_result r = program_run("eval " GOLDEN " --policy moe,moe:" SHIPPED
                                          " --routing --profile live,news --csv -");
    ck_assert_msg(r.code == OPT_EXIT_DONE, "%s", r.text);
    const char *const rows[] = {"policy,network,profile,set,n,expert0,",
                                "least,most,information,normalised,bias",
                                "\nmoe,actor,live,traces,329,",
                                "\nmoe,critic,news,traces,329,",
                                "\nmoe,actor,all,traces,658,",
                                "\nmoe:" SHIPPED ",critic,all,traces,658,"};
    for (int i = 0; i < 6; i++)
        ck_assert_msg(strstr(r.text, rows[i]) != NULL, "no %s in\n%s", rows[i], r.text);
    const char *second = strstr(r.text, rows[5]);
    ck_assert_msg(strstr(second, ",0\n") != NULL, "nothing changes, but\n%s", r.text);
    program_free(&r);
}

TEST(what_does_not_go_together)
{
    program_expect("eval " GOLDEN " --policy bola --routing", OPT_EXIT_FAILED,
                   "has no routers");
    program_expect("eval " GOLDEN " --policy moe --routing --gain moe", OPT_EXIT_USAGE,
                   "--routing cannot be combined");
}

SUITE_WITHIN(cli_eval_eval_routing, 60, a_policy_against_itself,
             what_does_not_go_together);
