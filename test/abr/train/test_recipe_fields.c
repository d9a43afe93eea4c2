#include "abr/train/recipe_fields.h"

#include "abr/emulator/feat.h"
#include "support/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int place(const char *name)
{
    for (int i = 0; i < recipe_fields_count(); i++)
        if (!strcmp(recipe_fields_at(i).name, name)) return i;
    ck_abort_msg("no setting is called %s", name);
}

static struct recipe make(const char *preset)
{
    struct recipe r;
    ck_assert_int_eq(recipe_make(&r, preset, "pamoe", 2000000, 1, NULL), 0);
    return r;
}

/* "name=value name=value" on a preset; the code that came back */
static int vary(struct recipe *r, const char *preset, const char *changes, struct err *e)
{
    char *text = strdup(changes);
    struct recipe_changes v;
    ck_assert_int_eq(recipe_fields_read(&v, text, NULL), 0);
    *r = make(preset);
    int rc = recipe_fields_apply(r, &v, e);
    free(text);
    return rc;
}

static struct recipe varied(const char *preset, const char *changes)
{
    struct recipe r;
    struct err e = {0};
    ck_assert_msg(vary(&r, preset, changes, &e) == 0, "%s: %s", e.field, e.detail);
    return r;
}

TEST(every_setting_shows_what_it_was_set_to)
{
    static const char *const pairs[] = {"lr", "entropy", "imitate"};
    for (int i = 0; i < recipe_fields_count(); i++) {
        struct recipe_field f = recipe_fields_at(i);
        ck_assert_int_eq(place(f.name), i); /* names are distinct */
        ck_assert_ptr_nonnull(f.help);
        char before[RECIPE_FIELDS_VALUE], after[RECIPE_FIELDS_VALUE], name[64];
        struct recipe r = make("tuned");
        recipe_fields_show(before, sizeof before, &r, i);
        const char *value = "1";
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
            if (!strcmp(f.name, pairs[k])) value = "0.25,0.125";
        if (!f.arg) value = "yes";
        if (!strcmp(f.name, "route") || !strcmp(f.name, "critic-route")) value = "dense";
        if (!strcmp(f.name, "layout")) value = "paper";
        if (!strcmp(f.name, "profile")) value = "news";
        if (!strcmp(f.name, "schedule")) value = "linear";
        if (!strcmp(f.name, "adv-norm")) value = "batch";
        if (!strcmp(f.name, "delay-noise")) value = "0.5";
        if (!strcmp(f.name, "reward-floor")) value = "-2";
        if (!strcmp(f.name, "minibatch")) value = "128";
        if (!strcmp(f.name, "envs") || !strcmp(f.name, "rollout")) value = "16";
        if (!strcmp(f.name, "noise")) value = "3";
        if (!strcmp(f.name, "max-grad-norm")) value = "2";
        if (!strcmp(f.name, "critic-epochs")) value = "2";
        const char *with = "";
        if (!strcmp(f.name, "prior")) with = "layout=plan ";
        if (!strcmp(f.name, "prior-end")) with = "layout=plan prior=2 ";
        snprintf(name, sizeof name, "%s%s=%s", with, f.name, value);
        r = varied("tuned", name);
        recipe_fields_show(after, sizeof after, &r, i);
        ck_assert_str_eq(after, value);
        ck_assert_msg(strcmp(before, after) != 0, "%s shows nothing", f.name);
        struct recipe base = make("tuned");
        ck_assert_uint_ne(recipe_fields_hash(&r), recipe_fields_hash(&base));
    }
}

/* As the shipped policy's file has it, so that training from before can be taken up again. */
TEST(settings_that_came_later_leave_the_checksum)
{
    const char *shipped =
        "entropy=.01,.002 balance=.03 share-custom=.4 share-simplex=.75 "
        "share-ladders=.35 share-players=.5 share-live=.25 caution=.5";
    struct recipe r = varied("tuned", shipped);
    ck_assert_uint_eq(recipe_fields_hash(&r), 0xcc8a54fa);
    r.env.lengths = .5;
    ck_assert_uint_ne(recipe_fields_hash(&r), 0xcc8a54fa);
}

TEST(the_plan_is_a_prior_where_it_is_observed)
{
    struct recipe r = varied("tuned", "layout=plan prior=60");
    ck_assert_int_eq(r.policy.prior.gain, 60);
    ck_assert_int_eq(r.policy.prior.at, FEAT_WORTH);
    struct err e = {0};
    ck_assert_int_eq(vary(&r, "tuned", "prior=60", &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "prior");
    e = (struct err){0};
    ck_assert_int_eq(vary(&r, "tuned", "layout=plan prior-end=86", &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "prior-end");
}

TEST(values_reach_the_recipe)
{
    struct recipe r =
        varied("tuned", "experts=6 hidden=32 critic-hidden=96 lr=0.002,1e-4 "
                        "entropy=0.1 balance=0 noise=0 gamma=0.9 envs=8");
    ck_assert_int_eq(r.policy.experts, 6);
    ck_assert_int_eq(r.policy.critic_experts, 6);
    ck_assert_int_eq(r.policy.hidden, 32);
    ck_assert_int_eq(r.policy.critic_hidden, 96);
    ck_assert_double_eq(r.train.ppo.lr, .002);
    ck_assert_double_eq(r.train.ppo.critic_lr, .002);
    ck_assert_double_eq(r.train.lr_end, 1e-4);
    ck_assert_double_eq(r.train.ppo.entropy, .1);
    ck_assert_double_eq(r.train.entropy_end, .1); /* one number: constant */
    ck_assert_double_eq(r.train.ppo.balance, 0);
    ck_assert_double_eq(r.train.ppo.noise_gamma, 0);
    ck_assert_double_eq(r.train.ppo.gamma, .9);
    ck_assert_int_eq(r.train.rollout.envs, 8);
    ck_assert_int_eq(r.policy.route, MIX_TOP1); /* and the rest is as it was */
    ck_assert_int_eq(r.train.rollout.steps, make("tuned").train.rollout.steps);
}

TEST(settings_that_follow_others)
{
    struct recipe r = varied("tuned", "experts=1");
    ck_assert_int_eq(r.policy.route, MIX_SINGLE);
    ck_assert_int_eq(r.policy.critic_route, MIX_SINGLE);
    r = varied("tuned", "route=single");
    ck_assert_int_eq(r.policy.experts, 1);
    ck_assert_int_eq(r.policy.critic_experts, 1);
    r = varied("tuned", "critic-experts=1");
    ck_assert_int_eq(r.policy.experts, 3);
    ck_assert_int_eq(r.policy.critic_route, MIX_SINGLE);

    r = varied("tuned", "layout=paper");
    ck_assert_int_eq(r.policy.obs_dim, FEAT_PAPER_DIM);
    r = varied("tuned", "no-hint=yes");
    ck_assert_int_eq(r.env.layout, FEAT_BLIND);
    ck_assert_int_eq(r.policy.obs_dim, FEAT_FULL_DIM);
    r = varied("paper", "no-hint=yes"); /* never had any */
    ck_assert_int_eq(r.env.layout, FEAT_PAPER);
    r = varied("tuned", "no-tutor=yes");
    ck_assert(!r.train.privileged && !r.env.privileged);
    /* shifts come after as many steps of all viewers together */
    ck_assert_int_eq(varied("paper", "envs=4").env.cycle_steps * 4,
                     make("paper").env.cycle_steps);
}

TEST(what_cannot_be_is_told)
{
    static const struct {
        const char *preset, *changes, *field, *part;
        int code;
    } cases[] = {
        {"tuned", "experts=0", "experts", "", ERR_RANGE},
        {"tuned", "experts=17", "experts", "", ERR_RANGE},
        {"tuned", "hidden=x", "hidden", "", ERR_INVALID},
        {"tuned", "gamma=1.5", "gamma", "", ERR_RANGE},
        {"tuned", "lr=1e-3,", "lr", "", ERR_INVALID},
        {"tuned", "lr=1e-3,0", "lr", "linear", ERR_CONFLICT},
        {"paper", "lr=1e-3,1e-4", "lr", "schedule", ERR_CONFLICT},
        {"tuned", "entropy=0.1,2,3", "entropy", "", ERR_INVALID},
        {"tuned", "route=best", "route", "single, dense, top1", ERR_INVALID},
        {"tuned", "layout=cubist", "layout", "full, paper, blind", ERR_INVALID},
        {"tuned", "no-hint=no", "no-hint", "", ERR_INVALID},
        {"tuned", "experts=3 route=single", "experts", "router", ERR_CONFLICT},
        {"tuned", "critic-experts=2 critic-route=single", "critic-experts", "router",
         ERR_CONFLICT},
        {"tuned", "minibatch=4097", "minibatch", "4096", ERR_RANGE},
        {"tuned", "envs=65536", "rollout", "", ERR_RANGE},
        {"tuned", "tutor-hidden=0", "tutor-hidden", "--no-tutor", ERR_RANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct recipe r;
        struct err e = {0};
        ck_assert_int_eq(vary(&r, cases[i].preset, cases[i].changes, &e), cases[i].code);
        ck_assert_str_eq(e.field, cases[i].field);
        ck_assert_msg(strstr(e.detail, cases[i].part) != NULL, "%s: %s", e.field,
                      e.detail);
    }
}

TEST(changes_are_written_in_the_tables_order)
{
    struct recipe_changes v;
    char text[] = "noise=0 experts=1", line[RECIPE_FIELDS_TEXT];
    ck_assert_int_eq(recipe_fields_read(&v, text, NULL), 0);
    ck_assert_int_eq(recipe_fields_write(line, &v, NULL), 0);
    ck_assert_str_eq(line, "experts=1 noise=0");
    v = (struct recipe_changes){0};
    ck_assert_int_eq(recipe_fields_write(line, &v, NULL), 0);
    ck_assert_str_eq(line, "");

    for (int i = 0; i < recipe_fields_count(); i++)
        v.text[i] = "0.00000000000000000000001";
    struct err e = {0};
    ck_assert_int_eq(recipe_fields_write(line, &v, &e), ERR_RANGE);

    char unknown[] = "experts=1 colour=3", bare[] = "experts";
    ck_assert_int_eq(recipe_fields_read(&v, unknown, &e), ERR_INVALID);
    ck_assert_int_eq(recipe_fields_read(&v, bare, NULL), ERR_INVALID);
    struct recipe r = make("tuned");
    v = (struct recipe_changes){{[0] = "1 2"}};
    ck_assert_int_eq(recipe_fields_apply(&r, &v, NULL), ERR_INVALID);
}

SUITE(abr_train_recipe_fields, every_setting_shows_what_it_was_set_to,
      settings_that_came_later_leave_the_checksum,
      the_plan_is_a_prior_where_it_is_observed, values_reach_the_recipe,
      settings_that_follow_others, what_cannot_be_is_told,
      changes_are_written_in_the_tables_order);
