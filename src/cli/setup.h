/* setup.h - what several commands ask for in the same words: traces, a video, viewers.
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
#include "cli/opt.h"

#define SETUP_PROFILES 16

struct setup {
    const char *traces; /* folder; NULL = the bundled corpus */
    const char *part;   /* all, train or test; NULL = test of the bundled corpus, all of a
                            folder */
    const char *video;  /* NULL = generated */
    /* of a generated one; unset (0, none) is as video_default has it */
    struct field_list ladder; /* kbit/s, ascending */
    double chunk_s, spread;   /* spread: of the logarithm of chunk sizes; < 0 = unset */
    int chunks; /* 0: three minutes and a bit, as many as there are in 192 s */
    struct field_list profiles; /* names; "all" = the four built in */
    const char *mu; /* "quality,switch,stall" of a profile "custom"; NULL = none */
    const char *utility;
    double rtt_ms, buffer_s;
    bool no_wrap, abandon;
};

#define SETUP_OPTIONS(s)                                                                 \
    {"traces", "DIR", "folder of traces (default: the test part of the bundled corpus)", \
     FIELD_TO((s).traces)},                                                              \
        {"part", "NAME", "all, train or test of them, split by name",                    \
         FIELD_TO((s).part)},                                                            \
        {"video", "PATH",                                                                \
         "folder of sizes, sabre JSON, MPD or HLS (default: generated)",                 \
         FIELD_TO((s).video)},                                                           \
        {"ladder", "KBPS,...",                                                           \
         "bitrates of a generated video (default: Pensieve's six)",                      \
         FIELD_TO((s).ladder)},                                                          \
        {"chunk-s", "S",     "its chunk length; 0 = 4", FIELD_TO((s).chunk_s),           \
         .lo = 0,   .hi = 10},                                                           \
        {"chunks", "N",         "its chunks; 0 = 192 s of them", FIELD_TO((s).chunks),   \
         .lo = 0,  .hi = 100000},                                                        \
        {"spread",                                                                       \
         "SIGMA",                                                                        \
         "of its chunk sizes; 0 = constant bitrate, -1 = .2",                            \
         FIELD_TO((s).spread),                                                           \
         .lo = -1,                                                                       \
         .hi = 1},                                                                       \
        {"profile", "A,B", "documentary, live, news, pensieve or all",                   \
         FIELD_TO((s).profiles)},                                                        \
        {"mu", "Q,W,S", "profile 'custom': weights of quality, switching and stalls",    \
         FIELD_TO((s).mu)},                                                              \
        {"utility", "NAME", "linear, log or pamoe", FIELD_TO((s).utility)},              \
        {"rtt-ms", "MS",       "round trip per chunk", FIELD_TO((s).rtt_ms),             \
         .lo = 0,  .hi = 10000},                                                         \
        {"buffer-s", "S",       "what the player holds at most", FIELD_TO((s).buffer_s), \
         .lo = 1,    .hi = 3600},                                                        \
        {"no-wrap", NULL, "a trace does not begin anew: its last throughput stays",      \
         FIELD_TO((s).no_wrap)},                                                         \
    {                                                                                    \
        "abandon", NULL, "players may abandon a chunk on its way for another level",     \
            FIELD_TO((s).abandon)                                                        \
    }

struct setup_profile {
    char name[32];
    struct qoe qoe;
};

struct setup setup_default(void);

/* Owned by the caller; NULL on failure. */
struct corpus *setup_corpus(const struct setup *s, struct err *e);
struct video *setup_video(const struct setup *s, struct err *e);
struct emu_cfg setup_emu(const struct setup *s);

/* out: (SETUP_PROFILES). Returns their number, or a negative ERR_*. Without --profile:
 * "custom" when --mu is given, else the profile `otherwise` (a name or "all"). */
int setup_profiles(struct setup_profile *out, const struct setup *s,
                   const char *otherwise, struct err *e)
    __attribute__((warn_unused_result));

#endif
