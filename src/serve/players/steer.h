/* steer.h - stock players, steered by what they tell of themselves (CMCD) and are told (CMSD).
 *
 * A player that sends CMCD with its requests for segments has a session (service.h) by his sid.
 * When he asks for chunk n of the pictures, what he tells makes the question for chunk n + 1, and
 * the level decided is what his answer caps him to ("mb"); "etp" is the throughput that his chunks
 * had, the harmonic mean of the last five. He has given no hint of what he values, so he gets what
 * such viewers get (hintless.h), and never samples.
 *
 * What he does not tell is estimated, and the answer says which:
 *   chunk       from the manifest, if it names the file; else from the number in the file's name, which
 *               begins with 1; without one, counted
 *   buffer_s    always: what will be there once chunk n has come, from bl, size and etp
 *   download_s  of chunk n - 1: until the last byte was sent, or size over mtp; measured when a
 *               report told it (v2, rr with ttlb and url)
 *   rebuffer_s  of chunk n - 1: when he starved (bs), what the download outlasted bl by; measured
 *               when he tells how long (v2, bsd)
 * A report of a response may come behind the request for the next chunk: it counts when its url
 * names the file that he asked for last, else it is passed over.
 *
 * Who says that the stream is live (st=l) has a session without an end: how many chunks are left is
 * unknown. That is no hint of what he values.
 *
 * Who asks for pictures of another video - another ladder, or another cid - has a new session.
 *
 * As the outcome of a chunk is known only once the one after it was decided, his decisions are no
 * trajectories, and teach nobody; they are stored as all others.
 *
 * mb counts the pictures and, as players subtract it, the sound that he asked for last.
 *
 * Sources: CTA-5004, CTA-5004-A, CTA-5006.
 * Errors: those of service.h. Threads: the table is locked inside, never across the service; what
 * others changed of the player meanwhile is seen, and the call begins again with it (clients.h). */
#ifndef SERVE_STEER_H
#define SERVE_STEER_H

#include "abr/manifests/video.h"
#include "serve/players/cmcd.h"
#include "serve/players/clients.h"
#include "serve/session/service.h"

#define STEER_CLIENTS 65536

enum steer_guess {
    STEER_CHUNK = 1,
    STEER_BUFFER = 2,
    STEER_DOWNLOAD = 4,
    STEER_REBUFFER = 8,
};

struct steer_told {
    char session[SERVICE_ID]; /* "": he has none */
    double max_kbps;          /* mb; 0: no cap */
    double throughput_kbps;   /* etp; 0: not known yet */
    unsigned estimated;       /* of enum steer_guess */
};

/* A segment that he asks for. */
struct steer_segment {
    const struct cmcd *cmcd; /* with sid */
    const char *file;
    int64_t bytes;
    double now_s; /* of any steady clock */
    int number; /* of its chunk, 1 for the first; 0: as its name says; -1: nobody knows */
};

struct clients *steer_clients(int n, uint64_t seed, struct err *e);

/* Whose the player with this sid is. */
void steer_key(unsigned char key[CLIENTS_KEY], const struct clients *clients,
               const char *sid);

/* Of the video that his session is about (video_ladder_crc); 0: he has none. */
uint32_t steer_ladder(struct clients *clients, const char *sid);

/* 0 and *told; 1: he has no session, open one first (steer_open, which does nothing when somebody
 * else just did). video: what the segments are of. */
int steer_ask(struct steer_told *told, struct clients *clients, struct service *s,
              struct service_worker *w, const struct video *video,
              const struct steer_segment *q, struct err *e)
    __attribute__((warn_unused_result));
int steer_open(struct clients *clients, struct service *s, struct service_worker *w,
               const struct video *video, const struct cmcd *c, struct err *e)
    __attribute__((warn_unused_result));

/* The last byte of this file was sent to him. Behind a video's last chunk that ends the session:
 * version 1 has no other word for it. */
void steer_sent(struct clients *clients, struct service *s, const struct video *video,
                const char *sid, const char *file, double now_s);

/* A report of an event (v2). Of whom nothing is known it changes nothing. */
int steer_event(struct clients *clients, struct service *s, const struct cmcd *c,
                double now_s, struct err *e) __attribute__((warn_unused_result));

#endif
