#include "cli/measure.h"

#include "abr/manifests/segments.h"
#include "base/text.h"
#include "cli/ffmpeg.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 + SEGMENTS_URL, FILTERS_SIZE = 1 << 17 };

/* What ffmpeg reads as one video. */
struct stream {
    char path[PATH_SIZE];
    bool playlist;
};

struct measuring {
    const struct measure_cfg *cfg;
    struct progress bar;
    struct segments_source folder; /* of the manifest */
    const char *dir;
    char temporary[64]; /* folder; "": none yet */
    int levels, chunks; /* chunks: of ends_s; 0: of whole files, until they were read */
    struct stream level[VIEW_LEVELS];
    int64_t bytes[VIEW_LEVELS]; /* of whole files */
    double *ends_s;             /* (chunks), owned; NULL: whole files */
    enum scores_metric metric;
    struct scores_picture picture; /* of the reference */
};

/* ---- the media of a manifest ---- */

static int stream_of(struct stream *out, const struct measuring *m, const char *url,
                     struct err *e)
{
    int64_t bytes;
    if (m->folder.size(m->folder.self, &bytes, url, e))
        return err_field(e, ERR_ABSENT, url,
                         "there is no such file next to the manifest");
    if (snprintf(out->path, sizeof out->path, "%s/%s", m->dir, url) >= PATH_SIZE ||
        strpbrk(out->path, "\"\n"))
        return err_field(e, ERR_RANGE, url, "its path is too long or has quotes");
    return 0;
}

/* ffmpeg waits for more segments of a playlist without an end. */
static int check_ended(const char *path, struct err *e)
{
    char *text = text_read_file(path, VIDEO_FILE_MAX, NULL, e);
    if (!text) return ERR_IO;
    bool ended = strstr(text, "#EXT-X-ENDLIST");
    free(text);
    if (ended) return 0;
    return err_field(e, ERR_INVALID, path,
                     "has no #EXT-X-ENDLIST: the quality of a live stream cannot be "
                     "measured");
}

static int make_temporary(struct measuring *m, struct err *e)
{
    const char *in = getenv("TMPDIR");
    if (*m->temporary) return 0;
    if (!in || strlen(in) > 40) in = "/tmp";
    snprintf(m->temporary, sizeof m->temporary, "%s/abrd-XXXXXX", in);
    if (mkdtemp(m->temporary)) return 0;
    *m->temporary = '\0';
    return err_field(e, ERR_IO, in, "no temporary folder: %s", strerror(errno));
}

static void playlist_path(char out[PATH_SIZE], const struct measuring *m, int level)
{
    snprintf(out, PATH_SIZE, "%s/%d.m3u8", m->temporary, level);
}

/* Absolute, since the playlist lies elsewhere. */
static int put_uri(FILE *f, const struct measuring *m, const char *before,
                   const char *url, const char *behind, struct err *e)
{
    struct stream one;
    char full[PATH_SIZE];
    int rc = stream_of(&one, m, url, e);
    if (rc) return rc;
    if (!realpath(one.path, full))
        return err_field(e, ERR_IO, one.path, "%s", strerror(errno));
    fprintf(f, "%s%s%s\n", before, full, behind);
    return 0;
}

/* A playlist of the segments of a level. */
static int write_playlist(struct measuring *m, int level, const struct segments *s,
                          struct err *e)
{
    const struct segments_level *l = &s->level[level];
    struct stream *out = &m->level[level];
    int rc = make_temporary(m, e);
    if (rc) return rc;
    playlist_path(out->path, m, level);
    out->playlist = true;
    FILE *f = fopen(out->path, "w");
    if (!f) return err_field(e, ERR_IO, out->path, "%s", strerror(errno));
    fputs("#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:60\n"
          "#EXT-X-PLAYLIST-TYPE:VOD\n",
          f);
    if (l->init != SEGMENTS_NONE)
        rc = put_uri(f, m, "#EXT-X-MAP:URI=\"", segments_url(s, l->init), "\"", e);
    for (int i = 0; i < l->n && i < m->chunks && !rc; i++) {
        fprintf(f, "#EXTINF:%.6f,\n", l->at[i].duration_s);
        rc = put_uri(f, m, "", segments_url(s, l->at[i].url), "", e);
    }
    fputs("#EXT-X-ENDLIST\n", f);
    if (fclose(f) && !rc) rc = err_field(e, ERR_IO, out->path, "%s", strerror(errno));
    return rc;
}

static bool one_file(const struct segments *s, const struct segments_level *l)
{
    for (int i = 1; i < l->n; i++)
        if (strcmp(segments_url(s, l->at[i].url), segments_url(s, l->at[0].url)) != 0)
            return false;
    return l->init == SEGMENTS_NONE;
}

static int take_level(struct measuring *m, int level, const struct segments *s,
                      struct err *e)
{
    const struct segments_level *l = &s->level[level];
    struct stream *out = &m->level[level];
    if (l->playlist != SEGMENTS_NONE) {
        int rc = stream_of(out, m, segments_url(s, l->playlist), e);
        out->playlist = true;
        return rc ? rc : check_ended(out->path, e);
    }
    if (one_file(s, l)) return stream_of(out, m, segments_url(s, l->at[0].url), e);
    return write_playlist(m, level, s, e);
}

/* Of the chunks in the manifest those whose files exist, as segments_video counts them. */
static int count_present(const struct measuring *m, const struct segments_level *l,
                         const struct segments *s)
{
    int n = 0;
    int64_t bytes;
    while (n < l->n &&
           (l->at[n].bytes >= 0 ||
            !m->folder.size(m->folder.self, &bytes, segments_url(s, l->at[n].url), NULL)))
        n++;
    return n;
}

static int take_segments(void *self, const struct segments *s, struct err *e)
{
    struct measuring *m = self;
    if (s->periods)
        return err_field(e, ERR_INVALID, s->name,
                         "has several Periods: measure them one by one");
    m->levels = s->levels;
    m->chunks = count_present(m, &s->level[0], s);
    if (m->cfg->chunks && m->cfg->chunks < m->chunks) m->chunks = m->cfg->chunks;
    if (!m->chunks)
        return err_field(e, ERR_ABSENT, s->name, "its segments are not next to it");
    m->ends_s = malloc((size_t)m->chunks * sizeof *m->ends_s);
    if (!m->ends_s) return err_set(e, ERR_MEMORY, "no memory for %d chunks", m->chunks);
    double end = 0.0;
    for (int i = 0; i < m->chunks; i++)
        m->ends_s[i] = end += s->level[0].at[i].duration_s;
    int rc = 0;
    for (int k = 0; k < s->levels && !rc; k++)
        rc = take_level(m, k, s, e);
    return rc;
}

/* The functions of the source get the measuring as their self. */
static int media_size(void *self, int64_t *bytes, const char *url, struct err *e)
{
    const struct measuring *m = self;
    return m->folder.size(m->folder.self, bytes, url, e);
}

static char *media_read(void *self, const char *url, int64_t from, size_t max,
                        size_t *len, struct err *e)
{
    const struct measuring *m = self;
    return m->folder.read(m->folder.self, url, from, max, len, e);
}

static struct video *read_manifest(struct measuring *m, const char *path, struct err *e)
{
    char dir[4096], name[64];
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - path) : 1,
             slash ? path : ".");
    text_last_component(name, sizeof name, path);
    size_t len;
    char *text = text_read_file(path, VIDEO_FILE_MAX, &len, e);
    if (!text) return NULL;
    m->dir = dir;
    m->folder = segments_folder(dir);
    const struct segments_source source = {
        .self = m, .size = media_size, .read = media_read, .listed = take_segments};
    const struct video_cfg cfg = {.chunks = m->cfg->chunks};
    struct video *v = video_parse_from(text, len, name, &source, &cfg, e);
    free(text);
    m->dir = NULL;
    if (v && !m->ends_s) {
        err_field(e, ERR_INVALID, name, "is a table of sizes: give the manifest instead");
        video_free(v);
        return NULL;
    }
    return v;
}

/* ---- whole files ---- */

static bool is_media(const char *name)
{
    static const char *const ends[] = {".mp4", ".m4v", ".mkv", ".webm", ".mov", ".ts"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
        if (!strcmp(dot, ends[i])) return true;
    return false;
}

/* The levels in the order of their bytes. */
static int find_files(struct measuring *m, const char *dir, struct err *e)
{
    DIR *d = opendir(dir);
    if (!d) return err_field(e, ERR_IO, dir, "%s", strerror(errno));
    int rc = 0;
    for (struct dirent *one; !rc && (one = readdir(d));) {
        struct stream s = {0};
        struct stat st;
        if (!is_media(one->d_name)) continue;
        if (snprintf(s.path, sizeof s.path, "%s/%s", dir, one->d_name) >= PATH_SIZE ||
            stat(s.path, &st) || !S_ISREG(st.st_mode))
            continue;
        if (m->levels == VIEW_LEVELS) {
            rc = err_field(e, ERR_RANGE, dir, "holds more than %d video files",
                           VIEW_LEVELS);
            break;
        }
        int at = m->levels++;
        for (; at > 0 && m->bytes[at - 1] > st.st_size; at--) {
            m->level[at] = m->level[at - 1];
            m->bytes[at] = m->bytes[at - 1];
        }
        m->level[at] = s;
        m->bytes[at] = st.st_size;
    }
    closedir(d);
    if (!rc && m->levels < 2)
        rc = err_field(e, ERR_ABSENT, dir,
                       "holds no manifest.mpd, master.m3u8 or index.m3u8, and %d video "
                       "files: 2 to %d are needed, one per level",
                       m->levels, VIEW_LEVELS);
    return rc;
}

/* ---- ffmpeg ---- */

static int choose_metric(struct measuring *m, struct err *e)
{
    static const char *const argv[] = {"ffmpeg", "-hide_banner", "-filters", NULL};
    const char *want = m->cfg->metric;
    char *filters = malloc(FILTERS_SIZE);
    if (!filters) return err_set(e, ERR_MEMORY, "no memory for the filters' names");
    int rc = ffmpeg_read(filters, FILTERS_SIZE, argv, e);
    bool vmaf = !rc && scores_has_filter(filters, "libvmaf");
    bool ssim = !rc && scores_has_filter(filters, "ssim") &&
                scores_has_filter(filters, "metadata");
    free(filters);
    if (rc) return rc;

    if (!strcmp(want, "ssim"))
        m->metric = SCORES_SSIM;
    else if (!strcmp(want, "vmaf"))
        m->metric = SCORES_VMAF;
    else if (!strcmp(want, "auto"))
        m->metric = vmaf ? SCORES_VMAF : SCORES_SSIM;
    else
        return err_field(e, ERR_INVALID, "--metric", "'%.40s' is not auto, ssim or vmaf",
                         want);
    if (m->metric == SCORES_VMAF ? vmaf : ssim) return 0;
    return err_field(e, ERR_ABSENT, "--metric", "this ffmpeg has no filter %s",
                     m->metric == SCORES_VMAF ? "libvmaf" : "ssim or metadata");
}

/* Appends the options that open a stream. */
static int put_input(const char **argv, int n, char name[PATH_SIZE + 8],
                     const struct stream *s)
{
    snprintf(name, PATH_SIZE + 8, "file:%s", s->path);
    if (s->playlist) {
        argv[n++] = "-allowed_extensions";
        argv[n++] = "ALL";
    }
    argv[n++] = "-i";
    argv[n++] = name;
    return n;
}

static int read_picture(struct scores_picture *out, const struct stream *s, struct err *e)
{
    const char *argv[24] = {"ffmpeg", "-hide_banner", "-nostdin", "-v", "error"};
    char name[PATH_SIZE + 8], header[256];
    int n = put_input(argv, 5, name, s);
    static const char *const rest[] = {"-map",     "0:v:0",   "-frames:v", "1",
                                       "-pix_fmt", "yuv420p", "-f",        "yuv4mpegpipe",
                                       "pipe:1",   NULL};
    memcpy(argv + n, rest, sizeof rest);
    int rc = ffmpeg_read(header, sizeof header, argv, e);
    if (!rc && !scores_picture(out, header))
        rc = err_set(e, ERR_INVALID, "ffmpeg finds no picture");
    if (rc && e && !*e->field && rc != ERR_ABSENT)
        text_clean(e->field, sizeof e->field, s->path);
    return rc;
}

/* Pictures of the reference come half a frame late, so that rounded times find the right picture of the
 * level. */
static void put_graph(char *out, size_t size, const struct measuring *m)
{
    const struct scores_picture *p = &m->picture;
    char level[256], reference[128];
    snprintf(level, sizeof level,
             "[0:v:0]setpts=PTS-STARTPTS,scale=%d:%d:flags=bicubic,format=yuv420p",
             p->width, p->height);
    snprintf(reference, sizeof reference,
             "[1:v:0]setpts=PTS-STARTPTS+%.6f/TB,format=yuv420p", 0.5 * p->frame_s);
    if (m->metric == SCORES_SSIM)
        snprintf(out, size,
                 "%s[l];%s[r];[r][l]ssim=shortest=1,metadata=mode=print:file=-", level,
                 reference);
    else
        snprintf(
            out, size,
            "%s,fps=%.6f[l];%s[r];[l][r]libvmaf=shortest=1:log_fmt=csv:log_path=/dev/"
            "stdout",
            level, 1 / p->frame_s, reference);
}

struct comparing {
    struct measuring *m;
    struct scores *scores;
    int done, all; /* levels */
    double total_s;
};

static void take_scores(void *self, const char *bytes, size_t n)
{
    struct comparing *c = self;
    scores_add(c->scores, bytes, n);
    double part = c->total_s > 0 ? fmin(scores_end_s(c->scores) / c->total_s, 1) : 0;
    progress_show(&c->m->bar, (c->done + part) / c->all, "");
}

static int compare_level(struct comparing *c, const struct stream *level,
                         const struct stream *reference, struct err *e)
{
    const char *argv[32] = {"ffmpeg", "-hide_banner", "-nostdin", "-v", "error"};
    char level_name[PATH_SIZE + 8], reference_name[PATH_SIZE + 8], graph[1024];
    int n = put_input(argv, 5, level_name, level);
    n = put_input(argv, n, reference_name, reference);
    put_graph(graph, sizeof graph, c->m);
    char length[32] = "86400"; /* of a manifest: what its chunks last, and a bit */
    if (c->total_s > 0) snprintf(length, sizeof length, "%.3f", c->total_s + 1);
    const char *const rest[] = {
        "-filter_complex", graph, "-an", "-t", length, "-f", "null", "-", NULL};
    memcpy(argv + n, rest, sizeof rest);
    int rc = ffmpeg_run(argv, take_scores, c, e);
    if (rc && e && !*e->field && !interrupt_seen())
        text_clean(e->field, sizeof e->field, level->path);
    return rc;
}

/* ---- all levels ---- */

/* The video of whole files, once the first one was read. */
static struct video *video_of_files(const struct measuring *m, int chunks,
                                    double length_s, struct err *e)
{
    double kbps[VIEW_LEVELS];
    for (int k = 0; k < m->levels; k++)
        kbps[k] = (double)m->bytes[k] * 0.008 / length_s;
    if (m->cfg->chunks && m->cfg->chunks < chunks) chunks = m->cfg->chunks;
    struct video *v = video_new(m->levels, chunks, m->cfg->chunk_s, kbps, e);
    if (!v) return NULL;
    text_last_component(v->name, sizeof v->name, m->cfg->input);
    for (int c = 0; c < chunks; c++)
        for (int k = 0; k < m->levels; k++)
            v->bytes[c * m->levels + k] = (int64_t)ceil(kbps[k] * 125 * m->cfg->chunk_s);
    for (int k = 0; k < m->levels; k++) {
        struct scores_picture p;
        if (read_picture(&p, &m->level[k], e)) {
            video_free(v);
            return NULL;
        }
        v->heights[k] = quality_height(p.width, p.height);
    }
    return v;
}

static int keep_points(struct video *v, int level, const struct scores *s, struct err *e)
{
    int n = scores_chunks(s), rc;
    float *points = malloc((size_t)(n ? n : 1) * sizeof *points);
    if (!points) return err_set(e, ERR_MEMORY, "no memory for %d chunks", n);
    rc = scores_points(points, s, e);
    if (!rc && n < v->chunks)
        rc = err_set(e, ERR_CONFLICT, "level %d has %d chunks and the lowest one %d",
                     level, n, v->chunks);
    for (int c = 0; c < v->chunks && !rc; c++)
        v->points[c * v->levels + level] = points[c];
    free(points);
    return rc;
}

static int measure_level(struct comparing *c, int level, struct video **v,
                         const struct stream *reference, struct err *e)
{
    struct measuring *m = c->m;
    c->scores = scores_new(m->metric, m->picture.frame_s, m->ends_s, m->chunks,
                           m->cfg->chunk_s, e);
    if (!c->scores) return ERR_MEMORY;
    int rc = compare_level(c, &m->level[level], reference, e);
    double length_s = scores_end_s(c->scores);
    if (!rc && !*v && length_s > 0.0) {
        *v = video_of_files(m, scores_chunks(c->scores), length_s, e);
        rc = *v ? video_make_points(*v, e) : ERR_INVALID;
        c->total_s = length_s;
    } else if (!rc && !*v) {
        rc = err_field(e, ERR_INVALID, m->cfg->input, "ffmpeg compared no picture");
    }
    if (!rc) rc = keep_points(*v, level, c->scores, e);
    scores_free(c->scores);
    return rc;
}

static int measure_all(struct measuring *m, struct video **v, struct err *e)
{
    int top = m->levels - 1;
    struct stream given = {0};
    const struct stream *reference = &m->level[top];
    if (m->cfg->reference) {
        if (snprintf(given.path, sizeof given.path, "%s", m->cfg->reference) >=
                PATH_SIZE ||
            access(given.path, R_OK))
            return err_field(e, ERR_ABSENT, m->cfg->reference, "cannot be read");
        reference = &given;
    }
    int rc = read_picture(&m->picture, reference, e);
    if (!rc && *v) rc = video_make_points(*v, e);
    struct comparing c = {.m = m,
                          .all = m->cfg->reference ? m->levels : top,
                          .total_s = m->ends_s ? m->ends_s[m->chunks - 1] : 0};
    for (int k = 0; k < c.all && !rc; k++, c.done++)
        rc = measure_level(&c, k, v, reference, e);
    for (int i = 0; !rc && !m->cfg->reference && i < (*v)->chunks; i++)
        (*v)->points[i * (*v)->levels + top] = (float)QUALITY_MAX;
    if (!rc) video_rate(*v);
    return rc;
}

/* path: the manifest in a folder. */
static bool find_manifest(char path[4096], const char *dir)
{
    static const char *const names[] = {"manifest.mpd", "master.m3u8", "index.m3u8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (snprintf(path, 4096, "%s/%s", dir, names[i]) < 4096 && !access(path, F_OK))
            return true;
    *path = '\0';
    return false;
}

static void measuring_end(struct measuring *m)
{
    progress_end(&m->bar);
    for (int k = 0; k < m->levels && *m->temporary; k++) {
        char path[PATH_SIZE];
        playlist_path(path, m, k);
        unlink(path);
    }
    if (*m->temporary) rmdir(m->temporary);
    free(m->ends_s);
    free(m);
}

int measure(struct measured *out, const struct measure_cfg *cfg, struct err *e)
{
    *out = (struct measured){0};
    struct stat st;
    if (stat(cfg->input, &st))
        return err_field(e, ERR_ABSENT, cfg->input, "%s", strerror(errno));
    struct measuring *m = calloc(1, sizeof *m);
    if (!m) return err_set(e, ERR_MEMORY, "no memory to measure");
    m->cfg = cfg;
    interrupt_catch();
    progress_init(&m->bar, "quality", cfg->quiet);

    bool folder = S_ISDIR(st.st_mode);
    if (!folder) snprintf(out->manifest, sizeof out->manifest, "%s", cfg->input);
    bool manifest = folder ? find_manifest(out->manifest, cfg->input) : true;
    int rc = choose_metric(m, e);
    out->metric = m->metric;
    if (!rc && manifest) {
        out->video = read_manifest(m, out->manifest, e);
        rc = out->video ? 0 : ERR_INVALID;
    } else if (!rc) {
        rc = find_files(m, cfg->input, e);
    }
    if (!rc) rc = measure_all(m, &out->video, e);
    measuring_end(m);
    if (rc) {
        video_free(out->video);
        out->video = NULL;
    }
    return rc;
}
