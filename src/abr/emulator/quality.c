#include "abr/emulator/quality.h"

#include <math.h>
#include <stddef.h>

enum { SCREEN = 1080 }; /* lines */
static const double SPAN = 2.66, LEAST = 5;

const char *quality_source_name(enum quality_source s)
{
    static const char *const names[] = {"curve", "level", "chunk"};
    return names[s];
}

/* What a picture of that height has at most on a screen of SCREEN lines. */
static double quality_cap(int height)
{
    if (height >= SCREEN) return QUALITY_MAX;
    return fmax(QUALITY_MAX - 17 * pow(log2((double)SCREEN / height), 1.1), LEAST);
}

void quality_curve(double *points, const double *ladder_kbps, const int *heights,
                   int levels)
{
    double top = ladder_kbps[levels - 1], span = log(top / ladder_kbps[0]);
    double unit = span > SPAN ? SPAN / span : 1;
    double share = heights ? quality_cap(heights[levels - 1]) / QUALITY_MAX : 1;
    for (int k = 0; k < levels; k++) {
        double x = unit * log(top / ladder_kbps[k]);
        points[k] = fmax(share * (100 - x * (16.1 + 1.75 * x * x)), LEAST);
    }
    /* from the top: a level is capped by its own height, and by the levels above it */
    for (int k = levels - 1; heights && k >= 0; k--) {
        points[k] = fmin(points[k], quality_cap(heights[k]));
        if (k + 1 < levels) points[k] = fmin(points[k], points[k + 1]);
    }
}

int quality_height(int width, int height)
{
    int lines = width && width < height ? width : height;
    int along = width < height ? height : width;
    int filled = (int)lround(along * 9.0 / 16.0);
    return width && height && filled > lines ? filled : lines;
}

double quality_of_ssim(double ssim)
{
    double published = -19.2 + 135.1 / (1 + exp(-7.492 * (ssim - 0.777)));
    double near = fmax((ssim - 0.9) / 0.1, 0);
    return fmin(fmax(published + 5.6 * pow(near, 4), 0), QUALITY_MAX);
}
