#include "support/bench.h"

#include "base/clock.h"
#include "nn/blas.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOGETHER = 16, ARGS = 64 };

struct bench {
    char section[32];
    json_t *all;
};

void bench_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "bench: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

static const char *json_path(void)
{
    const char *path = getenv("BENCH_JSON");
    return path && *path ? path : "build/bench.json";
}

struct bench *bench_open(const char *section)
{
    struct bench *b = calloc(1, sizeof *b);
    if (!b) bench_fail("no memory");
    snprintf(b->section, sizeof b->section, "%s", section);
    json_error_t why;
    b->all = json_load_file(json_path(), 0, &why);
    if (!b->all && access(json_path(), F_OK) == 0)
        bench_fail("%s is not what bench wrote: %s; remove it", json_path(), why.text);
    if (!b->all) b->all = json_object();

    size_t n = strlen(section);
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(b->all, next, key, value)
    {
        if (strncmp(key, section, n) == 0 && key[n] == '.') json_object_del(b->all, key);
    }
    return b;
}

void bench_close(struct bench *b)
{
    char part[4096];
    snprintf(part, sizeof part, "%s.part", json_path());
    int rc = json_dump_file(b->all, part,
                            JSON_INDENT(1) | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
    if (rc || rename(part, json_path())) bench_fail("%s cannot be written", json_path());
    json_decref(b->all);
    free(b);
}

void bench_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(double *to, const double *from, int n)
{
    if (n < 1 || n > BENCH_SAMPLES) bench_fail("%d samples", n);
    memcpy(to, from, sizeof *to * (size_t)n);
    qsort(to, (size_t)n, sizeof *to, by_size);
}

double bench_median(const double *samples, int n)
{
    double s[BENCH_SAMPLES];
    sort(s, samples, n);
    return (s[(n - 1) / 2] + s[n / 2]) / 2;
}

static const char *met(double x, struct bench_goal g)
{
    double sign = g.more ? -1 : 1;
    if (sign * x <= sign * g.aim) return "aim";
    return sign * x <= sign * g.floor ? "floor" : "none";
}

void bench_put(struct bench *b, const char *key, const double *samples, int n,
               const char *unit, struct bench_goal goal, const char *note)
{
    double s[BENCH_SAMPLES], median = bench_median(samples, n);
    sort(s, samples, n);
    char name[128], words[96] = "";
    snprintf(name, sizeof name, "%s.%s", b->section, key);
    json_t *entry = json_pack("{s:f, s:f, s:f, s:i, s:s}", "median", median, "min", s[0],
                              "max", s[n - 1], "n", n, "unit", unit);
    bool has_goal = goal.floor > 0;
    if (!entry || json_object_set_new(b->all, name, entry)) bench_fail("no memory");
    if (has_goal) {
        const char *m = met(median, goal);
        json_object_set_new(entry, "floor", json_real(goal.floor));
        json_object_set_new(entry, "aim", json_real(goal.aim));
        json_object_set_new(entry, "better", json_string(goal.more ? "more" : "less"));
        json_object_set_new(entry, "met", json_string(m));
        snprintf(words, sizeof words, "  floor %g, aim %g: %s", goal.floor, goal.aim,
                 !strcmp(m, "aim")     ? "aim met"
                 : !strcmp(m, "floor") ? "floor met"
                                       : "SHORT");
    }
    if (*note) json_object_set_new(entry, "note", json_string(note));
    printf("  %-34s %11.5g %11.5g %11.5g %4d %-10s%s%s%s\n", name, median, s[0], s[n - 1],
           n, unit, words, *note ? "  " : "", note);
    fflush(stdout);
}

void bench_one(struct bench *b, const char *key, double value, const char *unit,
               const char *note)
{
    bench_put(b, key, &value, 1, unit, (struct bench_goal){0}, note);
}

void bench_time(double *samples, int n, double min_s, void (*fn)(void *ctx), void *ctx)
{
    long calls = 1;
    for (int i = 0; i < n;) {
        double t = clock_thread_cpu();
        for (long c = 0; c < calls; c++)
            fn(ctx);
        t = clock_thread_cpu() - t;
        if (t < min_s) {
            calls *= 2;
            continue;
        }
        samples[i++] = t / (double)calls;
    }
}

static pid_t start(const char *const *argv, int copy)
{
    char text[ARGS][512], *arg[ARGS + 1];
    int n = 0;
    for (; argv[n]; n++) {
        if (n == ARGS) bench_fail("too many arguments");
        const char *at = strstr(argv[n], "%d");
        if (at)
            snprintf(text[n], sizeof *text, "%.*s%d%s", (int)(at - argv[n]), argv[n],
                     copy, at + 2);
        else
            snprintf(text[n], sizeof *text, "%s", argv[n]);
        arg[n] = text[n];
    }
    arg[n] = NULL;
    pid_t pid = fork();
    if (pid < 0) bench_fail("fork: %s", strerror(errno));
    if (pid) return pid;
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0) dup2(null, STDOUT_FILENO);
    execv(arg[0], arg);
    fprintf(stderr, "bench: %s: %s\n", arg[0], strerror(errno));
    _exit(127);
}

void bench_program(double *samples, int together, const char *const *argv)
{
    pid_t pid[TOGETHER];
    if (together > TOGETHER) bench_fail("%d programs at once", together);
    for (int i = 0; i < together; i++)
        pid[i] = start(argv, i);
    for (int i = 0; i < together; i++) {
        int status;
        struct rusage u;
        if (wait4(pid[i], &status, 0, &u) != pid[i]) bench_fail("%s", strerror(errno));
        if (!WIFEXITED(status) || WEXITSTATUS(status))
            bench_fail("%s %s failed", argv[0], argv[1] ? argv[1] : "");
        samples[i] = (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
                     1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    }
}

struct product {
    float *a, *b, *c;
    int n;
};

static void multiply(void *ctx)
{
    struct product *p = ctx;
    blas_gemm_nn(p->c, p->a, p->b, p->n, p->n, p->n, 0.0f);
}

double bench_peak_gflops(void)
{
    struct product p = {.n = 512};
    size_t n = (size_t)p.n * (size_t)p.n;
    float *block = malloc(sizeof *block * 3 * n);
    if (!block) bench_fail("no memory");
    for (size_t i = 0; i < 2 * n; i++)
        block[i] = (float)(i * 37 % 101) / 101 - .5f;
    p.a = block, p.b = block + n, p.c = block + 2 * n;
    double s[7], best = INFINITY;
    bench_time(s, 7, .02, multiply, &p);
    for (int i = 0; i < 7; i++)
        best = fmin(best, s[i]);
    free(block);
    return 2e-9 * (double)n * p.n / best;
}
