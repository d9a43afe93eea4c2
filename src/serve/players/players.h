/* players.h - players without a plugin, as a part of the daemon (serve/part.h): settings, state, figures.
 *
 * Its requests: POST /v1/cmcd and CMCD with a request for a segment (api_cmcd.c), Pensieve's wire
 * form (api_pensieve.c), media of other servers (api_origin.c) and the demo's (api_demo.c).
 *
 * Threads: struct players never changes; what it points to is locked inside. */
#ifndef SERVE_PLAYERS_H
#define SERVE_PLAYERS_H

#include "base/field.h"
#include "serve/metrics/figure.h"
#include "serve/players/media.h"
#include "serve/players/origin.h"

struct clients;
struct contents;
struct manifests;

struct players_cfg {
    bool demo;
    struct media_cfg media;   /* of the demo */
    struct origin_cfg origin; /* without names: no media are handed on */
};

/* No demo, no origins; 256 transfers, 20 s; the demo's links of 0.08 s, 64 viewers, 600 s. */
struct players_cfg players_cfg_default(void);
const char *players_fault_name(enum origin_fault f); /* a word, for figures */
/* Of struct media_cfg, struct origin_cfg; of struct origin_stats. */
extern const struct field players_media_fields[], players_origin_fields[];
extern const struct figure players_origin_figures[];

struct players_stats {
    bool hands_on; /* there are origins */
    struct origin_stats origin;
};

/* What the handlers share; parts of it may be NULL. */
struct players {
    struct origin *origin;       /* NULL: no media are handed on */
    struct contents *contents;   /* what is known of them; NULL likewise */
    struct manifests *manifests; /* reads those that refer to files; NULL likewise */
    struct occupancy *fetching;  /* transfers from origins of each address */
    int transfers_each;          /* of them at most */
    struct media *media;         /* NULL: no demo */
    struct video *video;         /* what the media are of; NULL: nobody is steered */
    struct occupancy *viewing;   /* viewers of the demo with requests under way */
    int viewers_each;            /* of them at most */
    struct clients *pensieve;    /* its clients (pensieve.h) */
    struct clients *steered;     /* players that send CMCD (steer.h) */
};

struct api;
struct players *players_of(const struct api *a);

#endif
