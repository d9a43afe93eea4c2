/* Players without a plugin as a part of the daemon: what the core calls (serve/part.h). */
#include "serve/players/players.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "serve/http/api.h"
#include "serve/part.h"
#include "serve/players/api_players.h"
#include "serve/players/contents.h"
#include "serve/players/manifests.h"
#include "serve/players/pensieve.h"
#include "serve/players/steer.h"

extern const struct part players_part;

struct players *players_of(const struct api *a)
{
    return api_part(a->shared, players_part.name);
}

/* Without a readable manifest the demo's media are still served, without a cap. */
static struct video *load_video(const struct media_cfg *media, const struct log *log)
{
    char path[4096];
    struct err why = {0};
    const char *dir = media->dir;
    int n = dir ? snprintf(path, sizeof path, "%s/manifest.mpd", dir) : 0;
    if (n <= 0 || n >= (int)sizeof path || access(path, R_OK)) return NULL;
    struct video *v = video_load(path, NULL, &why);
    if (!v) log_err(log, LOG_WARN, "media", &why);
    return v;
}

static int open_origins(struct players *p, const struct origin_cfg *cfg,
                        const struct log *log, uint64_t seed, struct err *e)
{
    if (!cfg->names.n) return 0;
    p->origin = origin_new(cfg, e);
    if (!p->origin) return e->code;
    p->transfers_each = api_share_of(cfg->transfers);
    p->fetching = occupancy_new(cfg->transfers, seed, e);
    if (!p->fetching) return e->code;
    p->contents = contents_new(CONTENTS, origin_names(p->origin), e);
    if (!p->contents) return e->code;
    p->manifests = manifests_new(p->origin, p->contents, log, e);
    return p->manifests ? 0 : e->code;
}

static int open_media(struct players *p, const struct players_cfg *cfg, int workers,
                      const struct log *log, uint64_t seed, struct err *e)
{
    if (!cfg->demo) return 0;
    p->video = load_video(&cfg->media, log);
    p->viewers_each = api_share_of(cfg->media.viewers);
    p->viewing = occupancy_new(cfg->media.viewers + workers, seed, e);
    if (!p->viewing) return e->code;
    p->media = media_new(&cfg->media, e);
    return p->media ? 0 : e->code;
}

static int players_part_listen(void **state, const struct api_shared *shared,
                               const void *settings, struct err *e)
{
    const struct players_cfg *cfg = settings;
    struct players *p = *state = calloc(1, sizeof *p);
    if (!p) return err_set(e, ERR_MEMORY, "no memory for the players");
    uint64_t seed[4]; /* one per table: keys of one table reveal none of another */
    if (getrandom(seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        return err_set(e, ERR_IO, "getrandom: %s", strerror(errno));
    p->pensieve = pensieve_clients(PENSIEVE_CLIENTS, seed[0], e);
    if (!p->pensieve) return e->code;
    p->steered = steer_clients(STEER_CLIENTS, seed[1], e);
    if (!p->steered) return e->code;
    int rc = open_origins(p, &cfg->origin, shared->log, seed[2], e);
    return rc ? rc : open_media(p, cfg, shared->workers, shared->log, seed[3], e);
}

static void players_part_unlisten(void *state)
{
    struct players *p = state;
    if (!p) return;
    manifests_free(p->manifests);
    contents_free(p->contents);
    origin_free(p->origin);
    media_free(p->media);
    clients_free(p->pensieve);
    clients_free(p->steered);
    video_free(p->video);
    occupancy_free(p->fetching);
    occupancy_free(p->viewing);
    free(p);
}

static void players_part_limited(void *state, struct admit_stats *out)
{
    const struct players *p = state;
    if (p->fetching) out->transfers = occupancy_refused(p->fetching);
    if (p->viewing) out->demo_viewers = occupancy_refused(p->viewing);
}

static void players_part_stats(void *state, void *out)
{
    const struct players *p = state;
    struct players_stats *stats = out;
    stats->hands_on = p->origin != NULL;
    if (p->origin) stats->origin = origin_stats(p->origin);
}

static const struct route routes[] = {
    {HTTP_POST, "/v1/cmcd", ROUTE_OPEN, api_cmcd_events},
    {HTTP_GET, "/demo/links", ROUTE_OPEN, api_demo_links},
    {HTTP_GET, "/demo/{link}/{viewer}/{file...}", ROUTE_OPEN, api_demo_file},
    {HTTP_PUT, "/demo/{link}/{viewer}/{file...}", ROUTE_OPEN, api_demo_change},
    {HTTP_GET, "/o/{origin}/{path*}", ROUTE_OPEN, api_origin},
    {HTTP_POST, "/", ROUTE_FALLBACK, api_pensieve}, /* "/" also serves the page, by GET */
    {HTTP_OTHER, NULL, ROUTE_OPEN, NULL},
};

const struct part players_part = {.name = "players",
                                  .routes = routes,
                                  .listen = players_part_listen,
                                  .unlisten = players_part_unlisten,
                                  .limited = players_part_limited,
                                  .listen_stats = players_part_stats};
