/* bound.h - limits the weight of single samples: advantages within k robust deviations.
 *
 *   A'_i = clamp(A_i, m - k s, m + k s),   m = median A,   s = 1.4826 median |A - m|
 *   target'_i = target_i + A'_i - A_i
 *
 * over the samples of each tag. s estimates the standard deviation of normal samples. m and s change
 * little while less than half of the samples are false (breakdown point 1/2); a single sample can
 * move mean and standard deviation arbitrarily. So a sample's share of a batch of n normalised
 * advantages is at most about k / n, and a client's is k times its share of the steps. The critic's
 * target changes by the same amount.
 * If more than half of a tag's samples are equal, s is 0 and nothing is cut.
 * Source: winsorizing with the median absolute deviation (Huber, Robust Statistics, 1981).
 *
 * Threads: pure function. */
#ifndef LEARN_BOUND_H
#define LEARN_BOUND_H

/* advantage, target, tag (n), changed in place; sigmas > 0; scratch (n). Tags are small numbers
 * >= 0. Returns how many were cut. */
int bound_advantages(float *advantage, float *target, const int *tag, int n,
                     double sigmas, float *scratch);

#endif
