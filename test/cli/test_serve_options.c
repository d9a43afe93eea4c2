#include "cli/serve_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "policy/norga.h"
#include "serve/session/limits.h"
#include "serve/session/service.h"
#include "support/capture.h"
#include "support/suites.h"
#include "support/tmpdir.h"

static const struct serve_options_cmd cmd = {
    .name = "serve", .about = "A test.", .example = "abrd serve"};

static int read_args(struct serve_options *s, const char *a, const char *b, const char *c)
{
    static char copy[4][256];
    const char *const given[] = {"serve", a, b, c};
    char *argv[5] = {0};
    int argc = 0;
    for (int i = 0; i < 4 && given[i]; i++) {
        snprintf(copy[i], sizeof copy[i], "%s", given[i]);
        argv[argc++] = copy[i];
    }
    *s = serve_options_default();
    return serve_options_read(s, &cmd, argc, argv);
}

TEST(options_win_over_the_file)
{
    struct serve_options s;
    struct err e = {0};
    const char *dir = tmpdir_new();
    char path[300];
    snprintf(path, sizeof path, "%s/a.conf", dir);
    static const char text[] = "port = 9000\nopen-rate = 7.5\ntrust_proxy = \"::1\"\n"
                               "durability = strict\n";
    ck_assert_int_eq(text_write_file(path, text, strlen(text), &e), 0);
    char option[320];
    snprintf(option, sizeof option, "--config=%s", path);
    ck_assert_int_eq(read_args(&s, option, "--port", "9001"), -1);
    ck_assert_int_eq(s.node.port, 9001);
    ck_assert_double_eq(s.node.admit.open_rate, 7.5);
    ck_assert_str_eq(s.node.admit.trust_proxy, "::1");
    ck_assert(s.service.strict);
    ck_assert_double_eq(s.node.admit.address_rate, 1000); /* the default */
    serve_options_free(&s);
}

TEST(tokens_are_one_word)
{
    char token[SERVE_OPTIONS_TOKEN];
    const char *dir = tmpdir_new();
    char path[300];
    snprintf(path, sizeof path, "%s/token", dir);
    struct err e = {0};
    ck_assert_int_eq(serve_options_token(token, path, &e), ERR_ABSENT);
    static const struct {
        const char *text;
        int rc;
    } files[] = {{"0123456789abcdef", 0},
                 {"  0123456789abcdef\n\n", 0},
                 {"0123456789abcde\n", ERR_INVALID},
                 {"0123456789abcdef x\n", ERR_INVALID},
                 {"", ERR_INVALID}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        e = (struct err){0};
        ck_assert_int_eq(text_write_file(path, files[i].text, strlen(files[i].text), &e),
                         0);
        ck_assert_int_eq(serve_options_token(token, path, &e), files[i].rc);
        if (!files[i].rc) ck_assert_str_eq(token, "0123456789abcdef");
    }
}

TEST(what_was_given_is_taken)
{
    char buf[HOME_PATH];
    ck_assert_str_eq(serve_options_path("given", buf, "web"), "given");
    ck_assert_ptr_eq(serve_options_path(NULL, buf, "web"), buf);
    ck_assert_ptr_null(serve_options_path(NULL, buf, "no/such/file"));
}

TEST(what_differs_is_named)
{
    struct serve_options a = serve_options_default(), b = a;
    int from = 0;
    bool live = false;
    ck_assert_ptr_null(serve_options_differ(&a, &b, &live, &from));
    char address[] = "127.0.0.1"; /* the same text in another place */
    b.node.bind = address;
    b.service.explore_share = .5;
    b.service.online.batch = 64;
    b.node.host = "abrd.example";
    static const struct {
        const char *name;
        bool live;
    } want[] = {{"host", true}, {"explore", true}, {"batch", false}};
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(serve_options_differ(&a, &b, &live, &from), want[i].name);
        ck_assert_int_eq(live, want[i].live);
    }
    ck_assert_ptr_null(serve_options_differ(&a, &b, &live, &from));
}

/* ---- limits: what an option takes, the service takes, and nothing beyond ---- */

struct all {
    struct service_cfg cfg;
    struct parts_cfg optional;
};

static const struct limit {
    const char *name;
    double lo, hi;
    size_t at; /* in struct all */
    bool whole;
    double times; /* of the option's unit */
    bool lower; /* the service takes less than the option: tests learn from fewer steps */
} LIMITS[] = {
#define INT(name, lo, hi, field)                                  \
    {                                                             \
        name, lo, hi, offsetof(struct all, field), true, 1, false \
    }
#define REAL(name, lo, hi, field)                                  \
    {                                                              \
        name, lo, hi, offsetof(struct all, field), false, 1, false \
    }
    INT("metrics-values", 1, LABEL_SUMS_MAX, cfg.metrics_values),
    REAL("explore", 0, 1, cfg.explore_share),
    {"batch", 32, SERVICE_BATCH_MAX, offsetof(struct all, cfg.online.batch), true, 1,
     true},
    REAL("learn-rate", 0, .1, cfg.online.ppo.lr),
    REAL("critic-rate", 0, .1, cfg.online.ppo.critic_lr),
    REAL("noise", 0, 100, cfg.online.ppo.noise_gamma),
    REAL("tolerance", 0, 1, cfg.online.tolerance),
    REAL("locality", 0, 1e4, cfg.online.ppo.gate.locality),
    INT("latch", 0, 1 << 30, cfg.online.ppo.gate.latch),
    REAL("latch-gap", 0, 1e4, cfg.online.ppo.gate.gap),
    REAL("shift-limit", 0, 1e4, cfg.online.ppo.drift.limit),
    INT("quarantine", 1, 1e6, cfg.online.quarantine),
    REAL("rehearse", 0, 6, cfg.online.rehearse),
    REAL("anchor", 0, 1, cfg.online.anchor),
    INT("exam-links", 0, 64, cfg.online.exam_links),
    REAL("exam-margin", 0, 10, cfg.online.exam_margin),
    REAL("source-share", 0.001, 1, cfg.online.source_share),
    INT("retries", 0, 10, cfg.online.retries),
    INT("hold", 1, 1e6, cfg.online.hold),
    INT("forecast-steps", 0, 1e5, cfg.online.input_steps),
    INT("grow-max", 0, SERVICE_ADDED, optional.added.max),
    INT("grow-experts", 1, NORGA_EXPERTS_MAX, optional.added.experts),
    INT("max-sessions", 1, 1e7, cfg.max_sessions),
    REAL("session-ttl", 1, SERVICE_TTL_MAX_S, cfg.session_ttl_s),
    {"retention-days", 0, SERVICE_RETENTION_MAX_S / 86400,
     offsetof(struct all, cfg.retention_s), false, 86400, false},
    REAL("stall-ratio-max", 0, LIMITS_STALL_RATIO_MAX, cfg.stall_ratio_max),
    REAL("startup-max-s", 0, LIMITS_STARTUP_S_MAX, cfg.startup_max_s),
    REAL("checkpoint", .1, SERVICE_CHECKPOINT_MAX_S, cfg.checkpoint_s),
    REAL("slot", 1, 1e7, optional.hintless.slot_s),
    INT("slot-sessions", 0, 1e9, optional.hintless.slot_sessions),
    REAL("mix-half-life", .01, 1e6, optional.hintless.half_life),
    INT("merge-keep", 0, HINTLESS_EXPERTS, optional.hintless.bandit.keep),
    INT("merge-links", 0, 1000, optional.hintless.merge_links),
    REAL("trial-sessions", 60, 1e9, optional.trial.sessions),
    REAL("trial-stall-margin", 0, 1, optional.trial.stall_margin),
    REAL("trial-startup-margin", 0, 60, optional.trial.startup_margin_s),
    REAL("merge-c", HINTLESS_LEAST, 1e3, optional.hintless.bandit.c),
    REAL("merge-delta", HINTLESS_LEAST, 1, optional.hintless.bandit.delta),
    REAL("merge-nu1", HINTLESS_LEAST, 1e3, optional.hintless.bandit.nu1),
    REAL("merge-rho", HINTLESS_LEAST, HINTLESS_RHO_MAX, optional.hintless.bandit.rho),
    REAL("merge-gamma", 0, 1e3, optional.hintless.bandit.gamma),
    REAL("merge-lambda", HINTLESS_LEAST, 1e6, optional.hintless.bandit.lambda),
    REAL("merge-eta", 0, 10, optional.hintless.bandit.eta),
    INT("merge-steps", 0, 1e5, optional.hintless.bandit.steps),
    INT("merge-history", 1, 1e6, optional.hintless.bandit.history),
    INT("bus-buffer", 1, CLUSTER_BUFFER_MAX, optional.cluster.buffer),
    REAL("bus-stream-mb", .001, 1e6, optional.cluster.stream_mb),
    INT("node-number", 0, 255, optional.cluster.number),
#undef INT
#undef REAL
};
enum { N_LIMITS = sizeof LIMITS / sizeof *LIMITS };

static bool option_takes(const char *arg)
{
    struct serve_options s;
    capture_begin(STDERR_FILENO);
    int code = read_args(&s, arg, NULL, NULL);
    free(capture_end());
    return code == -1;
}

static bool file_takes(const char *dir, const char *line)
{
    struct serve_options s;
    char path[300], option[320];
    snprintf(path, sizeof path, "%s/a.conf", dir);
    snprintf(option, sizeof option, "--config=%s", path);
    ck_assert_int_eq(text_write_file(path, line, strlen(line), NULL), 0);
    capture_begin(STDERR_FILENO);
    int code = read_args(&s, option, NULL, NULL);
    free(capture_end());
    serve_options_free(&s);
    return code == -1;
}

static bool service_takes(const struct limit *l, double v)
{
    struct all all = {service_cfg_default(), parts_cfg_default()};
    all.cfg.optional = &all.optional;
    if (!strncmp(l->name, "bus-", 4)) { /* of a node; four batches must fit */
        all.optional.cluster.role = ROLE_DECIDE;
        all.optional.cluster.url = "nats://127.0.0.1:1";
        all.cfg.online.batch = 1;
    }
    char *at = (char *)&all + l->at;
    if (l->whole)
        *(int *)(void *)at = (int)v;
    else
        *(double *)(void *)at = v * l->times;
    return !service_check(&all.cfg, NULL);
}

static void try_limit(const struct limit *l, double v, bool taken)
{
    char arg[100];
    const char *dir = tmpdir_new();
    snprintf(arg, sizeof arg, l->whole ? "--%s=%.0f" : "--%s=%.17g", l->name, v);
    ck_assert_msg(option_takes(arg) == taken, "%s: the option", arg);
    ck_assert_msg(file_takes(dir, strcat(arg, "\n") + 2) == taken, "%s: the file", arg);
    bool less = l->lower && v < l->lo;
    ck_assert_msg(less || service_takes(l, v) == taken, "%s: the service", arg);
}

TEST(options_and_service_have_the_same_limits)
{
    const struct limit *l = &LIMITS[_i];
    double beyond = l->whole ? 1 : 1e-9;
    try_limit(l, l->lo, true);
    try_limit(l, l->hi, true);
    try_limit(l, l->whole ? l->lo - 1 : l->lo - beyond, false);
    try_limit(l, l->whole ? l->hi + 1 : l->hi * (1 + beyond), false);
}

/* No numeric option of what the service checks is left out of the table above. */
TEST(every_option_with_limits_is_tried)
{
    static const char *const elsewhere[] = {
        /* of the daemon's other parts */
        "port", "workers", "drain", "max-connections", "address-rate", "open-rate",
        "session-rate", "address-connections", "origin-transfers", "origin-silence",
        /* 1, 3 or 5; any number */
        "bus-replicas", "seed"};
    capture_begin(STDOUT_FILENO);
    struct serve_options s;
    (void)read_args(&s, "--help-all", NULL, NULL);
    char *help = capture_end();
    int found = 0;
    for (char *line = strtok(help, "\n"); line; line = strtok(NULL, "\n")) {
        char name[64], arg[64];
        if (sscanf(line, " --%63[a-z0-9-] %63s", name, arg) != 2) continue;
        char value[100];
        snprintf(value, sizeof value, "--%s=x", name);
        if (option_takes(value)) continue; /* a text */
        bool known = false;
        for (int i = 0; i < N_LIMITS; i++)
            known = known || !strcmp(LIMITS[i].name, name);
        for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
            known = known || !strcmp(elsewhere[i], name);
        snprintf(value, sizeof value, "--%s=1", name);
        ck_assert_msg(known || !option_takes(value), "no limits are tried of --%s", name);
        found += known;
    }
    free(help);
    ck_assert_int_ge(found, N_LIMITS);
}

SUITE(cli_serve_options, options_win_over_the_file, tokens_are_one_word,
      what_was_given_is_taken, what_differs_is_named,
      TIMES(options_and_service_have_the_same_limits, N_LIMITS),
      every_option_with_limits_is_tried);
