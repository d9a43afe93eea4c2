#include "serve/session/label_sums.h"

#include <assert.h>
#include <string.h>

#include "serve/session/track.h"

enum { ROW_NONE, ROW_OTHER, ROW_FIRST };

void label_sums_init(struct label_sums *s, int key, int values)
{
    assert(values >= 0 && values <= LABEL_SUMS_MAX);
    *s = (struct label_sums){.key = key, .values = values};
    pthread_mutex_init(&s->lock, NULL);
    if (key < 0) return;
    strcpy(s->at[ROW_NONE].value, "none");
    strcpy(s->at[ROW_OTHER].value, "other");
    s->n = ROW_FIRST;
}

void label_sums_free(struct label_sums *s)
{
    pthread_mutex_destroy(&s->lock);
}

/* Under the lock. */
static struct label_sum *sum_of(struct label_sums *s, const char *value)
{
    if (!value[0]) return &s->at[ROW_NONE];
    for (int i = 0; i < s->n; i++) /* "none" and "other" themselves, too */
        if (!strcmp(s->at[i].value, value)) return &s->at[i];
    if (s->n == ROW_FIRST + s->values) return &s->at[ROW_OTHER];
    strcpy(s->at[s->n].value, value);
    return &s->at[s->n++];
}

void label_sums_ended(struct label_sums *s, const struct track_row *row)
{
    const struct viewing *v = &row->seen;
    if (s->key < 0 || !v->chunks) return;
    pthread_mutex_lock(&s->lock);
    struct label_sum *sum = sum_of(s, row->labels.value[s->key]);
    sum->sessions++;
    sum->started += v->started;
    sum->startup_s += v->started ? (double)v->startup_s : 0;
    sum->stall_s += (double)v->stall_s;
    sum->played_s += (double)v->played_s;
    sum->points += (double)v->points;
    sum->chunks += v->chunks;
    sum->switches += v->switches;
    pthread_mutex_unlock(&s->lock);
}

int label_sums_read(struct label_sum *out, struct label_sums *s)
{
    pthread_mutex_lock(&s->lock);
    int n = s->n;
    memcpy(out, s->at, (size_t)n * sizeof *out);
    pthread_mutex_unlock(&s->lock);
    return n;
}
