/* abrd video: what a manifest holds, and manifests as tables of sizes. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/fetch.h"
#include "cli/interrupt.h"
#include "cli/measure.h"
#include "cli/opt.h"
#include "cli/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
    bool fetch, quiet;
    int chunks;
    double chunk_s;
    const char *quality; /* folder of video_quality_* or vmaf_*; NULL: none */
};

#define SOURCE_OPTIONS(s)                                                               \
    {"fetch", NULL,                                                                     \
     "download FROM, a URL, and read the chunk sizes with HEAD or GET requests",        \
     FIELD_TO((s).fetch)},                                                              \
        {"chunks",                                                                      \
         "N",                                                                           \
         "read only the first N chunks; required for a live manifest",                  \
         FIELD_TO((s).chunks),                                                          \
         .shown = "all",                                                                \
         .lo = 1,                                                                       \
         .hi = VIDEO_CHUNKS_MAX},                                                       \
        {"chunk-s",                                                                     \
         "S",                                                                           \
         "length of the chunks of a video_size_* folder, in seconds",                   \
         FIELD_TO((s).chunk_s),                                                         \
         .shown = "4",                                                                  \
         .lo = 1,                                                                       \
         .hi = 10},                                                                     \
        {"quality", "DIR",                                                              \
         "folder with the quality of the chunks, 0 to 100: files video_quality_0, ... " \
         "or vmaf_0, ... (default: what FROM states)",                                  \
         FIELD_TO((s).quality)},                                                        \
        OPT_QUIET((s).quiet)

static bool is_url(const char *from)
{
    return !strncmp(from, "http://", 7) || !strncmp(from, "https://", 8);
}

static struct video *fetch_video(const char *url, const struct source *s,
                                 const struct video_cfg *cfg, struct err *e)
{
    char *text = NULL, name[64];
    size_t len;
    interrupt_catch();
    struct fetch *f = fetch_new(url, s->quiet, &text, &len, e);
    if (!f) return NULL;
    text_last_component(name, sizeof name, url);
    const struct segments_source source = fetch_source(f);
    struct video *v = video_parse_from(text, len, name, &source, cfg, e);
    fetch_free(f);
    free(text);
    return v;
}

static struct video *video_load_input(const char *from, const struct source *s,
                                      struct err *e)
{
    const struct video_cfg cfg = {.chunks = s->chunks, .chunk_s = s->chunk_s};
    if (s->fetch) return fetch_video(from, s, &cfg, e);
    if (!is_url(from)) return video_load(from, &cfg, e);
    err_field(e, ERR_INVALID, from, "is a URL: give --fetch to download it");
    return NULL;
}

static void put_levels(struct out *o, const struct video *v)
{
    bool heights = false;
    for (int k = 0; k < v->levels; k++)
        heights |= v->heights[k] > 0;
    for (int k = 0; k < v->levels; k++) {
        int64_t least = INT64_MAX, most = 0;
        double sum = 0.0;
        for (int c = 0; c < v->chunks; c++) {
            int64_t bytes = video_chunk(v, c)[k];
            sum += (double)bytes;
            if (bytes < least) least = bytes;
            if (bytes > most) most = bytes;
        }
        out_row(o);
        out_int(o, "level", k);
        out_real(o, "kbps", v->ladder_kbps[k], 1);
        out_real(o, "mean_kbps", sum / v->chunks / v->chunk_s / 125.0, 1);
        out_int(o, "least_bytes", least);
        out_int(o, "most_bytes", most);
        if (heights) out_int(o, "height", v->heights[k]);
        out_real(o, "quality", v->level_points[k], 1);
        out_text(o, "quality_from", quality_source_name(v->quality));
    }
    out_say(o, "%s: %d chunks of %g s at %d levels", v->name, v->chunks, v->chunk_s,
            v->levels);
}

/* Prints the levels; `to`, if any, is the folder that gets the table. */
static int video_run(const char *command, const char *from, const char *to,
                     const struct source *s, const struct out_cfg *cfg)
{
    struct err e = {0};
    struct out *o = out_new(cfg, &e);
    struct video *v = o ? video_load_input(from, s, &e) : NULL;
    int rc = v ? 0 : e.code;
    if (!rc && s->quality) rc = video_load_quality(v, s->quality, &e);
    if (!rc && to) rc = video_save(v, to, &e);
    if (!rc) put_levels(o, v);
    if (!rc) rc = out_finish(o, &e);
    video_free(v);
    out_free(o);
    return rc ? cmd_fail(command, &e) : OPT_EXIT_DONE;
}

static int video_show(int argc, char **argv)
{
    struct out_cfg cfg = {0};
    struct source s = {0};
    const struct field opts[] = {SOURCE_OPTIONS(s), OUT_OPTIONS(cfg), {0}};
    const struct opt_cmd cmd = {
        .name = "video show",
        .args = "FROM",
        .min_args = 1,
        .max_args = 1,
        .about = "Prints the bitrate ladder of a video, the sizes of its chunks and "
                 "their mean "
                 "quality.\n"
                 "FROM is a DASH MPD, an HLS master playlist, sabre JSON or a folder of "
                 "video_size_* files.",
        .opts = opts,
        .example = "abrd video show manifest.mpd",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);

    return video_run("video show", argv[at], NULL, &s, &cfg);
}

static int convert(int argc, char **argv)
{
    struct out_cfg cfg = {0};
    struct source s = {0};
    const char *to = NULL;
    const struct field opts[] = {
        {"out", "DIR", "folder for the table; created if absent", FIELD_TO(to)},
        SOURCE_OPTIONS(s),
        OUT_OPTIONS(cfg),
        {0},
    };
    const struct opt_cmd cmd = {
        .name = "video convert",
        .args = "FROM",
        .min_args = 1,
        .max_args = 1,
        .about = "Writes the sizes of a video's chunks to DIR/video.json, which other "
                 "commands read\n"
                 "with --video DIR. Sizes come from byte ranges, index boxes and files "
                 "next to the\n"
                 "manifest, else from bitrate times duration. --fetch reads them over "
                 "HTTP or HTTPS.\n"
                 "URLs in the manifest may then not lead to a private address, except on "
                 "the host\n"
                 "of FROM.",
        .opts = opts,
        .example = "abrd video convert manifest.mpd --out movie\n"
                   "abrd video convert https://example.org/master.m3u8 --fetch --out "
                   "movie\n"
                   "abrd eval --video movie",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    if (!to) return opt_usage("video convert", "--out DIR is missing");

    return video_run("video convert", argv[at], to, &s, &cfg);
}

static void put_measured(struct out *o, const struct measured *m)
{
    const struct video *v = m->video;
    for (int k = 0; k < v->levels; k++) {
        double least = QUALITY_MAX, most = 0.0;
        for (int c = 0; c < v->chunks; c++) {
            double points[VIEW_LEVELS];
            video_points(points, v, c);
            if (points[k] < least) least = points[k];
            if (points[k] > most) most = points[k];
        }
        out_row(o);
        out_int(o, "level", k);
        out_real(o, "kbps", v->ladder_kbps[k], 1);
        if (v->heights[k]) out_int(o, "height", v->heights[k]);
        out_real(o, "quality", v->level_points[k], 1);
        out_real(o, "least", least, 1);
        out_real(o, "most", most, 1);
        out_text(o, "metric", scores_metric_name(m->metric));
    }
    out_say(o, "%s: quality of %d chunks of %g s, 0 to 100, measured as %s", v->name,
            v->chunks, v->chunk_s, scores_metric_name(m->metric));
}

/* The manifest with the quality of its levels. */
static int write_mpd(const struct measured *m, const char *to, struct err *e)
{
    size_t len;
    char *text =
        *m->manifest ? text_read_file(m->manifest, VIDEO_FILE_MAX, &len, e) : NULL;
    if (!text)
        return *m->manifest ? ERR_IO
                            : err_field(e, ERR_CONFLICT, "--mpd",
                                        "the input is a folder without an MPD");
    char *rated = mpd_rate_video(text, len, m->video->name, m->video, e);
    int rc = rated ? text_write_file(to, rated, strlen(rated), e) : ERR_INVALID;
    free(rated);
    free(text);
    return rc;
}

static int quality(int argc, char **argv)
{
    struct out_cfg cfg = {0};
    struct measure_cfg what = {.metric = "auto", .chunk_s = 4};
    const char *to = NULL, *mpd = NULL;
    const struct field opts[] = {
        {"reference", "FILE",
         "video that the levels are compared with (default: the level with the highest "
         "bitrate)",
         FIELD_TO(what.reference)},
        {"metric", "NAME", "auto, ssim or vmaf; auto: vmaf if ffmpeg has it, else ssim",
         FIELD_TO(what.metric)},
        {"out", "DIR",
         "folder for the result: video.json, or video_quality_* if INPUT has whole "
         "files; "
         "created if absent",
         FIELD_TO(to)},
        {"mpd", "FILE", "file for the MPD with the quality of its levels", FIELD_TO(mpd)},
        {"chunks", "N", "measure only the first N chunks", FIELD_TO(what.chunks),
         .shown = "all", .lo = 1, .hi = VIDEO_CHUNKS_MAX},
        {"chunk-s", "S", "length of the chunks of whole files, in seconds",
         FIELD_TO(what.chunk_s), .lo = 1, .hi = 10},
        OPT_QUIET(what.quiet),
        OUT_OPTIONS(cfg),
        {0},
    };
    const struct opt_cmd cmd = {
        .name = "video quality",
        .args = "INPUT",
        .min_args = 1,
        .max_args = 1,
        .about =
            "Measures the quality of every chunk at every level, 0 to 100, with ffmpeg. "
            "INPUT is\n"
            "a DASH MPD, an HLS master playlist, or a folder with manifest.mpd, "
            "master.m3u8,\n"
            "index.m3u8 or one video file per level. Each level is scaled to the size of "
            "the\n"
            "reference. SSIM becomes points by a published relation to VMAF.",
        .opts = opts,
        .example = "abrd video quality manifest.mpd --reference master.mov --out movie\n"
                   "abrd video quality manifest.mpd --mpd rated.mpd\n"
                   "abrd eval --video movie",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    what.input = argv[at];

    struct err e = {0};
    struct measured m = {0};
    struct out *o = out_new(&cfg, &e);
    int rc = o ? measure(&m, &what, &e) : e.code;
    if (!rc && to)
        rc = *m.manifest ? video_save(m.video, to, &e)
                         : video_save_quality(m.video, to, &e);
    if (!rc && mpd) rc = write_mpd(&m, mpd, &e);
    if (!rc) put_measured(o, &m);
    if (!rc) rc = out_finish(o, &e);
    video_free(m.video);
    out_free(o);
    return rc ? cmd_fail("video quality", &e) : OPT_EXIT_DONE;
}

static const struct cmd_sub subcommands[] = {
    {"show", "print the bitrate ladder and the chunk sizes of a video", video_show},
    {"convert", "write chunk sizes to a table that other commands read", convert},
    {"quality", "measure the quality of every chunk with ffmpeg", quality},
    {NULL, NULL, NULL},
};

int cmd_video(int argc, char **argv)
{
    return cmd_sub_run(
        "video",
        "Shows or converts the chunk sizes of a video (DASH, HLS, sabre JSON or tables), "
        "and\nmeasures its quality.",
        subcommands, "abrd video show manifest.mpd", argc, argv);
}
