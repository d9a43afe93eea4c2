/* The page of a report, and the index of several. */
#include "report/report.h"
#include "report_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLOURS = 7, KEYS = 256, WIDE = 6 /* columns, and no more, are not many */ };

static void html(FILE *f, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '&':
            fputs("&amp;", f);
            break;
        case '<':
            fputs("&lt;", f);
            break;
        case '>':
            fputs("&gt;", f);
            break;
        case '"':
            fputs("&quot;", f);
            break;
        case '\'':
            fputs("&#39;", f);
            break;
        default:
            fputc(*s, f);
        }
    }
}

/* <tag>text</tag> */
static void element(FILE *f, const char *tag, const char *text)
{
    fprintf(f, "<%s>", tag);
    html(f, text);
    fprintf(f, "</%s>\n", tag);
}

/* JSON inside <script>: a '<' could end it, and in JSON it stands in strings only. */
static void script_json(FILE *f, const json_t *v)
{
    char *text = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(9));
    for (const char *c = text; c && *c; c++) {
        if (*c == '<')
            fputs("\\u003c", f);
        else
            fputc(*c, f);
    }
    free(text);
}

static void report_html_put_head(FILE *f, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n",
          f);
    element(f, "title", title);
}

static void put_text_block(FILE *f, const char *tag, const char *text)
{
    fprintf(f, "<%s>%s</%s>\n", tag, text, tag);
}

/* ---- tables ---- */

static const char *kind_of(const json_t *cell)
{
    return report_priv_text(cell, "is");
}

static bool is_numeric(const json_t *rows, const char *column)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const json_t *c = json_object_get(row, column);
        if (c && (strcmp(kind_of(c), "text") == 0 || strcmp(kind_of(c), "verdict") == 0))
            return false;
    }
    return true;
}

static void put_digits(FILE *f, const json_t *v, int digits)
{
    if (!json_is_real(v))
        fputs("-", f);
    else
        fprintf(f, "%.*f", digits, json_real_value(v));
}

static void put_cell(FILE *f, const json_t *c, bool numeric)
{
    const char *is = kind_of(c);
    const json_t *v = json_object_get(c, "v");
    int digits = (int)json_integer_value(json_object_get(c, "digits"));
    if (strcmp(is, "verdict") == 0) {
        const char *word = report_priv_verdict((int)json_integer_value(v));
        fprintf(f, "<td><span class=\"verdict %s\">%s</span></td>", word, word);
        return;
    }
    fputs(numeric ? "<td class=\"num\">" : "<td>", f);
    if (strcmp(is, "text") == 0) html(f, json_string_value(v));
    if (strcmp(is, "int") == 0) fprintf(f, "%lld", (long long)json_integer_value(v));
    if (strcmp(is, "real") == 0) put_digits(f, v, digits);
    if (strcmp(is, "interval") == 0) {
        put_digits(f, v, digits);
        fputs(" <span class=\"range\">", f);
        put_digits(f, json_object_get(c, "lo"), digits);
        fputs(" to ", f);
        put_digits(f, json_object_get(c, "hi"), digits);
        fputs("</span>", f);
    }
    fputs("</td>", f);
}

static void put_table(FILE *f, const json_t *t)
{
    const json_t *columns = json_object_get(t, "columns");
    const json_t *rows = json_object_get(t, "rows");
    fputs("<section class=\"table\">\n", f);
    element(f, "h3", report_priv_text(t, "title"));
    fprintf(f, "<div class=\"scroll\"><table%s>\n<thead><tr>",
            json_array_size(columns) > WIDE ? " class=\"wide\"" : "");
    size_t i, k;
    json_t *row, *column;
    json_array_foreach(columns, k, column)
    {
        const char *name = json_string_value(column);
        fputs(is_numeric(rows, name) ? "<th scope=\"col\" class=\"num\">"
                                     : "<th scope=\"col\">",
              f);
        html(f, name);
        fputs("</th>", f);
    }
    fputs("</tr></thead>\n<tbody>\n", f);
    json_array_foreach(rows, i, row)
    {
        fputs("<tr>", f);
        json_array_foreach(columns, k, column)
        {
            const char *name = json_string_value(column);
            const json_t *c = json_object_get(row, name);
            if (c)
                put_cell(f, c, is_numeric(rows, name));
            else
                fputs("<td></td>", f);
        }
        fputs("</tr>\n", f);
    }
    fputs("</tbody></table></div>\n</section>\n", f);
}

static void put_bound(FILE *f, double v)
{
    if (isfinite(v))
        fprintf(f, "<td class=\"num\">%.5g</td>", v);
    else
        fputs("<td class=\"num\">-</td>", f);
}

static void put_checks(FILE *f, const struct report *r)
{
    if (!report_checks(r)) return;
    fputs(
        "<section class=\"table\" id=\"checks\">\n<h2>Checks</h2>\n<div class=\"scroll\">"
        "<table>\n<thead><tr><th scope=\"col\">what</th>"
        "<th scope=\"col\" class=\"num\">value</th><th scope=\"col\" "
        "class=\"num\">low</th>"
        "<th scope=\"col\" class=\"num\">high</th><th scope=\"col\">result</th></tr>"
        "</thead>\n<tbody>\n",
        f);
    for (int i = 0; i < report_checks(r); i++) {
        struct report_check c = report_check_at(r, i);
        fputs("<tr><td>", f);
        html(f, c.name);
        fputs("</td>", f);
        put_bound(f, c.value);
        put_bound(f, c.low);
        put_bound(f, c.high);
        fprintf(f, "<td><span class=\"verdict %s\">%s</span></td></tr>\n",
                c.pass ? "pass" : "differs", c.pass ? "pass" : "fails");
    }
    fputs("</tbody></table></div>\n</section>\n", f);
}

/* ---- figures ---- */

/* What a series looks like, by its name. */
struct key {
    const char *name, *kind;
    int colour;
    bool dashed; /* its colour is another's as well */
};

struct keys {
    int n;
    struct key key[KEYS];
};

static const struct key *report_html_key_of(const struct keys *k, const char *name)
{
    for (int i = 0; i < k->n; i++)
        if (strcmp(k->key[i].name, name) == 0) return &k->key[i];
    return NULL;
}

static bool taken(const struct keys *k, int colour)
{
    for (int i = 0; i < k->n; i++)
        if (k->key[i].colour == colour) return true;
    return false;
}

/* The colour that the name has elsewhere in the report, unless another of this figure has it. */
static void choose_colour(struct key *k, const struct keys *figure,
                          const struct keys *report)
{
    const struct key *before = report_html_key_of(report, k->name);
    k->colour = before ? before->colour : 0;
    for (int i = 0; taken(figure, k->colour) && i < COLOURS; i++)
        k->colour = i;
    if (!taken(figure, k->colour)) return;
    k->colour = figure->n % COLOURS;
    k->dashed = true;
}

static void add_keys(struct keys *figure, struct keys *report, const json_t *f)
{
    size_t p, i;
    json_t *panel, *s;
    json_array_foreach(json_object_get(f, "panels"), p, panel)
    {
        json_array_foreach(json_object_get(panel, "series"), i, s)
        {
            struct key k = {.name = report_priv_text(s, "name"),
                            .kind = report_priv_text(s, "kind")};
            if (report_html_key_of(figure, k.name) || figure->n == KEYS) continue;
            choose_colour(&k, figure, report);
            figure->key[figure->n++] = k;
            if (!report_html_key_of(report, k.name) && report->n < KEYS)
                report->key[report->n++] = k;
        }
    }
}

static void put_swatch(FILE *f, const struct key *k)
{
    bool dashed = k->dashed || strcmp(k->kind, "dashed") == 0;
    fputs("<svg width=\"26\" height=\"12\" viewBox=\"0 0 26 12\" aria-hidden=\"true\">",
          f);
    if (strcmp(k->kind, "bars") == 0)
        fprintf(f,
                "<rect x=\"7\" y=\"0\" width=\"12\" height=\"12\" "
                "style=\"fill:var(--c%d)\"%s/>",
                k->colour, k->dashed ? " opacity=\".5\"" : "");
    else if (strcmp(k->kind, "points") == 0)
        fprintf(f, "<circle cx=\"13\" cy=\"6\" r=\"4\" style=\"fill:var(--c%d)\"/>",
                k->colour);
    else
        fprintf(f,
                "<line x1=\"0\" y1=\"6\" x2=\"26\" y2=\"6\" stroke-width=\"2.5\" "
                "style=\"stroke:var(--c%d)\"%s/>",
                k->colour, dashed ? " stroke-dasharray=\"6 4\"" : "");
    fputs("</svg>", f);
}

static void put_legend(FILE *f, const struct keys *keys)
{
    fputs("<div class=\"legend\">", f);
    for (int i = 0; i < keys->n; i++) {
        const struct key *k = &keys->key[i];
        fprintf(f,
                "<button type=\"button\" aria-pressed=\"true\" data-colour=\"%d\"%s "
                "data-name=\"",
                k->colour, k->dashed ? " data-dashed" : "");
        html(f, k->name);
        fputs("\">", f);
        put_swatch(f, k);
        html(f, k->name);
        fputs("</button>", f);
    }
    fputs("</div>\n", f);
}

static void put_figure(FILE *f, const json_t *figure, struct keys *report)
{
    struct keys keys = {0};
    add_keys(&keys, report, figure);
    const json_t *panels = json_object_get(figure, "panels");
    fprintf(f, "<figure id=\"%s\">\n<figcaption>", report_priv_text(figure, "id"));
    element(f, "h3", report_priv_text(figure, "title"));
    if (*report_priv_text(figure, "caption"))
        element(f, "p", report_priv_text(figure, "caption"));
    fputs("</figcaption>\n", f);
    put_legend(f, &keys);
    fprintf(f, "<div class=\"panels of-%zu\">\n", json_array_size(panels));
    size_t i;
    json_t *panel;
    json_array_foreach(panels, i, panel)
    {
        fputs("<div class=\"panel\">", f);
        if (*report_priv_text(panel, "title"))
            element(f, "h4", report_priv_text(panel, "title"));
        fputs("<div class=\"plot\"></div></div>\n", f);
    }
    fputs("</div>\n</figure>\n", f);
}

/* ---- the page ---- */

static void put_params(FILE *f, const struct report *r)
{
    fputs("<dl>\n", f);
    const char *key;
    json_t *v;
    json_object_foreach(r->params, key, v)
    {
        fputs("<div>", f);
        element(f, "dt", key);
        fputs("<dd>", f);
        if (json_is_string(v)) html(f, json_string_value(v));
        if (json_is_integer(v)) fprintf(f, "%lld", (long long)json_integer_value(v));
        if (json_is_real(v)) fprintf(f, "%.6g", json_real_value(v));
        if (json_is_null(v)) fputs("-", f);
        fputs("</dd></div>\n", f);
    }
    fputs("</dl>\n", f);
}

static void put_badge(FILE *f, int checks, int failed, const char *link)
{
    if (!checks) return;
    fprintf(f, "<a class=\"verdict %s\" href=\"%s#checks\">%d of %d checks pass</a>\n",
            failed ? "differs" : "pass", link, checks - failed, checks);
}

static void put_data(FILE *f, const struct report *r)
{
    json_t *figures = json_array(), *b;
    size_t i;
    json_array_foreach(r->blocks, i, b) if (strcmp(kind_of(b), "figure") == 0)
        json_array_append(figures, b);
    fputs("<script type=\"application/json\" id=\"report-data\">", f);
    script_json(f, figures);
    fputs("</script>\n", f);
    json_decref(figures);
}

static void put_blocks(FILE *f, const struct report *r)
{
    struct keys keys = {0};
    size_t i;
    json_t *b;
    json_array_foreach(r->blocks, i, b)
    {
        if (strcmp(kind_of(b), "heading") == 0)
            element(f, "h2", report_priv_text(b, "text"));
        if (strcmp(kind_of(b), "text") == 0) element(f, "p", report_priv_text(b, "text"));
        if (strcmp(kind_of(b), "table") == 0) put_table(f, b);
        if (strcmp(kind_of(b), "figure") == 0) put_figure(f, b, &keys);
    }
}

void report_priv_html(FILE *f, const struct report *r, const struct report_assets *a,
                      bool indexed)
{
    report_html_put_head(f, r->title);
    put_text_block(f, "style", a->uplot_css);
    put_text_block(f, "style", a->page_css);
    fputs("</head>\n<body>\n<header>\n", f);
    if (indexed) fputs("<p class=\"up\"><a href=\"index.html\">all reports</a></p>\n", f);
    element(f, "h1", r->title);
    put_badge(f, report_checks(r), report_checks_failed(r), "");
    put_params(f, r);
    fputs("<noscript><p>The charts need JavaScript; their numbers are in the CSV file."
          "</p></noscript>\n</header>\n<main>\n",
          f);
    put_blocks(f, r);
    put_checks(f, r);
    fprintf(
        f,
        "</main>\n<footer><p>Every number that is drawn: <a href=\"%s.csv\">%s.csv</a>. "
        "Parameters, checks and tables: <a href=\"%s.json\">%s.json</a>.</p></footer>\n",
        r->name, r->name, r->name, r->name);
    put_data(f, r);
    put_text_block(f, "script", a->uplot_js);
    put_text_block(f, "script", a->page_js);
    fputs("</body>\n</html>\n", f);
}

static void put_entry(FILE *f, const json_t *one)
{
    const json_t *checks = json_object_get(one, "checks");
    size_t i;
    int failed = 0;
    json_t *c;
    json_array_foreach(checks, i, c) failed += !json_is_true(json_object_get(c, "pass"));

    fputs("<li><a href=\"", f);
    html(f, report_priv_text(one, "name"));
    fputs(".html\">", f);
    html(f, report_priv_text(one, "title"));
    fputs("</a> ", f);
    char link[80];
    snprintf(link, sizeof link, "%.64s.html", report_priv_text(one, "name"));
    put_badge(f, (int)json_array_size(checks), failed, link);
    if (failed) fputs("<ul>\n", f);
    json_array_foreach(checks, i, c) if (!json_is_true(json_object_get(c, "pass")))
        element(f, "li", report_priv_text(c, "name"));
    if (failed) fputs("</ul>\n", f);
    fputs("</li>\n", f);
}

void report_priv_index(FILE *f, const json_t *reports, const char *css)
{
    report_html_put_head(f, "abrd lab: reports");
    put_text_block(f, "style", css);
    fputs("</head>\n<body>\n<header><h1>abrd lab: reports</h1></header>\n<main>\n"
          "<ul class=\"reports\">\n",
          f);
    size_t i;
    json_t *one;
    json_array_foreach(reports, i, one) put_entry(f, one);
    fputs("</ul>\n</main>\n</body>\n</html>\n", f);
}
