/* worlds.h - the traces and videos that training draws its episodes from.
 *
 * Traces are numbered: first those of the corpora whose mean passes min_mbps, then `splices` of them
 * (splice.h; none without recordings), then `links` generated ones (gen_random_link). Video 0 is the
 * caller's. Videos 1 .. `ladders` are drawn: 2 to 12 levels, chunks of 1 to 10 s, top rates from 0.7
 * to 45 Mbit/s, 4 to 100 times the lowest, and the quality of the levels.
 *
 * worlds_ahead gives what only a simulator knows: the mean throughput of the coming seconds, from a
 * running sum over each trace. It reads the trace as a circle. This differs from EMU_WRAP_ZERO by the
 * time before the first row.
 *
 * Errors: ERR_ABSENT when no trace remains.
 * Ownership: corpora and the video are borrowed for the life of the struct.
 * Threads: shared read-only after construction. */
#ifndef ABR_WORLDS_H
#define ABR_WORLDS_H

#include "abr/traces/corpus.h"
#include "abr/manifests/video.h"

#define WORLDS_CORPORA 8
#define WORLDS_LEAST_CHUNKS 10 /* of a video, however short */

struct worlds_cfg {
    int n_corpora;
    const struct corpus *corpora[WORLDS_CORPORA];
    double min_mbps; /* 0 = all */
    int splices;     /* of the recordings, link_s seconds long */
    int links;       /* generated traces of link_s seconds */
    double link_s;
    const struct video *video;
    int ladders;
    uint64_t seed;
};

struct worlds {
    int n_traces, n_real,
        n_videos; /* n_real: recordings and their splices, which come first */
    const struct trace **traces;
    const struct video **videos;
    double **megabits; /* (n_traces, rows): running sum from the first row */
    int n_own_traces, n_own_videos;
    struct trace **own_traces;
    struct video **own_videos;
};

struct worlds *worlds_new(const struct worlds_cfg *cfg, struct err *e);
void worlds_free(struct worlds *w);

/* CRC-32 of all that is in them: other links or videos have another. */
uint32_t worlds_crc(const struct worlds *w);

/* Mean throughput [Mbit/s] of trace `i` over each of the next `seconds` (n), the clock
 * standing at clock_s in row `row` (struct emu). */
void worlds_ahead(double *mbps, const struct worlds *w, int i, int row, double clock_s,
                  const double *seconds, int n);

#endif
