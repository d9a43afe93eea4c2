#include "video_priv.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 4 << 20 };

const double video_pensieve_ladder[VIDEO_PENSIEVE_LEVELS] = {300,  750,  1200,
                                                             1850, 2850, 4300};

/* The integers of one file, one per line, into out (VIDEO_CHUNKS_MAX). */
static int read_sizes(int64_t *out, int *n, char *text, const char *name, struct err *e)
{
    *n = 0;
    int line = 0;
    for (char *next, *s = text; s; s = next) {
        next = strchr(s, '\n');
        if (next) *next++ = '\0';
        line++;
        s += strspn(s, " \t");
        s[strcspn(s, " \t\r")] = '\0';
        if (!*s) continue;

        char where[96];
        snprintf(where, sizeof where, "%.40s:%d", name, line);
        if (*n == VIDEO_CHUNKS_MAX)
            return err_field(e, ERR_RANGE, where, "more than %d chunks",
                             VIDEO_CHUNKS_MAX);
        int rc = text_int(&out[*n], s, 1, VIDEO_BYTES_MAX, where, e);
        if (rc) return rc;
        ++*n;
    }
    return 0;
}

static int load_level(int64_t *out, int *n, const char *dir, int level, struct err *e)
{
    char path[4096], name[32];
    snprintf(name, sizeof name, "video_size_%d", level);
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return err_field(e, ERR_RANGE, dir, "the path is too long");
    size_t len;
    char *text = text_read_file(path, FILE_MAX, &len, e);
    if (!text) return ERR_IO;
    int rc = strlen(text) == len ? read_sizes(out, n, text, name, e)
                                 : err_field(e, ERR_INVALID, name, "holds a NUL byte");
    free(text);
    return rc;
}

/* Files video_size_0, _1, ... without a gap. */
static int count_levels(const char *dir)
{
    int n = 0;
    for (;; n++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/video_size_%d", dir, n);
        if (n > VIEW_LEVELS || access(path, F_OK)) return n;
    }
}

static void ladder_of_means(double *kbps, const int64_t *bytes, int levels, int rows,
                            double chunk_s)
{
    for (int k = 0; k < levels; k++) {
        double sum = 0.0;
        for (int c = 0; c < rows; c++)
            sum += (double)bytes[(size_t)k * VIDEO_CHUNKS_MAX + (size_t)c];
        kbps[k] = sum * 8.0 / 1000.0 / chunk_s / rows;
    }
}

struct video *video_read_pensieve(const char *dir, const struct video_cfg *cfg,
                                  struct err *e)
{
    int levels = count_levels(dir);
    if (levels < 2 || levels > VIEW_LEVELS) {
        err_field(e, levels ? ERR_RANGE : ERR_ABSENT, dir,
                  "holds %d files video_size_0, _1, ...: 2 to %d are needed", levels,
                  VIEW_LEVELS);
        return NULL;
    }

    struct video *v = NULL;
    int64_t *bytes = malloc((size_t)levels * VIDEO_CHUNKS_MAX * sizeof *bytes);
    if (!bytes) {
        err_set(e, ERR_MEMORY, "no memory for the sizes of %d levels", levels);
        return NULL;
    }

    int rows = 0;
    for (int k = 0; k < levels; k++) {
        int n;
        if (load_level(bytes + (size_t)k * VIDEO_CHUNKS_MAX, &n, dir, k, e)) goto out;
        if (k && n != rows) {
            err_field(e, ERR_INVALID, dir,
                      "video_size_%d has %d rows and video_size_0 has %d", k, n, rows);
            goto out;
        }
        rows = n;
    }

    int chunks = cfg->chunks ? cfg->chunks : rows - 1;
    if (chunks < 1 || chunks > rows) {
        err_field(e, ERR_RANGE, dir, "%d rows do not make %d chunks", rows, chunks);
        goto out;
    }

    double ladder[VIEW_LEVELS], chunk_s = cfg->chunk_s > 0.0 ? cfg->chunk_s : 4.0;
    if (cfg->levels && cfg->levels != levels) {
        err_field(e, ERR_CONFLICT, "ladder_kbps", "%d rates are given for %d files",
                  cfg->levels, levels);
        goto out;
    }
    if (cfg->levels)
        memcpy(ladder, cfg->ladder_kbps, sizeof ladder);
    else if (levels == VIDEO_PENSIEVE_LEVELS)
        memcpy(ladder, video_pensieve_ladder, sizeof video_pensieve_ladder);
    else
        ladder_of_means(ladder, bytes, levels, chunks, chunk_s);

    v = video_new(levels, chunks, chunk_s, ladder, e);
    if (!v) goto out;
    for (int c = 0; c < chunks; c++)
        for (int k = 0; k < levels; k++)
            v->bytes[(size_t)c * (size_t)levels + (size_t)k] =
                bytes[(size_t)k * VIDEO_CHUNKS_MAX + (size_t)c];
out:
    free(bytes);
    return v;
}
