/* setup.h - options that several commands share: traces, a video, profiles.
 *
 *   struct setup s = setup_default();
 *   const struct field opts[] = {SETUP_OPTIONS(s), ..., {0}};
 *   ...
 *   if (setup_corpus(&corpus, &s, &e) || setup_video(&video, &s, &e) || ...)
 *
 * Errors: e->field names the option or the file. Threads: main thread. */
#ifndef CLI_SETUP_H
#define CLI_SETUP_H

#include "abr/traces/corpus.h"
#include "abr/emulator/emu.h"
#include "abr/emulator/qoe_means.h"
#include "cli/opt.h"

#define SETUP_PROFILES 16

struct setup {
    const char *traces; /* folder; NULL = the bundled corpus */
    const char *part;   /* all, train or test; NULL = test of the bundled corpus, all of a
                            folder */
    const char *video;  /* NULL = generated */
    const char *quality; /* folder; NULL = as the video states it, else the curve */
    /* of a generated one; unset (0, none) is as video_default has it */
    struct field_list ladder; /* kbit/s, ascending */
    double chunk_s, spread;   /* spread: of the logarithm of chunk sizes; < 0 = unset */
    int chunks; /* 0: three minutes and a bit, as many as there are in 192 s */
    struct field_list profiles; /* names; "all": the product's, "papers": the papers' */
    /* of a profile "custom", one of them; NULL: none */
    const char *mu;            /* "quality,switch,stall", the papers' form */
    struct field_list weights; /* "quality=1.5": relative to `standard`; 1 without */
    const char *utility;       /* of mu and of the papers' profiles */
    double rtt_ms, buffer_s;
    bool no_wrap, abandon;
};

#define SETUP_PROFILE_HELP                                                               \
    "profiles of the viewers: standard, documentary, live, news, sports, lecture, all "  \
    "(these six), paper-documentary, paper-live, paper-news, pensieve or papers (these " \
    "four)"

/* options for a profile of its own */
#define SETUP_WEIGHTS(s)                                                                 \
    {"weights", "NAME=X,...",                                                            \
     "weights for a profile named 'custom', relative to 'standard': quality, switches, " \
     "stalls, startup; those not given are 1",                                           \
     FIELD_TO((s).weights)},                                                             \
        {"mu", "Q,W,S",                                                                  \
         "weights for a profile named 'custom' in the papers' form: quality, switches "  \
         "and stalls; excludes --weights",                                               \
         FIELD_TO((s).mu)},                                                              \
    {                                                                                    \
        "utility", "NAME",                                                               \
            "quality of a bitrate for --mu and the papers' profiles: linear, log or "    \
            "pamoe",                                                                     \
            FIELD_TO((s).utility)                                                        \
    }

#define SETUP_OPTIONS(s)                                                                 \
    {"traces", "DIR", "folder of traces (default: the test part of the bundled traces)", \
     FIELD_TO((s).traces)},                                                              \
        {"part", "NAME",                                                                 \
         "part of the traces to use, split by name: all, train or test (default: all "   \
         "of --traces)",                                                                 \
         FIELD_TO((s).part)},                                                            \
        SETUP_WORLD(s)

/* the options without the traces */
#define SETUP_WORLD(s)                                                                  \
    {"video", "PATH",                                                                   \
     "video: folder of chunk sizes, sabre JSON, MPD or HLS (default: a generated one)", \
     FIELD_TO((s).video)},                                                              \
        {"quality", "DIR",                                                              \
         "folder with the quality of the video's chunks, 0 to 100: files "              \
         "video_quality_0, ... or vmaf_0, ... (default: what --video states, else a "   \
         "curve of the bitrates)",                                                      \
         FIELD_TO((s).quality)},                                                        \
        {"ladder", "KBPS,...",                                                          \
         "bitrates of a generated video in kbit/s (default: Pensieve's six)",           \
         FIELD_TO((s).ladder)},                                                         \
        {"chunk-s",                                                                     \
         "S",                                                                           \
         "chunk length of a generated video, in seconds; 0: 4 seconds",                 \
         FIELD_TO((s).chunk_s),                                                         \
         .lo = 0,                                                                       \
         .hi = 10},                                                                     \
        {"chunks",                                                                      \
         "N",                                                                           \
         "number of chunks of a generated video; 0: as many as last 192 seconds",       \
         FIELD_TO((s).chunks),                                                          \
         .lo = 0,                                                                       \
         .hi = 100000},                                                                 \
        {"spread",                                                                      \
         "SIGMA",                                                                       \
         "standard deviation of the logarithm of the chunk sizes of a "                 \
         "generated video; 0: constant bitrate; -1: 0.2",                               \
         FIELD_TO((s).spread),                                                          \
         .lo = -1,                                                                      \
         .hi = 1},                                                                      \
        {"profile", "A,B",                                                              \
         SETUP_PROFILE_HELP " (default: standard; papers with --gain)",                 \
         FIELD_TO((s).profiles)},                                                       \
        SETUP_WEIGHTS(s),                                                               \
        {"rtt-ms",                                                                      \
         "MS",                                                                          \
         "round-trip time of each chunk, in milliseconds",                              \
         FIELD_TO((s).rtt_ms),                                                          \
         .lo = 0,                                                                       \
         .hi = 10000},                                                                  \
        {"buffer-s",                                                                    \
         "S",                                                                           \
         "largest buffer of the player, in seconds",                                    \
         FIELD_TO((s).buffer_s),                                                        \
         .lo = 1,                                                                       \
         .hi = 3600},                                                                   \
        {"no-wrap", NULL,                                                               \
         "keep the last throughput at the end of a trace instead of starting it again", \
         FIELD_TO((s).no_wrap)},                                                        \
    {                                                                                   \
        "abandon", NULL, "let players abandon a chunk for another level",               \
            FIELD_TO((s).abandon)                                                       \
    }

struct setup_profile {
    char name[32];
    struct qoe qoe;
};

struct setup setup_default(void);

/* The built-in profiles and what their weights mean (abr/emulator/qoe_means.h), for --help. */
struct setup_terms {
    struct opt_term at[QOE_PROFILES + 1];
    char text[QOE_PROFILES][QOE_MEANS + 80];
};
void setup_terms(struct setup_terms *out);

/* "all", "train" or "test". */
int setup_part(enum corpus_part *out, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* Owned by the caller; NULL on failure. */
struct corpus *setup_corpus(const struct setup *s, struct err *e);
struct video *setup_video(const struct setup *s, struct err *e);
struct emu_cfg setup_emu(const struct setup *s);

/* out: (SETUP_PROFILES). Returns their number, or a negative ERR_*. Without --profile: "custom" when
 * --weights or --mu is given, else the profile `otherwise` (a name, "all" or "papers"). */
int setup_profiles(struct setup_profile *out, const struct setup *s,
                   const char *otherwise, struct err *e)
    __attribute__((warn_unused_result));

#endif
