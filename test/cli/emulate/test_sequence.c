#include "cli/emulate/sequence.h"

#include "base/text.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdlib.h>
#include <string.h>

static const struct sequence_phase *otherwise(void)
{
    static struct sequence_phase p;
    p = (struct sequence_phase){.setup = setup_default(),
                                .viewers = 7,
                                .at_once = 4,
                                .links = 2,
                                .seconds = 100,
                                .lie = "up"};
    return &p;
}

TEST(phases_take_what_they_do_not_state)
{
    struct sequence s;
    struct err e = {0};
    ck_assert_int_eq(
        sequence_read(&s,
                      "kind=lte,wifi no-hint=.5 # a comment; viewers=1\n"
                      "name=live viewers=9 profile=live:3,untagged ; mu=1,2,3\n\n",
                      otherwise(), &e),
        0);
    ck_assert_int_eq(s.n, 3);
    ck_assert_str_eq(s.phase[0].name, "1");
    ck_assert_str_eq(s.phase[1].name, "live");
    ck_assert_int_eq(s.phase[0].viewers, 7);
    ck_assert_int_eq(s.phase[1].viewers, 9);
    ck_assert_double_eq(s.phase[0].no_hint, .5);
    ck_assert_double_eq(s.phase[1].no_hint, 0);

    struct sequence_world w;
    ck_assert_int_eq(sequence_load(&w, &s, 0, 1, &e), 0);
    ck_assert_int_eq(w.corpus->n, 4);
    ck_assert_int_eq(w.crowd.n_profiles, 6);
    ck_assert_double_eq(w.crowd.profile[0].share, 0);
    sequence_unload(&w);
    ck_assert_int_eq(sequence_load(&w, &s, 1, 1, &e), 0);
    ck_assert_int_eq(w.crowd.n_profiles, 2);
    ck_assert_double_eq(w.crowd.profile[0].share, 3);
    ck_assert_double_eq(w.crowd.profile[1].share, 1);
    ck_assert_str_eq(w.crowd.profile[1].name, "");
    ck_assert_uint_eq(w.crowd.first_key, 7);
    sequence_unload(&w);
    ck_assert_int_eq(sequence_load(&w, &s, 2, 1, &e), 0);
    ck_assert_int_eq(w.crowd.n_profiles, 1);
    ck_assert(w.crowd.profile[0].custom);
    ck_assert_uint_eq(w.crowd.first_key, 16);
    sequence_unload(&w);
    sequence_free(&s);
}

TEST(errors_name_phase_and_field)
{
    static const struct {
        const char *spec, *field, *detail;
        int rc;
    } bad[] = {
        {"viewers=0", "--sequence phase 1", "viewers: 0", ERR_RANGE},
        {"viewers=2; viewers=x", "--sequence phase 2", "viewers: ", ERR_INVALID},
        {"name=late views=2", "--sequence phase 1 (late)", "did you mean viewers",
         ERR_INVALID},
        {"viewers", "--sequence", NULL, ERR_ABSENT}, /* a file that is not there */
        {"viewers=1 kind", "--sequence phase 1", "kind: needs a value", ERR_INVALID},
        {"viewers=1 one-address", "--sequence phase 1", "one-address: needs liars",
         ERR_CONFLICT},
        {"viewers=1; kind=5g", "--sequence phase 2", "kind: ", ERR_ABSENT},
        {"profile=tennis", "--sequence phase 1", "profile: ", ERR_ABSENT},
        {"profile=live,live:2", "--sequence phase 1", "given twice", ERR_CONFLICT},
        {"profile=live:much", "--sequence phase 1", "profile: ", ERR_INVALID},
        {"traces=/nowhere", "--sequence phase 1", "/nowhere", ERR_ABSENT},
        {"part=half", "--sequence phase 1", "part: ", ERR_INVALID},
        {"ladder=300,200", "--sequence phase 1", "ladder", ERR_RANGE},
        {"liars=.1 lie=sideways", "--sequence phase 1", "lie: ", ERR_INVALID},
        {"weights=speed=1", "--sequence phase 1", "weights: ", ERR_INVALID},
        {" ; # name=x\n", "--sequence", "has no phase", ERR_INVALID},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sequence s;
        struct sequence_world w;
        struct err e = {0};
        int rc = sequence_read(&s, bad[i].spec, otherwise(), &e);
        for (int k = 0; k < s.n && !rc; k++)
            if (!(rc = sequence_load(&w, &s, k, 1, &e))) sequence_unload(&w);
        ck_assert_msg(rc == bad[i].rc, "%s: %d %s: %s", bad[i].spec, rc, e.field,
                      e.detail);
        if (bad[i].detail) {
            ck_assert_str_eq(e.field, bad[i].field);
            ck_assert_msg(strstr(e.detail, bad[i].detail) != NULL, "%s: %s: %s",
                          bad[i].spec, e.field, e.detail);
        }
        sequence_free(&s);
    }
}

TEST(a_file_is_a_sequence)
{
    const char *path = tmpdir_path(tmpdir_new(), "phases");
    static const char text[] = "# links\nkind=lte viewers=1\nkind=wifi viewers=2\n";
    struct err e = {0};
    ck_assert_int_eq(text_write_file(path, text, strlen(text), &e), 0);
    struct sequence s;
    ck_assert_int_eq(sequence_read(&s, path, otherwise(), &e), 0);
    ck_assert_int_eq(s.n, 2);
    ck_assert_str_eq(s.phase[1].kinds.item[0], "wifi");
    sequence_free(&s);

    char many[65 * 10 + 1] = "";
    for (int i = 0; i < 65; i++)
        strcat(many, "links=1;");
    ck_assert_int_eq(sequence_read(&s, many, otherwise(), &e), ERR_FULL);
    sequence_free(&s);
}

SUITE(cli_emulate_sequence, phases_take_what_they_do_not_state,
      errors_name_phase_and_field, a_file_is_a_sequence);
