#include "serve/session/profiles.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "serve/session/limits.h"

struct profiles {
    pthread_mutex_t lock; /* guards the members below */
    int n;
    struct profile at[PROFILES_MAX]; /* sorted by name */
    struct profiles_ceilings ceilings;
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
    p->ceilings = (struct profiles_ceilings){
        qoe_standard()->stall_ratio_max, qoe_standard()->startup_max_s, 0, {{{0}, 0, 0}}};
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

/* ---- ceilings; the caller holds the lock ---- */

static const struct profiles_ceiling *ceiling_of(const struct profiles_ceilings *c,
                                                 const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->of[i].name, name)) return &c->of[i];
    return NULL;
}

/* The papers' utilities have no ceilings unless the profile states them. */
static void ceilings_settle(struct profile *one, const struct profiles_ceilings *c)
{
    struct qoe *k = &one->qoe;
    bool points = k->utility == QOE_POINTS;
    const struct profiles_ceiling *own = one->builtin ? ceiling_of(c, one->name) : NULL;
    if (!one->own_stall_ratio_max)
        k->stall_ratio_max = !points ? 0
                             : own   ? own->stall_ratio_max
                                     : c->stall_ratio_max;
    if (!one->own_startup_max_s)
        k->startup_max_s = !points ? 0 : own ? own->startup_max_s : c->startup_max_s;
}

void profiles_ceilings_put(struct profiles *p, const struct profiles_ceilings *c)
{
    pthread_mutex_lock(&p->lock);
    p->ceilings = *c;
    for (int i = 0; i < p->n; i++)
        ceilings_settle(&p->at[i], c);
    pthread_mutex_unlock(&p->lock);
}

void profiles_own_weights(struct qoe *k, struct profiles *p)
{
    if (k->utility != QOE_POINTS) return;
    pthread_mutex_lock(&p->lock);
    k->stall_ratio_max = p->ceilings.stall_ratio_max;
    k->startup_max_s = p->ceilings.startup_max_s;
    pthread_mutex_unlock(&p->lock);
}

/* "news:0.02:2" */
static int ceiling_read(struct profiles_ceiling *out, const char *text, struct err *e)
{
    static const char FORM[] = "'%.60s' is not NAME:STALL_RATIO:STARTUP_S, for example "
                               "news:0.02:2";
    size_t n = strcspn(text, ":");
    if (text[n] != ':' || n >= sizeof out->name)
        return err_field(e, ERR_INVALID, "ceilings", FORM, text);
    snprintf(out->name, sizeof out->name, "%.*s", (int)n, text);
    const char *at = text + n + 1;
    char ratio[32];
    n = strcspn(at, ":");
    if (at[n] != ':' || n >= sizeof ratio)
        return err_field(e, ERR_INVALID, "ceilings", FORM, text);
    snprintf(ratio, sizeof ratio, "%.*s", (int)n, at);
    if (text_double(&out->stall_ratio_max, ratio, 0, 1e9, "", NULL) ||
        text_double(&out->startup_max_s, at + n + 1, 0, 1e9, "", NULL))
        return err_field(e, ERR_INVALID, "ceilings", FORM, text);
    const struct qoe_profile *known = qoe_find(out->name);
    if (!known || known->qoe.utility != QOE_POINTS)
        return err_field(e, ERR_ABSENT, "ceilings",
                         "'%.63s' is no built-in profile in points; PUT "
                         "/v1/profiles/NAME sets those of other profiles",
                         out->name);
    struct err why = {0};
    int rc = limits_ceilings(out->stall_ratio_max, out->startup_max_s, "", &why);
    return rc ? err_field(e, rc, "ceilings", "'%.60s': %s %s", text, why.field,
                          why.detail)
              : 0;
}

int profiles_ceilings_read(struct profiles_ceilings *out, const struct service_cfg *cfg,
                           struct err *e)
{
    *out = (struct profiles_ceilings){.stall_ratio_max = cfg->stall_ratio_max,
                                      .startup_max_s = cfg->startup_max_s};
    struct err why = {0};
    int rc = limits_ceilings(out->stall_ratio_max, out->startup_max_s, "", &why);
    if (rc) {
        bool stall = !strcmp(why.field, "stall_ratio_max");
        return err_field(e, rc, stall ? "stall-ratio-max" : "startup-max-s", "%s",
                         why.detail);
    }
    for (int i = 0; i < cfg->ceilings.n; i++) {
        struct profiles_ceiling one;
        rc = ceiling_read(&one, cfg->ceilings.item[i], e);
        if (rc) return rc;
        if (ceiling_of(out, one.name))
            return err_field(e, ERR_CONFLICT, "ceilings", "'%s' is given twice",
                             one.name);
        out->of[out->n++] = one;
    }
    return 0;
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
        p->at[k].own_stall_ratio_max = in->own_stall_ratio_max;
        p->at[k].own_startup_max_s = in->own_startup_max_s;
        ceilings_settle(&p->at[k], &p->ceilings);
    } else if (p->n == PROFILES_MAX) {
        rc = err_field(e, ERR_FULL, "profile", "%d profiles exist, which is the limit",
                       PROFILES_MAX);
    } else {
        memmove(&p->at[k + 1], &p->at[k], (size_t)(p->n - k) * sizeof p->at[0]);
        p->n++;
        p->at[k] = *in;
        p->at[k].builtin = false;
        ceilings_settle(&p->at[k], &p->ceilings);
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

static bool name_is_taken(const struct profile *p, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(p[i].name, name)) return true;
    return qoe_find(name) != NULL;
}

int profiles_free_name(char out[SERVICE_NAME], const struct profile *p, int n,
                       const char *name)
{
    static const char *const ends[] = {"-own",  "-own2", "-own3", "-own4", "-own5",
                                       "-own6", "-own7", "-own8", "-own9"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        int room = SERVICE_NAME - 1 - (int)strlen(ends[i]);
        snprintf(out, SERVICE_NAME, "%.*s%s", room, name, ends[i]);
        if (!name_is_taken(p, n, out)) return 0;
    }
    return ERR_FULL;
}

int profiles_tag(const struct qoe *k)
{
    for (int i = 0; i < QOE_PROFILES; i++)
        if (qoe_profiles[i].qoe.utility == k->utility &&
            qoe_same_weights(&qoe_profiles[i].qoe, k))
            return i;
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
