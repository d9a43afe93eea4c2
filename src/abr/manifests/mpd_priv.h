/* mpd_priv.h - what the parts of the reader of DASH manifests share: mpd.c walks the document,
 * mpd_segments.c makes segments of one Representation, mpd_times.c tells when they are,
 * mpd_tree.c reads the XML, mpd_xml.c looks up what is written. */
#ifndef ABR_MPD_PRIV_H
#define ABR_MPD_PRIV_H

#include "abr/manifests/segments.h"

#include <stdbool.h>

enum { MPD_DEPTH = 4 };

/* From MPD down to Representation: what is inherited is looked up from the inside out. */
struct mpd_chain {
    const struct mpd_node *at[MPD_DEPTH];
    int n;
};

/* The times of a Representation's segments, in units of 1 / timescale s. */
struct mpd_times {
    double timescale;
    int n;
    int64_t *start, *duration; /* (n), owned; room for VIDEO_CHUNKS_MAX */
};

/* What the document says about all. */
struct mpd {
    const char *name;                     /* for messages */
    const struct segments_source *source; /* NULL: none; index boxes cannot be read */
    int chunks;                           /* the caller's; 0: as the manifest says */
    struct mpd_times times;               /* of the Representation that is being read */
};

/* ---- mpd_tree.c ---- */

/* An element. */
struct mpd_node {
    struct mpd_node *parent, *children, *next; /* next: sibling */
    int line, attributes;
    char *content; /* text of a BaseURL, NULL: none; owned by the tree */
    char texts[];  /* the name without its prefix, then names and values of attributes */
};

/* The root of the document, owned; NULL: text_refuse told what is wrong with name, or ERR_MEMORY. */
struct mpd_node *mpd_tree(const char *text, size_t len, const char *name, struct err *e);
void mpd_tree_free(struct mpd_node *root);

/* ---- mpd_xml.c ---- */

/* The line of the element that is to blame. */
int mpd_line(const struct mpd_node *at);
/* The next sibling element of that name from n on, n included. */
const struct mpd_node *mpd_named(const struct mpd_node *n, const char *element);
const struct mpd_node *mpd_child(const struct mpd_node *n, const char *element);
/* False when the attribute is absent or longer than the buffer. */
bool mpd_attribute(char *out, size_t size, const struct mpd_node *n, const char *attr);
/* Whole numbers within +-1e17: times since 1970 in units of 100 ns fit, and sums of segments
 * do not overflow. */
bool mpd_whole(int64_t *out, const char *s);
/* An xs:duration, "PT1H2M3.4S"; years and months have no length and must be 0. < 0 when it is not
 * one. */
double mpd_seconds(const char *s);
/* The nearest element of that name that has the attribute, from Representation outwards. */
const struct mpd_node *mpd_inherited(char *out, size_t size, const struct mpd_chain *c,
                                     const char *element, const char *attr);
/* The same as a whole number >= 0; fallback when it is absent. */
int mpd_inherited_int(int64_t *out, const struct mpd_chain *c, const char *element,
                      const char *attr, int64_t fallback, const char *name,
                      struct err *e);
/* "17-42"; false when it is not that, or does not ascend. */
bool mpd_range(int64_t *from, int64_t *to, const char *s);

/* ---- mpd_times.c ---- */

/* The media's clock: units of 1 / timescale s, and what it shows when the Period begins. */
int mpd_read_clock(int64_t *timescale, int64_t *offset, const struct mpd_chain *c,
                   const char *element, const char *name, struct err *e);

/* m->times from SegmentTemplate or SegmentList: a SegmentTimeline, or equal durations until
 * total_s (<= 0: unknown) or `count` segments (0: as long as total_s says). */
int mpd_read_times(struct mpd *m, const struct mpd_chain *c, const char *element,
                   double total_s, int count, struct err *e);

/* ---- mpd_segments.c ---- */

/* One more level: the Representation at the chain's end and its segments. */
int mpd_read_segments(struct mpd *m, struct segments *out, const struct mpd_chain *c,
                      double total_s, struct err *e);

#endif
