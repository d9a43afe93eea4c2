/* tmpdir.h - a folder for one test's files. */
#ifndef TEST_TMPDIR_H
#define TEST_TMPDIR_H

/* Makes a fresh empty folder under $TMPDIR or /tmp; the path is good until the next call.
 */
const char *tmpdir_new(void);
/* Removes it with all that is in it. */
void tmpdir_remove(const char *dir);

/* dir/name, in storage good for the next 8 calls. */
const char *tmpdir_path(const char *dir, const char *name);

#endif
