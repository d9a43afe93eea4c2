/* sound.h - what a link leaves for the video when a player also fetches sound.
 *
 * A player fetches sound, and perhaps subtitles, in addition to the video. The policy knows only the video.
 * So a measurement counts what the link carried, less what the sound needs:
 *
 *   bytes = max(S + A - o d / 8, (S + A) / 20)
 *
 * S bytes of the chunk, d its download time, A bytes of other streams that arrived meanwhile, o their
 * bitrate. Then a level that seems sustainable is so together with the sound. If A is not known, nothing is
 * changed: while sound arrives together with the video, S / d is already what the sound leaves. Muxed chunks
 * contain their sound, and so do the bitrates of their ladder.
 *
 * Threads: pure functions. */
#ifndef SERVE_SOUND_H
#define SERVE_SOUND_H

#include <stdint.h>

int64_t sound_left_bytes(int64_t bytes, int64_t other_bytes, double other_kbps,
                         double download_s);
/* The same of the throughput of a whole link. */
double sound_left_kbps(double kbps, double other_kbps);

#endif
