#include "cli/override.h"

#include "support/suites.h"

#include <string.h>

static struct field *find(struct field *opts, const char *name)
{
    for (; opts->name; opts++)
        if (!strcmp(opts->name, name)) return opts;
    ck_abort_msg("no option is called %s", name);
}

TEST(options_fill_the_changes)
{
    static struct override o;
    struct field opts[RECIPE_FIELDS_MAX + 1];
    override_init(&o);
    int n = override_options(opts, &o);
    ck_assert_int_eq(n, recipe_fields_count());
    ck_assert_ptr_null(opts[n].name);
    ck_assert_str_eq(find(opts, "layers")->help,
                     "hidden layers of an expert (default 2)");
    ck_assert_str_eq(find(opts, "gamma")->help,
                     "discount factor\n(default: tuned 0.98, paper 0.99, code 0.99)");

    char program[] = "train", experts[] = "--experts", one[] = "1", hint[] = "--no-hint";
    char *argv[] = {program, experts, one, hint, NULL};
    const struct opt_cmd cmd = {.name = "train", .about = "", .opts = opts};
    ck_assert_int_eq(opt_parse(&cmd, 4, argv), 4);
    override_taken(&o);

    char line[RECIPE_FIELDS_TEXT];
    ck_assert_int_eq(recipe_fields_write(line, &o.changes, NULL), 0);
    ck_assert_str_eq(line, "experts=1 no-hint=yes");
}

SUITE(cli_override, options_fill_the_changes);
