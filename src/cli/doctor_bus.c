/* The bus that a daemon with a role would meet. */
#include "doctor_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "policy/policy.h"
#include "learn/ckpt.h"
#include "serve/cluster/bus_nats_look.h"
#include "serve/cluster/follow.h"
#include "serve/cluster/lead.h"

enum { WEIGHTS, COMMON, BEAT, VALUES };

#define SILENT_S 10.0 /* a learner says once a second that it is there */
#define MB 1048576.0  /* as --bus-stream-mb counts */

static void check_replicas(struct doctor_report *out, const char *what,
                           const struct bus_nats_kept *kept,
                           const struct bus_nats_look *look, int replicas)
{
    if (kept->there && kept->replicas != replicas)
        doctor_find(out, what, DOCTOR_WARN,
                    "is kept by %d server%s, not %d: --bus-replicas counts when it is "
                    "made; 'nats stream edit --replicas %d' changes it",
                    kept->replicas, kept->replicas == 1 ? "" : "s", replicas, replicas);
    else if (!kept->there && look->servers < replicas)
        doctor_find(out, what, DOCTOR_WARN,
                    "is not there yet, and %d servers are to keep it, of which %d %s "
                    "known: start the others, or give a smaller --bus-replicas",
                    replicas, look->servers, look->servers == 1 ? "is" : "are");
}

/* Could the account take them, where they are not there yet? */
static bool check_account(struct doctor_report *out, const struct bus_nats_look *look,
                          double stream_bytes)
{
    int64_t missing = !look->stream.there + !look->bucket.there;
    if (missing && look->streams_max >= 0 && look->streams + missing > look->streams_max)
        doctor_find(out, "jetstream", DOCTOR_FAIL,
                    "the account may have %" PRId64 " streams and has %" PRId64
                    ": %" PRId64 " more are needed; raise its max_streams",
                    look->streams_max, look->streams, missing);
    else if (!look->stream.there && look->store_max >= 0 &&
             (double)look->store + stream_bytes > (double)look->store_max)
        doctor_find(
            out, "jetstream", DOCTOR_FAIL,
            "the account has %.0f MB left on disk, --bus-stream-mb is %.0f: raise its "
            "max_file, or give less",
            ((double)look->store_max - (double)look->store) / MB, stream_bytes / MB);
    else
        return true;
    return false;
}

static void check_stream(struct doctor_report *out, const struct bus_nats_look *look,
                         const struct serve_options *s)
{
    const struct bus_nats_kept *k = &look->stream;
    double room = k->bytes_max > 0 ? (double)k->bytes_max : 0;
    check_replicas(out, "stream", k, look, s->cluster.replicas);
    if (!k->there)
        doctor_find(out, "stream", DOCTOR_OK, "%s_traj is not there yet: serve makes it",
                    s->cluster.name);
    else if (!k->refuses || room == 0)
        doctor_find(out, "stream", DOCTOR_FAIL,
                    "%s_traj was not made by abrd: it %s; remove it, or give another "
                    "--bus-name",
                    s->cluster.name,
                    k->refuses ? "has no limit"
                               : "throws away what is oldest, which the learner may not "
                                 "have read");
    else if ((double)k->bytes > .9 * room)
        doctor_find(
            out, "stream", DOCTOR_WARN,
            "%s_traj is full (%.1f of %.1f MB): nobody learns, or too slowly; nodes drop "
            "what is new",
            s->cluster.name, (double)k->bytes / MB, room / MB);
    else
        doctor_find(out, "stream", DOCTOR_OK,
                    "%s_traj: %" PRIu64 " trajectories wait, %.1f of %.1f MB",
                    s->cluster.name, k->messages, (double)k->bytes / MB, room / MB);
}

/* What a learner of this policy publishes in one message; said under "policy" when there is none. */
static void check_room(struct doctor_report *out, const struct bus_nats_look *look,
                       const struct serve_options *s)
{
    char found[HOME_PATH];
    const char *path = serve_options_path(s->policy, found, HOME_POLICY);
    struct policy *own = path ? ckpt_load(path, NULL, NULL, NULL, NULL) : NULL;
    size_t needs = own ? lead_needs(own) : 0;
    policy_free(own);
    if (!needs) return;
    if ((double)needs > (double)look->value_max)
        doctor_find(out, "max_payload", DOCTOR_FAIL,
                    "the server takes %" PRId64
                    " bytes at once, and a learner of this policy publishes %zu: raise "
                    "max_payload in the configuration of all NATS servers, to %zu MB",
                    look->value_max, needs, (needs >> 20) + 1);
    else
        doctor_find(out, "max_payload", DOCTOR_OK,
                    "a learner of this policy publishes %zu of %" PRId64 " bytes at once",
                    needs, look->value_max);
}

static void check_weights(struct doctor_report *out, const struct bus_nats_value *v,
                          const struct serve_options *s)
{
    char found[HOME_PATH];
    const char *path = serve_options_path(s->policy, found, HOME_POLICY);
    struct policy *own = path ? ckpt_load(path, NULL, NULL, NULL, NULL) : NULL;
    if (!own) return; /* said under "policy" */
    struct err e = {0};
    struct bus_wire_weights note;
    struct policy *p = follow_decode(&note, v->bytes, v->n, &own->cfg, &e);
    if (p)
        doctor_find(out, "weights", DOCTOR_OK,
                    "version %" PRIu64 " of term %" PRIu64 " is published, %.0f s ago",
                    note.version, note.term, v->age_s);
    else if (e.code == ERR_RANGE)
        doctor_find(out, "weights", DOCTOR_FAIL,
                    "this abrd would refuse them: %.200s; the learner is newer: upgrade "
                    "this node",
                    e.detail);
    else
        doctor_find(out, "weights", DOCTOR_FAIL, "would be refused: %.300s", e.detail);
    policy_free(p);
    policy_free(own);
}

static void check_common(struct doctor_report *out, const struct bus_nats_value *v)
{
    struct err e = {0};
    struct bus_wire_common *c = calloc(1, sizeof *c);
    if (!c) return;
    if (bus_wire_get_common(c, v->bytes, v->n, &e))
        doctor_find(out, "common", DOCTOR_FAIL,
                    "profiles and settings of all cannot be read: %.200s%s", e.detail,
                    e.code == ERR_RANGE ? "; another node is newer: upgrade this one"
                                        : "");
    else
        doctor_find(out, "common", DOCTOR_OK, "%d profile%s of operators", c->n,
                    c->n == 1 ? "" : "s");
    free(c);
}

static void check_learner(struct doctor_report *out, const struct bus_nats_value *v)
{
    struct err e = {0};
    struct bus_wire_heartbeat b;
    if (!v->bytes)
        doctor_find(out, "learner", DOCTOR_WARN,
                    "none has ever learned here: start abrd serve --role learn");
    else if (bus_wire_get_heartbeat(&b, v->bytes, v->n, &e))
        doctor_find(out, "learner", DOCTOR_FAIL, "its beat cannot be read: %.200s%s",
                    e.detail, e.code == ERR_RANGE ? "; upgrade this node" : "");
    else if (b.over)
        doctor_find(out, "learner", DOCTOR_WARN,
                    "%s has stopped, and nobody has followed: start one", b.name);
    else if (v->age_s > SILENT_S)
        doctor_find(out, "learner", DOCTOR_WARN,
                    "%s was heard %.0f s ago: does it run, and are the clocks equal?",
                    b.name, v->age_s);
    else
        doctor_find(out, "learner", DOCTOR_OK, "%s, term %" PRIu64, b.name, b.term);
}

static void check_board(struct doctor_report *out, const struct bus_nats_look *look,
                        const struct bus_nats_value *value, const struct serve_options *s)
{
    check_replicas(out, "board", &look->bucket, look, s->cluster.replicas);
    if (!look->bucket.there) {
        doctor_find(out, "board", DOCTOR_OK, "bucket %s is not there yet: serve makes it",
                    s->cluster.name);
        return;
    }
    doctor_find(out, "board", DOCTOR_OK, "bucket %s: %.1f MB", s->cluster.name,
                (double)look->bucket.bytes / MB);
    if (value[WEIGHTS].bytes) check_weights(out, &value[WEIGHTS], s);
    if (value[COMMON].bytes) check_common(out, &value[COMMON]);
    check_learner(out, &value[BEAT]);
}

void doctor_bus(struct doctor_report *out, const struct serve_options *s)
{
    struct err e = {0};
    struct bus_nats_look look;
    struct bus_nats_value value[VALUES] = {[WEIGHTS] = {.key = FOLLOW_WEIGHTS},
                                           [COMMON] = {.key = FOLLOW_COMMON},
                                           [BEAT] = {.key = FOLLOW_HEARTBEAT}};
    const struct bus_nats_cfg cfg = {.url = s->cluster.url,
                                     .creds = s->cluster.creds,
                                     .name = s->cluster.name,
                                     .who = "abrd doctor",
                                     .replicas = s->cluster.replicas};
    if (bus_nats_look(&look, value, VALUES, &cfg, &e)) {
        doctor_find(
            out, "bus", DOCTOR_FAIL,
            "%.200s; start nats-server -js there, or mend --bus. Without it a node "
            "decides by the weights at hand, and nothing is learned",
            e.detail);
        bus_nats_look_free(value, VALUES);
        return;
    }
    doctor_find(out, "bus", DOCTOR_OK, "%s answers, %d server%s known", look.server,
                look.servers, look.servers == 1 ? "" : "s");
    if (!look.jetstream)
        doctor_find(out, "jetstream", DOCTOR_FAIL,
                    "the server gives us none (%.120s): start nats-server with -js and "
                    "-sd DIR, and allow it for this account",
                    look.trouble);
    else if (*look.trouble)
        doctor_find(out, "jetstream", DOCTOR_FAIL,
                    "%.160s: do its servers see each other?", look.trouble);
    else if (check_account(out, &look, s->cluster.stream_mb * MB)) {
        doctor_find(out, "jetstream", DOCTOR_OK, "on; %" PRId64 " streams, %.1f MB",
                    look.streams, (double)look.store / MB);
        check_stream(out, &look, s);
        if (s->cluster.role == ROLE_LEARN) check_room(out, &look, s);
        check_board(out, &look, value, s);
    }
    bus_nats_look_free(value, VALUES);
}
