/* csv.h - reads a table of comma-separated values for a test; aborts on anything odd. */
#ifndef TEST_CSV_H
#define TEST_CSV_H

#include <stdio.h>

enum { CSV_COLUMNS = 64 };

struct csv {
    FILE *file;
    int columns;
    char header[1024], line[4096];
    const char *name[CSV_COLUMNS], *cell[CSV_COLUMNS];
};

void csv_open(struct csv *c, const char *path);
int csv_next(struct csv *c); /* 0 at the end */
void csv_close(struct csv *c);

/* The current row's cell under that heading. */
const char *csv_text(const struct csv *c, const char *heading);
double csv_number(const struct csv *c, const char *heading);

#endif
