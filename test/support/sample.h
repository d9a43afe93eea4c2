/* sample.h - small policies and checkpoints for tests. */
#ifndef TEST_SAMPLE_H
#define TEST_SAMPLE_H

#include "learn/ckpt.h"

/* 3 inputs, 2 actions, 1 layer of 2; the critic is single. */
struct policy_cfg sample_cfg(enum mix_route route);

/* Fresh weights with some awkward numbers among them. */
struct policy *sample_policy(struct policy_cfg c);
void sample_meta(struct ckpt_meta *m);

/* ckpt_encode that must succeed; extra is a string or NULL. */
void sample_encode(void **out, size_t *n, const struct policy *p,
                   const struct ckpt_meta *m, const char *extra);

/* Asserts that all is equal to the bit. */
void sample_same(const struct policy *a, const struct policy *b);

#endif
