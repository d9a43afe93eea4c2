/* steer.h - steers stock players: reads their reports (CMCD) and caps their bitrate (CMSD).
 *
 * A player that sends CMCD with its requests for segments has a session (service.h), found by its sid.
 * Its request for chunk n of the video makes the question for chunk n + 1. The level decided becomes
 * the cap in the answer ("mb"). "etp" is the throughput of its chunks, the harmonic mean of the last
 * five. The player gives no hint of what its viewer values, so it is served like all viewers without a
 * hint (hintless.h), and it never explores.
 *
 * What the player does not report is estimated, and the answer says which:
 *   chunk       from the manifest, if it names the file; else from the number in the file's name, which
 *               begins with 1; else counted
 *   buffer_s    always: the buffer after chunk n has come, from bl, size and etp
 *   download_s  of chunk n - 1: until the last byte was sent, or size over mtp; measured if an event
 *               report has it (v2, rr with ttlb and url)
 *   rebuffer_s  of chunk n - 1: if the player starved (bs), the download time beyond bl; measured if the
 *               player reports it (v2, bsd)
 * A report about a response may come after the request for the next chunk. It counts if its url names
 * the file that was requested last, else it is ignored.
 *
 * A live stream (st=l) has a session without an end: the number of chunks left is unknown. This is no
 * hint of what the viewer values. A player that requests another video, by ladder or cid, gets a new
 * session.
 *
 * The outcome of a chunk is known only after the next one was decided. So the decisions are stored like
 * all others, but are no trajectories, and nothing is learned from them.
 *
 * mb is the video level plus the audio bitrate that was requested last, because players subtract it. The
 * bitrates of muxed chunks and of HLS contain the sound: then mb is the level alone.
 *
 * Sound that came while a chunk was sent counts as other_bytes of its outcome, and its bitrate as
 * other_kbps (session/sound.h). Both are measured where the daemon sends the media.
 *
 * The player's own cap is that of the question: tpb, or tb, the highest level that it may play now. The
 * number may be a level's peak or its mean bitrate.
 *
 * The session ends when the last byte of the last chunk was sent. The player may still request one of the
 * last six chunks, because it fetches several at once, or again what failed. For a minute such a request has
 * the last cap and the session that ended. It is not part of the history.
 *
 * A player that goes on with another ladder, a Period or an advertisement, has a new session that
 * continues: it begins with the throughputs of the last chunks, and its first chunk is no start.
 *
 * Sources: CTA-5004, CTA-5004-A, CTA-5006.
 * Errors: those of service.h. Threads: the table is locked inside, never across a call of the service;
 * steer_open waits for another steer_open. If another thread changed the player meanwhile, the call begins
 * again (clients.h). */
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
    char session[SERVICE_ID]; /* "": none */
    double max_kbps;          /* mb; 0: no cap */
    double throughput_kbps;   /* etp; 0: not known yet */
    unsigned estimated;       /* of enum steer_guess */
};

/* A segment that a player requests. */
struct steer_segment {
    const struct cmcd *cmcd; /* with sid */
    const char *file;
    int64_t bytes;
    double now_s; /* of any steady clock */
    int number;   /* of its chunk, from 1; 0: as its name says; -1: not known */
    int level;    /* of the video's; -1: as its bitrate says */
    int64_t from; /* first byte, of a part of a file; -1: the whole */
};

struct clients *steer_clients(int n, uint64_t seed, struct err *e);

/* The key of the player with this sid. */
void steer_key(unsigned char key[CLIENTS_KEY], const struct clients *clients,
               const char *sid);

/* The ladder of the player's session (video_ladder_crc); 0: it has no session. */
uint32_t steer_ladder(struct clients *clients, const char *sid);

/* 0 and *told; 1: the player has no session, open one first. steer_open does nothing if the player has one
 * by then: its first requests, of sound and of video, come at the same time. video: the one that the segment
 * belongs to. */
int steer_ask(struct steer_told *told, struct clients *clients, struct service *s,
              struct service_worker *w, const struct video *video,
              const struct steer_segment *q, struct err *e)
    __attribute__((warn_unused_result));
int steer_open(struct clients *clients, struct service *s, struct service_worker *w,
               const struct video *video, const struct cmcd *c, struct err *e)
    __attribute__((warn_unused_result));

/* The last byte of this file was sent to the player. After the last chunk of a video this ends the
 * session: CMCD version 1 has no other sign of the end. */
void steer_sent(struct clients *clients, struct service *s, const struct video *video,
                const char *sid, const char *file, double now_s);

/* An event report (v2). Ignored if no session exists for this player. */
int steer_event(struct clients *clients, struct service *s, const struct cmcd *c,
                double now_s, struct err *e) __attribute__((warn_unused_result));

#endif
