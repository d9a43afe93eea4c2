/* serve_options.h - the options of `abrd serve`, from the command line and a file.
 *
 * They are the settings of the daemon's rooms, joined: each room owns the table of its own struct
 * (service_fields, node_fields, ...). To add a setting, add a member and a row there. `abrd doctor`
 * has the same options, and checks what a daemon with them would find.
 *
 * Ownership: texts point into argv and into the configuration file's text. Threads: main thread. */
#ifndef CLI_SERVE_OPTIONS_H
#define CLI_SERVE_OPTIONS_H

#include "cli/home.h"
#include "cli/opt.h"
#include "serve/http/node.h"
#include "serve/parts.h"
#include "serve/session/service.h"

#include <stdint.h>
#include <sys/stat.h>

#define SERVE_OPTIONS_TOKEN 128 /* bytes, with the NUL */

struct serve_options {
    struct service_cfg service;
    struct node_cfg node;
    struct parts_cfg optional; /* of both */
    struct field_list origins; /* NAME=URL */
    const char *config, *token_file;
    double drain_s;
    bool log_json;
    enum log_level log_level;
    char *file; /* text of the configuration file, owned */
};

struct serve_options serve_options_default(void);
void serve_options_free(struct serve_options *s);

/* How the command presents itself in --help, and options that only it has (ended by a row without
 * name; NULL: none). */
struct serve_options_cmd {
    const char *name, *about, *example;
    const struct field *more;
};

/* Returns the exit code, or -1 to go on. Errors are reported on stderr. */
int serve_options_read(struct serve_options *s, const struct serve_options_cmd *cmd,
                       int argc, char **argv);

/* The same, but an error in the file or in a value is in e, and not reported. */
int serve_options_load(struct serve_options *s, const struct serve_options_cmd *cmd,
                       int argc, char **argv, struct err *e);

/* The next option that differs between a and b, from row *from on (0 at first); NULL: no more.
 * *live: SIGHUP takes it over. */
const char *serve_options_differ(const struct serve_options *a,
                                 const struct serve_options *b, bool *live, int *from);

/* The only word of the token's file. ERR_ABSENT, ERR_IO, ERR_INVALID. */
int serve_options_token(char token[SERVE_OPTIONS_TOKEN], const char *path, struct err *e)
    __attribute__((warn_unused_result));

/* Which other users can read the token's file, and who can change its mode. A reader of the token can
 * change the policy. */
enum serve_options_readers {
    SERVE_OPTIONS_ALONE, /* none */
    SERVE_OPTIONS_GROUP, /* another owner shares it with our group, as Kubernetes does with secrets */
    SERVE_OPTIONS_LENT, /* others; we do not own the file, and chmod 600 would hide it from us */
    SERVE_OPTIONS_OTHERS, /* others can read it, or even write it */
};
enum serve_options_readers serve_options_readers(const struct stat *st);

/* `given`; if NULL, the path of the installed file `rel` (home.h); NULL if there is none. */
const char *serve_options_path(const char *given, char buf[HOME_PATH], const char *rel);

#endif
