/* quality.h - the quality of a level in viewers' units, points from 0 to 100 on the scale of VMAF.
 *
 * Sources, the best one first: points of each chunk and level (measured by `abrd video quality`), points
 * of each level, and this curve of the ladder's bitrates and heights:
 *
 *   q(R) = cap(top height) / 100 * (100 - 16.1 x - 1.75 x^3),  not above cap(its height), not below 5
 *   x    = ln(R_top / R) min(1, 2.66 / ln(R_top / R_low))
 *   cap(h) = 100 - 17 log2(1080 / h)^1.1 below 1080 lines, else 100
 *
 * q is fitted to the mean VMAF of the six levels of Envivio's video (Comyco's data: 23.4, 63.7, 76.1,
 * 85.1, 93.3, 99.95). It is within 1.1 points of each mean and 3.9 points off a chunk on average (6.3 at
 * the lowest level). No curve of the bitrate is nearer to the chunks than 3.9, since contents differ. 2.66
 * is the logarithm of that ladder's span. The lowest level of a taller ladder is as good as that of
 * Envivio's, since ladders begin where a picture can be watched.
 *
 * cap is VMAF of a picture that was scaled down, barely compressed, and scaled up to 1080 lines. It is
 * fitted to the mean of six generated contents: 58, 73, 81, 83, 89 for 240, 360, 480, 540, 720 lines
 * (detailed fractals 30 to 84, a smooth gradient 95 to 97). The curve needs no other correction for
 * levels that differ in height: Envivio's do, too.
 *
 * Measured on generated contents at 240p:300 .. 1080p:4300 kbit/s, the curve is 18 points off VMAF on
 * average: 8 (a test pattern) to 34 (a zoom into a fractal). `bash test/score/quality.sh` prints such
 * errors. A stream whose quality matters should state it.
 *
 * SSIM becomes points by the relation that follows from two published fits on the same opinion scores,
 * SSIM to opinion and VMAF to opinion (Barman, Vanam and Reznik, EUVIP 2022, table 4), at 1080 lines
 * from 3 picture heights, where it gives 94.4 for a picture equal to its reference:
 *
 *   p(s) = -19.2 + 135.1 / (1 + exp(-7.492 (s - 0.777))) + 5.6 max(0, (s - 0.9) / 0.1)^4
 *
 * The last term is ours: p(1) = 100. Against VMAF of the same encodings (90 of seven contents) the mean
 * error is 4 on a zoom and on gradients, 7 with film grain, 12 to 30 on a test pattern and on patterns
 * without any smooth area. For white noise SSIM says nothing (0.5, where VMAF is 80). A fit to those 90
 * is no nearer.
 *
 * Threads: pure functions. */
#ifndef ABR_QUALITY_H
#define ABR_QUALITY_H

#define QUALITY_MAX 100.0
/* Limits of heights from outside [pixels]. */
#define QUALITY_HEIGHT_MIN 16
#define QUALITY_HEIGHT_MAX 8640

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
