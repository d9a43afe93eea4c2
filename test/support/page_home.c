#include "support/page_home.h"

#include "base/text.h"
#include "support/tmpdir.h"

#include <check.h>
#include <stdlib.h>
#include <sys/stat.h>

const char *page_home_new(void)
{
    static const char *const folder[] = {"web", "web/vendor", "web/report"};
    static const char *const file[] = {"web/vendor/uPlot.iife.min.js",
                                       "web/vendor/uPlot.min.css", "web/report/report.js",
                                       "web/report/report.css"};
    const char *dir = tmpdir_new();
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(mkdir(tmpdir_path(dir, folder[i]), 0755), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(text_write_file(tmpdir_path(dir, file[i]), "x", 1, NULL), 0);
    setenv("ABRD_HOME", dir, 1);
    return dir;
}
