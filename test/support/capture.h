/* capture.h - what a piece of code prints.
 *
 *   capture_begin(STDERR_FILENO);
 *   ...
 *   char *text = capture_end();    (owned by the caller)
 *
 * One at a time per file descriptor of stdout or stderr; not nested. */
#ifndef TEST_CAPTURE_H
#define TEST_CAPTURE_H

void capture_begin(int fd);
char *capture_end(void);

#endif
