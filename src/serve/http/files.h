/* files.h - the web pages: static files of one folder.
 *
 * A path is served if every segment is a plain name (letters, digits, ".", "_", "-"; no leading dot),
 * the ending is a known type, and the file lies inside the folder after symbolic links are resolved.
 * "" and "name/" mean the index.html there, and "name" redirects to "name/" if it has one. Every other
 * path is 404, so that no client can read sources in the folder or files outside it.
 *
 * Every answer carries an ETag (size and time of change) and "no-cache": a browser asks each time and
 * gets 304 while the file is unchanged.
 *
 * Threads: shared read-only after files_new. */
#ifndef SERVE_FILES_H
#define SERVE_FILES_H

#include "base/err.h"
#include "serve/http/reply.h"

struct files;

/* dir NULL: no pages, every path is 404. ERR_ABSENT: dir is not a folder. */
struct files *files_new(const char *dir, struct err *e);
void files_free(struct files *f);

/* path: decoded, without the leading slash. if_none_match: that header, or NULL. */
void files_get(struct reply *r, const struct files *f, const char *path,
               const char *if_none_match);

/* The media type by the name's ending; NULL if files of this type are not served. */
const char *files_type(const char *name);

#endif
