#include "support/trial.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/page.h"
#include "support/bench.h"
#include "support/client.h"
#include "support/tmpdir.h"

enum { OPTIONS = 64 };

struct trial {
    char dir[256], data[300], log[300], port[16];
    const char *argv[OPTIONS];
    struct server server;
    struct client metrics;
    struct report *report;
};

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

struct trial *trial_new(const char *name, const char *title)
{
    struct trial *t = calloc(1, sizeof *t);
    struct err e = {0};
    if (!t || !(t->report = report_new(name, title, &e))) bench_fail("no memory");
    report_param(t->report, "command", "make %s", name);

    snprintf(t->dir, sizeof t->dir, "%s", tmpdir_new());
    tmpdir_keep(t->dir); /* trial_end removes it after a success */
    snprintf(t->data, sizeof t->data, "%s/data", t->dir);
    snprintf(t->log, sizeof t->log, "%s/log", t->dir);
    t->server.port = server_port();
    snprintf(t->port, sizeof t->port, "%d", t->server.port);
    t->metrics = client_open(t->server.port);
    return t;
}

double trial_option(struct trial *t, const char *name, double otherwise)
{
    char *end;
    const char *text = setting(name, "");
    double value = *text ? strtod(text, &end) : otherwise;
    if (*text && *end) bench_fail("%s=%s is not a number", name, text);
    report_param_real(t->report, name, value);
    return value;
}

const char *trial_path(struct trial *t, const char *name)
{
    return tmpdir_path(t->dir, name);
}

void trial_launch(struct trial *t, const char *const *options)
{
    if (options || !t->argv[0]) {
        const char *const always[] = {setting("TRIAL_ABRD", "build/abrd"),
                                      "serve",
                                      "--port",
                                      t->port,
                                      "--data",
                                      t->data};
        int n = 0;
        for (; n < 6; n++)
            t->argv[n] = always[n];
        for (; options && *options && n < OPTIONS - 1; n++)
            t->argv[n] = *options++;
        t->argv[n] = NULL;
    }
    t->server = server_launch(t->argv, t->server.port, t->log);
}

void trial_start(struct trial *t, const char *const *options)
{
    trial_launch(t, options);
    if (!server_wait(&t->server, SERVER_START_S))
        bench_fail("the daemon does not start; see %s", t->log);
}

struct server *trial_server(struct trial *t)
{
    return &t->server;
}

double trial_metric(struct trial *t, const char *name)
{
    if (client_ask(&t->metrics, "GET", "/metrics", NULL) != 200 &&
        client_ask(&t->metrics, "GET", "/metrics", NULL) != 200)
        bench_fail("/metrics does not answer; see %s", t->log);
    size_t n = strlen(name);
    for (const char *line = client_body(&t->metrics); *line;
         line += strcspn(line, "\n"), line += *line == '\n')
        if (strncmp(line, name, n) == 0 && line[n] == ' ') return strtod(line + n, NULL);
    return (double)NAN;
}

double trial_updates(struct trial *t)
{
    return trial_metric(t, "abrd_learner_updates_total") +
           trial_metric(t, "abrd_learner_rollbacks_total") +
           trial_metric(t, "abrd_learner_exams_total{verdict=\"even\"}");
}

struct report *trial_report(struct trial *t)
{
    return t->report;
}

static int say_checks(const struct report *r)
{
    for (int i = 0; i < report_checks(r); i++) {
        struct report_check c = report_check_at(r, i);
        printf("%s %s: %.6g (%g to %g)\n", c.pass ? "ok    " : "FAILED", c.name, c.value,
               c.low, c.high);
    }
    int failed = report_checks_failed(r);
    printf("%d passed, %d failed\n", report_checks(r) - failed, failed);
    return failed || !report_checks(r);
}

/* Without the charts' library (make web needs a network) the checks still count. */
static void write_report(const struct report *r)
{
    const char *dir = setting("TRIAL_OUT", "build/trial");
    struct report_assets assets;
    struct err e = {0};
    if (mkdir(dir, 0755) && errno != EEXIST)
        bench_fail("%s cannot be made: %s", dir, strerror(errno));
    int rc = page_assets(&assets, &e);
    if (!rc) rc = report_write(r, dir, &assets, &e);
    page_assets_free(&assets);
    if (rc)
        printf("no report: %s: %s\n", e.field, e.detail);
    else
        printf("%s/index.html\n", dir);
}

int trial_end(struct trial *t)
{
    if (t->server.pid) server_stop(&t->server);
    client_close(&t->metrics);
    write_report(t->report);
    int code = say_checks(t->report);
    if (code)
        printf("the daemon's folder is kept: %s\n", t->dir);
    else
        tmpdir_remove(t->dir);
    report_free(t->report);
    free(t);
    return code;
}
