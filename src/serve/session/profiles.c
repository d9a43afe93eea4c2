#include "serve/session/profiles.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/session/limits.h"

struct profiles {
    pthread_mutex_t lock; /* guards the members below */
    int n;
    struct profile at[PROFILES_MAX];                /* sorted by name */
    char slot[SERVICE_PROFILE_STATS][SERVICE_NAME]; /* "": free */
};

struct profiles *profiles_new(struct err *e)
{
    struct profiles *p = calloc(1, sizeof *p);
    if (!p) {
        err_set(e, ERR_MEMORY, "no memory for the profiles");
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    for (int i = 0; i < QOE_PROFILES; i++)
        snprintf(p->slot[i], SERVICE_NAME, "%s", qoe_profiles[i].name);
    snprintf(p->slot[PROFILES_SLOT_CUSTOM], SERVICE_NAME, "custom");

    for (int i = 0; i < QOE_PROFILES; i++) {
        int k = p->n++;
        while (k > 0 && strcmp(p->at[k - 1].name, qoe_profiles[i].name) > 0) {
            p->at[k] = p->at[k - 1];
            k--;
        }
        p->at[k] = (struct profile){.qoe = qoe_profiles[i].qoe, .builtin = true};
        snprintf(p->at[k].name, SERVICE_NAME, "%s", qoe_profiles[i].name);
    }
    return p;
}

void profiles_free(struct profiles *p)
{
    if (!p) return;
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* Index of the first name that is not less than `name`. */
static int lower(const struct profiles *p, const char *name, bool *found)
{
    int k = 0;
    while (k < p->n && strcmp(p->at[k].name, name) < 0)
        k++;
    *found = k < p->n && !strcmp(p->at[k].name, name);
    return k;
}

static int slot_of(const struct profiles *p, const char *name)
{
    for (int i = 0; i < SERVICE_PROFILE_STATS; i++)
        if (!strcmp(p->slot[i], name)) return i;
    return PROFILES_SLOT_CUSTOM;
}

/* A free slot for a new name; PROFILES_SLOT_CUSTOM: none is left. */
static void slot_give(struct profiles *p, const char *name)
{
    int free = slot_of(p, "");
    if (free != PROFILES_SLOT_CUSTOM) snprintf(p->slot[free], SERVICE_NAME, "%s", name);
}

static int profile_unknown(const char *name, struct err *e)
{
    return err_field(e, ERR_ABSENT, "profile", "there is no profile '%.63s'", name);
}

int profiles_get(struct profile *out, int *slot, struct profiles *p, const char *name,
                 struct err *e)
{
    bool found;
    pthread_mutex_lock(&p->lock);
    int k = lower(p, name, &found);
    if (found) {
        *out = p->at[k];
        if (slot) *slot = slot_of(p, name);
    }
    pthread_mutex_unlock(&p->lock);
    return found ? 0 : profile_unknown(name, e);
}

int profiles_check(const struct profile *in, struct err *e)
{
    int rc = limits_name(in->name, e);
    if (!rc) rc = limits_qoe(&in->qoe, e);
    if (rc) return rc;
    if (!strcmp(in->name, "custom"))
        return err_field(e, ERR_CONFLICT, "profile",
                         "'custom' is reserved for sessions with their own weights");
    return 0;
}

int profiles_put(struct profiles *p, const struct profile *in, struct err *e)
{
    int rc = profiles_check(in, e);
    if (rc) return rc;
    bool found;
    pthread_mutex_lock(&p->lock);
    int k = lower(p, in->name, &found);
    if (found && p->at[k].builtin) {
        rc = err_field(e, ERR_CONFLICT, "profile", "'%s' is built in", in->name);
    } else if (found) {
        p->at[k].qoe = in->qoe;
    } else if (p->n == PROFILES_MAX) {
        rc = err_field(e, ERR_FULL, "profile", "%d profiles exist, which is the limit",
                       PROFILES_MAX);
    } else {
        memmove(&p->at[k + 1], &p->at[k], (size_t)(p->n - k) * sizeof p->at[0]);
        p->n++;
        p->at[k] = *in;
        p->at[k].builtin = false;
        slot_give(p, in->name);
        rc = 1;
    }
    pthread_mutex_unlock(&p->lock);
    return rc;
}

int profiles_delete(struct profiles *p, const char *name, struct err *e)
{
    bool found;
    int rc = 0;
    pthread_mutex_lock(&p->lock);
    int k = lower(p, name, &found);
    if (!found) {
        rc = profile_unknown(name, e);
    } else if (p->at[k].builtin) {
        rc = err_field(e, ERR_CONFLICT, "profile", "'%s' is built in", name);
    } else {
        int slot = slot_of(p, name);
        if (slot != PROFILES_SLOT_CUSTOM) p->slot[slot][0] = '\0';
        p->n--;
        memmove(&p->at[k], &p->at[k + 1], (size_t)(p->n - k) * sizeof p->at[0]);
    }
    pthread_mutex_unlock(&p->lock);
    return rc;
}

int profiles_list(struct profile *out, int max, struct profiles *p)
{
    pthread_mutex_lock(&p->lock);
    int n = p->n < max ? p->n : max;
    memcpy(out, p->at, (size_t)n * sizeof *out);
    pthread_mutex_unlock(&p->lock);
    return n;
}

int profiles_tag(const struct qoe *k)
{
    for (int i = 0; i < QOE_PROFILES; i++)
        if (qoe_same(&qoe_profiles[i].qoe, k)) return i;
    return QOE_PROFILES;
}

bool profiles_slot_name(char out[SERVICE_NAME], struct profiles *p, int slot)
{
    pthread_mutex_lock(&p->lock);
    bool found = slot < SERVICE_PROFILE_STATS && p->slot[slot][0];
    if (found) memcpy(out, p->slot[slot], SERVICE_NAME);
    pthread_mutex_unlock(&p->lock);
    return found;
}
