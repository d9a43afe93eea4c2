/* emulate_page.h - abrd emulate --report: a page about what the viewers got (cli/page.h).
 *
 * The distribution of QoE over viewers by profile, its parts, stalls against bitrate, and the timelines
 * of the best, median and worst viewer of the first profile. Every chunk of every viewer is kept until
 * the page is written, 40 bytes each, at most EMULATE_PAGE_CHUNKS.
 *
 * Errors: those of page.h, ERR_RANGE (more chunks), ERR_MEMORY. Threads: not shared. */
#ifndef CLI_EMULATE_EMULATE_PAGE_H
#define CLI_EMULATE_EMULATE_PAGE_H

#include "cli/emulate/viewers.h"

#define EMULATE_PAGE_CHUNKS 10000000

struct emulate_page;

/* Fails before any work is done. Sets the function that crowd calls for every chunk. */
int emulate_page_new(struct emulate_page **out, const char *path,
                     struct viewers_cfg *crowd, int viewers, const struct video *video,
                     struct err *e) __attribute__((warn_unused_result));
void emulate_page_free(struct emulate_page *p);
int emulate_page_write(struct emulate_page *p, const struct viewers_cfg *crowd,
                       struct err *e) __attribute__((warn_unused_result));

#endif
