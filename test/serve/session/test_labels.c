#include "serve/session/labels.h"
#include "support/suites.h"

#include <check.h>
#include <string.h>

TEST(a_filter_is_read_from_text)
{
    struct labels f = {0};
    struct err e = {0};
    ck_assert_int_eq(labels_read(&f, "device=tv", "label", NULL), 0);
    ck_assert_int_eq(labels_read(&f, "cdn=a.b", "label", NULL), 0);
    struct labels of = {0};
    ck_assert(!labels_fit(&of, &f) && labels_none(&of) && !labels_none(&f));
    strcpy(of.value[LABELS_DEVICE], "tv");
    ck_assert(!labels_fit(&of, &f));
    strcpy(of.value[LABELS_CDN], "a.b");
    strcpy(of.value[LABELS_APP], "any");
    ck_assert(labels_fit(&of, &f));
    ck_assert_int_eq(labels_read(&f, "device=tv", "label", &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "label");
    static const char *const BAD[] = {"device",  "colour=red", "=x",
                                      "device=", "app=a b",    "experimentexperiment=1"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct labels g = {0};
        ck_assert_int_lt(labels_read(&g, BAD[i], "label", NULL), 0);
        ck_assert(labels_none(&g));
    }
}

SUITE(serve_session_labels, a_filter_is_read_from_text);
