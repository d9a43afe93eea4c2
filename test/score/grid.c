/* grid [THREADS] - plays cells of a grid in one process: policies on traces, figures of every session.
 *
 * Reads one cell a line from standard input, as JSON:
 *
 *   traces       folder, with part "all", "train" or "test"; or kind: a kind of generated links (gen.h), with
 *                a seed
 *   take         so many traces at most, spread evenly over the names; 0: all
 *   video        path; or ladder [kbit/s] and spread of a generated video
 *   chunk_s, chunks, buffer_s, live
 *   profile      a name; or weights (4, relative to standard); or mu (3, linear)
 *   policies     specs, as of abrd eval
 *
 * chunks keeps that many of a video; 0 keeps all. In a live cell a policy sees neither the end nor the
 * sizes of later chunks. With free_start chunk 0 is fetched at level 1 and not counted, as in Pensieve's
 * test code; otherwise the policy chooses it and it counts.
 *
 * Prints one line for each cell and policy, in order, with one entry a session in each array:
 *
 *   qoe      mean QoE of a counted chunk          stall     stall after the first picture [s]
 *   start    wait for the first picture [s]       switches  changes of the level
 *   quality  mean quality [points]                mbps      mean bitrate
 *
 * and played [s], the media of a session, and top: what a chunk at the best level earns when it stays
 * there and never stalls. `grid levels` prints the longest ladder. Figures do not depend on THREADS.
 *
 * `grid show` prints what each cell is made of, for other programs that play it (test/players/cells.mjs):
 * cell, chunk_s, kbps (levels), bytes (chunks, levels), points (chunks, levels), and for each session its
 * trace as rows of [time_s, mbps]. */
#include "abr/deciders/algo.h"
#include "abr/emulator/player.h"
#include "abr/emulator/replay.h"
#include "abr/traces/corpus.h"
#include "base/pool.h"

#include <jansson.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPECS = 64, FIGURES = 6, GENERATED = 40 };
static const double GENERATED_S = 320;
static const char *const FIGURE[FIGURES] = {"qoe",      "stall",   "start",
                                            "switches", "quality", "mbps"};

struct links {
    const char *dir, *part;
    uint64_t seed;
    struct corpus *corpus;
};

struct cell {
    json_t *json;
    struct corpus *corpus;
    struct video *video;
    struct emu_cfg emu;
    struct qoe qoe;
    bool live, free_start;
    int n; /* sessions */
};

struct job {
    const struct cell *cell;
    int number;
    const char *policy;
    double *figure[FIGURES]; /* (n) each */
    char *text;              /* the line */
};

struct grid {
    struct cell *cells;
    struct links links[SPECS];
    struct job *jobs;
    int n_cells, n_links, n_jobs;
    atomic_int next;
};

static void grid_fail(const char *what, const struct err *e)
{
    fprintf(stderr, "grid: %s: %s%s%s\n", what, e ? e->field : "",
            e && *e->field ? ": " : "", e ? e->detail : "");
    exit(1);
}

static void *grid_memory(void *p)
{
    if (!p) grid_fail("no memory", NULL);
    return p;
}

static const char *cell_text(const struct cell *c, const char *key)
{
    const char *text = json_string_value(json_object_get(c->json, key));
    return text ? text : "";
}

static double cell_number(const struct cell *c, const char *key, double otherwise)
{
    const json_t *value = json_object_get(c->json, key);
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static int cell_numbers(double *out, const struct cell *c, const char *key, int most)
{
    const json_t *list = json_object_get(c->json, key);
    int n = (int)json_array_size(list);
    if (n > most) grid_fail("list too long", &(struct err){.detail = ""});
    for (int i = 0; i < n; i++)
        out[i] = json_number_value(json_array_get(list, (size_t)i));
    return n;
}

static struct corpus *grid_corpus(struct grid *g, const struct cell *c)
{
    const char *kind = json_string_value(json_object_get(c->json, "kind"));
    const char *dir = kind ? kind : cell_text(c, "traces");
    const char *part = kind ? "kind" : cell_text(c, "part");
    uint64_t seed = (uint64_t)cell_number(c, "seed", 0);
    for (int i = 0; i < g->n_links; i++)
        if (!strcmp(g->links[i].dir, dir) && !strcmp(g->links[i].part, part) &&
            g->links[i].seed == seed)
            return g->links[i].corpus;
    if (g->n_links == SPECS) grid_fail("too many sets of links", NULL);
    struct err e = {0};
    enum corpus_part p = !strcmp(part, "train")  ? CORPUS_TRAIN
                         : !strcmp(part, "test") ? CORPUS_TEST
                                                 : CORPUS_ALL;
    struct corpus *found = kind ? corpus_generate(kind, GENERATED, GENERATED_S, seed, &e)
                                : corpus_load(dir, p, &e);
    if (!found) grid_fail(dir, &e);
    g->links[g->n_links++] = (struct links){dir, part, seed, found};
    return found;
}

static struct video *grid_video(const struct cell *c)
{
    struct err e = {0};
    double ladder[VIEW_LEVELS];
    int levels = cell_numbers(ladder, c, "ladder", VIEW_LEVELS);
    int chunks = (int)cell_number(c, "chunks", 0);
    struct video *v;
    if (levels) {
        v = video_generate(levels, chunks, cell_number(c, "chunk_s", 4), ladder,
                           cell_number(c, "spread", VIDEO_DEFAULT_SPREAD), 1, &e);
    } else {
        v = video_load(cell_text(c, "video"), NULL, &e);
        if (v && chunks > 0 && chunks < v->chunks) v->chunks = chunks;
    }
    if (!v) grid_fail("video", &e);
    return v;
}

static struct qoe grid_qoe(const struct cell *c)
{
    double w[QOE_WEIGHTS];
    if (cell_numbers(w, c, "weights", QOE_WEIGHTS)) return qoe_of_weights(w);
    if (cell_numbers(w, c, "mu", 3)) return qoe_of_mu(w[0], w[1], w[2], QOE_LINEAR);
    const struct qoe_profile *p = qoe_find(cell_text(c, "profile"));
    if (!p) grid_fail("unknown profile", NULL);
    return p->qoe;
}

static void grid_read(struct grid *g)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        json_error_t why;
        struct cell c = {.json = json_loads(line, 0, &why)};
        if (!c.json) grid_fail(why.text, NULL);
        c.corpus = grid_corpus(g, &c);
        c.video = grid_video(&c);
        c.qoe = grid_qoe(&c);
        c.emu = emu_cfg_default();
        c.emu.buffer_max_s = cell_number(&c, "buffer_s", c.emu.buffer_max_s);
        c.live = json_is_true(json_object_get(c.json, "live"));
        c.free_start = json_is_true(json_object_get(c.json, "free_start"));
        int take = (int)cell_number(&c, "take", 0);
        c.n = take && take < c.corpus->n ? take : c.corpus->n;
        struct err e = {0};
        if (emu_check(&c.emu, c.video, &e)) grid_fail("cell", &e);
        g->cells =
            grid_memory(realloc(g->cells, (size_t)(g->n_cells + 1) * sizeof *g->cells));
        g->cells[g->n_cells++] = c;
    }
    free(line);
    for (int i = 0; i < g->n_cells; i++)
        g->n_jobs += (int)json_array_size(json_object_get(g->cells[i].json, "policies"));
    g->jobs = grid_memory(calloc((size_t)g->n_jobs + 1, sizeof *g->jobs));
    struct job *job = g->jobs;
    for (int i = 0; i < g->n_cells; i++) {
        const json_t *policies = json_object_get(g->cells[i].json, "policies");
        for (size_t p = 0; p < json_array_size(policies); p++)
            *job++ =
                (struct job){.cell = &g->cells[i],
                             .number = i,
                             .policy = json_string_value(json_array_get(policies, p))};
    }
}

/* One session; figures go to place i of the job's arrays. */
static void grid_play(const struct job *job, int i, struct algo *algo)
{
    const struct cell *c = job->cell;
    int at = (int)((int64_t)i * c->corpus->n / c->n);
    const struct emu_world world = {c->video, c->corpus->traces[at], c->emu};
    struct player p;
    player_start(&p, &world, REPLAY_START_ROW, &c->qoe, c->free_start ? 1 : -1);
    algo->reset(algo->self, (uint64_t)at);
    double sum[FIGURES] = {0};
    double *qoe = sum, *stall = sum + 1, *start = sum + 2, *switches = sum + 3,
           *quality = sum + 4, *mbps = sum + 5;
    if (c->free_start) *start = p.last.stall_s;
    int counted = 0;
    for (bool end = false; !end; counted++) {
        struct view known = p.view;
        if (c->live) known.chunks = 0;
        int before = known.last_level;
        int level = algo->decide(algo->self, &known, c->live ? NULL : c->video);
        end = player_step(&p, level, 1.0);
        *qoe += p.last.reward;
        *(before < 0 ? start : stall) += p.last.stall_s;
        *switches += before >= 0 && p.result.level != before;
        *quality += p.now.points;
        *mbps += p.now.kbps / 1000;
    }
    *qoe /= counted;
    *quality /= counted;
    *mbps /= counted;
    for (int f = 0; f < FIGURES; f++)
        job->figure[f][i] = sum[f];
}

/* What a chunk at the best level earns, without a wait or a switch. */
static double grid_top(const struct cell *c)
{
    double most = -INFINITY, reward[VIEW_LEVELS], points[VIEW_LEVELS];
    for (int k = 0; k < c->video->levels; k++)
        points[k] = c->video->level_points[k];
    const struct qoe_ladder ladder = {c->video->ladder_kbps, points, c->video->levels,
                                      c->video->chunk_s};
    qoe_rewards(reward, &c->qoe, &ladder, (struct qoe_level){0, 0});
    for (int k = 0; k < c->video->levels; k++)
        most = fmax(most, reward[k]);
    return most;
}

static char *grid_line(const struct job *job)
{
    const struct cell *c = job->cell;
    char *text = NULL;
    size_t size = 0;
    FILE *f = grid_memory(open_memstream(&text, &size));
    fprintf(f, "{\"cell\":%d,\"policy\":\"%s\",\"played\":%.6g,\"top\":%.7g", job->number,
            job->policy, c->video->chunks * c->video->chunk_s, grid_top(c));
    for (int k = 0; k < FIGURES; k++) {
        fprintf(f, ",\"%s\":[", FIGURE[k]);
        for (int i = 0; i < c->n; i++)
            fprintf(f, "%s%.7g", i ? "," : "", job->figure[k][i]);
        fputc(']', f);
    }
    fputs("}\n", f);
    fclose(f);
    return text;
}

/* A worker's policies: a checkpoint is read once. */
struct cast {
    int n;
    const char *spec[SPECS];
    struct algo algo[SPECS];
};

static int cast_find(struct algo **out, struct cast *c, const char *spec, struct err *e)
{
    for (int i = 0; i < c->n; i++) {
        if (strcmp(c->spec[i], spec) != 0) continue;
        *out = &c->algo[i];
        return 0;
    }
    if (c->n == SPECS) {
        algo_free(&c->algo[--c->n]);
    }
    const struct algo_ctx ctx = {1, "deploy/policy/moe.safetensors"};
    int rc = algo_new(&c->algo[c->n], spec, &ctx, e);
    if (rc) return rc;
    c->spec[c->n] = spec;
    *out = &c->algo[c->n++];
    return 0;
}

static int grid_worker(void *ctx, int worker, struct err *e)
{
    (void)worker;
    struct grid *g = ctx;
    struct cast *cast = grid_memory(calloc(1, sizeof *cast));
    int rc = 0;
    for (int i; !rc && (i = atomic_fetch_add(&g->next, 1)) < g->n_jobs;) {
        struct job *job = &g->jobs[i];
        struct algo *algo = NULL;
        rc = cast_find(&algo, cast, job->policy, e);
        if (rc) break;
        for (int f = 0; f < FIGURES; f++)
            job->figure[f] = grid_memory(calloc((size_t)job->cell->n, sizeof(double)));
        for (int s = 0; s < job->cell->n; s++)
            grid_play(job, s, algo);
        job->text = grid_line(job);
        for (int f = 0; f < FIGURES; f++)
            free(job->figure[f]);
    }
    for (int i = 0; i < cast->n; i++)
        algo_free(&cast->algo[i]);
    free(cast);
    return rc;
}

static void grid_rows(const char *name, const struct video *v, const float *points)
{
    printf(",\"%s\":[", name);
    for (int i = 0; i < v->chunks; i++) {
        for (int k = 0; k < v->levels; k++) {
            const char *open = k ? "," : i ? ",[" : "[";
            size_t at = (size_t)i * (size_t)v->levels + (size_t)k;
            if (strcmp(name, "bytes") == 0)
                printf("%s%lld", open, (long long)v->bytes[at]);
            else
                printf("%s%.7g", open, points ? (double)points[at] : v->level_points[k]);
        }
        putchar(']');
    }
    putchar(']');
}

static void grid_show(const struct grid *g)
{
    for (int i = 0; i < g->n_cells; i++) {
        const struct cell *c = &g->cells[i];
        const struct video *v = c->video;
        printf("{\"cell\":%d,\"chunk_s\":%.9g,\"kbps\":[", i, v->chunk_s);
        for (int k = 0; k < v->levels; k++)
            printf("%s%.9g", k ? "," : "", v->ladder_kbps[k]);
        putchar(']');
        grid_rows("bytes", v, NULL);
        grid_rows("points", v, v->points);
        printf(",\"traces\":[");
        for (int s = 0; s < c->n; s++) {
            const struct trace *t = c->corpus->traces[(int64_t)s * c->corpus->n / c->n];
            fputs(s ? ",[" : "[", stdout);
            for (int r = 0; r < t->n; r++)
                printf("%s[%.9g,%.9g]", r ? "," : "", t->time_s[r], t->mbps[r]);
            putchar(']');
        }
        printf("]}\n");
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "levels")) {
        printf("%d\n", VIEW_LEVELS);
        return 0;
    }
    struct grid g = {0};
    struct err e = {0};
    grid_read(&g);
    if (argc > 1 && !strcmp(argv[1], "show")) {
        grid_show(&g);
        return 0;
    }
    int threads = argc > 1 ? atoi(argv[1]) : pool_cpus();
    if (threads < 1 || threads > POOL_THREADS) threads = 1;
    if (pool_try(threads, threads, grid_worker, &g, &e)) grid_fail("policy", &e);
    for (int i = 0; i < g.n_jobs; i++) {
        fputs(g.jobs[i].text, stdout);
        free(g.jobs[i].text);
    }
    for (int i = 0; i < g.n_cells; i++) {
        video_free(g.cells[i].video);
        json_decref(g.cells[i].json);
    }
    for (int i = 0; i < g.n_links; i++)
        corpus_free(g.links[i].corpus);
    free(g.cells);
    free(g.jobs);
    return 0;
}
