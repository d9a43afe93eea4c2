/* Profiles of this node. */
#include "serve/session/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/parts.h"

bool service_profile_grows(struct service *s, const char *name)
{
    for (int i = 0; i < parts_n(); i++)
        if (parts_at(i)->grows && parts_at(i)->grows(s->part[i], name)) return true;
    return false;
}

int service_profile_get(struct profile *out, struct service *s, const char *name,
                        struct err *e)
{
    int rc = profiles_get(out, NULL, s->profiles, name, e);
    if (!rc) out->grow = service_profile_grows(s, name);
    return rc;
}

int service_profile_list(struct profile *out, int max, struct service *s)
{
    int n = profiles_list(out, max, s->profiles);
    for (int i = 0; i < n; i++)
        out[i].grow = service_profile_grows(s, out[i].name);
    return n;
}

/* Reserves one record for a change that must not be lost. */
static int reserve_profile(struct service *s, struct err *e)
{
    return s->writer ? writer_reserve(s->writer, 1, e) : 0;
}

/* Waits for the commit: profiles are few and change rarely. p NULL: nothing changed. */
static int store_profile(struct service *s, enum store_kind kind, const struct profile *p,
                         struct err *e)
{
    if (!s->writer) return 0;
    struct store_rec r = {.kind = kind};
    if (p) r.profile = *p;
    writer_put(s->writer, &r, p != NULL, 1);
    return p ? writer_flush(s->writer, e) : 0;
}

/* ---- called with profiles_lock: two changes of one profile at once must not leave one in memory and
 * the other in the store. The callers of profile_drop and profile_take have reserved a record ---- */

static int profile_drop(struct service *s, const char *name, struct err *e)
{
    struct profile gone = {0};
    snprintf(gone.name, sizeof gone.name, "%s", name);
    int slot = PROFILES_SLOT_CUSTOM;
    (void)!profiles_get(&(struct profile){0}, &slot, s->profiles, name, NULL);
    int failed = profiles_delete(s->profiles, name, e);
    for (int i = 0; i < parts_n() && !failed; i++)
        if (parts_at(i)->profile_gone) parts_at(i)->profile_gone(s->part[i], name);
    if (!failed && slot != PROFILES_SLOT_CUSTOM) {
        sessions_slot_gone(s->sessions, slot);
        experience_slot_gone(s->experience, slot);
    }
    int rc = store_profile(s, STORE_PROFILE_GONE, failed ? NULL : &gone, e);
    return failed ? failed : rc;
}

int service_profile_mark(struct service *s, const struct profile *p, struct err *e)
{
    struct profile grown = *p;
    grown.grow = true;
    int rc = reserve_profile(s, e);
    return rc ? rc : store_profile(s, STORE_PROFILE, &grown, e);
}

static int check_parts(struct service *s, const struct profile *p, struct err *e)
{
    bool can_grow = !p->grow;
    int rc = 0;
    for (int i = 0; i < parts_n() && !rc; i++) {
        can_grow |= parts_at(i)->profile_put != NULL;
        if (parts_at(i)->profile_check) rc = parts_at(i)->profile_check(s->part[i], p, e);
    }
    if (rc || can_grow) return rc;
    return err_field(e, ERR_INVALID, "grow",
                     "this abrd was built without the part added");
}

static int put_in_parts(struct service *s, const struct profile *p, bool created,
                        struct err *e)
{
    int rc = 0;
    for (int i = 0; i < parts_n() && !rc; i++)
        if (parts_at(i)->profile_put)
            rc = parts_at(i)->profile_put(s->part[i], p, created, e);
    return rc;
}

static int profile_take(struct service *s, const struct profile *p, struct err *e)
{
    int created = check_parts(s, p, e);
    if (!created) created = profiles_put(s->profiles, p, e);
    struct profile plain =
        *p; /* service_profile_mark stores grow, once the file exists */
    plain.grow = false;
    int rc = store_profile(s, STORE_PROFILE, created < 0 ? NULL : &plain, e);
    if (rc) return rc;
    if (created >= 0) rc = put_in_parts(s, p, created == 1, e);
    if (rc < 0 && created == 1 && !reserve_profile(s, NULL))
        (void)!profile_drop(s, p->name, NULL);
    return rc < 0 ? rc : created;
}

int service_profile_take(struct service *s, const struct profile *p, struct err *e)
{
    int rc = reserve_profile(s, e);
    return rc ? rc : profile_take(s, p, e);
}

int service_profile_drop(struct service *s, const char *name, struct err *e)
{
    int rc = reserve_profile(s, e);
    return rc ? rc : profile_drop(s, name, e);
}

/* ---- take profiles_lock ---- */

int service_profile_put(struct service *s, const struct profile *p, struct err *e)
{
    if (s->peers) return s->peers->profile_put(s->peers->self, p, e);
    pthread_mutex_lock(&s->profiles_lock);
    int rc = service_profile_take(s, p, e);
    pthread_mutex_unlock(&s->profiles_lock);
    return rc;
}

int service_profile_delete(struct service *s, const char *name, struct err *e)
{
    if (!strcmp(name, s->cfg.default_profile))
        return err_field(e, ERR_CONFLICT, "profile",
                         "'%.63s' is the default profile, for sessions without a hint",
                         name);
    if (s->peers) return s->peers->profile_delete(s->peers->self, name, e);
    pthread_mutex_lock(&s->profiles_lock);
    int rc = service_profile_drop(s, name, e);
    pthread_mutex_unlock(&s->profiles_lock);
    return rc;
}

int service_profile_weights(void **out, size_t *n, struct service *s, const char *name,
                            struct err *e)
{
    for (int i = 0; i < parts_n(); i++)
        if (parts_at(i)->profile_weights)
            return parts_at(i)->profile_weights(out, n, s->part[i], name, e);
    return err_field(e, ERR_ABSENT, "profile",
                     "this abrd was built without the part added");
}
