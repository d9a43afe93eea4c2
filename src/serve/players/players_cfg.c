/* The settings of players without a plugin and the figures of origins (players.h). */
#include "serve/players/players.h"

struct players_cfg players_cfg_default(void)
{
    return (struct players_cfg){
        .media = {.rtt_s = 0.08, .viewers = 64, .seconds = 600.0, .seed = 1},
        .origin = {.transfers = 256, .silence_s = 20}};
}

const struct field players_media_fields[] = {
    {"media-dir", "DIR", "folder of the demo's stream (make media)",
     FIELD(struct media_cfg, dir), .group = "media"},
    {"traces", "DIR", "folder of traces that the demo offers as links",
     FIELD(struct media_cfg, traces)},
    {0}};

const struct field players_origin_fields[] = {
    {"origin-transfers", "N",
     "largest number of transfers from origins at the same time; further requests get "
     "503",
     FIELD(struct origin_cfg, transfers), .lo = 1, .hi = 10000, .group = "media",
     .flags = FIELD_ADVANCED},
    {"origin-silence", "S", "end a transfer when an origin sends nothing for S seconds",
     FIELD(struct origin_cfg, silence_s), .lo = 1, .hi = 3600, .unit = "seconds",
     .flags = FIELD_ADVANCED},
    {0}};

static const char *const FAULTS[ORIGIN_FAULTS + 1] = {"none",     "unreachable", "silent",
                                                      "redirect", "broken",      NULL};

#define ROW(member) FIELD(struct origin_stats, member)
const struct figure players_origin_figures[] = {
    {"abrd_origin_transfers", NULL, FIGURE_GAUGE, "Transfers from origins under way.",
     ROW(transfers)},
    {"abrd_origin_transfers_max", NULL, FIGURE_GAUGE,
     "Largest number of transfers at the same time (--origin-transfers).",
     ROW(transfers_max)},
    {"abrd_origin_requests_total", NULL, FIGURE_COUNTER, "Requests sent to origins.",
     ROW(begun)},
    {"abrd_origin_refused_total", NULL, FIGURE_COUNTER,
     "Requests refused because all transfers were in use.", ROW(refused)},
    {"abrd_origin_bytes_total", NULL, FIGURE_COUNTER,
     "Bytes of origins' bodies sent to players.", ROW(bytes)},
    {"abrd_origin_failures_total", NULL, FIGURE_COUNTER,
     "Failed transfers: origin unreachable, silent, redirect not allowed, or answer "
     "broken "
     "off.",
     ROW(failed), .label = "why", .words = FAULTS, .from = ORIGIN_SOUND + 1},
    {0}};
#undef ROW

const char *players_fault_name(enum origin_fault f)
{
    return FAULTS[f];
}
