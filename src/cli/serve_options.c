#include "cli/serve_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/cmd.h"

static const char *const LOG_FORMS[] = {"text", "json", NULL};

#define ROW(member) FIELD(struct serve_options, member)

/* The options of the program itself. */
static const struct field PROGRAM[] = {
    {"config", "FILE", "file with these options as lines of 'key = value'", ROW(config),
     .group = "general", .flags = FIELD_NO_FILE},
    {"log", "text|json", "form of the log lines on stderr", ROW(log_json),
     .words = LOG_FORMS},
    {"log-level", "LEVEL",
     "least severe events that are logged: error, warn, info or debug", ROW(log_level),
     .words = log_level_words, .flags = FIELD_LIVE},
    {"drain", "S",
     "seconds that live sessions get to move to another node when the daemon stops",
     ROW(drain_s), .lo = 0, .hi = 3600, .unit = "seconds", .flags = FIELD_LIVE},
    {0}};

/* What the rooms leave to the program: more steps than the service needs, and servers as words. */
static const struct field REST[] = {
    {"admin-token-file", "FILE",
     "file with the bearer token of the routes that change something; created if absent",
     ROW(token_file), .group = "network", .flags = FIELD_LIVE},
    {"batch", "N", "steps of exploring sessions in one update", ROW(service.online.batch),
     .lo = 32, .hi = SERVICE_BATCH_MAX, .unit = "steps", .group = "learning",
     .flags = FIELD_ADVANCED},
    {"web-dir", "DIR", "folder of the web pages (default: the shipped ones)",
     ROW(node.web_dir), .group = "media"},
    {"origin", "NAME=URL",
     "media server whose files are served at /o/NAME/; may be given several times",
     ROW(origins), .flags = FIELD_WHOLE_ITEMS},
    {0}};

/* All options, bound to s. */
static void bind_all(struct field out[FIELD_TABLE_MAX + 1], const struct serve_options *s,
                     const struct field *more)
{
    static const struct field none[] = {{0}};
    out[0] = (struct field){0};
    field_bind(out, PROGRAM, s);
    field_bind(out, node_fields, &s->node);
    field_bind(out, admit_fields, &s->node.admit);
    field_bind(out, service_fields, &s->service);
    field_bind(out, added_fields, &s->optional.added);
    field_bind(out, online_fields, &s->service.online);
    field_bind(out, hintless_fields, &s->optional.hintless);
    field_bind(out, trial_fields, &s->optional.trial);
    field_bind(out, cluster_fields, &s->optional.cluster);
    field_bind(out, players_media_fields, &s->optional.players.media);
    field_bind(out, players_origin_fields, &s->optional.players.origin);
    field_bind(out, REST, s);
    field_bind(out, more ? more : none, NULL);
}

struct serve_options serve_options_default(void)
{
    struct serve_options s = {.service = service_cfg_default(),
                              .node = node_cfg_default(),
                              .optional = parts_cfg_default(),
                              .drain_s = 1,
                              .log_level = LOG_INFO};
    s.optional.hintless.mode = HINTLESS_SHIPPED;
    return s;
}

void serve_options_free(struct serve_options *s)
{
    free(s->file);
    s->file = NULL;
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

/* What follows from several options, and what their rows cannot check. */
static int settle(struct serve_options *s, struct err *e)
{
    s->service.secret = s->service.seed == 0;
    s->service.online.seed = s->optional.players.media.seed = s->service.seed;
    struct err why = {0};
    int rc = cluster_cfg_check(&s->optional.cluster, &why);
    s->optional.players.origin.names.n = 0;
    for (int i = 0; i < s->origins.n && !rc; i++)
        rc = origins_add(&s->optional.players.origin.names, s->origins.item[i], &why);
    if (!rc) return 0;
    char option[80];
    snprintf(option, sizeof option, "--%s", why.field);
    return err_field(e, rc, option, "%s", why.detail);
}

int serve_options_load(struct serve_options *s, const struct serve_options_cmd *how,
                       int argc, char **argv, struct err *e)
{
    struct field opts[FIELD_TABLE_MAX + 1];
    bind_all(opts, s, how->more);
    const struct opt_cmd cmd = {
        .name = how->name, .about = how->about, .opts = opts, .example = how->example};

    int first = parse(&cmd, argc, argv);
    if (first < 0) return opt_status(first);
    if (s->config) {
        const char *config = s->config;
        *s = serve_options_default();
        if (field_file(&s->file, config, opts, e)) return OPT_EXIT_USAGE;
        first = parse(&cmd, argc, argv);
        if (first < 0) return opt_status(first);
    }
    return settle(s, e) ? OPT_EXIT_USAGE : -1;
}

int serve_options_read(struct serve_options *s, const struct serve_options_cmd *how,
                       int argc, char **argv)
{
    struct err e = {0};
    int code = serve_options_load(s, how, argc, argv, &e);
    if (strncmp(e.field, "--", 2) == 0)
        return opt_usage(how->name, "%s %s", e.field, e.detail);
    if (e.code) cmd_fail(how->name, &e);
    return code;
}

const char *serve_options_differ(const struct serve_options *a,
                                 const struct serve_options *b, bool *live, int *from)
{
    struct field in_a[FIELD_TABLE_MAX + 1], in_b[FIELD_TABLE_MAX + 1];
    bind_all(in_a, a, NULL);
    bind_all(in_b, b, NULL);
    for (int i = *from; in_a[i].name; i++) {
        if (field_same(&in_a[i], &in_b[i])) continue;
        *from = i + 1;
        *live = in_a[i].flags & FIELD_LIVE;
        return in_a[i].name;
    }
    return NULL;
}

int serve_options_token(char token[SERVE_OPTIONS_TOKEN], const char *path, struct err *e)
{
    if (access(path, F_OK)) return err_field(e, ERR_ABSENT, path, "does not exist");
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
