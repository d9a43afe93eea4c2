#include "abr/emulator/quality.h"

#include <math.h>
#include <stddef.h>

static const double SPAN = 2.66, LEAST = 5;

const char *quality_source_name(enum quality_source s)
{
    static const char *const names[] = {"curve", "level", "chunk"};
    return names[s];
}

void quality_curve(double *points, const double *ladder_kbps, const int *heights,
                   int levels)
{
    (void)heights;
    double top = ladder_kbps[levels - 1], span = log(top / ladder_kbps[0]);
    double unit = span > SPAN ? SPAN / span : 1;
    for (int k = 0; k < levels; k++) {
        double x = unit * log(top / ladder_kbps[k]);
        points[k] = fmax(100 - x * (16.1 + 1.75 * x * x), LEAST);
    }
}

int quality_height(int width, int height)
{
    int lines = width && width < height ? width : height;
    int along = width < height ? height : width;
    int filled = (int)lround(along * 9.0 / 16.0);
    return width && height && filled > lines ? filled : lines;
}
