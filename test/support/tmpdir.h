/* tmpdir.h - folders for a test's files; exit removes those that the process made. */
#ifndef TEST_TMPDIR_H
#define TEST_TMPDIR_H

/* A fresh empty folder under $TMPDIR or /tmp. The path is good until tmpdir_remove or exit. */
const char *tmpdir_new(void);
/* Removes a folder with all that is in it, now. dir may be a copy of the path. */
void tmpdir_remove(const char *dir);
/* Exit leaves it, for somebody to look at. */
void tmpdir_keep(const char *dir);

/* dir/name, in storage good for the next 8 calls. */
const char *tmpdir_path(const char *dir, const char *name);
/* Writes a text file into a folder. */
void tmpdir_put(const char *dir, const char *name, const char *text);

#endif
