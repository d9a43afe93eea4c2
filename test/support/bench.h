/* bench.h - what the benchmarks share: CPU time, a table for people, build/bench.json.
 *
 * The file is one object of figures by name:
 *
 *   {"decide.top1_128": {"median": .., "min": .., "max": .., "n": .., "unit": "us",
 *                        "floor": 1.5, "aim": 0.5, "better": "less", "met": "floor"}, ...}
 *
 * n figures were measured; floor, aim, better and met are there where a goal is. met is
 * "aim", "floor" or "none", by the median. bench_open keeps the sections of others (all up
 * to the first dot of a name) and drops those of its own, so that programs run one after
 * the other fill one file; `make bench` begins a new one. BENCH_JSON names another file.
 *
 * Figures are CPU time, not wall time: a busy machine must not pass for a slow program.
 * Failures end the program with a message. */
#ifndef TEST_BENCH_H
#define TEST_BENCH_H

#include <stdbool.h>

#define BENCH_SAMPLES 100

struct bench;

/* floor and aim 0: no goal. more: larger is better. */
struct bench_goal {
    double floor, aim;
    bool more;
};

struct bench *bench_open(const char *section);
void bench_close(struct bench *b); /* writes the file */

/* A heading of the table. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One figure: a line of the table and an entry `section`.`key`. note may be "". */
void bench_put(struct bench *b, const char *key, const double *samples, int n,
               const char *unit, struct bench_goal goal, const char *note);
void bench_one(struct bench *b, const char *key, double value, const char *unit,
               const char *note);

double bench_median(const double *samples, int n);

/* CPU seconds per call: n samples of enough calls to take at least ~min_s each. */
void bench_time(double *samples, int n, double min_s, void (*fn)(void *ctx), void *ctx);

/* Runs a program with its output thrown away; user + system seconds it took. together: so
 * many copies at once, one after the other into samples; "%d" in an argument becomes the
 * copy's number. argv[0] is the path, NULL ends the list. */
void bench_program(double *samples, int together, const char *const *argv);

/* Aborts the program with a message. */
void bench_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Single-precision operations per second that one core reaches: one large matrix product,
 * the best of a few [GFLOP/s]. */
double bench_peak_gflops(void);

#endif
