#include "cli/eval/trajectories.h"

#include "abr/deciders/window.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 4200 }; /* moe:FILE has the length of a path */

struct trajectories {
    char path[4096], part[4100]; /* part: the file until it is complete */
    FILE *f;
    bool json, renamed; /* renamed: part becomes path */
    int with, levels;
    int64_t rows;
    char policy[2 * NAME], profile[2 * NAME], trace[2 * NAME]; /* quoted */
};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static void put_head(const struct trajectories *t)
{
    fputs("policy,profile,trace,chunk,level,kbps,bytes,start_s,download_s,"
          "throughput_kbps,stall_s,buffer_s,buffer_after_s,reward",
          t->f);
    if (t->with & TRAJECTORIES_PROBS) fputs(",expert,value", t->f);
    for (int k = 0; t->with & TRAJECTORIES_PROBS && k < t->levels; k++)
        fprintf(t->f, ",prob%d", k);
    for (int i = 0; t->with & TRAJECTORIES_OBS && i < FEAT_FULL_DIM; i++)
        fprintf(t->f, ",obs%d", i);
    fputc('\n', t->f);
}

struct trajectories *trajectories_new(const char *path, int with, int levels,
                                      struct err *e)
{
    struct trajectories *t = calloc(1, sizeof *t);
    if (!t) {
        err_set(e, ERR_MEMORY, "no memory for trajectories");
        return NULL;
    }
    char target[PATH_MAX];
    bool to_stdout = !strcmp(path, "-");
    t->json = ends_with(path, ".jsonl") || ends_with(path, ".ndjson");
    t->with = with;
    t->levels = levels;
    snprintf(t->path, sizeof t->path, "%s", text_link_target(target, path));
    t->renamed = !to_stdout && !text_is_special(path);
    if (t->renamed) snprintf(t->part, sizeof t->part, "%s.tmp", t->path);
    t->f = to_stdout ? stdout : fopen(t->renamed ? t->part : t->path, "w");
    if (!t->f) {
        err_field(e, ERR_IO, path, "%s", strerror(errno));
        free(t);
        return NULL;
    }
    if (!t->json) put_head(t);
    return t;
}

void trajectories_free(struct trajectories *t)
{
    if (!t) return;
    if (t->f && t->f != stdout) {
        fclose(t->f);
        if (t->renamed) unlink(t->part);
    }
    free(t);
}

/* Quoted for JSON: what text_clean leaves needs only two escapes. */
static void quote_json(char *out, const char *text)
{
    char clean[NAME - 4];
    text_clean(clean, sizeof clean, text);
    *out++ = '"';
    for (const char *s = clean; *s; s++) {
        if (*s == '"' || *s == '\\') *out++ = '\\';
        *out++ = *s;
    }
    strcpy(out, "\"");
}

static void quote_csv(char *out, const char *text)
{
    char clean[NAME - 4];
    text_clean(clean, sizeof clean, text);
    bool quoted = strpbrk(clean, ",\"") != NULL;
    if (quoted) *out++ = '"';
    for (const char *s = clean; *s; s++) {
        if (*s == '"') *out++ = '"';
        *out++ = *s;
    }
    strcpy(out, quoted ? "\"" : "");
}

void trajectories_of(struct trajectories *t, const char *policy, const char *profile,
                     const char *trace)
{
    void (*quote)(char *out, const char *text) = t->json ? quote_json : quote_csv;
    quote(t->policy, policy);
    quote(t->profile, profile);
    quote(t->trace, trace);
}

static void put_csv(struct trajectories *t, const struct replay_step *s)
{
    const struct algo_choice *c = s->choice;
    fprintf(t->f, "%s,%s,%s,%d,%d,%.9g,%lld,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g",
            t->policy, t->profile, t->trace, s->chunk, s->level, s->kbps,
            (long long)s->bytes, s->start_s, s->download_s, s->throughput_kbps,
            s->stall_s, s->view->buffer_s, s->buffer_after_s, s->reward);
    if (t->with & TRAJECTORIES_PROBS && c)
        fprintf(t->f, ",%d,%.9g", c->expert, (double)c->value);
    else if (t->with & TRAJECTORIES_PROBS)
        fputs(",,", t->f);
    for (int k = 0; t->with & TRAJECTORIES_PROBS && k < t->levels; k++) {
        if (c)
            fprintf(t->f, ",%.9g", (double)c->prob[k]);
        else
            fputc(',', t->f);
    }
    if (t->with & TRAJECTORIES_OBS) {
        float obs[FEAT_FULL_DIM];
        window_observe(obs, FEAT_FULL, s->view);
        for (int i = 0; i < FEAT_FULL_DIM; i++)
            fprintf(t->f, ",%.9g", (double)obs[i]);
    }
    fputc('\n', t->f);
}

static void put_array(FILE *f, const char *name, const float *x, int n)
{
    fprintf(f, ", \"%s\": [", name);
    for (int i = 0; i < n; i++)
        fprintf(f, "%s%.9g", i ? ", " : "", (double)x[i]);
    fputc(']', f);
}

static void put_json(struct trajectories *t, const struct replay_step *s)
{
    const struct algo_choice *c = s->choice;
    fprintf(
        t->f,
        "{\"policy\": %s, \"profile\": %s, \"trace\": %s, \"chunk\": %d, \"level\": %d, "
        "\"kbps\": %.9g, \"bytes\": %lld, \"start_s\": %.9g, \"download_s\": %.9g, "
        "\"throughput_kbps\": %.9g, \"stall_s\": %.9g, \"buffer_s\": %.9g, "
        "\"buffer_after_s\": %.9g, \"reward\": %.9g",
        t->policy, t->profile, t->trace, s->chunk, s->level, s->kbps, (long long)s->bytes,
        s->start_s, s->download_s, s->throughput_kbps, s->stall_s, s->view->buffer_s,
        s->buffer_after_s, s->reward);
    if (t->with & TRAJECTORIES_PROBS && c) {
        fprintf(t->f, ", \"expert\": %d, \"value\": %.9g", c->expert, (double)c->value);
        put_array(t->f, "prob", c->prob, t->levels);
    } else if (t->with & TRAJECTORIES_PROBS) {
        fputs(", \"expert\": null, \"value\": null, \"prob\": null", t->f);
    }
    if (t->with & TRAJECTORIES_OBS) {
        float obs[FEAT_FULL_DIM];
        window_observe(obs, FEAT_FULL, s->view);
        put_array(t->f, "obs", obs, FEAT_FULL_DIM);
    }
    fputs("}\n", t->f);
}

int trajectories_step(void *ctx, const struct replay_step *s, struct err *e)
{
    struct trajectories *t = ctx;
    (t->json ? put_json : put_csv)(t, s);
    t->rows++;
    if (!ferror(t->f)) return 0;
    return err_field(e, ERR_IO, t->path, "cannot be written: %s", strerror(errno));
}

int64_t trajectories_rows(const struct trajectories *t)
{
    return t->rows;
}

int trajectories_close(struct trajectories *t, struct err *e)
{
    bool bad = t->f == stdout ? fflush(stdout) != 0 : fclose(t->f) != 0;
    t->f = NULL;
    if (!bad && t->renamed) bad = rename(t->part, t->path) != 0;
    if (!bad) return 0;
    int why = errno;
    if (t->renamed) unlink(t->part);
    return err_field(e, ERR_IO, t->path, "cannot be written: %s", strerror(why));
}
