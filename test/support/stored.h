/* stored.h - a data folder with sessions of emulated viewers, as a daemon would have stored them.
 *
 * Viewer i watches a link of gen_kinds in turn, drawn by (seed, i), and leaves after 8 .. 39 chunks. Profiles
 * are standard and news in turn. Threads: not shared. */
#ifndef TEST_STORED_H
#define TEST_STORED_H

#include "serve/store/store_sqlite.h"

struct stored_cfg {
    const char *dir;
    int sessions;
    uint64_t seed;
    const char *trial;     /* NULL: none */
    int arms;              /* at least 1: sessions fall into them by a draw */
    const char *arm[4];    /* names */
    const char *policy[4]; /* algorithms, which decide as a player's own rules */
    double drawn; /* share of levels that are drawn evenly; > 0: sessions explore */
    double
        crowding; /* a download of the highest level takes 1 + crowding times as long */
};

/* Also one session with a hole, one of two chunks, and one that runs. */
void stored_make(const struct stored_cfg *c);

#endif
