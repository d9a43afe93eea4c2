/* files.h - the pages: static files from one folder.
 *
 * A path is served when every segment of it is a plain name (letters, digits, ".", "_", "-";
 * no dot in front), its ending is one of the known types, and the file, symbolic links
 * followed, lies inside the folder. "" and "name/" mean the index.html there. Everything
 * else is 404, so that neither sources beside the pages nor anything outside can be read.
 *
 * Every answer carries an ETag (size and time of change) and "no-cache": a browser asks
 * again each time and gets 304 while nothing has changed.
 *
 * Threads: shared read-only after files_new. */
#ifndef SERVE_FILES_H
#define SERVE_FILES_H

#include "base/err.h"
#include "serve/http/reply.h"

struct files;

/* dir NULL: no pages, every path is 404. ERR_ABSENT: there is no such folder. */
struct files *files_new(const char *dir, struct err *e);
void files_free(struct files *f);

/* path: decoded, without the slash in front. if_none_match: that header, or NULL. */
void files_get(struct reply *r, const struct files *f, const char *path,
               const char *if_none_match);

/* By the name's ending; NULL when it is none that is served. */
const char *files_type(const char *name);

#endif
