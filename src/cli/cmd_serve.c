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
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/opt.h"
#include "cli/serve_options.h"
#include "serve/listen.h"
#include "serve/node.h"
#include "serve/service.h"

static int fail(const struct err *e)
{
    fprintf(stderr, "abrd serve: %s%s%s\n", e->field, *e->field ? ": " : "", e->detail);
    return OPT_EXIT_FAILED;
}

/* ---- the token ---- */

static int make_token(char token[SERVE_OPTIONS_TOKEN], const char *path, struct err *e)
{
    unsigned char random[16];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return err_set(e, ERR_IO, "no random bytes: %s", strerror(errno));
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(token + 2 * i, SERVE_OPTIONS_TOKEN - 2 * i, "%02x", random[i]);

    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return err_field(e, ERR_IO, path, "cannot be made: %s", strerror(errno));
    bool ok = dprintf(fd, "%s\n", token) > 0;
    ok = close(fd) == 0 && ok;
    return ok ? 0 : err_field(e, ERR_IO, path, "cannot be written");
}

/* A fresh one when there is no file. */
static int read_token(char token[SERVE_OPTIONS_TOKEN], const char *path, struct err *e)
{
    return access(path, F_OK) ? make_token(token, path, e)
                              : serve_options_token(token, path, e);
}

/* Whoever can read it can change the policy. */
static void warn_of_readers(const struct log *log, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && st.st_mode & 077)
        log_event(log, LOG_WARN, "token",
                  "%s may be read by others (mode %03o): chmod 600", path,
                  (unsigned)st.st_mode & 0777);
}

/* ---- life ---- */

enum { STRICT_WORKERS = 16 }; /* they wait for the disk, together */

struct paths {
    char policy[HOME_PATH], merge[HOME_PATH], web[HOME_PATH], media[HOME_PATH],
        traces[HOME_PATH];
};

static struct service *make_service(const struct serve_options *s, struct paths *paths,
                                    const struct log *log, struct err *e)
{
    struct service_cfg cfg = service_cfg_default();
    cfg.data_dir = s->data;
    cfg.policy_path =
        serve_options_path(s->policy, paths->policy, "deploy/policy/moe.safetensors");
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
    cfg.strict = serve_options_strict(s);
    cfg.online.ppo.gate = (struct gate_cfg){s->locality, s->latch, s->latch_gap};
    cfg.online.ppo.drift.limit = s->shift_limit;
    cfg.untagged = s->slots;
    if (s->slots.mode == UNTAGGED_MERGE)
        cfg.untagged.merge_policy =
            serve_options_path(s->merge_policy, paths->merge, HOME_MERGE);
    cfg.log = log;
    if (snprintf(cfg.default_profile, sizeof cfg.default_profile, "%s",
                 s->default_profile) >= (int)sizeof cfg.default_profile) {
        err_field(e, ERR_RANGE, "default-profile", "is longer than %d characters",
                  SERVICE_NAME - 1);
        return NULL;
    }
    return service_new(&cfg, e);
}

static struct node *make_node(const struct serve_options *s, struct paths *paths,
                              struct service *service, const char *token,
                              const struct log *log, struct err *e)
{
    struct media_cfg media = media_cfg_default();
    media.dir = serve_options_path(s->media_dir, paths->media, "build/media");
    if (!media.dir) media.dir = serve_options_path(NULL, paths->media, "media");
    media.traces = serve_options_path(s->traces, paths->traces, "traces");
    media.seed = s->seed;

    struct node_cfg cfg = node_cfg_default();
    cfg.bind = s->bind;
    cfg.port = s->port;
    cfg.workers = s->workers;
    if (!s->workers && serve_options_strict(s)) cfg.workers = STRICT_WORKERS;
    cfg.host = s->host;
    cfg.allow_origin = s->allow_origin;
    cfg.token = token;
    cfg.web_dir = serve_options_path(s->web_dir, paths->web, "web");
    cfg.media = &media;
    cfg.default_profile = s->default_profile;
    cfg.http.max_connections = s->max_connections;
    cfg.admit = s->admit;
    cfg.log = log;
    return node_start(&cfg, service, e);
}

static void say_hello(const struct serve_options *s, int port)
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
static int serve(const struct serve_options *s, struct node *node,
                 struct service *service, const struct log *log, struct err *e)
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
    struct serve_options s = serve_options_default();
    struct optfile file;
    static const struct serve_options_cmd cmd = {
        .name = "serve",
        .about = "Answers bitrate questions over HTTP, and learns from the answers.\n"
                 "SIGINT or SIGTERM stops it cleanly; a second one at once.",
        .example = "abrd serve --data var\n"
                   "abrd serve --port 9000 --learn off --policy my.safetensors"};
    int code = serve_options_read(&s, &file, &cmd, argc, argv);
    if (code >= 0) return code;

    struct err e = {0};
    enum log_level level;
    if (log_level_parse(&level, s.log_level, &e))
        return opt_usage("serve", "%s", e.detail);
    struct log log = log_init(STDERR_FILENO, level, strcmp(s.log, "json") == 0);

    char token[SERVE_OPTIONS_TOKEN] = "";
    if (s.token_file && read_token(token, s.token_file, &e)) return fail(&e);
    if (s.token_file) warn_of_readers(&log, s.token_file);

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
