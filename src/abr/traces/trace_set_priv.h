/* trace_set_priv.h - what the readers of logs with many sessions share. */
#ifndef ABR_TRACE_SET_PRIV_H
#define ABR_TRACE_SET_PRIV_H

#include "trace_priv.h"

#include "abr/traces/trace_set.h"
#include "base/table.h"

#include <stdio.h>

/* ---- a CSV, read line by line ---- */

enum { TRACE_SET_LINE = 4096 };

/* How far the files that are read together are. */
struct trace_set_meter {
    const struct trace_set_cfg *cfg;
    double read, total; /* bytes */
};

struct trace_set_csv {
    FILE *f;                       /* borrowed */
    struct trace_set_meter *meter; /* borrowed; NULL: nobody asks */
    double metered;                /* bytes of this file that the meter has */
    const char *name;              /* for messages */
    int line, columns;
    bool held; /* the next row's cells are there already */
    char header[TRACE_SET_LINE], text[TRACE_SET_LINE];
    char *heading[TRACE_CELLS], *cell[TRACE_CELLS];
};

/* The first line names the columns. */
int trace_set_csv_open(struct trace_set_csv *c, FILE *f, const char *name, struct err *e);
/* It does not: these are their names, or at least so many, and the first line is a row. Right
 * after trace_set_csv_open. */
void trace_set_csv_name(struct trace_set_csv *c, const char *columns);
/* 1: the next row's cells are there, 0: the end, < 0: refused. */
int trace_set_csv_next(struct trace_set_csv *c, struct err *e);
/* -1: there is no such column. */
int trace_set_csv_column(const struct trace_set_csv *c, const char *heading);
/* As many columns as names, in their order; refused when one is missing. */
int trace_set_csv_columns(int *out, const struct trace_set_csv *c,
                          const char *const *names, int n, struct err *e);
int trace_set_csv_number(double *out, const struct trace_set_csv *c, int column,
                         double lo, double hi, struct err *e);
int trace_set_csv_int(int64_t *out, const struct trace_set_csv *c, int column,
                      struct err *e);
/* Nothing was measured: the cell is empty or NaN. */
bool trace_set_csv_empty(const struct trace_set_csv *c, int column);

/* ---- sessions ---- */

enum { TRACE_SET_KEY = 96 };

struct trace_set_chunk { /* Puffer */
    int64_t video_ts, sent_ns, acked_ns, bytes;
};

struct trace_set_session {
    char key[TRACE_SET_KEY]; /* from the file, cut; any bytes */
    struct trace_rows rows;
    double end_s;        /* of the last slot */
    double start, clock; /* the file's own time: at 0 s, and at the last row */
    int64_t sequence;    /* the last row's (FCC), or runs of this key (Lumos5G) - 1;
                                  * -1 before the first */
    int n_chunks, cap_chunks;
    struct trace_set_chunk *chunks; /* (n_chunks) owned */
    int matched;                    /* chunk after the one acknowledged last */
};

struct trace_set_sessions {
    const char *name; /* of the file, for messages */
    int n, cap;
    struct trace_set_session *at; /* (n) in order of their first rows */
    struct table *index;          /* key -> place */
    int64_t rows, chunks;         /* of all */
    int64_t max_rows;             /* of each of the two */
};

/* The session of this key, made when it is new. Good until the next call. */
int trace_set_session(struct trace_set_session **out, struct trace_set_sessions *s,
                      const char *key, int line, struct err *e);
/* One more row or chunk, refused when there are too many. */
int trace_set_count(int64_t *kept, const struct trace_set_sessions *s, int line,
                    struct err *e);
/* A slot of length_s behind the last one, at mbps. */
int trace_set_session_slot(struct trace_set_sessions *s, struct trace_set_session *one,
                           int line, double length_s, double mbps, struct err *e);

/* ---- formats ---- */

struct trace_set_reader {
    const char *name, *prefix;  /* of traces' names */
    const char *const *columns; /* that tell it, ends with NULL */
    /* acked may be NULL */
    int (*read)(struct trace_set_sessions *s, struct trace_set_csv *c,
                struct trace_set_csv *acked, struct err *e);
    /* All columns in the order of files that were published without naming them; NULL: none was. */
    const char *published;
};

extern const struct trace_set_reader trace_set_fcc_httpgetmt, trace_set_fcc_webget,
    trace_set_puffer, trace_set_lumos;

#endif
