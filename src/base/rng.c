#include "base/rng.h"

#include <math.h>

static const double TWO_PI = 6.283185307179586476925286766559;

/* splitmix64's finaliser (Steele, Lea, Flood 2014) */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static double unit(uint64_t x)
{
    return (double)(x >> 11) * 0x1p-53;
}

void rng_init(struct rng *r, uint64_t seed, uint64_t id)
{
    uint64_t z = mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ mix(~id);
    for (int i = 0; i < 4; i++) {
        z += UINT64_C(0x9e3779b97f4a7c15);
        r->s[i] = mix(z);
    }
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t out = rotl(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

double rng_uniform(struct rng *r)
{
    return unit(rng_u64(r));
}

double rng_range(struct rng *r, double lo, double hi)
{
    return lo + (hi - lo) * rng_uniform(r);
}

uint32_t rng_below(struct rng *r, uint32_t n)
{
    /* Lemire 2019: multiply, reject the short first interval */
    uint64_t m = (rng_u64(r) >> 32) * n;
    if ((uint32_t)m < n) {
        uint32_t floor = -n % n;
        while ((uint32_t)m < floor)
            m = (rng_u64(r) >> 32) * n;
    }
    return (uint32_t)(m >> 32);
}

double rng_normal(struct rng *r)
{
    double u = 1.0 - rng_uniform(r); /* (0, 1]: the logarithm stays finite */
    double v = rng_uniform(r);
    return sqrt(-2.0 * log(u)) * cos(TWO_PI * v);
}

double rng_exponential(struct rng *r, double mean)
{
    return -mean * log(1.0 - rng_uniform(r));
}

uint64_t rng_u64_at(uint64_t seed, uint64_t key, uint64_t counter)
{
    uint64_t z = mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    z = mix(z ^ (key + UINT64_C(0xd1b54a32d192ed03)));
    return mix(z ^ (counter * UINT64_C(0x9e3779b97f4a7c15) + 1));
}

double rng_uniform_at(uint64_t seed, uint64_t key, uint64_t counter)
{
    return unit(rng_u64_at(seed, key, counter));
}
