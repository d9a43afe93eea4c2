/* view.h - everything that is known when the next chunk's level is chosen.
 *
 * The emulator and the daemon's sessions fill this struct, and every algorithm reads nothing else. So
 * a decision is the same wherever the numbers came from.
 *
 * Units: kbit/s, seconds, bytes, as named.
 * Ownership: plain data, the caller's.
 * Threads: not shared. */
#ifndef ABR_VIEW_H
#define ABR_VIEW_H

#include "abr/emulator/qoe.h"

#include <stdint.h>

struct forecast;

#define VIEW_LEVELS 32 /* longest ladder */
#define VIEW_HISTORY 8 /* chunks remembered one by one */
#define VIEW_PAST 256  /* downloads that the summary of a session weighs alike */

/* Limits of values from outside. They suit any player, and everything computed from such values
 * (throughput, reward, observation) is finite. */
#define VIEW_KBPS_MIN 10.0
#define VIEW_KBPS_MAX 1e6
#define VIEW_CHUNK_S_MIN 0.5
#define VIEW_CHUNK_S_MAX 30.0
#define VIEW_CHUNKS_MAX 1000000   /* in one video */
#define VIEW_CHUNK_MAX 1000000000 /* index in a live stream */
#define VIEW_BUFFER_S_MAX 3600.0
#define VIEW_BYTES_MAX 4e9 /* of a chunk: fits 32 bits */
#define VIEW_DOWNLOAD_S_MIN 1e-6
#define VIEW_SECONDS_MAX 3600.0 /* longest download or stall of one chunk */

/* A summary of all downloads of a session, the remembered ones among them. Each new one has the share
 * 1 / n, so the means are plain ones up to VIEW_PAST downloads; then older ones fade. */
struct view_past {
    int n;                   /* downloads, at most VIEW_PAST; 0: none */
    double kbit, download_s; /* of a download, means */
    /* ln of the lowest throughput [kbit/s]. A higher one raises it by 1 / VIEW_PAST of the difference,
     * so an outage of long ago is forgotten. */
    double low;
    /* Of the logarithms of all throughputs: mean, variance, mean absolute change from one download to the
     * next, and the newest one. */
    double ln_mean, ln_variance, ln_change, ln_last;
};

struct view {
    int levels;                      /* 2 .. VIEW_LEVELS */
    double ladder_kbps[VIEW_LEVELS]; /* strictly ascending */
    double chunk_s;                  /* media seconds per chunk */
    int chunk;                       /* index of the chunk to choose, from 0 */
    int chunks;                      /* chunks in the video; 0 = live, no end known */
    double buffer_s;                 /* media in the player's buffer now */
    double buffer_max_s;             /* the most media that the player holds */
    int last_level;                  /* level of chunk - 1; -1 = none */
    int n_history;                   /* filled entries below, <= VIEW_HISTORY */
    double throughput_kbps[VIEW_HISTORY]; /* oldest first: 8 * bytes / download time */
    double download_s[VIEW_HISTORY];      /* oldest first, request to last byte */
    struct view_past past;
    double next_bytes[VIEW_LEVELS]; /* sizes of this chunk; <= 0 = unknown */
    double points
        [VIEW_LEVELS];  /* quality of this chunk at each level, 0 .. 100 (quality.h) */
    double last_points; /* of chunk - 1, as it was fetched; with last_level >= 0 */
    struct qoe qoe;     /* what the viewer values */
    /* What a daemon or page has seen of this session and others; 0: nothing, as shipped. */
    double stalled_s,
        played_s;  /* of the session so far: stalls, without the start, and media */
    double margin; /* by which forecasts are lowered, a logarithm (deciders/caution.h) */
    double start_kbps; /* low quantile of first throughputs in this viewer's network */
    const float *own_forecast; /* deciders/forecast_own.h; borrowed. NULL: none */
    /* forecast_of(this view), where several ask for it; borrowed. NULL: not known yet */
    const struct forecast *forecast;
};

/* An empty view: the standard viewer, no history, an unknown video. */
struct view view_default(void);

/* Appends one measurement: the history drops its oldest when full, the summary keeps all. */
void view_push(struct view *v, double bytes, double download_s);
void view_push_kbps(struct view *v, double kbps, double download_s);
/* The throughput of a download. */
double view_kbps(double bytes, double download_s);
/* Adds a download to a summary alone. */
void view_past_add(struct view_past *p, double kbps, double download_s);

/* Size of `level` of the next chunk [bytes]: next_bytes when known, else ladder_kbps * chunk_s. */
double view_bytes(const struct view *v, int level);

/* The ladder with the quality of this chunk; borrowed from the view. */
struct qoe_ladder view_ladder(const struct view *v);
/* reward (levels): of each level of this chunk without a wait (qoe.h), after a chunk at prev_level:
 * a level, then with that level's quality of this chunk; VIEW_LAST: the chunk before, as it was
 * fetched; VIEW_NONE: none. */
#define VIEW_NONE (-1)
#define VIEW_LAST (-2)
void view_rewards(double *reward, const struct view *v, int prev_level);
/* The chunk before, as its viewer saw it; kbps 0: none. */
struct qoe_level view_last(const struct view *v);

#endif
