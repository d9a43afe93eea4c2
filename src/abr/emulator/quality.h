/* quality.h - the quality of a level in viewers' units: 0 .. 100 points, the scale of VMAF.
 *
 * Sources, the best one first: points of each chunk and level (computed from the content, abrd video
 * quality), points of each level, and this curve of the ladder's bitrates:
 *
 *   q(R) = cap(height) - 16.1 x - 1.75 x^3,   x = ln(R_top / R) min(1, 2.66 / ln(R_top / R_low))
 *
 * not below 5. Source: fitted to the mean VMAF of the six levels of Envivio's video (Comyco's data:
 * 23.4, 63.7, 76.1, 85.1, 93.3, 99.95), within 1.1 points of each. 2.66 is the logarithm of that
 * ladder's span; the lowest level of a taller ladder is as good as that of Envivio's, since ladders
 * begin where a picture can be watched.
 *
 * Threads: pure functions. */
#ifndef ABR_QUALITY_H
#define ABR_QUALITY_H

#define QUALITY_MAX 100.0

enum quality_source { QUALITY_CURVE, QUALITY_LEVEL, QUALITY_CHUNK };

/* "curve", "level", "chunk". */
const char *quality_source_name(enum quality_source s);

/* Points of a mean SSIM of luma, 0 .. 100. */
double quality_of_ssim(double ssim);

/* The height that decides how much a 16:9 screen magnifies the picture: of 1280 x 536 it is 720, since
 * its width fills the screen; an upright picture is watched on an upright screen. width 0: not known. */
int quality_height(int width, int height);

/* points (levels), strictly positive, not falling. heights [pixels] (levels) or NULL: unknown, then
 * the top level has 100 points. */
void quality_curve(double *points, const double *ladder_kbps, const int *heights,
                   int levels);

#endif
