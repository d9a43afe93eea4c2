/* track_priv.h - what the sources of serve/track share. */
#ifndef SERVE_TRACK_PRIV_H
#define SERVE_TRACK_PRIV_H

#include "serve/session/track.h"

/* What was said first counts, by the hint or at the end: 0 when `profile` says the same or
 * nothing has been said, else ERR_CONFLICT. */
int track_label_agrees(const struct track_row *row, const char *profile, struct err *e);
void track_label_put(struct track_row *row, const char *profile);

#endif
