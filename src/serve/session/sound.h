/* sound.h - what a link leaves for the video when a player also fetches sound.
 *
 * A player fetches sound, and perhaps subtitles, beside the video. The policy knows video alone. So a
 * measurement is that of the link less the rate at which the sound has to come:
 *
 *   bytes = max(S + A - o d / 8, (S + A) / 20)
 *
 * S bytes of the chunk, d its download time, A bytes of other streams that arrived meanwhile, o their
 * bitrate. Then a level is sustainable if it and the sound are. Without A nothing is changed: while sound
 * arrives together with the video, S / d is what the sound has left already. Muxed chunks contain their
 * sound, and so do the bitrates of their ladder.
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
