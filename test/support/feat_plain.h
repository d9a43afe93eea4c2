/* feat_plain.h - the full observation (abr/emulator/feat.h) entry by entry, each by its definition:
 * the twin that the fast one is held against. */
#ifndef SUPPORT_FEAT_PLAIN_H
#define SUPPORT_FEAT_PLAIN_H

#include "abr/emulator/feat.h"

void feat_plain(float obs[FEAT_FULL_DIM], const struct view *v);

#endif
