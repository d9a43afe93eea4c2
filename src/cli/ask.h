/* ask.h - one request of a command to a running daemon.
 *
 * Only http and https, no redirects, 30 s or cfg.timeout_s, answers up to 16 MB, the token as bearer token.
 *
 * Errors: ERR_IO (no daemon there), and by the status of an answer ERR_INVALID (400), ERR_ABSENT (404),
 * ERR_CONFLICT (409), ERR_FULL (429, 503), else ERR_IO; e->field and the detail are those of the daemon.
 * Threads: main thread. */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "base/err.h"

#include <stddef.h>

struct ask_cfg {
    const char *url;        /* of the daemon */
    const char *token_file; /* NULL: none */
    int timeout_s;          /* 0: 30 */
};

/* The two options for a command's table (cli/opt.h). */
#define ASK_OPTIONS(cfg)                                                         \
    {"url", "URL", "address of the daemon", FIELD_TO((cfg).url)},                \
    {                                                                            \
        "token-file", "FILE",                                                    \
            "file with the daemon's token, as --admin-token-file of abrd serve", \
            FIELD_TO((cfg).token_file)                                           \
    }
#define ASK_URL "http://127.0.0.1:8080"

/* body NULL: none. *answer is owned by the caller, with a NUL behind. */
int ask(char **answer, const struct ask_cfg *cfg, const char *method, const char *path,
        const char *body, struct err *e) __attribute__((warn_unused_result));

#endif
