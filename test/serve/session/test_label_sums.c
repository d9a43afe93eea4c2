#include "serve/session/label_sums.h"
#include "serve/session/track.h"
#include "support/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static void ended(struct label_sums *s, const char *device, uint32_t chunks)
{
    struct track_row row = {.seen = {.chunks = chunks,
                                     .stall_s = 2,
                                     .played_s = 8,
                                     .startup_s = 1,
                                     .started = true}};
    snprintf(row.labels.value[LABELS_DEVICE], LABELS_VALUE, "%s", device);
    label_sums_ended(s, &row);
}

TEST(values_beyond_the_limit_are_other)
{
    struct label_sums s;
    struct label_sum at[LABEL_SUMS_ROWS];
    label_sums_init(&s, LABELS_DEVICE, 2);
    static const char *const DEVICES[] = {"tv",     "",   "phone", "watch",
                                          "fridge", "tv", "other", "none"};
    for (size_t i = 0; i < sizeof DEVICES / sizeof *DEVICES; i++)
        ended(&s, DEVICES[i], 2);
    ended(&s, "tv", 0); /* saw nothing */
    ck_assert_int_eq(label_sums_read(at, &s), 4);
    static const struct {
        const char *value;
        unsigned sessions;
    } WANT[] = {{"none", 2}, {"other", 3}, {"tv", 2}, {"phone", 1}};
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(at[i].value, WANT[i].value);
        ck_assert_uint_eq(at[i].sessions, WANT[i].sessions);
        ck_assert_double_eq(at[i].stall_s, 2.0 * WANT[i].sessions);
        ck_assert_uint_eq(at[i].chunks, 2 * WANT[i].sessions);
    }
    label_sums_free(&s);
}

TEST(without_the_setting_there_are_no_rows)
{
    struct label_sums s;
    struct label_sum at[LABEL_SUMS_ROWS];
    label_sums_init(&s, -1, 16);
    ended(&s, "tv", 2);
    ck_assert_int_eq(label_sums_read(at, &s), 0);
    label_sums_free(&s);
}

SUITE(serve_session_label_sums, values_beyond_the_limit_are_other,
      without_the_setting_there_are_no_rows);
