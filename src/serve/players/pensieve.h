/* pensieve.h - serves clients of Pensieve's rl_server, each with a session of its own.
 *
 * After every chunk, Pensieve's test beds post its outcome and the buffer. The answer is the level of
 * the next chunk, "0" .. "5", or "REFRESH" after the last one. rl_server knew one client; here each
 * client has a session (service.h). Its first post opens it, and it is answered, stored and learned
 * from like any other:
 *
 *   lastRequest, lastquality        chunk and level of the last outcome
 *   lastChunkSize                   bytes
 *   lastChunkFinishTime - StartTime download_s [ms there]
 *   RebufferTime                    rebuffer_s is its growth since the post before [ms]
 *   buffer                          buffer_s
 *   nextChunkSize                   next_bytes; may be missing, 0 is not known
 *
 * The video is Pensieve's: 6 levels of 300 .. 4300 kbit/s, 49 chunks of 4 s. A chunk without bytes
 * or without a duration was not measured. A post with an earlier chunk than the one before, or with
 * less stalling in total, starts the video again. A repeated post gets the same answer.
 *
 * Source: rl_server of Mao et al. (Pensieve), SIGCOMM 2017. Differs: the level is this policy's,
 * for the profile of the request.
 *
 * The caller makes the clients' keys (clients.h). A client that was dropped from the table opens a new
 * session with its next post.
 *
 * Errors: those of service.h with the field names of the request; ERR_RANGE, ERR_CONFLICT.
 * Threads: the table is locked inside, never across a call of the service. */
#ifndef SERVE_PENSIEVE_H
#define SERVE_PENSIEVE_H

#include "serve/players/clients.h"
#include "serve/session/service.h"

#define PENSIEVE_CHUNKS 49
#define PENSIEVE_CLIENTS 4096

struct pensieve_post {
    bool summary; /* at the end of a load: no question, the rest is not filled */
    int chunk, level;
    double buffer_s, stalled_s; /* stalled: since the video began */
    double download_s;
    int64_t bytes;
    bool has_next;
    int n_next;
    double next_bytes[VIEW_LEVELS];
};

enum { PENSIEVE_REFRESH = -1 };

/* A post as it is sent. Fields of other names are passed over, as its clients send what they like; a
 * body with pastThroughput is a summary, whatever else is in it. Errors: those of wire.h. */
int pensieve_read(struct pensieve_post *out, const char *body, size_t n, struct err *e)
    __attribute__((warn_unused_result));

/* The table of clients, owned by the caller. */
struct clients *pensieve_clients(int n, uint64_t seed, struct err *e);

/* max_kbps: cap of the next chunk (abr/deciders/cap.h); 0: none. Returns 0 with *level, which may be
 * PENSIEVE_REFRESH; 1: the client has no session for this post, open one first. */
int pensieve_ask(int *level, struct clients *clients, struct service *s,
                 struct service_worker *w, const unsigned char key[CLIENTS_KEY],
                 const struct pensieve_post *post, double max_kbps, struct err *e)
    __attribute__((warn_unused_result));
int pensieve_open(struct clients *clients, struct service *s, struct service_worker *w,
                  const unsigned char key[CLIENTS_KEY], const char *profile,
                  const struct pensieve_post *post, double max_kbps, struct err *e)
    __attribute__((warn_unused_result));

#endif
