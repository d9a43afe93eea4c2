/* abrd serve: options and configuration, start, signals, end. */
#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/opt.h"
#include "cli/optfile.h"
#include "serve/listen.h"
#include "serve/node.h"
#include "serve/service.h"

enum {
    BATCH_MAX = 8192,    /* half of what the learner holds */
    STRICT_WORKERS = 16, /* they wait for the disk, together */
};

struct serve {
    /* where and for whom */
    const char *bind, *host, *allow_origin, *token_file, *web_dir, *media_dir, *traces;
    int port, workers, max_connections;
    struct admit_cfg admit;
    /* what decides and learns */
    const char *config, *data, *policy, *learn, *default_profile;
    const char *untagged, *merge_policy;
    struct untagged_cfg slots;
    uint64_t seed;
    double explore, session_ttl, retention_days, checkpoint, drain;
    int max_sessions, grow_max, grow_experts;
    const char *grow_gate;
    double locality, latch_gap, shift_limit;
    int latch, quarantine, batch;
    const char *durability;
    /* what is said */
    const char *log, *log_level;
};

static struct serve serve_default(void)
{
    struct service_cfg s = service_cfg_default();
    struct node_cfg n = node_cfg_default();
    return (struct serve){.bind = n.bind,
                          .port = n.port,
                          .max_connections = n.http.max_connections,
                          .admit = n.admit,
                          .learn = s.learn ? "on" : "off",
                          .default_profile = "pensieve",
                          .untagged = untagged_mode_name(s.untagged.mode),
                          .slots = s.untagged,
                          .explore = s.explore_share,
                          .session_ttl = s.session_ttl_s,
                          .retention_days = s.retention_s / 86400.0,
                          .checkpoint = s.checkpoint_s,
                          .drain = 1.0,
                          .max_sessions = s.max_sessions,
                          .grow_max = s.grow_max,
                          .grow_experts = s.grow_experts,
                          .grow_gate = norga_sigma_word(s.grow_gate),
                          .latch_gap = s.online.ppo.gate.gap,
                          .quarantine = s.online.quarantine,
                          .batch = s.online.batch,
                          .durability = "window",
                          .log = "text",
                          .log_level = "info"};
}

/* ---- options ---- */

static bool strict(const struct serve *s)
{
    return strcmp(s->durability, "strict") == 0;
}

static int fail(const struct err *e)
{
    fprintf(stderr, "abrd serve: %s%s%s\n", e->field, *e->field ? ": " : "", e->detail);
    return OPT_EXIT_FAILED;
}

/* argv as getopt may permute it, so that it can be parsed twice */
static int parse(const struct opt_cmd *cmd, int argc, char **argv)
{
    char **copy = calloc((size_t)argc + 1, sizeof *copy);
    if (!copy) return -1;
    memcpy(copy, argv, (size_t)argc * sizeof *copy);
    int first = opt_parse(cmd, argc, copy);
    free(copy);
    return first;
}

/* Returns the exit code, or -1 to go on. */
static int read_options(struct serve *s, struct optfile *file, int argc, char **argv)
{
    const struct opt opts[] = {
        {"port", "N", "where to listen; 0 takes a free port", .i = &s->port, .lo = 0,
         .hi = 65535},
        {"bind", "ADDRESS", "the same; beyond this machine a token is needed",
         .text = &s->bind},
        {"data", "DIR", "sessions, rewards and learned weights; without it none are kept",
         .text = &s->data},
        {"config", "FILE", "these options as lines of 'key = value'", .text = &s->config},
        {"workers", "N",
         "threads that answer; 0 = one per processor, 16 with --durability strict",
         .i = &s->workers, .lo = 0, .hi = 64},
        {"policy", "FILE", "weights to start from (default: the shipped ones)",
         .text = &s->policy},
        {"learn", "on|off", "whether answers that were sampled teach", .text = &s->learn},
        {"explore", "SHARE", "of the sessions that sample", .d = &s->explore, .lo = 0,
         .hi = 1},
        {"batch", "N", "steps that were sampled for an update", .i = &s->batch, .lo = 32,
         .hi = BATCH_MAX},
        {"locality", "L", "weight of the routers' locality loss", .d = &s->locality,
         .lo = 0, .hi = 1e4},
        {"latch", "N",
         "after N updates a router whose experts have converged stops; 0 = never",
         .i = &s->latch, .lo = 0, .hi = 1 << 30},
        {"latch-gap", "G",
         "experts whose score is so close to the chosen one's have converged",
         .d = &s->latch_gap, .lo = 0, .hi = 1e4},
        {"shift-limit", "H",
         "CUSUM of the critic's surprise that wakes a stopped router; 0 = none",
         .d = &s->shift_limit, .lo = 0, .hi = 1e4},
        {"quarantine", "N", "updates without an expert that came out not finite",
         .i = &s->quarantine, .lo = 1, .hi = 1e6},
        {"seed", "N", "of everything random", .u64 = &s->seed},
        {"default-profile", "NAME", "of sessions that give no hint, at first",
         .text = &s->default_profile},
        {"grow-max", "N", "profiles that may have experts of their own",
         .i = &s->grow_max, .lo = 0, .hi = SERVICE_GROWN},
        {"grow-experts", "N", "new experts of each", .i = &s->grow_experts, .lo = 1,
         .hi = NORGA_EXPERTS_MAX},
        {"grow-gate", "NAME", "their gate: tanh, sigmoid, gelu or linear",
         .text = &s->grow_gate},
        {"untagged", "MODE", "what those get: default (the mean hint), identify or merge",
         .text = &s->untagged},
        {"slot", "S", "for which mix, head and merge stay as they are",
         .d = &s->slots.slot_s, .lo = 1, .hi = 1e7},
        {"slot-sessions", "N", "untagged ones that end a slot early; 0 = none",
         .i = &s->slots.slot_sessions, .lo = 0, .hi = 1e9},
        {"mix-half-life", "SLOTS", "after which half of the mix is forgotten",
         .d = &s->slots.half_life, .lo = .01, .hi = 1e6},
        {"merge-policy", "FILE", "the experts to merge (default: the shipped ones)",
         .text = &s->merge_policy},
        {"merge-keep", "B", "experts in a merge at most; 0 = all",
         .i = &s->slots.bandit.keep, .lo = 0, .hi = UNTAGGED_EXPERTS},
        {"merge-c", "C", "of the tree: larger splits later (Tanbr, Eq. 2)",
         .d = &s->slots.bandit.c, .lo = 0, .hi = 1e3},
        {"merge-delta", "D", "the same: confidence", .d = &s->slots.bandit.delta, .lo = 0,
         .hi = 1},
        {"merge-nu1", "NU", "the same: width of a cell, also in the bound (Eq. 4)",
         .d = &s->slots.bandit.nu1, .lo = 0, .hi = 1e3},
        {"merge-rho", "RHO", "the same: what a split leaves of it",
         .d = &s->slots.bandit.rho, .lo = 0, .hi = 1},
        {"merge-gamma", "G", "how much what is not known attracts (Eq. 4)",
         .d = &s->slots.bandit.gamma, .lo = 0, .hi = 1e3},
        {"merge-lambda", "L", "of the bandit's network: regularisation",
         .d = &s->slots.bandit.lambda, .lo = 0, .hi = 1e6},
        {"merge-eta", "E", "the same: learning rate", .d = &s->slots.bandit.eta, .lo = 0,
         .hi = 10},
        {"merge-steps", "J", "the same: gradient steps per slot",
         .i = &s->slots.bandit.steps, .lo = 0, .hi = 1e5},
        {"merge-history", "N", "the same: slots remembered",
         .i = &s->slots.bandit.history, .lo = 1, .hi = 1e6},
        {"max-sessions", "N", "live ones; more get 503", .i = &s->max_sessions, .lo = 1,
         .hi = 1e7},
        {"session-ttl", "S", "without a word, then a session is closed",
         .d = &s->session_ttl, .lo = 1, .hi = 1e6},
        {"retention-days", "DAYS", "that sessions are kept; 0 = for ever",
         .d = &s->retention_days, .lo = 0, .hi = 1e5},
        {"checkpoint", "S", "between saves of learned weights", .d = &s->checkpoint,
         .lo = .1, .hi = 1e6},
        {"durability", "WHEN",
         "what was answered is stored: window, within 0.2 s; strict, before the answer",
         .text = &s->durability},
        {"drain", "S", "for running sessions to go elsewhere when stopping",
         .d = &s->drain, .lo = 0, .hi = 3600},
        {"host", "A,B", "further names by which the daemon is called (header Host)",
         .text = &s->host},
        {"allow-origin", "A,B", "origins of pages that may use the daemon, or *",
         .text = &s->allow_origin},
        {"admin-token-file", "FILE", "token for writing profiles; made when absent",
         .text = &s->token_file},
        {"trust-proxy", "A,B", "proxies that tell who asks: addresses or networks",
         .text = &s->admit.trust_proxy},
        {"proxy-header", "NAME", "in which they do: x-forwarded-for or forwarded",
         .text = &s->admit.proxy_header},
        {"address-rate", "N", "requests a second of one address; 0 = no limit",
         .d = &s->admit.address_rate, .lo = 0, .hi = 1e6},
        {"open-rate", "N", "sessions a second that it may open; 0 = no limit",
         .d = &s->admit.open_rate, .lo = 0, .hi = 1e6},
        {"session-rate", "N", "requests a second about one session; 0 = no limit",
         .d = &s->admit.session_rate, .lo = 0, .hi = 1e6},
        {"max-connections", "N", "per worker", .i = &s->max_connections, .lo = 1,
         .hi = 60000},
        {"web-dir", "DIR", "the pages", .text = &s->web_dir},
        {"media-dir", "DIR", "the demo's stream (make media)", .text = &s->media_dir},
        {"traces", "DIR", "links to offer in the demo", .text = &s->traces},
        {"log", "text|json", "form of the log lines on stderr", .text = &s->log},
        {"log-level", "LEVEL", "error, warn, info or debug", .text = &s->log_level},
        {0}};
    const struct opt_cmd cmd = {
        .name = "serve",
        .about = "Answers bitrate questions over HTTP, and learns from the answers.\n"
                 "SIGINT or SIGTERM stops it cleanly; a second one at once.",
        .opts = opts,
        .example = "abrd serve --data var\n"
                   "abrd serve --port 9000 --learn off --policy my.safetensors"};

    int first = parse(&cmd, argc, argv);
    if (first < 0) return opt_status(first);
    if (s->config) {
        struct err e = {0};
        const char *config = s->config;
        *s = serve_default();
        if (optfile_read(file, config, opts, "config", &e)) {
            fail(&e);
            return OPT_EXIT_USAGE;
        }
        first = parse(&cmd, argc, argv);
        if (first < 0) return opt_status(first);
    }

    struct err e = {0};
    if (untagged_mode_parse(&s->slots.mode, s->untagged, &e))
        return opt_usage("serve", "--untagged %s", e.detail);
    if (strcmp(s->durability, "window") != 0 && strcmp(s->durability, "strict") != 0)
        return opt_usage("serve", "--durability must be window or strict, not '%.40s'",
                         s->durability);
    if (strcmp(s->learn, "on") != 0 && strcmp(s->learn, "off") != 0)
        return opt_usage("serve", "--learn must be on or off, not '%.40s'", s->learn);
    if (strcmp(s->log, "text") != 0 && strcmp(s->log, "json") != 0)
        return opt_usage("serve", "--log must be text or json, not '%.40s'", s->log);
    return -1;
}

/* ---- the token ---- */

static int make_token(char *token, size_t size, const char *path, struct err *e)
{
    unsigned char random[16];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return err_set(e, ERR_IO, "no random bytes: %s", strerror(errno));
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(token + 2 * i, size - 2 * i, "%02x", random[i]);

    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return err_field(e, ERR_IO, path, "cannot be made: %s", strerror(errno));
    bool ok = dprintf(fd, "%s\n", token) > 0;
    ok = close(fd) == 0 && ok;
    return ok ? 0 : err_field(e, ERR_IO, path, "cannot be written");
}

/* The file's only word; a fresh one when there is no file. */
static int read_token(char *token, size_t size, const char *path, struct err *e)
{
    if (access(path, F_OK)) return make_token(token, size, path, e);

    char *text = text_read_file(path, 4096, NULL, e);
    if (!text) return e->code;
    const char *word = text + strspn(text, " \t\r\n");
    size_t n = strcspn(word, " \t\r\n");
    int rc = 0;
    if (n < 16 || n >= size || word[n + strspn(word + n, " \t\r\n")]) {
        rc = err_field(e, ERR_INVALID, path,
                       "must hold one token of 16 to %zu characters", size - 1);
    } else {
        memcpy(token, word, n);
        token[n] = '\0';
    }
    free(text);
    return rc;
}

/* ---- life ---- */

struct paths {
    char policy[HOME_PATH], merge[HOME_PATH], web[HOME_PATH], media[HOME_PATH],
        traces[HOME_PATH];
};

/* What was not given is looked for; what is not found is absent. */
static const char *or_found(const char *given, char *buf, const char *rel)
{
    if (given) return given;
    return home_find(buf, rel, NULL) == 0 ? buf : NULL;
}

static struct service *make_service(const struct serve *s, struct paths *paths,
                                    const struct log *log, struct err *e)
{
    struct service_cfg cfg = service_cfg_default();
    cfg.data_dir = s->data;
    cfg.policy_path = or_found(s->policy, paths->policy, "deploy/policy/moe.safetensors");
    cfg.seed = s->seed;
    cfg.explore_share = s->explore;
    cfg.learn = strcmp(s->learn, "on") == 0;
    cfg.max_sessions = s->max_sessions;
    cfg.grow_max = s->grow_max;
    cfg.grow_experts = s->grow_experts;
    if (norga_sigma_parse(&cfg.grow_gate, s->grow_gate, e)) return NULL;
    cfg.session_ttl_s = s->session_ttl;
    cfg.retention_s = s->retention_days * 86400.0;
    cfg.checkpoint_s = s->checkpoint;
    cfg.online.seed = s->seed;
    cfg.online.quarantine = s->quarantine;
    cfg.online.batch = s->batch;
    cfg.strict = strict(s);
    cfg.online.ppo.gate = (struct gate_cfg){s->locality, s->latch, s->latch_gap};
    cfg.online.ppo.drift.limit = s->shift_limit;
    cfg.untagged = s->slots;
    if (s->slots.mode == UNTAGGED_MERGE)
        cfg.untagged.merge_policy = or_found(s->merge_policy, paths->merge, HOME_MERGE);
    cfg.log = log;
    if (snprintf(cfg.default_profile, sizeof cfg.default_profile, "%s",
                 s->default_profile) >= (int)sizeof cfg.default_profile) {
        err_field(e, ERR_RANGE, "default-profile", "is longer than %d characters",
                  SERVICE_NAME - 1);
        return NULL;
    }
    return service_new(&cfg, e);
}

static struct node *make_node(const struct serve *s, struct paths *paths,
                              struct service *service, const char *token,
                              const struct log *log, struct err *e)
{
    struct media_cfg media = media_cfg_default();
    media.dir = or_found(s->media_dir, paths->media, "build/media");
    if (!media.dir) media.dir = or_found(NULL, paths->media, "media");
    media.traces = or_found(s->traces, paths->traces, "traces");
    media.seed = s->seed;

    struct node_cfg cfg = node_cfg_default();
    cfg.bind = s->bind;
    cfg.port = s->port;
    cfg.workers = s->workers;
    if (!s->workers && strict(s)) cfg.workers = STRICT_WORKERS;
    cfg.host = s->host;
    cfg.allow_origin = s->allow_origin;
    cfg.token = token;
    cfg.web_dir = or_found(s->web_dir, paths->web, "web");
    cfg.media = &media;
    cfg.default_profile = s->default_profile;
    cfg.http.max_connections = s->max_connections;
    cfg.admit = s->admit;
    cfg.log = log;
    return node_start(&cfg, service, e);
}

static void say_hello(const struct serve *s, int port)
{
    /* an address that takes all is none that can be asked */
    const char *host = s->bind;
    if (strcmp(host, "0.0.0.0") == 0) host = "127.0.0.1";
    if (strcmp(host, "::") == 0) host = "::1";
    bool v6 = strchr(host, ':') != NULL;
    char url[160];
    snprintf(url, sizeof url, "http://%s%.100s%s:%d", v6 ? "[" : "", host, v6 ? "]" : "",
             port);

    printf("abrd is at %s/ - the demo page; Ctrl-C stops it\n"
           "try: curl -s %s/v1/decide -d '{\"profile\":\"news\",\"ladder_kbps\":"
           "[300,750,1200,1850,2850,4300],\"chunk_s\":4,\"buffer_s\":12,\"last_level\":2,"
           "\"throughput_kbps\":[2100,1800,2400],\"download_s\":[2.2,2.6,2.0]}'\n",
           url, url);
    fflush(stdout);
}

static void die_now(int sig)
{
    (void)sig;
    _exit(OPT_EXIT_FAILED);
}

/* A second signal ends it at once: what is not flushed by then is lost. */
static void no_more_patience(void)
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = die_now;
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

/* Until nobody watches any more, or the time is over. */
static void let_sessions_go(struct service *service, double seconds)
{
    double until = clock_mono() + seconds;
    for (;;) {
        struct service_stats stats;
        service_stats(&stats, service);
        if (stats.sessions_live == 0 || clock_mono() >= until) return;
        usleep(50000);
    }
}

/* Serves until a signal. */
static int serve(const struct serve *s, struct node *node, struct service *service,
                 const struct log *log, struct err *e)
{
    say_hello(s, node_port(node));
    log_event(log, LOG_INFO, "listen", "%s port %d, learning %s", s->bind,
              node_port(node), s->learn);
    while (!interrupt_wait(3600.0))
        ;

    no_more_patience();
    log_event(log, LOG_INFO, "drain", "no new sessions");
    node_drain(node);
    let_sessions_go(service, s->drain);
    node_stop(node);
    int rc = service_drain(service, e);
    if (!rc) log_event(log, LOG_INFO, "stop", "everything is stored");
    return rc;
}

/* Each connection is a file: take as many as may be had. */
static void raise_file_limit(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

int cmd_serve(int argc, char **argv)
{
    struct serve s = serve_default();
    struct optfile file;
    int code = read_options(&s, &file, argc, argv);
    if (code >= 0) return code;

    struct err e = {0};
    enum log_level level;
    if (log_level_parse(&level, s.log_level, &e))
        return opt_usage("serve", "%s", e.detail);
    struct log log = log_init(STDERR_FILENO, level, strcmp(s.log, "json") == 0);

    char token[128] = "";
    if (s.token_file && read_token(token, sizeof token, s.token_file, &e))
        return fail(&e);

    interrupt_catch();
    signal(SIGPIPE, SIG_IGN);
    raise_file_limit();

    struct paths paths;
    struct node *node = NULL;
    struct service *service = make_service(&s, &paths, &log, &e);
    if (service && service_start_threads(service, &e) == 0)
        node = make_node(&s, &paths, service, token, &log, &e);

    int rc = node ? serve(&s, node, service, &log, &e) : ERR_IO;
    service_free(service);
    return rc ? fail(&e) : OPT_EXIT_DONE;
}
