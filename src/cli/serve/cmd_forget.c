/* abrd forget: delete sessions from a data folder. */
#include "cli/cmd.h"

#include <stdio.h>
#include <string.h>

#include "cli/opt.h"
#include "cli/out.h"
#include "serve/session/sessions.h"
#include "serve/store/forget.h"

struct forget_options {
    const char *session, *viewer, *before;
    struct field_list labels;
};

static int forget_read(struct forget_choice *out, const struct forget_options *o,
                       struct err *e)
{
    int rc = 0;
    *out = (struct forget_choice){.viewer = o->viewer, .has_id = o->session != NULL};
    if (!o->session && !o->viewer && !o->before && !o->labels.n)
        return err_set(e, ERR_INVALID,
                       "says nothing of which sessions: give --session, --viewer, "
                       "--before or --label");
    if (o->viewer && (!o->viewer[0] || strlen(o->viewer) >= SERVICE_VIEWER))
        return err_field(e, ERR_RANGE, "viewer", "must have 1 to %d bytes",
                         SERVICE_VIEWER - 1);
    if (o->session && !sessions_id_parse(out->id, o->session))
        return err_field(e, ERR_INVALID, "session", "'%.40s' is not 32 hex digits",
                         o->session);
    if (o->before) rc = forget_time(&out->before, o->before, e);
    for (int i = 0; i < o->labels.n && !rc; i++)
        rc = labels_read(&out->labels, o->labels.item[i], "label", e);
    return rc;
}

static void forget_put(struct out *o, const struct forget_stats *s, bool dry)
{
    out_row(o);
    out_int(o, "sessions", s->sessions);
    out_int(o, "live", s->live);
    out_int(o, "steps", s->steps);
    out_int(o, "trajectories", s->trajectories);
    out_int(o, "kept", s->kept);
    out_say(o, dry ? "nothing was deleted (--dry-run)"
                   : "deleted; the files of the folder have none of their bytes");
    if (s->kept)
        out_say(o,
                "abrd.db*.bad: %d damaged files that were kept may have them; delete "
                "them if you do not need them",
                s->kept);
    out_say(o, "backups still have them, and learned weights keep what they learned");
}

int cmd_forget(int argc, char **argv)
{
    struct out_cfg rows = {0};
    struct forget_options o = {0};
    const char *data = NULL;
    bool dry = false;
    const struct field opts[] = {
        {"data", "DIR", "data folder of the daemon, which must not run", FIELD_TO(data)},
        {"session", "ID", "the session with this id", FIELD_TO(o.session)},
        {"viewer", "TEXT", "sessions whose player named the viewer so",
         FIELD_TO(o.viewer)},
        {"before", "TIME",
         "sessions that ended before TIME: 2026-11-24 or 2026-11-24T10:30:00Z (UTC)",
         FIELD_TO(o.before)},
        {"label", "KEY=VALUE", "sessions with this label, for example device=tv",
         FIELD_TO(o.labels)},
        {"dry-run", NULL, "only count", FIELD_TO(dry)},
        OUT_OPTIONS(rows),
        {0}};
    const struct opt_cmd cmd = {
        .name = "forget",
        .about =
            "Deletes sessions and their chunks from a data folder. Of several options a "
            "session\n"
            "must fit all. The database is written anew, so that no file of the folder "
            "keeps\n"
            "their bytes; this needs as much free space as the database has.\n"
            "\n"
            "Backups are not changed. Weights keep what they learned: no session can be "
            "read\n"
            "from them, but it cannot be removed either. To be without it, delete\n"
            "policy.safetensors, and the daemon starts from the shipped weights.",
        .opts = opts,
        .example =
            "abrd forget --data /var/lib/abrd --viewer anna --dry-run\n"
            "abrd forget --data /var/lib/abrd --before 2026-10-01 --label tenant=kids"};
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);

    struct err e = {0};
    struct forget_choice choice;
    struct forget_stats stats;
    struct out *out = out_new(&rows, &e);
    int rc = out ? 0 : e.code;
    if (!rc && !data)
        rc = err_field(&e, ERR_INVALID, "data", "is missing: the folder of the daemon");
    if (!rc) rc = forget_read(&choice, &o, &e);
    if (!rc) rc = forget_sessions(&stats, data, &choice, dry, &e);
    if (!rc) {
        forget_put(out, &stats, dry);
        rc = out_finish(out, &e);
    }
    out_free(out);
    return rc ? cmd_fail("forget", &e) : OPT_EXIT_DONE;
}
