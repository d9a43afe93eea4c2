#include "abr/manifests/scores.h"

#include "abr/emulator/quality.h"
#include "abr/manifests/video.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 4096 };

struct scores {
    enum scores_metric metric;
    double frame_s, chunk_s; /* chunk_s: without ends_s */
    int chunks, cap;         /* of the arrays */
    double *ends_s;          /* (chunks), owned; NULL: every chunk_s */
    double *sum;             /* (cap), owned */
    int *frames;             /* (cap), owned */
    double at_s, end_s;      /* of the frame whose score comes next; of the last one */
    int column;              /* of VMAF in the table; -1: the first line has not been */
    bool bad, no_memory;
    size_t len;
    char line[LINE_MAX_BYTES];
};

const char *scores_metric_name(enum scores_metric m)
{
    static const char *const names[] = {"ssim", "vmaf"};
    return names[m];
}

struct scores *scores_new(enum scores_metric metric, double frame_s, const double *ends_s,
                          int chunks, double chunk_s, struct err *e)
{
    struct scores *s = calloc(1, sizeof *s);
    size_t n = ends_s ? (size_t)chunks : 64;
    if (s) {
        *s = (struct scores){.metric = metric,
                             .frame_s = frame_s,
                             .chunk_s = chunk_s,
                             .cap = (int)n,
                             .at_s = -1.0,
                             .column = -1};
        s->sum = calloc(n, sizeof *s->sum);
        s->frames = calloc(n, sizeof *s->frames);
        if (ends_s) s->ends_s = malloc(n * sizeof *s->ends_s);
    }
    if (!s || !s->sum || !s->frames || (ends_s && !s->ends_s)) {
        scores_free(s);
        err_set(e, ERR_MEMORY, "no memory for the scores of %zu chunks", n);
        return NULL;
    }
    if (ends_s) {
        memcpy(s->ends_s, ends_s, n * sizeof *ends_s);
        s->chunks = chunks;
    }
    return s;
}

void scores_free(struct scores *s)
{
    if (!s) return;
    free(s->ends_s);
    free(s->sum);
    free(s->frames);
    free(s);
}

/* The chunk that plays at a time; -1: none. */
static int scores_chunk_at(struct scores *s, double at_s)
{
    double t = at_s + 0.25 * s->frame_s;
    if (!s->ends_s) return (int)fmin(t / s->chunk_s, VIDEO_CHUNKS_MAX);
    int low = 0, high = s->chunks;
    while (low < high) {
        int middle = (low + high) / 2;
        if (s->ends_s[middle] <= t)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->chunks ? low : -1;
}

static bool scores_room(struct scores *s, int chunk)
{
    if (chunk < s->cap) return true;
    size_t cap = 2 * (size_t)chunk, had = (size_t)s->cap;
    double *sum = realloc(s->sum, cap * sizeof *sum);
    if (sum) s->sum = sum;
    int *frames = sum ? realloc(s->frames, cap * sizeof *frames) : NULL;
    if (frames) s->frames = frames;
    if (!frames) return false;
    memset(sum + had, 0, (cap - had) * sizeof *sum);
    memset(frames + had, 0, (cap - had) * sizeof *frames);
    s->cap = (int)cap;
    return true;
}

static void scores_take(struct scores *s, double at_s, const char *text)
{
    char *end;
    double score = strtod(text, &end);
    if (end == text || !isfinite(score)) {
        s->bad = true;
        return;
    }
    s->end_s = fmax(s->end_s, at_s + s->frame_s);
    int chunk = scores_chunk_at(s, at_s);
    if (chunk < 0 || chunk >= VIDEO_CHUNKS_MAX) return;
    if (!scores_room(s, chunk)) {
        s->no_memory = true;
        return;
    }
    if (!s->ends_s && chunk >= s->chunks) s->chunks = chunk + 1;
    s->sum[chunk] += score;
    s->frames[chunk]++;
}

static void scores_ssim_line(struct scores *s, const char *line)
{
    static const char score[] = "lavfi.ssim.Y=";
    const char *time = strstr(line, "pts_time:");
    if (!strncmp(line, "frame:", 6) && time)
        s->at_s = strtod(time + 9, NULL);
    else if (!strncmp(line, score, sizeof score - 1) && s->at_s >= 0.0)
        scores_take(s, s->at_s, line + sizeof score - 1);
}

/* The cell of a line of CSV; NULL: it has fewer. */
static const char *scores_cell(const char *line, int column)
{
    for (; column > 0 && line; column--) {
        line = strchr(line, ',');
        if (line) line++;
    }
    return line;
}

static void scores_vmaf_line(struct scores *s, const char *line)
{
    if (s->column < 0) {
        if (strncmp(line, "Frame,", 6) != 0) return;
        for (int i = 1; s->column < 0; i++) {
            const char *cell = scores_cell(line, i);
            if (!cell) return;
            if (!strncmp(cell, "vmaf", 4) && (cell[4] == ',' || !cell[4])) s->column = i;
        }
        return;
    }
    char *end;
    long frame = strtol(line, &end, 10);
    const char *cell = scores_cell(line, s->column);
    if (end > line && *end == ',' && frame >= 0 && cell)
        scores_take(s, (double)frame * s->frame_s, cell);
}

void scores_add(struct scores *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != '\n') {
            if (s->len < sizeof s->line - 1) s->line[s->len++] = bytes[i];
            continue;
        }
        s->line[s->len] = '\0';
        s->len = 0;
        if (s->metric == SCORES_SSIM)
            scores_ssim_line(s, s->line);
        else
            scores_vmaf_line(s, s->line);
    }
}

double scores_end_s(const struct scores *s)
{
    return s->end_s;
}

int scores_chunks(const struct scores *s)
{
    return s->chunks;
}

int scores_points(float *points, const struct scores *s, struct err *e)
{
    if (s->no_memory) return err_set(e, ERR_MEMORY, "no memory for more chunks");
    if (s->bad)
        return err_set(e, ERR_INVALID, "ffmpeg printed a score that is not a number");
    if (!s->chunks || !(s->end_s > 0.0))
        return err_set(e, ERR_INVALID, "ffmpeg compared no frame");
    for (int c = 0; c < s->chunks; c++) {
        if (!s->frames[c] && (c == 0 || c + 1 < s->chunks))
            return err_set(e, ERR_INVALID,
                           "chunk %d has no frame: the pictures end after %.2f s", c,
                           s->end_s);
        if (!s->frames[c]) {
            points[c] = points[c - 1];
            continue;
        }
        double mean = s->sum[c] / s->frames[c];
        double q = s->metric == SCORES_SSIM ? quality_of_ssim(mean) : mean;
        points[c] = (float)fmin(fmax(q, 0.0), QUALITY_MAX);
    }
    return 0;
}

bool scores_has_filter(const char *filters, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = filters; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        /* " TS. ssim              VV->V      Calculate ..." */
        const char *at = line + strspn(line, " ");
        at += strcspn(at, " \n");
        at += strspn(at, " ");
        if (!strncmp(at, name, n) && at[n] == ' ') return true;
    }
    return false;
}

bool scores_picture(struct scores_picture *out, const char *header)
{
    static const char magic[] = "YUV4MPEG2 ";
    if (strncmp(header, magic, sizeof magic - 1) != 0) return false;
    *out = (struct scores_picture){0};
    for (const char *s = header + sizeof magic - 1; *s && *s != '\n';) {
        int n = 0, d = 1;
        if (sscanf(s, "W%9d", &n) == 1) out->width = n;
        if (sscanf(s, "H%9d", &n) == 1) out->height = n;
        if (sscanf(s, "F%9d:%9d", &n, &d) == 2 && n > 0 && d > 0)
            out->frame_s = (double)d / n;
        s += strcspn(s, " \n");
        s += *s == ' ';
    }
    return out->width > 0 && out->height > 0 && out->frame_s > 0.0;
}
