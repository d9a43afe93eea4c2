/* abrd forget: delete sessions from a data folder. */
#include "cli/cmd.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "serve/session/sessions.h"
#include "serve/store/forget.h"

struct forget_options {
    const char *session, *viewer, *before;
    struct field_list labels;
};

enum { FORGET_S = 3600 /* a large database is written anew */ };

/* ---- a daemon that runs ---- */

/* The request's body, owned by the caller; NULL: no memory. */
static char *forget_body(const struct forget_options *o, const struct forget_choice *c,
                         bool dry)
{
    json_t *body = json_object(), *labels = json_object();
    for (int k = 0; k < LABELS_KEYS; k++)
        if (c->labels.value[k][0])
            json_object_set_new(labels, labels_keys[k], json_string(c->labels.value[k]));
    if (o->session) json_object_set_new(body, "session", json_string(o->session));
    if (o->viewer) json_object_set_new(body, "viewer", json_string(o->viewer));
    if (o->before) json_object_set_new(body, "before", json_string(o->before));
    json_object_set_new(body, "labels", labels);
    json_object_set_new(body, "dry_run", json_boolean(dry));
    char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    return text;
}

static int64_t forget_count(const json_t *answer, const char *name)
{
    return json_integer_value(json_object_get(answer, name));
}

static int forget_ask(struct forget_stats *out, const struct ask_cfg *daemon,
                      const struct forget_options *o, const struct forget_choice *c,
                      bool dry, struct err *e)
{
    char *body = forget_body(o, c, dry), *text = NULL;
    int rc = body ? ask(&text, daemon, "DELETE", "/v1/sessions", body, e)
                  : err_set(e, ERR_MEMORY, "out of memory");
    json_t *answer = rc ? NULL : json_loads(text, 0, NULL);
    if (!rc && !answer) rc = err_set(e, ERR_IO, "the daemon's answer is not JSON");
    *out = (struct forget_stats){.sessions = forget_count(answer, "sessions"),
                                 .live = forget_count(answer, "live"),
                                 .steps = forget_count(answer, "steps"),
                                 .trajectories = forget_count(answer, "trajectories"),
                                 .kept = (int)forget_count(answer, "kept")};
    json_decref(answer);
    free(text);
    free(body);
    return rc;
}

/* ---- the command ---- */

static int forget_read(struct forget_choice *out, const struct forget_options *o,
                       struct err *e)
{
    int rc = 0;
    *out = (struct forget_choice){.viewer = o->viewer, .has_id = o->session != NULL};
    if (o->session && !sessions_id_parse(out->id, o->session))
        return err_field(e, ERR_INVALID, "session", "'%.40s' is not 32 hex digits",
                         o->session);
    if (o->before) rc = forget_time(&out->before, o->before, e);
    for (int i = 0; i < o->labels.n && !rc; i++)
        rc = labels_read(&out->labels, o->labels.item[i], "label", e);
    return rc ? rc : forget_check(out, e);
}

static void forget_put(struct out *o, const struct forget_stats *s, bool dry, bool runs)
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
    if (runs && !dry)
        out_say(o, "sums in the daemon's memory, a trial's counts among them, have their "
                   "part of them until it starts again");
    out_say(o, "backups still have them, and learned weights keep what they learned");
}

int cmd_forget(int argc, char **argv)
{
    struct out_cfg rows = {0};
    struct forget_options o = {0};
    struct ask_cfg daemon = {.timeout_s = FORGET_S};
    const char *data = NULL;
    bool dry = false;
    const struct field opts[] = {
        {"data", "DIR", "data folder of a daemon that does not run", FIELD_TO(data)},
        {"url", "URL", "address of a daemon that runs, instead of --data",
         FIELD_TO(daemon.url)},
        {"token-file", "FILE",
         "with --url: file with the daemon's token, as --admin-token-file of abrd serve",
         FIELD_TO(daemon.token_file)},
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
            "Deletes sessions and their chunks from a data folder, or with --url from a\n"
            "daemon that runs. Of several options a session must fit all. The database "
            "is\n"
            "written anew, so that no file of the folder keeps their bytes; this needs "
            "as\n"
            "much free space as the database has. A daemon that runs takes no new data\n"
            "meanwhile: players get 503 and go on with their own rules.\n"
            "\n"
            "Backups are not changed. Weights keep what they learned: no session can be\n"
            "read from them, but it cannot be removed either. To be without it, stop\n"
            "the daemon. Delete policy.safetensors, policy.safetensors.prev,\n"
            "candidate.safetensors and grown-*.safetensors. The daemon then starts\n"
            "from the shipped weights, or from those of --policy.",
        .opts = opts,
        .example =
            "abrd forget --data /var/lib/abrd --viewer anna --dry-run\n"
            "abrd forget --data /var/lib/abrd --before 2026-10-01 --label tenant=kids\n"
            "abrd forget --url http://127.0.0.1:8080 --token-file token --viewer anna"};
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);

    struct err e = {0};
    struct forget_choice choice;
    struct forget_stats stats;
    struct out *out = out_new(&rows, &e);
    int rc = out ? 0 : e.code;
    if (!rc && !data == !daemon.url)
        rc = err_field(&e, ERR_INVALID, "data",
                       "give the folder of a daemon that does not run, or the --url of "
                       "one that runs");
    if (!rc) rc = forget_read(&choice, &o, &e);
    if (!rc)
        rc = daemon.url ? forget_ask(&stats, &daemon, &o, &choice, dry, &e)
                        : forget_sessions(&stats, data, &choice, dry, &e);
    if (!rc) {
        forget_put(out, &stats, dry, daemon.url != NULL);
        rc = out_finish(out, &e);
    }
    out_free(out);
    return rc ? cmd_fail("forget", &e) : OPT_EXIT_DONE;
}
