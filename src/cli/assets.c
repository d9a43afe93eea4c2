#include "cli/assets.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/home.h"

enum { LIMIT = 4 << 20 };

static int assets_load_file(const char **out, const char *rel, struct err *e)
{
    char path[HOME_PATH];
    int rc = home_find(path, rel, e);
    if (rc) return rc;
    *out = text_read_file(path, LIMIT, NULL, e);
    return *out ? 0 : ERR_IO;
}

int assets_load(struct report_assets *a, struct err *e)
{
    *a = (struct report_assets){0};
    static const char uplot[] = "web/vendor/uPlot.iife.min.js";
    struct err why = {0};
    int rc = assets_load_file(&a->uplot_js, uplot, &why);
    if (!rc) rc = assets_load_file(&a->uplot_css, "web/vendor/uPlot.min.css", &why);
    if (rc == ERR_ABSENT)
        return err_field(e, rc, uplot,
                         "the charts' library is not there; run 'make web', or leave "
                         "out the page (--report, in the labs --out)");
    if (rc) return err_field(e, rc, why.field, "%s", why.detail);
    rc = assets_load_file(&a->page_js, "web/report/report.js", e);
    return rc ? rc : assets_load_file(&a->page_css, "web/report/report.css", e);
}

void assets_free(struct report_assets *a)
{
    const char *const text[] = {a->uplot_js, a->uplot_css, a->page_js, a->page_css};
    for (int i = 0; i < 4; i++)
        free((void *)(uintptr_t)text[i]);
    *a = (struct report_assets){0};
}
