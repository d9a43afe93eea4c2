#include "support/csv.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static int split(const char **out, char *line)
{
    int n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *s = line; s; n++) {
        ck_assert_int_lt(n, CSV_COLUMNS);
        out[n] = s;
        s = strchr(s, ',');
        if (s) *s++ = '\0';
    }
    return n;
}

void csv_open(struct csv *c, const char *path)
{
    c->file = fopen(path, "r");
    ck_assert_msg(c->file != NULL, "cannot open %s", path);
    ck_assert_ptr_nonnull(fgets(c->header, sizeof c->header, c->file));
    c->columns = split(c->name, c->header);
}

int csv_next(struct csv *c)
{
    if (!fgets(c->line, sizeof c->line, c->file)) return 0;
    ck_assert_int_eq(split(c->cell, c->line), c->columns);
    return 1;
}

void csv_close(struct csv *c)
{
    fclose(c->file);
}

const char *csv_text(const struct csv *c, const char *heading)
{
    for (int i = 0; i < c->columns; i++)
        if (!strcmp(c->name[i], heading)) return c->cell[i];
    ck_abort_msg("no column %s", heading);
}

double csv_number(const struct csv *c, const char *heading)
{
    const char *s = csv_text(c, heading);
    char *end;
    double v = strtod(s, &end);
    ck_assert_msg(end != s && !*end, "%s: '%s' is not a number", heading, s);
    return v;
}
