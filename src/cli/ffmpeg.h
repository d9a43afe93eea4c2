/* ffmpeg.h - runs ffmpeg, which is found in PATH, without a shell.
 *
 * Its standard output goes to `take`, in pieces. Its standard error is kept for the message of a failure.
 * Ctrl-C (interrupt.h) ends it: SIGTERM, then the call returns after it has ended.
 *
 * Errors: ERR_ABSENT (no ffmpeg in PATH), ERR_IO (it failed; the message is the last line that it printed,
 * or "stopped" after Ctrl-C).
 * Threads: main thread. */
#ifndef CLI_FFMPEG_H
#define CLI_FFMPEG_H

#include "base/err.h"

#include <stddef.h>

/* argv begins with "ffmpeg" and ends with NULL. */
int ffmpeg_run(const char *const *argv,
               void (*take)(void *self, const char *bytes, size_t n), void *self,
               struct err *e) __attribute__((warn_unused_result));

/* The beginning of what it prints, cut at size - 1 bytes. */
int ffmpeg_read(char *out, size_t size, const char *const *argv, struct err *e)
    __attribute__((warn_unused_result));

#endif
