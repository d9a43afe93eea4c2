#include "cli/serve_options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "serve/http/node.h"
#include "serve/session/service.h"

struct serve_options serve_options_default(void)
{
    struct service_cfg s = service_cfg_default();
    struct node_cfg n = node_cfg_default();
    return (struct serve_options){.bind = n.bind,
                                  .port = n.port,
                                  .max_connections = n.http.max_connections,
                                  .admit = n.admit,
                                  .origin = n.origin,
                                  .learn = s.learn ? "on" : "off",
                                  .default_profile = "pensieve",
                                  .hintless = hintless_mode_name(HINTLESS_SHIPPED),
                                  .slots = s.hintless,
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
                                  .role = cluster_role_name(s.cluster.role),
                                  .cluster = s.cluster,
                                  .log = "text",
                                  .log_level = "info"};
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

/* The rows of both tables behind each other; out ends with an empty one. */
static void join(struct opt out[OPT_TABLE_MAX], const struct opt *own,
                 const struct opt *more)
{
    int n = 0;
    for (; own->name; own++)
        out[n++] = *own;
    for (; more && more->name; more++)
        out[n++] = *more;
    assert(n < OPT_TABLE_MAX);
    out[n] = (struct opt){0};
}

static void list(struct opt out[OPT_TABLE_MAX], struct serve_options *s,
                 const struct opt *more)
{
    const struct opt own[] = {
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
         .hi = SERVICE_BATCH_MAX},
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
        {"seed", "N",
         "of everything random, for runs that can be repeated; 0: who explores is drawn "
         "from "
         "a secret",
         .u64 = &s->seed},
        {"default-profile", "NAME", "of sessions that give no hint, at first",
         .text = &s->default_profile},
        {"grow-max", "N", "profiles that may have experts of their own",
         .i = &s->grow_max, .lo = 0, .hi = SERVICE_ADDED},
        {"grow-experts", "N", "new experts of each", .i = &s->grow_experts, .lo = 1,
         .hi = NORGA_EXPERTS_MAX},
        {"grow-gate", "NAME", "their gate: tanh, sigmoid, gelu or linear",
         .text = &s->grow_gate},
        {"untagged", "MODE", "what those get: merge, identify or default (the mean hint)",
         .text = &s->hintless},
        {"slot", "S", "for which mix, head and merge stay as they are",
         .d = &s->slots.slot_s, .lo = 1, .hi = 1e7},
        {"slot-sessions", "N", "untagged ones that end a slot early; 0 = none",
         .i = &s->slots.slot_sessions, .lo = 0, .hi = 1e9},
        {"mix-half-life", "SLOTS", "after which the mix is half way back to equal shares",
         .d = &s->slots.half_life, .lo = .01, .hi = 1e6},
        {"merge-policy", "FILE", "the experts to merge (default: the shipped ones)",
         .text = &s->merge_policy},
        {"merge-keep", "B", "experts in a merge at most; 0 = all",
         .i = &s->slots.bandit.keep, .lo = 0, .hi = HINTLESS_EXPERTS},
        {"merge-links", "N",
         "generated links of every kind on which merges are judged first; 0 = none",
         .i = &s->slots.merge_links, .lo = 0, .hi = 1000},
        {"merge-c", "C", "of the tree: larger splits later (Tanbr, Eq. 2)",
         .d = &s->slots.bandit.c, .lo = HINTLESS_LEAST, .hi = 1e3},
        {"merge-delta", "D", "the same: confidence", .d = &s->slots.bandit.delta,
         .lo = HINTLESS_LEAST, .hi = 1},
        {"merge-nu1", "NU", "the same: width of a cell, also in the bound (Eq. 4)",
         .d = &s->slots.bandit.nu1, .lo = HINTLESS_LEAST, .hi = 1e3},
        {"merge-rho", "RHO", "the same: what a split leaves of it",
         .d = &s->slots.bandit.rho, .lo = HINTLESS_LEAST, .hi = HINTLESS_RHO_MAX},
        {"merge-gamma", "G", "how much what is not known attracts (Eq. 4)",
         .d = &s->slots.bandit.gamma, .lo = 0, .hi = 1e3},
        {"merge-lambda", "L", "of the bandit's network: regularisation",
         .d = &s->slots.bandit.lambda, .lo = HINTLESS_LEAST, .hi = 1e6},
        {"merge-eta", "E", "the same: learning rate", .d = &s->slots.bandit.eta, .lo = 0,
         .hi = 10},
        {"merge-steps", "J", "the same: gradient steps per slot",
         .i = &s->slots.bandit.steps, .lo = 0, .hi = 1e5},
        {"merge-history", "N", "the same: slots remembered",
         .i = &s->slots.bandit.history, .lo = 1, .hi = 1e6},
        {"max-sessions", "N", "live ones; more get 503", .i = &s->max_sessions, .lo = 1,
         .hi = 1e7},
        {"session-ttl", "S", "without a word, then a session is closed",
         .d = &s->session_ttl, .lo = 1, .hi = SERVICE_TTL_MAX_S},
        {"retention-days", "DAYS", "that sessions are kept; 0 = for ever",
         .d = &s->retention_days, .lo = 0, .hi = SERVICE_RETENTION_MAX_S / 86400},
        {"checkpoint", "S", "between saves of learned weights", .d = &s->checkpoint,
         .lo = .1, .hi = SERVICE_CHECKPOINT_MAX_S},
        {"durability", "WHEN",
         "what was answered is stored: window, within 0.2 s; strict, before the answer",
         .text = &s->durability},
        {"role", "ROLE",
         "standalone, or of many: decide answers players, learn learns from them",
         .text = &s->role},
        {"bus", "URL", "of those: nats://host:port, several between commas",
         .text = &s->cluster.url},
        {"bus-name", "NAME", "what stream, bucket and subjects begin with",
         .text = &s->cluster.name},
        {"bus-creds", "FILE", "NATS credentials", .text = &s->cluster.creds},
        {"bus-replicas", "N", "servers that keep what is on the bus: 1, 3 or 5",
         .i = &s->cluster.replicas, .lo = 1, .hi = 5},
        {"bus-buffer", "N", "trajectories that are kept for the bus at most",
         .i = &s->cluster.buffer, .lo = 1, .hi = CLUSTER_BUFFER_MAX},
        {"bus-stream-mb", "MB", "that wait on the bus for a learner at most",
         .d = &s->cluster.stream_mb, .lo = .001, .hi = 1e6},
        {"node-number", "N",
         "1 to 255: ids of sessions begin with it (two hex digits), for a balancer",
         .i = &s->cluster.number, .lo = 0, .hi = 255},
        {"node", "NAME", "by which others know this one (default: host and process)",
         .text = &s->node},
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
        {"address-connections", "N",
         "connections of one address at a time, trusted proxies excepted; 0 = no limit; "
         "default -1 = a quarter of all: room for the viewers behind one carrier's NAT",
         .i = &s->admit.address_connections, .lo = -1, .hi = 4000000},
        {"max-connections", "N", "per worker", .i = &s->max_connections, .lo = 1,
         .hi = 60000},
        {"web-dir", "DIR", "the pages", .text = &s->web_dir},
        {"media-dir", "DIR", "the demo's stream (make media)", .text = &s->media_dir},
        {"origin", "NAME=URL",
         "a server whose media are handed on at /o/NAME/; may be given again",
         .list = &s->origins, .whole = true},
        {"origin-transfers", "N", "requests to those under way at most; more get 503",
         .i = &s->origin.transfers, .lo = 1, .hi = 10000},
        {"origin-silence", "S", "without a byte, then a request to them has failed",
         .d = &s->origin.silence_s, .lo = 1, .hi = 3600},
        {"traces", "DIR", "links to offer in the demo", .text = &s->traces},
        {"log", "text|json", "form of the log lines on stderr", .text = &s->log},
        {"log-level", "LEVEL", "error, warn, info or debug", .text = &s->log_level},
        {0}};
    join(out, own, more);
}

/* What neither getopt nor a configuration file knows of the words. */
static int check_words(struct serve_options *s, struct err *e)
{
    struct err why = {0};
    enum log_level level;
    if (hintless_mode_parse(&s->slots.mode, s->hintless, &why))
        return err_field(e, ERR_INVALID, "--untagged", "%s", why.detail);
    if (strcmp(s->durability, "window") != 0 && strcmp(s->durability, "strict") != 0)
        return err_field(e, ERR_INVALID, "--durability",
                         "must be window or strict, not '%.40s'", s->durability);
    if (strcmp(s->learn, "on") != 0 && strcmp(s->learn, "off") != 0)
        return err_field(e, ERR_INVALID, "--learn", "must be on or off, not '%.40s'",
                         s->learn);
    if (strcmp(s->log, "text") != 0 && strcmp(s->log, "json") != 0)
        return err_field(e, ERR_INVALID, "--log", "must be text or json, not '%.40s'",
                         s->log);
    if (cluster_role_parse(&s->cluster.role, s->role, &why))
        return err_field(e, ERR_INVALID, "--role", "%s", why.detail);
    if (s->node && snprintf(s->cluster.node, sizeof s->cluster.node, "%s", s->node) >=
                       (int)sizeof s->cluster.node)
        return err_field(e, ERR_RANGE, "--node", "is longer than %d characters",
                         CLUSTER_NAME - 1);
    if (cluster_cfg_check(&s->cluster, &why)) {
        char option[80];
        snprintf(option, sizeof option, "--%s", why.field);
        return err_field(e, why.code, option, "%s", why.detail);
    }
    s->origin.names.n = 0;
    for (int i = 0; i < s->origins.n; i++)
        if (origins_add(&s->origin.names, s->origins.item[i], &why)) {
            char option[80];
            snprintf(option, sizeof option, "--%s", why.field);
            return err_field(e, why.code, option, "%s", why.detail);
        }
    if (log_level_parse(&level, s->log_level, &why))
        return err_field(e, ERR_INVALID, "--log-level", "%s", why.detail);
    return 0;
}

int serve_options_load(struct serve_options *s, struct optfile *file,
                       const struct serve_options_cmd *how, int argc, char **argv,
                       struct err *e)
{
    struct opt opts[OPT_TABLE_MAX];
    list(opts, s, how->more);
    const struct opt_cmd cmd = {
        .name = how->name, .about = how->about, .opts = opts, .example = how->example};

    int first = parse(&cmd, argc, argv);
    if (first < 0) return opt_status(first);
    if (s->config) {
        const char *config = s->config;
        *s = serve_options_default();
        if (optfile_read(file, config, cmd.opts, "config", e)) return OPT_EXIT_USAGE;
        first = parse(&cmd, argc, argv);
        if (first < 0) return opt_status(first);
    }
    return check_words(s, e) ? OPT_EXIT_USAGE : -1;
}

int serve_options_read(struct serve_options *s, struct optfile *file,
                       const struct serve_options_cmd *how, int argc, char **argv)
{
    struct err e = {0};
    int code = serve_options_load(s, file, how, argc, argv, &e);
    if (strncmp(e.field, "--", 2) == 0)
        return opt_usage(how->name, "%s %s", e.field, e.detail);
    if (e.code)
        fprintf(stderr, "abrd %s: %s%s%s\n", how->name, e.field, *e.field ? ": " : "",
                e.detail);
    return code;
}

static bool same(const struct opt *a, const struct opt *b)
{
    if (a->i) return *a->i == *b->i;
    if (a->d) return *a->d == *b->d;
    if (a->u64) return *a->u64 == *b->u64;
    if (a->list) {
        for (int i = 0; i < a->list->n && i < b->list->n; i++)
            if (strcmp(a->list->item[i], b->list->item[i]) != 0) return false;
        return a->list->n == b->list->n;
    }
    if (!a->text || !*a->text || !*b->text) return !a->text || *a->text == *b->text;
    return strcmp(*a->text, *b->text) == 0;
}

const char *serve_options_differ(struct serve_options *a, struct serve_options *b,
                                 int *from)
{
    struct opt in_a[OPT_TABLE_MAX], in_b[OPT_TABLE_MAX];
    list(in_a, a, NULL);
    list(in_b, b, NULL);
    for (int i = *from; in_a[i].name; i++) {
        if (same(&in_a[i], &in_b[i])) continue;
        *from = i + 1;
        return in_a[i].name;
    }
    return NULL;
}

int serve_options_token(char token[SERVE_OPTIONS_TOKEN], const char *path, struct err *e)
{
    if (access(path, F_OK)) return err_field(e, ERR_ABSENT, path, "is not there");
    char *text = text_read_file(path, 4096, NULL, e);
    if (!text) return e->code;
    const char *word = text + strspn(text, " \t\r\n");
    size_t n = strcspn(word, " \t\r\n");
    int rc = 0;
    if (n < 16 || n >= SERVE_OPTIONS_TOKEN || word[n + strspn(word + n, " \t\r\n")]) {
        rc = err_field(e, ERR_INVALID, path, "must hold one token of 16 to %d characters",
                       SERVE_OPTIONS_TOKEN - 1);
    } else {
        memcpy(token, word, n);
        token[n] = '\0';
    }
    free(text);
    return rc;
}

enum serve_options_readers serve_options_readers(const struct stat *st)
{
    bool ours = st->st_uid == geteuid();
    if (!(st->st_mode & 077)) return SERVE_OPTIONS_ALONE;
    if (ours || st->st_mode & 022) return SERVE_OPTIONS_OTHERS;
    return st->st_gid == getegid() && !(st->st_mode & 07) ? SERVE_OPTIONS_GROUP
                                                          : SERVE_OPTIONS_LENT;
}

const char *serve_options_path(const char *given, char buf[HOME_PATH], const char *rel)
{
    if (given) return given;
    return home_find(buf, rel, NULL) == 0 ? buf : NULL;
}

bool serve_options_strict(const struct serve_options *s)
{
    return strcmp(s->durability, "strict") == 0;
}
