/* report_priv.h - how a report is kept while it grows, for the sources of lab/report.
 *
 * All is JSON values, in the order in which it was added:
 *   params  {key: string | integer | real}
 *   blocks  [{"is": "heading" | "text", "text"}, table, figure, ...]
 *   table   {"is": "table", "title", "columns": [name], "rows": [{name: cell}]}
 *   cell    {"is": "text" | "int" | "real" | "interval" | "verdict", "v", "digits", "lo", "hi"}
 *   figure  {"is": "figure", "id", "title", "caption", "panels": [panel]}
 *   panel   {"title", "x": axis, "y": axis, "category": [name], "rules": [{"axis", "at", "label"}],
 *            "series": [{"name", "kind", "x": [], "y": [], "lo": [], "hi": []}]}
 *   axis    {"label", "log", "lo", "hi"}
 *   checks  [{"name", "value", "low", "high", "pass"}]
 * What is not finite is null. */
#ifndef LAB_REPORT_PRIV_H
#define LAB_REPORT_PRIV_H

#include "report/report.h"

#include <jansson.h>
#include <stdio.h>

struct report {
    char name[64], title[256];
    json_t *params, *blocks, *tables, *checks; /* tables: those among the blocks */
    json_t *table, *row, *figure, *panel;      /* the last ones, borrowed */
    bool no_memory;
};

bool report_priv_is_name(const char *s); /* letters, digits, '-', '_' */
const char *report_priv_text(const json_t *object, const char *key); /* "" when absent */
const char *report_priv_verdict(int v); /* "pass", "short", ... */

/* indexed: there is an index.html beside it. */
void report_priv_html(FILE *f, const struct report *r, const struct report_assets *a,
                      bool indexed);
void report_priv_index(FILE *f, const json_t *reports, const char *css);
void report_priv_csv(FILE *f, const struct report *r);
void report_priv_json(FILE *f, const struct report *r);

#endif
