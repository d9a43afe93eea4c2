/* The files of a report, but for the page itself (report_html.c). */
#include "base/text.h"
#include "report/report.h"
#include "report_priv.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JSON_LIMIT = 64 << 20, REPORTS = 256, PATH = 4096 };

/* ---- CSV ---- */

static void csv_number(FILE *f, const json_t *v)
{
    if (json_is_number(v)) fprintf(f, "%.12g", json_number_value(v));
}

static void csv_series(FILE *f, const char *figure, const json_t *panel, const json_t *s)
{
    const json_t *x = json_object_get(s, "x"),
                 *category = json_object_get(panel, "category");
    for (size_t i = 0; i < json_array_size(x); i++) {
        text_put_csv(f, figure);
        fputc(',', f);
        text_put_csv(f, report_priv_text(panel, "title"));
        fputc(',', f);
        text_put_csv(f, report_priv_text(s, "name"));
        fputc(',', f);
        const json_t *at = json_array_get(x, i);
        const json_t *word = json_array_get(category, (size_t)json_real_value(at));
        if (word)
            text_put_csv(f, json_string_value(word));
        else
            csv_number(f, at);
        static const char *const columns[] = {"y", "lo", "hi"};
        for (int k = 0; k < 3; k++) {
            fputc(',', f);
            csv_number(f, json_array_get(json_object_get(s, columns[k]), i));
        }
        fputc('\n', f);
    }
}

void report_priv_csv(FILE *f, const struct report *r)
{
    fputs("figure,panel,series,x,y,lo,hi\n", f);
    size_t b, p, k;
    json_t *figure, *panel, *series;
    json_array_foreach(r->blocks, b, figure)
    {
        json_array_foreach(json_object_get(figure, "panels"), p, panel)
        {
            json_array_foreach(json_object_get(panel, "series"), k, series)
                csv_series(f, report_priv_text(figure, "id"), panel, series);
        }
    }
}

/* ---- JSON ---- */

static void json_value(FILE *f, const json_t *v)
{
    json_dumpf(v, f, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
}

static void json_cell(FILE *f, const json_t *c)
{
    const char *is = report_priv_text(c, "is");
    const json_t *v = json_object_get(c, "v");
    if (strcmp(is, "verdict") == 0) {
        fprintf(f, "\"%s\"", report_priv_verdict((int)json_integer_value(v)));
        return;
    }
    if (strcmp(is, "interval") != 0) {
        json_value(f, v);
        return;
    }
    fputs("{\"value\": ", f);
    json_value(f, v);
    fputs(", \"lo\": ", f);
    json_value(f, json_object_get(c, "lo"));
    fputs(", \"hi\": ", f);
    json_value(f, json_object_get(c, "hi"));
    fputs("}", f);
}

static void json_table(FILE *f, const json_t *t)
{
    fputs("{\"title\": ", f);
    json_value(f, json_object_get(t, "title"));
    fputs(", \"columns\": ", f);
    json_value(f, json_object_get(t, "columns"));
    fputs(", \"rows\": [", f);
    size_t i, k;
    json_t *row, *column;
    json_array_foreach(json_object_get(t, "rows"), i, row)
    {
        fputs(i ? ",\n    {" : "\n    {", f);
        const char *between = "";
        json_array_foreach(json_object_get(t, "columns"), k, column)
        {
            const json_t *c = json_object_get(row, json_string_value(column));
            if (!c) continue;
            fputs(between, f);
            json_value(f, column);
            fputs(": ", f);
            json_cell(f, c);
            between = ", ";
        }
        fputs("}", f);
    }
    fputs("]}", f);
}

void report_priv_json(FILE *f, const struct report *r)
{
    json_t *title = json_string(r->title);
    fprintf(f, "{\"name\": \"%s\",\n\"title\": ", r->name);
    json_value(f, title);
    json_decref(title);
    fputs(",\n\"parameters\": ", f);
    json_value(f, r->params);
    fputs(",\n\"checks\": [", f);
    size_t i;
    json_t *v;
    json_array_foreach(r->checks, i, v)
    {
        fputs(i ? ",\n  " : "\n  ", f);
        json_value(f, v);
    }
    fputs("],\n\"tables\": [", f);
    json_array_foreach(r->tables, i, v)
    {
        fputs(i ? ",\n  " : "\n  ", f);
        json_table(f, v);
    }
    fputs("]}\n", f);
}

/* ---- the index ---- */

static int report_files_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the .json files in dir, sorted; returns how many. */
static int list_json(char *name[REPORTS], const char *dir)
{
    DIR *d = opendir(dir);
    if (!d) return 0;
    int n = 0;
    for (struct dirent *file; n < REPORTS && (file = readdir(d));) {
        size_t len = strlen(file->d_name);
        if (len < 6 || strcmp(file->d_name + len - 5, ".json") != 0) continue;
        name[n] = strdup(file->d_name);
        n += name[n] != NULL;
    }
    closedir(d);
    qsort(name, (size_t)n, sizeof *name, report_files_by_name);
    return n;
}

/* A report's JSON; NULL for files that are something else. */
static json_t *read_report(const char *dir, const char *file)
{
    char path[PATH];
    if (snprintf(path, sizeof path, "%s/%s", dir, file) >= PATH) return NULL;
    size_t n;
    char *text = text_read_file(path, JSON_LIMIT, &n, NULL);
    if (!text) return NULL;
    json_t *v = json_loadb(text, n, 0, NULL);
    free(text);

    const char *name = report_priv_text(v, "name");
    if (report_priv_is_name(name) && strncmp(name, file, strlen(name)) == 0 &&
        strlen(name) == strlen(file) - strlen(".json") &&
        json_is_array(json_object_get(v, "checks")))
        return v;
    json_decref(v);
    return NULL;
}

static json_t *all_reports(const char *dir)
{
    json_t *reports = json_array();
    char *file[REPORTS];
    int n = list_json(file, dir);
    for (int i = 0; i < n; i++) {
        json_t *one = read_report(dir, file[i]);
        if (one) json_array_append_new(reports, one);
        free(file[i]);
    }
    return reports;
}

/* ---- writing ---- */

/* What a file is made of; the one of index and page that it needs is set. */
struct part {
    const struct report *report;
    const struct report_assets *assets;
    const json_t *reports;
    bool indexed;
};

static void print_html(FILE *f, const struct part *p)
{
    report_priv_html(f, p->report, p->assets, p->indexed);
}

static void print_csv(FILE *f, const struct part *p)
{
    report_priv_csv(f, p->report);
}

static void print_json(FILE *f, const struct part *p)
{
    report_priv_json(f, p->report);
}

static void print_index(FILE *f, const struct part *p)
{
    report_priv_index(f, p->reports, p->assets->page_css);
}

static int deliver(const char *dir, const char *name, const char *ending,
                   void (*print)(FILE *f, const struct part *p), const struct part *p,
                   struct err *e)
{
    char path[PATH];
    if (snprintf(path, sizeof path, "%s/%s.%s", dir, name, ending) >= PATH)
        return err_field(e, ERR_RANGE, "--out", "the path is too long");
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f) return err_set(e, ERR_MEMORY, "no memory for the report");
    print(f, p);
    bool bad = ferror(f) != 0;
    bad |= fclose(f) != 0;
    int rc = bad ? err_set(e, ERR_MEMORY, "no memory for the report")
                 : text_write_file(path, text, n, e);
    free(text);
    return rc;
}

/* An asset stands in the page as it is, so it must not end the element that holds it. */
static int check_asset(const char *text, const char *end, const char *what, struct err *e)
{
    if (!text) return err_field(e, ERR_ABSENT, what, "the report's page needs it");
    if (!strcasestr(text, end)) return 0;
    return err_field(e, ERR_INVALID, what, "it holds %s and cannot be inlined", end);
}

static int write_files(const struct part *p, const char *dir, struct err *e)
{
    const struct report *r = p->report;
    const struct report_assets *a = p->assets;
    if (r->no_memory) return err_set(e, ERR_MEMORY, "no memory for the report");
    int rc = check_asset(a->uplot_js, "</script", "uPlot.iife.min.js", e);
    if (!rc) rc = check_asset(a->uplot_css, "</style", "uPlot.min.css", e);
    if (!rc) rc = check_asset(a->page_js, "</script", "report.js", e);
    if (!rc) rc = check_asset(a->page_css, "</style", "report.css", e);
    if (!rc) rc = deliver(dir, r->name, "csv", print_csv, p, e);
    if (!rc) rc = deliver(dir, r->name, "html", print_html, p, e);
    return rc ? rc : deliver(dir, r->name, "json", print_json, p, e);
}

int report_write_alone(const struct report *r, const char *dir,
                       const struct report_assets *a, struct err *e)
{
    const struct part p = {.report = r, .assets = a};
    return write_files(&p, dir, e);
}

int report_write(const struct report *r, const char *dir, const struct report_assets *a,
                 struct err *e)
{
    struct part p = {.report = r, .assets = a, .indexed = true};
    int rc = write_files(&p, dir, e);
    if (rc) return rc;
    json_t *reports = all_reports(dir);
    p.reports = reports;
    rc = deliver(dir, "index", "html", print_index, &p, e);
    json_decref(reports);
    return rc;
}
