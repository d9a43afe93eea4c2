#include "cli/page.h"

#include "base/text.h"
#include "cli/assets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int split(char *dir, size_t dir_size, char *name, size_t name_size,
                 const char *path, struct err *e)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                "0123456789-_";
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    size_t n = strspn(file, plain);
    if (!n || n >= name_size || strcmp(file + n, ".html") != 0)
        return err_field(e, ERR_INVALID, "--report",
                         "'%.60s' is not NAME.html with a NAME of letters, digits, '-' "
                         "and '_'",
                         path);
    snprintf(name, name_size, "%.*s", (int)n, file);
    snprintf(dir, dir_size, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    if (slash == path) snprintf(dir, dir_size, "/");
    struct stat st;
    if (!stat(dir, &st) && S_ISDIR(st.st_mode)) return 0;
    return err_field(e, ERR_ABSENT, "--report", "there is no folder '%.60s'", dir);
}

struct report *page_new(const char *path, const char *title, struct err *e)
{
    char dir[4096], name[64];
    struct report_assets assets = {0};
    struct report *r = NULL;
    if (!split(dir, sizeof dir, name, sizeof name, path, e) && !assets_load(&assets, e))
        r = report_new(name, title, e);
    assets_free(&assets);
    return r;
}

int page_write(const struct report *r, const char *path, struct err *e)
{
    char dir[4096], name[64];
    struct report_assets assets = {0};
    int rc = split(dir, sizeof dir, name, sizeof name, path, e);
    if (!rc) rc = assets_load(&assets, e);
    if (!rc) rc = report_write_alone(r, dir, &assets, e);
    assets_free(&assets);
    return rc;
}

struct pair {
    double x, y;
};

static int by_x(const void *a, const void *b)
{
    const struct pair *p = a, *q = b;
    return (p->x > q->x) - (p->x < q->x);
}

void page_sort(double *x, double *y, int n)
{
    struct pair *p = malloc((size_t)n * sizeof *p);
    if (!p) return; /* unsorted is only uglier */
    for (int i = 0; i < n; i++)
        p[i] = (struct pair){x[i], y ? y[i] : 0.0};
    qsort(p, (size_t)n, sizeof *p, by_x);
    for (int i = 0; i < n; i++) {
        double least = i ? x[i - 1] + 1e-9 * (1.0 + fabs(x[i - 1])) : p[i].x;
        x[i] = p[i].x > least ? p[i].x : least;
        if (y) y[i] = p[i].y;
    }
    free(p);
}
