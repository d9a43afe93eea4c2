/* serve_options.h - the options of `abrd serve`, from the command line and a file.
 *
 * `abrd doctor` takes the same ones: it looks at what a daemon with them would meet.
 *
 * Ownership: texts point into argv and into the struct optfile. Threads: main thread. */
#ifndef CLI_SERVE_OPTIONS_H
#define CLI_SERVE_OPTIONS_H

#include "cli/home.h"
#include "cli/opt.h"
#include "cli/optfile.h"
#include "serve/http/admit.h"
#include "serve/cluster/cluster_cfg.h"
#include "serve/players/origin.h"
#include "serve/hintless/hintless_cfg.h"

#include <stdint.h>
#include <sys/stat.h>

#define SERVE_OPTIONS_TOKEN 128 /* bytes, with the NUL */

struct serve_options {
    /* where and for whom */
    const char *bind, *host, *allow_origin, *token_file, *web_dir, *media_dir, *traces;
    int port, workers, max_connections;
    struct admit_cfg admit;
    struct opt_list origins; /* NAME=URL */
    struct origin_cfg origin;
    /* what decides and learns */
    const char *config, *data, *policy, *learn, *default_profile;
    const char *hintless, *merge_policy;
    struct hintless_cfg slots;
    uint64_t seed;
    double explore, session_ttl, retention_days, checkpoint, drain;
    int max_sessions, grow_max, grow_experts;
    const char *grow_gate;
    double locality, latch_gap, shift_limit;
    int latch, quarantine, batch;
    const char *durability;
    /* among others */
    const char *role, *node;
    struct cluster_cfg cluster;
    /* what is said */
    const char *log, *log_level;
};

struct serve_options serve_options_default(void);

/* The command's own words for --help, and options that it has beside these (ended by a row
 * without name; NULL: none). */
struct serve_options_cmd {
    const char *name, *about, *example;
    const struct opt *more;
};

/* Returns the exit code, or -1 to go on. What is wrong was told on stderr. */
int serve_options_read(struct serve_options *s, struct optfile *file,
                       const struct serve_options_cmd *cmd, int argc, char **argv);

/* The same, but what is wrong with the file or a word is in e, not told. */
int serve_options_load(struct serve_options *s, struct optfile *file,
                       const struct serve_options_cmd *cmd, int argc, char **argv,
                       struct err *e);

/* The next option that is not the same in both, from row *from on (0 at first); NULL: no more.
 * Nothing is changed. */
const char *serve_options_differ(struct serve_options *a, struct serve_options *b,
                                 int *from);

/* --durability strict. */
bool serve_options_strict(const struct serve_options *s);

/* The only word of the token's file. ERR_ABSENT, ERR_IO, ERR_INVALID. */
int serve_options_token(char token[SERVE_OPTIONS_TOKEN], const char *path, struct err *e)
    __attribute__((warn_unused_result));

/* Who beside this process may read the token's file, and who can change that: whoever reads it
 * can change the policy. */
enum serve_options_readers {
    SERVE_OPTIONS_ALONE, /* nobody */
    SERVE_OPTIONS_GROUP, /* somebody else's, given to our group: secrets of Kubernetes are */
    SERVE_OPTIONS_LENT, /* others; the file is not ours, and a chmod 600 would hide it from us */
    SERVE_OPTIONS_OTHERS, /* others, or they may even write */
};
enum serve_options_readers serve_options_readers(const struct stat *st);

/* What was given, else what is found at rel (home.h), else NULL. */
const char *serve_options_path(const char *given, char buf[HOME_PATH], const char *rel);

#endif
