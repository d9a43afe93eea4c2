/* Restores profiles and open sessions from the store at the start. */
#include "serve/session/core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/emulator/quality.h"
#include "serve/parts.h"

/* An operator's profile whose name has become built-in gets another name, with its sessions and its
 * added experts. Their file comes first: after a crash in between, the next start chooses the same
 * name. */
static int rename_profile(struct service *s, struct profile *p, int n,
                          struct profile *one, struct err *e)
{
    struct store_rec r = {.kind = STORE_PROFILE_NAME};
    memcpy(r.name.from, one->name, sizeof r.name.from);
    int rc = profiles_free_name(r.name.to, p, n, one->name);
    if (rc)
        return err_field(e, rc, "profile",
                         "'%.63s' is built in now, and no name is left for this folder's "
                         "profile: delete one with the version before",
                         one->name);
    for (int k = 0; k < parts_n() && !rc; k++)
        if (parts_at(k)->profile_renamed)
            rc = parts_at(k)->profile_renamed(s->part[k], r.name.from, r.name.to, e);
    if (!rc) rc = writer_reserve(s->writer, 1, e);
    if (rc) return rc;
    writer_put(s->writer, &r, 1, 1);
    rc = writer_flush(s->writer, e);
    if (rc) return rc;
    memcpy(one->name, r.name.to, sizeof one->name);
    log_event(s->cfg.log, LOG_WARN, "restore",
              "the name '%s' is built in now: this folder's profile of that name and its "
              "sessions are kept as '%s'",
              r.name.from, r.name.to);
    return 0;
}

static int restore_profiles(struct service *s, const struct store *store, struct err *e)
{
    struct profile *p = calloc(PROFILES_MAX, sizeof *p);
    if (!p) return err_set(e, ERR_MEMORY, "no memory for the profiles");
    int n = 0, rc = store->profiles(store->self, p, PROFILES_MAX, &n, e);
    for (int i = 0; i < n && !rc; i++)
        if (qoe_find(p[i].name)) rc = rename_profile(s, p, n, &p[i], e);
    for (int i = 0; i < n && !rc; i++) {
        rc = profiles_put(s->profiles, &p[i], e);
        if (rc == 1) rc = 0;
        for (int k = 0; k < parts_n() && !rc; k++)
            if (parts_at(k)->profile_restored)
                parts_at(k)->profile_restored(s->part[k], &p[i]);
    }
    free(p);
    return rc;
}

/* The steps of a session whose open trajectory must not be used for training. */
static struct step *untaught(const struct step *steps, int n)
{
    struct step *copy = malloc((size_t)n * sizeof *copy);
    if (!copy) return NULL;
    memcpy(copy, steps, (size_t)n * sizeof *copy);
    copy[n - 1].flags |= STEP_CUT;
    return copy;
}

static int restore_session(void *ctx, const struct track_row *stored,
                           const struct step *steps, int n, struct err *e)
{
    struct service *s = ctx;
    struct track_row row = *stored;
    quality_curve(row.points, row.ladder_kbps, NULL, row.levels);
    struct profile p;
    int slot = PROFILES_SLOT_CUSTOM;
    /* a session of an older version may have a built-in profile's former weights: its rewards are in
     * other units and count as custom */
    if (!row.has_mu && !profiles_get(&p, &slot, s->profiles, row.profile, NULL) &&
        p.qoe.utility != row.qoe.utility)
        slot = PROFILES_SLOT_CUSTOM;
    row.slot = (uint8_t)slot;
    for (int i = 0; i < parts_n(); i++)
        if (parts_at(i)->assigned) parts_at(i)->assigned(s->part[i], &row);
    row.apart |= row.observed;
    row.tag = service_tag(s, &row);

    /* the clock may have been set: every session keeps at least half of its ttl */
    double now = service_now(s), heard_at = 0;
    for (int i = 0; i < n; i++)
        heard_at = fmax(heard_at, steps[i].at);
    heard_at = fmin(now, fmax(heard_at, now - s->session_ttl_s / 2));

    /* the profile's added experts are gone, and with them the policy of the trajectory */
    struct step *cut = NULL;
    bool maybe = row.hinted && !row.has_mu && !qoe_find(row.profile);
    if (maybe && row.tag < TRAJ_TAG_OWN) {
        cut = untaught(steps, n);
        if (!cut) return err_set(e, ERR_MEMORY, "no memory for %d steps", n);
    }

    /* a smaller table does not prevent the start */
    struct err why = {0};
    if (sessions_restore(s->sessions, &row, cut ? cut : steps, n, heard_at, &why))
        log_err(s->cfg.log, LOG_WARN, "restore", &why);
    free(cut);
    return 0;
}

/* A damaged file does not prevent the start. */
static int restore_experience(struct service *s, struct err *e)
{
    struct err why = {0};
    if (s->folder.lock < 0 ||
        !experience_load(s->experience, s->folder.experience, s->profiles, &why))
        return 0;
    if (why.code == ERR_MEMORY) return err_set(e, ERR_MEMORY, "%s", why.detail);
    log_err(s->cfg.log, LOG_WARN, "experience", &why);
    log_event(s->cfg.log, LOG_WARN, "experience",
              "margins and stall weights start over%s%s",
              why.code == ERR_IO ? "" : "; the file is kept as ",
              why.code == ERR_IO ? "" : "experience.state.bad");
    if (why.code != ERR_IO) folder_keep_bad(&s->folder, s->folder.experience);
    return 0;
}

int service_restore(struct service *s, struct err *e)
{
    if (!s->writer) return 0;
    const struct store *store = writer_store(s->writer);
    int rc = restore_profiles(s, store, e);
    if (!rc) rc = restore_experience(s, e);
    if (!rc) rc = store->live(store->self, restore_session, s, e);
    if (rc) return rc;

    struct session_stats stats;
    sessions_stats(&stats, s->sessions);
    if (stats.live)
        log_event(s->cfg.log, LOG_INFO, "restore", "%d live sessions", stats.live);
    return 0;
}
