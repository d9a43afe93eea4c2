/* abrd serve: options and configuration, start, signals, end. */
#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
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
#include "cli/serve/manager.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/serve_options.h"
#include "serve/http/listen.h"
#include "serve/http/node.h"
#include "serve/session/service.h"

static int serve_fail(const struct err *e)
{
    struct rlimit space;
    int code = cmd_fail("serve", e);
    if (e->code == ERR_MEMORY && !getrlimit(RLIMIT_AS, &space) &&
        space.rlim_cur != RLIM_INFINITY)
        fprintf(stderr,
                "abrd serve: the address space is limited to %llu MB: raise ulimit -v "
                "(RLIMIT_AS, LimitAS of systemd)\n",
                (unsigned long long)space.rlim_cur >> 20);
    return code;
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
    if (fd < 0)
        return err_field(e, ERR_IO, path, "cannot be created: %s", strerror(errno));
    bool ok = dprintf(fd, "%s\n", token) > 0;
    ok = close(fd) == 0 && ok;
    return ok ? 0 : err_field(e, ERR_IO, path, "cannot be written");
}

/* A new one if there is no file. */
static int read_token(char token[SERVE_OPTIONS_TOKEN], const char *path, struct err *e)
{
    return access(path, F_OK) ? make_token(token, path, e)
                              : serve_options_token(token, path, e);
}

static void warn_of_readers(const struct log *log, const char *path)
{
    struct stat st;
    if (stat(path, &st)) return;
    unsigned mode = (unsigned)st.st_mode & 0777;
    enum serve_options_readers readers = serve_options_readers(&st);
    if (readers == SERVE_OPTIONS_OTHERS)
        log_event(log, LOG_WARN, "token",
                  "%s is readable for other users (mode %03o): chmod 600", path, mode);
    if (readers == SERVE_OPTIONS_LENT)
        log_event(log, LOG_WARN, "token",
                  "%s is readable for other users (mode %03o): its owner, user %u, can "
                  "change that",
                  path, mode, (unsigned)st.st_uid);
}

/* ---- settings ---- */

enum {
    STRICT_WORKERS = 16, /* they wait for the disk together */
    COMPUTING =
        2 /* learner, a profile that gets experts; with the merge also its bandit */
};

struct paths {
    char policy[HOME_PATH], merge[HOME_PATH], web[HOME_PATH], media[HOME_PATH],
        traces[HOME_PATH], exam[HOME_PATH];
};

/* Files that were not named are those that come with the program. optional is borrowed by the result. */
static struct service_cfg service_settings(struct parts_cfg *optional,
                                           const struct serve_options *s,
                                           struct paths *paths, const struct log *log)
{
    struct service_cfg cfg = s->service;
    struct hintless_cfg *h = &optional->hintless;
    *optional = s->optional;
    cfg.optional = optional;
    cfg.policy_path = serve_options_path(cfg.policy_path, paths->policy,
                                         "deploy/policy/moe.safetensors");
    h->exam_traces = serve_options_path(NULL, paths->exam, "traces");
    h->merge_policy = h->mode == HINTLESS_MERGE
                          ? serve_options_path(h->merge_policy, paths->merge, HOME_MERGE)
                          : NULL;
    cfg.log = log;
    return cfg;
}

/* The settings that a reload can change; make_node adds the others. */
static struct node_cfg node_settings(const struct serve_options *s, const char *token)
{
    struct node_cfg cfg = s->node;
    if (!cfg.workers && s->service.strict) cfg.workers = STRICT_WORKERS;
    cfg.token = token;
    return cfg;
}

static struct node *make_node(const struct serve_options *s, struct paths *paths,
                              struct service *service, const char *token, int socket,
                              const struct log *log, struct err *e)
{
    struct parts_cfg optional = s->optional;
    struct media_cfg *media = &optional.players.media;
    media->dir = serve_options_path(media->dir, paths->media, "build/film");
    if (!media->dir) media->dir = serve_options_path(NULL, paths->media, "media");
    media->traces = serve_options_path(media->traces, paths->traces, "traces");
    optional.players.demo = true;
    media->log = optional.players.origin.log = log;

    struct node_cfg cfg = node_settings(s, token);
    cfg.listen_fd = socket;
    cfg.web_dir = serve_options_path(cfg.web_dir, paths->web, "web");
    cfg.optional = &optional;
    cfg.default_profile = s->service.default_profile;
    cfg.log = log;
    return node_start(&cfg, service, e);
}

/* For a script that starts the daemon. */
static int put_address(struct out *o, const char *url, int port, const char *data,
                       struct err *e)
{
    out_row(o);
    out_cells(o, "url=%s port=%d pid=%d data=%s version=%s", url, port, getpid(),
              data ? data : "", CMD_VERSION);
    return out_finish(o, e);
}

static void die_now(int sig)
{
    (void)sig;
    _exit(OPT_EXIT_FAILED);
}

/* A second signal ends it at once: what is not flushed then is lost. */
static void end_at_second_signal(void)
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = die_now;
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

/* Waits until no session is open, or the time is over. */
static void wait_for_sessions(struct service *service, double seconds)
{
    double until = clock_mono() + seconds;
    for (;;) {
        struct service_stats stats;
        service_stats(&stats, service);
        if (stats.sessions_live == 0 || clock_mono() >= until) return;
        usleep(50000);
    }
}

/* ---- the configuration read again ---- */

static struct serve_options_cmd command(const struct field *more)
{
    return (struct serve_options_cmd){
        .name = "serve",
        .about = "Runs the daemon. It decides bitrates for video players over HTTP, and "
                 "learns from\n"
                 "the results. SIGINT or SIGTERM stops it cleanly; a second signal stops "
                 "it at once.\n"
                 "SIGHUP reads the configuration file again: options marked with * "
                 "change at once,\n"
                 "the others with the next start.",
        .example = "abrd serve --data var\n"
                   "abrd serve --port 9000 --learn off --policy my.safetensors\n"
                   "abrd serve --port 0 --json abrd.json   # writes the chosen port to "
                   "abrd.json",
        .more = more};
}

/* The running daemon and how it was started. */
struct running {
    int argc;
    char **argv;
    struct serve_options s;
    struct out_cfg rows;
    char token[SERVE_OPTIONS_TOKEN];
    struct paths paths;
    struct log log;
    struct service *service;
    struct node *node;
    int socket; /* from the service manager, -1: none */
    char address[LISTEN_ADDRESS], status[200];
    struct running *latest; /* the last reload; NULL: none since the start */
};

static void running_free(struct running *r)
{
    if (r) serve_options_free(&r->s);
    free(r);
}

/* Logs the differences: to the last reload, or, of settings that need a restart, to what runs. */
static void log_changes(struct running *r, struct running *next)
{
    const char *name;
    bool live = false;
    struct serve_options *was = r->latest ? &r->latest->s : &r->s;
    for (int i = 0; (name = serve_options_differ(was, &next->s, &live, &i));)
        if (live) log_event(&r->log, LOG_INFO, "reload", "%s has changed", name);
    for (int i = 0; (name = serve_options_differ(&r->s, &next->s, &live, &i));)
        if (!live)
            log_event(&r->log, LOG_WARN, "reload",
                      "%s has changed, but only a restart applies it", name);
}

static int read_options(struct running *r, int argc, char **argv, struct err *e)
{
    const struct field more[] = {OUT_OPTIONS(r->rows), {0}};
    const struct serve_options_cmd cmd = command(more);
    r->s = serve_options_default();
    return e ? serve_options_load(&r->s, &cmd, argc, argv, e)
             : serve_options_read(&r->s, &cmd, argc, argv);
}

/* All or nothing: after an error the daemon continues with the settings that it had. */
static int reload(struct running *r, struct running *next, struct err *e)
{
    int code = read_options(next, r->argc, r->argv, e);
    if (code >= 0) return e->code ? e->code : ERR_INVALID;
    int rc = next->s.token_file ? read_token(next->token, next->s.token_file, e) : 0;
    struct parts_cfg optional;
    struct service_cfg service =
        service_settings(&optional, &next->s, &next->paths, &r->log);
    if (!rc) rc = service_check(&service, e);
    struct node_cfg node = node_settings(&next->s, next->token);
    if (r->socket >= 0) {
        next->s.node.bind = r->s.node.bind;
        next->s.node.port = r->s.node.port;
    }
    node.bind = r->s.node.bind; /* it keeps listening there */
    if (!rc) rc = node_reload(r->node, &node, e);
    if (!rc) rc = service_reload(r->service, &service, e);
    return rc;
}

static void on_hangup(struct running *r)
{
    struct err e = {0};
    manager_reloading(clock_mono());
    struct running *next = calloc(1, sizeof *next);
    if (!next || reload(r, next, &e)) {
        err_set(&e, ERR_MEMORY, "out of memory");
        log_err(&r->log, LOG_ERROR, "reload", &e);
        log_event(&r->log, LOG_ERROR, "reload", "nothing was changed");
        running_free(next);
        return;
    }
    log_changes(r, next);
    r->log.level = next->s.log_level;
    log_event(&r->log, LOG_INFO, "reload", "done");
    running_free(r->latest);
    r->latest = next;
}

/* As rows if they are wanted (o), else as text. */
static int announce(struct running *r, struct out *o, struct err *e)
{
    /* an address for all interfaces cannot be a URL */
    const char *host = r->s.node.bind;
    int port = node_port(r->node);
    if (strcmp(host, "0.0.0.0") == 0) host = "127.0.0.1";
    if (strcmp(host, "::") == 0) host = "::1";
    bool v6 = strchr(host, ':') != NULL;
    char url[160];
    snprintf(url, sizeof url, "http://%s%.100s%s:%d", v6 ? "[" : "", host, v6 ? "]" : "",
             port);
    snprintf(r->status, sizeof r->status, "answering at %s", url);
    manager_ready(r->status);
    if (o) return put_address(o, url, port, r->s.service.data_dir, e);

    printf("abrd is at %s/ - the demo page; Ctrl-C stops it\n"
           "try: curl -s %s/v1/decide -d '{\"profile\":\"live\",\"ladder_kbps\":"
           "[300,750,1200,1850,2850,4300],\"chunk_s\":4,\"buffer_s\":12,\"last_level\":2,"
           "\"throughput_kbps\":[2100,1800,2400],\"download_s\":[2.2,2.6,2.0]}'\n",
           url, url);
    fflush(stdout);
    return 0;
}

static const double RELOAD_LOOK_S = 0.02;

/* Serves until a signal. */
static int serve(struct running *r, struct out *o, struct err *e)
{
    const struct log *log = &r->log;
    struct node *node = r->node;
    struct service *service = r->service;
    int rc = announce(r, o, e);
    static const char *const learns[] = {"off", "on", "observe"};
    log_event(log, LOG_INFO, "listen", "%s port %d, learning %s, exploring %g %%",
              r->s.node.bind, node_port(node), learns[r->s.service.learn],
              r->s.service.learn == LEARN_OBSERVE ? 0 : 100 * r->s.service.explore_share);
    double watched_s = manager_watchdog_s(),
           turn_s = watched_s > 0 ? watched_s / 4 : 3600;
    bool asked = false; /* a reload that waits; it reads the file when its turn comes */
    while (!rc && !interrupt_wait(asked ? fmin(RELOAD_LOOK_S, turn_s) : turn_s)) {
        asked |= interrupt_hangup();
        if (asked && node_reloadable(node)) {
            asked = false;
            on_hangup(r);
            manager_ready(r->status);
        }
        if (watched_s > 0 && node_turned(node)) manager_alive();
    }

    manager_stopping();
    end_at_second_signal();
    log_event(log, LOG_INFO, "drain", "no new sessions");
    node_drain(node);
    wait_for_sessions(service, r->latest ? r->latest->s.drain_s : r->s.drain_s);
    node_stop(node);
    int drained = service_drain(service, e);
    if (!drained) log_event(log, LOG_INFO, "stop", "everything is stored");
    return rc ? rc : drained;
}

/* Each connection is a file descriptor: take as many as allowed. */
static void raise_file_limit(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

/* A socket of the service manager replaces --bind and --port. */
static int take_socket(struct running *r, struct err *e)
{
    r->socket = manager_socket(e);
    if (r->socket == MANAGER_NONE) r->socket = -1;
    if (r->socket < 0) return e->code;
    int rc = listen_adopt(r->address, &r->s.node.port, r->socket, e);
    if (!rc) r->s.node.bind = r->address;
    return rc;
}

static int serve_run(struct running *r, struct err *e)
{
    int rc = 0;
    r->log = log_init(STDERR_FILENO, r->s.log_level, r->s.log_json);
    if (r->s.token_file) rc = read_token(r->token, r->s.token_file, e);
    if (rc) return rc;
    if (r->s.token_file) warn_of_readers(&r->log, r->s.token_file);

    rc = take_socket(r, e);
    if (rc) return rc;
    interrupt_catch();
    interrupt_catch_hangup();
    signal(SIGPIPE, SIG_IGN);
    raise_file_limit();

    struct parts_cfg optional;
    struct service_cfg cfg = service_settings(&optional, &r->s, &r->paths, &r->log);
    struct out *o = NULL;
    if (r->rows.csv || r->rows.json) {
        o = out_new(&r->rows, e);
        if (!o) return e->code;
    }
    r->service = service_new(&cfg, e);
    if (r->service && service_start_threads(r->service, e) == 0)
        r->node =
            make_node(&r->s, &r->paths, r->service, r->token, r->socket, &r->log, e);
    rc = r->node ? serve(r, o, e) : ERR_IO;
    service_free(r->service);
    out_free(o);
    return rc;
}

int cmd_serve(int argc, char **argv)
{
    struct running *r = calloc(1, sizeof *r);
    if (!r) {
        fputs("abrd serve: out of memory\n", stderr);
        return OPT_EXIT_FAILED;
    }
    r->argc = argc;
    r->argv = argv;
    int code = read_options(r, argc, argv, NULL);
    struct err e = {0};
    bool starts = code < 0;
    if (starts)
        code = cmd_blas("serve",
                        COMPUTING + (r->s.optional.hintless.mode == HINTLESS_MERGE));
    if (starts && !code) code = serve_run(r, &e) ? serve_fail(&e) : OPT_EXIT_DONE;
    running_free(r->latest);
    running_free(r);
    return code;
}
