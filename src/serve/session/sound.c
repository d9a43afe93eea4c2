#include "serve/session/sound.h"

#include <math.h>

static const double LEAST_SHARE = 1.0 / 20;

double sound_left_kbps(double kbps, double other_kbps)
{
    return other_kbps > 0 ? fmax(kbps - other_kbps, kbps * LEAST_SHARE) : kbps;
}

int64_t sound_left_bytes(int64_t bytes, int64_t other_bytes, double other_kbps,
                         double download_s)
{
    double all = (double)bytes + (double)other_bytes, left = all * 8e-3 / download_s;
    double least = bytes > 0; /* 0 is a chunk that was not measured */
    return (int64_t)fmax(sound_left_kbps(left, other_kbps) * 125 * download_s, least);
}
