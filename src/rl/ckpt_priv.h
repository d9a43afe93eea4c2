/* ckpt_priv.h - what writing (ckpt.c) and reading (ckpt_read.c) share. */
#ifndef RL_CKPT_PRIV_H
#define RL_CKPT_PRIV_H

#include "rl/ckpt.h"

#include <jansson.h>
#include <stdbool.h>

#define CKPT_FORMAT "abrd-1"

/* A metadata key that the checkpoint itself writes. */
bool ckpt_reserved(const char *key);

/* *crc carried on over the metadata as ckpt.h tells; all values are strings. */
int ckpt_crc_meta(uint32_t *crc, const json_t *meta, struct err *e);

int ckpt_no_memory(struct err *e);

#endif
