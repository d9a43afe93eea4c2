/* What a session tells: its answers, its history, and what its viewer was. */
#include "track_priv.h"

#include <stdio.h>
#include <string.h>

/* ---- labels ---- */

int track_label_agrees(const struct track_row *row, const char *profile, struct err *e)
{
    if (!profile[0]) return 0;
    bool said = row->hinted || row->labelled;
    if (said && !row->has_mu && !strcmp(row->profile, profile)) return 0;
    if (!said && !row->closed) return 0;
    return err_field(e, ERR_CONFLICT, "profile", "the session %s %s",
                     row->hinted ? "was opened as" : "ended as",
                     said ? row->profile : "one without a profile");
}

void track_label_put(struct track_row *row, const char *profile)
{
    if (!profile[0] || row->hinted) return;
    snprintf(row->profile, sizeof row->profile, "%s", profile);
    row->labelled = true;
}

int track_label(struct track *t, const char *profile, struct err *e)
{
    int rc = track_label_agrees(&t->row, profile, e);
    if (!rc && !t->row.closed) track_label_put(&t->row, profile);
    return rc;
}

/* ---- answers ---- */

void track_answer(struct answer *out, const struct step *s, const struct track_row *row)
{
    *out = (struct answer){.chunk = s->chunk,
                           .level = s->decided,
                           .levels = row->levels,
                           .kbps = row->ladder_kbps[s->decided],
                           .policy = s->policy,
                           .expert = s->expert,
                           .value = (double)s->value,
                           .entropy = (double)s->entropy,
                           .sampled = s->flags & STEP_SAMPLED,
                           .guarded = s->flags & STEP_GUARDED,
                           .by = track_by(s)};
    for (int k = 0; k < row->levels; k++)
        out->prob[k] = (double)s->prob[k];
}

enum service_by track_by(const struct step *s)
{
    return (enum service_by)((s->flags & STEP_BY_MASK) / STEP_BY);
}

void track_history(struct history_step *out, const struct step *s,
                   const struct track_row *row)
{
    bool reported = s->flags & STEP_REPORTED;
    int shown = reported ? s->level : s->decided;
    *out = (struct history_step){.chunk = s->chunk,
                                 .level = reported ? s->level : -1,
                                 .decided_level = s->decided,
                                 .expert = s->expert,
                                 .bytes = s->bytes,
                                 .kbps = row->ladder_kbps[shown],
                                 .buffer_s = s->buffer_s,
                                 .download_s = s->download_s,
                                 .rebuffer_s = s->rebuffer_s,
                                 .reward = s->reward,
                                 .external = s->external,
                                 .logp = (double)s->logp,
                                 .policy = s->policy,
                                 .by = track_by(s),
                                 .reported = reported,
                                 .followed = s->flags & STEP_FOLLOWED,
                                 .sampled = s->flags & STEP_SAMPLED,
                                 .has_external = s->flags & STEP_EXTERNAL};
}
