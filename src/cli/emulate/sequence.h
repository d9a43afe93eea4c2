/* sequence.h - phases of emulated viewers, one after another on the same daemon.
 *
 *   viewers=2000 kind=volatile-low no-hint=0.5; viewers=500 traces=DIR profile=live:2,news:1
 *
 * A sequence is such a text or a file with one. Phases end at ';' or at the end of a line. Words within
 * a phase are separated by blanks, '#' begins a comment. A word is KEY=VALUE or the name of a switch.
 * The keys are in the table of sequence.c: links (kind, traces, part, links, seconds), videos (video,
 * ladder, chunk-s, chunks, spread), viewers (viewers, at-once, profile, weights, mu, no-hint, label,
 * drift, contents) and liars (liars, lie, one-address, explore-keys). A missing key has the value of
 * the phase that the caller gives. A phase with `kind` or `traces` has only these links.
 * A profile may have a share: live:2. Profiles without one have share 1.
 *
 * Errors: e->field is "--sequence phase N" or "--sequence phase N (NAME)"; e->detail begins with the
 * key. ERR_INVALID, ERR_RANGE, ERR_CONFLICT, ERR_ABSENT, ERR_FULL (too many phases).
 * Ownership: the texts of a phase belong to the sequence. Threads: not shared. */
#ifndef CLI_EMULATE_SEQUENCE_H
#define CLI_EMULATE_SEQUENCE_H

#include "cli/emulate/viewers.h"
#include "cli/setup.h"

#define SEQUENCE_PHASES 64

struct sequence_phase {
    char name[32];      /* "2", or as the phase states it */
    struct setup setup; /* links of traces, video, weights, player */
    struct field_list profiles, kinds, traces;
    int viewers, at_once, links;
    double seconds;
    double no_hint, label, drift, liars;
    int contents;
    const char *lie;
    bool one_address, explore_keys;
};

struct sequence {
    char *text; /* owned */
    int n;
    struct sequence_phase phase[SEQUENCE_PHASES];
};

/* What a phase plays. */
struct sequence_world {
    struct corpus *corpus; /* owned */
    struct video *video;   /* owned */
    struct viewers_cfg crowd;
};

/* spec: a text with '=' or a file. *out is set on failure, too: sequence_free. */
int sequence_read(struct sequence *out, const char *spec,
                  const struct sequence_phase *otherwise, struct err *e)
    __attribute__((warn_unused_result));
void sequence_free(struct sequence *s);

/* Reads or generates links and video and fills the viewers of phase i. The links are in an order drawn
 * from the seed, so that several kinds take turns. */
int sequence_load(struct sequence_world *out, const struct sequence *s, int i,
                  uint64_t seed, struct err *e) __attribute__((warn_unused_result));
void sequence_unload(struct sequence_world *w);

/* Names with shares, "live:2" or "untagged", as viewers; weights or mu of the setup come last. */
int sequence_profiles(struct viewers_cfg *out, const struct setup *setup,
                      const struct field_list *names, struct err *e)
    __attribute__((warn_unused_result));

#endif
