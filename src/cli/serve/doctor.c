#include "cli/serve/doctor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "abr/deciders/forecast_own.h"
#include "base/clock.h"
#include "base/pool.h"
#include "cli/fetch.h"
#include "learn/ckpt.h"
#include "policy/policy.h"
#include "serve/cluster/bus_nats.h"
#include "serve/cluster/follow.h"
#include "serve/cluster/lead.h"
#include "serve/access/auth.h"
#include "serve/learner/exam.h"
#include "serve/store/folder.h"
#include "serve/http/listen.h"
#include "serve/store/store_sqlite.h"

#define ROOM_BYTES 100e6     /* of disk space: enough for some 400,000 chunks */
#define SANE_TIME 1735689600 /* 2025-01-01: a clock that is set shows a later time */
#define FILES_BESIDE 64      /* descriptors besides connections */
#define SILENT_S 10.0        /* a learner's heartbeat comes once a second */
#define MB 1048576.0         /* as --bus-stream-mb counts */

/* ---- findings ---- */

__attribute__((format(printf, 4, 5))) static void doctor_find(struct doctor_report *out,
                                                              const char *what,
                                                              enum doctor_verdict verdict,
                                                              const char *fmt, ...)
{
    assert(out->n < DOCTOR_MAX);
    struct doctor_finding *f = &out->at[out->n++];
    f->what = what;
    f->verdict = verdict;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->detail, sizeof f->detail, fmt, ap);
    va_end(ap);
    out->warnings += verdict == DOCTOR_WARN;
    out->failures += verdict == DOCTOR_FAIL;
}

static void doctor_find_err(struct doctor_report *out, const char *what,
                            const struct err *e)
{
    doctor_find(out, what, DOCTOR_FAIL, "%s%s%s", e->field, *e->field ? ": " : "",
                e->detail);
}

const char *doctor_word(enum doctor_verdict v)
{
    static const char *const words[] = {"ok", "warn", "fail"};
    return words[v];
}

/* ---- the data folder ---- */

static void check_room(struct doctor_report *out, const char *dir)
{
    struct statvfs v;
    if (statvfs(dir, &v)) return;
    double room = (double)v.f_bavail * (double)v.f_frsize;
    if (room < ROOM_BYTES)
        doctor_find(out, "disk", DOCTOR_WARN,
                    "%.200s has %.0f MB left: free space, or reduce --retention-days; "
                    "with a full disk the daemon refuses requests",
                    dir, room / 1e6);
    else
        doctor_find(out, "disk", DOCTOR_OK, "%.1f GB left", room / 1e9);
}

/* Whether the folder is there and could be used. */
static bool check_folder(struct doctor_report *out, const char *dir)
{
    struct stat st;
    if (stat(dir, &st)) {
        if (errno == ENOENT)
            doctor_find(out, "folder", DOCTOR_OK,
                        "%.200s does not exist yet: serve creates it", dir);
        else
            doctor_find(out, "folder", DOCTOR_FAIL, "%.200s: %s", dir, strerror(errno));
        return false;
    }
    if (!S_ISDIR(st.st_mode)) {
        doctor_find(out, "folder", DOCTOR_FAIL,
                    "%.200s is not a folder: give another --data", dir);
        return false;
    }
    if (access(dir, R_OK | W_OK | X_OK))
        doctor_find(out, "folder", DOCTOR_FAIL,
                    "%.200s is not writable for this user (%s): make the daemon's user "
                    "its owner (chown)",
                    dir, strerror(errno));
    else if (st.st_mode & (S_IWGRP | S_IWOTH))
        doctor_find(out, "folder", DOCTOR_WARN,
                    "%.200s is writable for other users (mode %03o): chmod go-w", dir,
                    (unsigned)st.st_mode & 0777);
    else
        doctor_find(out, "folder", DOCTOR_OK, "%.200s%s", dir,
                    folder_in_use(dir) ? ", in use by a daemon" : "");
    check_room(out, dir);
    return true;
}

/* A start works without the file, but only a backup has it. */
static void check_present(struct doctor_report *out, const char *dir, const char *name,
                          const char *otherwise)
{
    char path[700];
    snprintf(path, sizeof path, "%.500s/%.150s", dir, name);
    if (access(path, F_OK) && errno == ENOENT)
        doctor_find(out, "missing", DOCTOR_WARN,
                    "%.200s is missing: restore it from a backup; otherwise %s", path,
                    otherwise);
}

static void check_missing(struct doctor_report *out, const struct serve_options *s,
                          const struct store_sqlite_health *h)
{
    const char *dir = s->service.data_dir;
    char name[SERVICE_NAME + 32], prev[600];
    check_present(out, dir, "untagged.state",
                  "learning about viewers without a hint starts from nothing");
    if (!s->service.seed)
        check_present(out, dir, "secret", "a new one decides which sessions explore");
    snprintf(prev, sizeof prev, "%.500s/policy.safetensors.prev", dir);
    if (!access(prev, F_OK))
        check_present(out, dir, "policy.safetensors",
                      "the learner continues from the previous weights");
    for (int i = 0; i < h->n_added; i++) {
        snprintf(name, sizeof name, "grown-%s.safetensors", h->added[i]);
        check_present(out, dir, name, "the common policy decides for this profile");
    }
}

static void check_store(struct doctor_report *out, const struct serve_options *s,
                        const char *path)
{
    struct err e = {0};
    struct store_sqlite_health h;
    int rc = store_sqlite_check(&h, path, &e);
    if (rc == ERR_ABSENT) {
        doctor_find(out, "store", DOCTOR_OK, "does not exist yet: serve creates it");
    } else if (rc) {
        doctor_find(out, "store", DOCTOR_FAIL, "%.100s: %.250s", path, e.detail);
    } else {
        doctor_find(out, "store", DOCTOR_OK,
                    "intact: %" PRId64 " sessions, %" PRId64 " of them open, %" PRId64
                    " steps",
                    h.sessions, h.live, h.steps);
        check_missing(out, s, &h);
    }
}

static void note_kept(void *ctx, const char *path)
{
    doctor_find(ctx, "loss", DOCTOR_WARN, "the damaged file is kept as %.300s", path);
}

void doctor_accept_loss(struct doctor_report *out, const struct serve_options *s)
{
    *out = (struct doctor_report){0};
    struct err e = {0};
    struct folder f = {.lock = -1};
    int rc = s->service.data_dir
                 ? 0
                 : err_set(&e, ERR_INVALID, "name the folder with --data DIR");
    struct stat st;
    if (!rc && stat(s->service.data_dir, &st))
        rc = err_field(&e, ERR_ABSENT, s->service.data_dir, "%s", strerror(errno));
    if (!rc) rc = folder_open(&f, s->service.data_dir, &e);
    if (!rc) rc = store_sqlite_accept_loss(f.db, note_kept, out, &e);
    folder_close(&f);
    if (rc)
        doctor_find_err(out, "loss", &e);
    else
        doctor_find(out, "loss", DOCTOR_OK,
                    out->n ? "accepted: the next start continues with what is left"
                           : "nothing is damaged, so nothing was changed");
}

/* A store with a time in the future shows that the clock was set back. */
static void check_clock(struct doctor_report *out, const char *db)
{
    double now = clock_now();
    struct stat st;
    if (now < SANE_TIME)
        doctor_find(out, "clock", DOCTOR_FAIL,
                    "shows a time before 2025: set it (timedatectl), or sessions expire "
                    "and are deleted at the wrong time");
    else if (db && stat(db, &st) == 0 && (double)st.st_mtim.tv_sec > now + 60)
        doctor_find(out, "clock", DOCTOR_WARN,
                    "the store was written %.0f s in the future: the clock was set back, "
                    "and sessions stay open that much longer",
                    (double)st.st_mtim.tv_sec - now);
    else
        doctor_find(out, "clock", DOCTOR_OK, "plausible");
}

/* ---- weights ---- */

static void check_weights(struct doctor_report *out, const char *what, const char *path,
                          const char *otherwise)
{
    struct err e = {0};
    struct exam *x = NULL;
    struct policy *p = ckpt_load(path, NULL, NULL, NULL, &e);
    bool foreign = p && forecast_own_drop_foreign(p);
    if (p) x = exam_new(&p->cfg, &e);
    double score = x ? exam_score(x, p) : (double)NAN;
    if (!x)
        doctor_find(out, what, DOCTOR_FAIL, "%.80s: %.120s; %s", path, e.detail,
                    otherwise);
    else if (!isfinite(score))
        doctor_find(out, what, DOCTOR_FAIL, "%.100s: its outputs are not finite; %s",
                    path, otherwise);
    else
        doctor_find(out, what, DOCTOR_OK,
                    "%.150s: version %llu, %d experts, score %.3f in the safety check%s",
                    path, (unsigned long long)p->version, p->cfg.experts, score,
                    foreign ? "; its correction is of another forecast: it is not used"
                            : "");
    exam_free(x);
    policy_free(p);
}

static void check_policies(struct doctor_report *out, const struct serve_options *s,
                           const char *learned)
{
    char found[HOME_PATH];
    const char *start = serve_options_path(s->service.policy_path, found, HOME_POLICY);
    if (start)
        check_weights(out, "policy", start, "give other weights with --policy");
    else
        doctor_find(out, "policy", DOCTOR_FAIL,
                    "the shipped weights were not found: install them (make install), "
                    "set ABRD_HOME or give --policy");
    if (learned && access(learned, F_OK) == 0)
        check_weights(
            out, "learned", learned,
            "the next start renames it to NAME.bad and uses the previous weights");
    char prev[620];
    snprintf(prev, sizeof prev, "%s.prev", learned ? learned : "");
    if (learned && access(prev, F_OK) == 0)
        check_weights(out, "learned before", prev,
                      "a start that needs it uses --policy instead");
    if (s->optional.hintless.mode != HINTLESS_MERGE) return;
    const char *merge =
        serve_options_path(s->optional.hintless.merge_policy, found, HOME_MERGE);
    if (merge)
        check_weights(out, "merge-policy", merge,
                      "give another file with --merge-policy");
    else
        doctor_find(out, "merge-policy", DOCTOR_FAIL,
                    "the experts to merge were not found: give --merge-policy");
}

/* ---- access ---- */

static void check_readers(struct doctor_report *out, const char *path,
                          const struct stat *st)
{
    unsigned mode = (unsigned)st->st_mode & 0777;
    switch (serve_options_readers(st)) {
    case SERVE_OPTIONS_ALONE:
        doctor_find(out, "token", DOCTOR_OK, "in %.200s, readable for its owner only",
                    path);
        break;
    case SERVE_OPTIONS_GROUP:
        doctor_find(out, "token", DOCTOR_OK, "in %.200s, readable for its group only",
                    path);
        break;
    case SERVE_OPTIONS_LENT:
        doctor_find(out, "token", DOCTOR_WARN,
                    "%.200s is readable for other users (mode %03o): its owner, user %u, "
                    "can change that, or restrict its folder",
                    path, mode, (unsigned)st->st_uid);
        break;
    case SERVE_OPTIONS_OTHERS:
        doctor_find(out, "token", DOCTOR_FAIL,
                    "%.200s is readable for other users (mode %03o): chmod 600, and "
                    "replace the token",
                    path, mode);
    }
}

static void check_token(struct doctor_report *out, const struct serve_options *s)
{
    char token[SERVE_OPTIONS_TOKEN];
    struct err e = {0};
    struct stat st;
    if (!s->token_file) {
        if (listen_is_loopback(s->node.bind))
            doctor_find(
                out, "token", DOCTOR_OK,
                "none: every user of this machine can change profiles and the policy");
        else
            doctor_find(out, "token", DOCTOR_FAIL,
                        "an address other than loopback (%.60s) needs a token: give "
                        "--admin-token-file",
                        s->node.bind);
    } else if (stat(s->token_file, &st)) {
        if (errno == ENOENT)
            doctor_find(out, "token", DOCTOR_OK,
                        "%.200s does not exist yet: serve creates it", s->token_file);
        else
            doctor_find(out, "token", DOCTOR_FAIL, "%.200s: %s", s->token_file,
                        strerror(errno));
    } else if (serve_options_token(token, s->token_file, &e)) {
        doctor_find_err(out, "token", &e);
    } else {
        check_readers(out, s->token_file, &st);
    }
}

static void check_access(struct doctor_report *out, const struct serve_options *s)
{
    struct err e = {0};
    struct auth *auth =
        auth_new(s->node.bind, s->node.host, s->node.allow_origin, NULL, &e);
    struct admit *admit = auth ? admit_new(&s->node.admit, &e) : NULL;
    if (!admit)
        doctor_find_err(out, "access", &e);
    else if (s->node.allow_origin && strcmp(s->node.allow_origin, "*") == 0)
        doctor_find(out, "access", DOCTOR_WARN,
                    "--allow-origin * lets every web page use the daemon: list the "
                    "origins of the players");
    else if (!listen_is_loopback(s->node.bind) && !s->node.host)
        doctor_find(out, "access", DOCTOR_WARN,
                    "without --host the daemon accepts only numeric addresses in the "
                    "header Host: list its host names");
    else
        doctor_find(out, "access", DOCTOR_OK,
                    "host names, origins, proxies and limits are valid");
    admit_free(admit);
    auth_free(auth);
}

static void check_port(struct doctor_report *out, const struct serve_options *s)
{
    struct err e = {0};
    int port = s->node.port, fd = listen_open(s->node.bind, &port, &e);
    if (fd >= 0) {
        close(fd);
        doctor_find(out, "port", DOCTOR_OK, "%d at %.60s is free", port, s->node.bind);
    } else if (e.code == ERR_CONFLICT && s->service.data_dir &&
               folder_in_use(s->service.data_dir)) {
        doctor_find(out, "port", DOCTOR_OK, "%d at %.60s is in use by the running daemon",
                    port, s->node.bind);
    } else if (e.code == ERR_IO && port && port < 1024 && geteuid()) {
        doctor_find(out, "port", DOCTOR_FAIL,
                    "%d is reserved for root: use a port above 1023, behind a proxy "
                    "(deploy/nginx.conf)",
                    port);
    } else {
        doctor_find_err(out, "port", &e);
    }
}

static void check_files(struct doctor_report *out, const struct serve_options *s)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r)) return;
    int workers = s->node.workers ? s->node.workers : pool_cpus();
    double needed = (double)workers * s->node.http.max_connections + FILES_BESIDE;
    if ((double)r.rlim_max < needed)
        doctor_find(out, "files", DOCTOR_WARN,
                    "up to %.0f connections (%d workers, --max-connections %d) need more "
                    "than the %llu open files allowed: raise LimitNOFILE or 'ulimit -Hn'",
                    needed - FILES_BESIDE, workers, s->node.http.max_connections,
                    (unsigned long long)r.rlim_max);
    else
        doctor_find(out, "files", DOCTOR_OK,
                    "%llu can be open, enough for %.0f connections",
                    (unsigned long long)r.rlim_max, needed - FILES_BESIDE);
}

static void check_pages(struct doctor_report *out, const struct serve_options *s)
{
    char found[HOME_PATH], index[HOME_PATH + 16];
    const char *dir = serve_options_path(s->node.web_dir, found, "web");
    if (dir) snprintf(index, sizeof index, "%s/index.html", dir);
    if (!dir || access(index, R_OK))
        doctor_find(out, "pages", s->node.web_dir ? DOCTOR_FAIL : DOCTOR_WARN,
                    "%.200s has no index.html: there will be no demo page",
                    dir ? dir : "share/abrd/web");
    else
        doctor_find(out, "pages", DOCTOR_OK, "%.200s", dir);
}

/* A daemon starts without them, and tries again with every request. */
static void check_origins(struct doctor_report *out, const struct origins *o)
{
    for (int i = 0; i < o->n; i++) {
        struct err e = {0};
        if (fetch_reach(o->at[i].url, &e))
            doctor_find(out, "origin", DOCTOR_WARN,
                        "%s: %.150s: %.100s; players that request its media get 502",
                        o->at[i].name, o->at[i].url, e.detail);
        else
            doctor_find(out, "origin", DOCTOR_OK, "%s: %.150s accepts connections",
                        o->at[i].name, o->at[i].url);
    }
}

#ifndef WITHOUT_CLUSTER
/* ---- the bus ---- */

enum { WEIGHTS, COMMON, BEAT, VALUES }; /* of the bucket */

static void check_bus_replicas(struct doctor_report *out, const char *what,
                               const struct bus_nats_kept *kept,
                               const struct bus_nats_look *look, int replicas)
{
    if (kept->there && kept->replicas != replicas)
        doctor_find(out, what, DOCTOR_WARN,
                    "is stored by %d server%s, not %d: --bus-replicas applies only when "
                    "it is created; 'nats stream edit --replicas %d' changes it",
                    kept->replicas, kept->replicas == 1 ? "" : "s", replicas, replicas);
    else if (!kept->there && look->servers < replicas)
        doctor_find(out, what, DOCTOR_WARN,
                    "does not exist yet; %d servers must store it, but %d %s known: "
                    "start the other servers, or reduce --bus-replicas",
                    replicas, look->servers, look->servers == 1 ? "is" : "are");
}

/* Has the account room for the streams that do not exist yet? */
static bool check_bus_account(struct doctor_report *out, const struct bus_nats_look *look,
                              double stream_bytes)
{
    int64_t missing = !look->stream.there + !look->bucket.there;
    if (missing && look->streams_max >= 0 && look->streams + missing > look->streams_max)
        doctor_find(out, "jetstream", DOCTOR_FAIL,
                    "the account can have %" PRId64 " streams and has %" PRId64
                    ": %" PRId64 " more are needed; raise its max_streams",
                    look->streams_max, look->streams, missing);
    else if (!look->stream.there && look->store_max >= 0 &&
             (double)look->store + stream_bytes > (double)look->store_max)
        doctor_find(out, "jetstream", DOCTOR_FAIL,
                    "the account has %.0f MB left on disk, but --bus-stream-mb is %.0f: "
                    "raise its max_file, or reduce --bus-stream-mb",
                    ((double)look->store_max - (double)look->store) / MB,
                    stream_bytes / MB);
    else
        return true;
    return false;
}

static void check_bus_stream(struct doctor_report *out, const struct bus_nats_look *look,
                             const struct serve_options *s)
{
    const struct bus_nats_kept *k = &look->stream;
    double room = k->bytes_max > 0 ? (double)k->bytes_max : 0;
    check_bus_replicas(out, "stream", k, look, s->optional.cluster.replicas);
    if (!k->there)
        doctor_find(out, "stream", DOCTOR_OK,
                    "%s_traj does not exist yet: serve creates it",
                    s->optional.cluster.name);
    else if (!k->refuses || room == 0)
        doctor_find(
            out, "stream", DOCTOR_FAIL,
            "%s_traj was not created by abrd: it %s; remove it, or give another "
            "--bus-name",
            s->optional.cluster.name,
            k->refuses
                ? "has no size limit"
                : "drops the oldest messages, which the learner may not have read");
    else if ((double)k->bytes > .9 * room)
        doctor_find(out, "stream", DOCTOR_WARN,
                    "%s_traj is full (%.1f of %.1f MB): no learner runs, or it is too "
                    "slow; nodes "
                    "drop new trajectories",
                    s->optional.cluster.name, (double)k->bytes / MB, room / MB);
    else
        doctor_find(out, "stream", DOCTOR_OK,
                    "%s_traj: %" PRIu64 " trajectories wait, %.1f of %.1f MB",
                    s->optional.cluster.name, k->messages, (double)k->bytes / MB,
                    room / MB);
}

/* The largest message of a learner of this policy. A missing policy is reported under "policy". */
static void check_bus_room(struct doctor_report *out, const struct bus_nats_look *look,
                           const struct serve_options *s)
{
    char found[HOME_PATH];
    const char *path = serve_options_path(s->service.policy_path, found, HOME_POLICY);
    struct policy *own = path ? ckpt_load(path, NULL, NULL, NULL, NULL) : NULL;
    size_t needs = own ? lead_needs(own) : 0;
    policy_free(own);
    if (!needs) return;
    if ((double)needs > (double)look->value_max)
        doctor_find(
            out, "max_payload", DOCTOR_FAIL,
            "the server accepts %" PRId64
            " bytes per message, but a learner of this policy publishes %zu: raise "
            "max_payload to %zu MB in the configuration of all NATS servers",
            look->value_max, needs, (needs >> 20) + 1);
    else
        doctor_find(out, "max_payload", DOCTOR_OK,
                    "a learner of this policy publishes %zu of %" PRId64
                    " bytes per message",
                    needs, look->value_max);
}

static void check_bus_weights(struct doctor_report *out, const struct bus_nats_value *v,
                              const struct serve_options *s)
{
    char found[HOME_PATH];
    const char *path = serve_options_path(s->service.policy_path, found, HOME_POLICY);
    struct policy *own = path ? ckpt_load(path, NULL, NULL, NULL, NULL) : NULL;
    if (!own) return; /* reported under "policy" */
    struct err e = {0};
    struct bus_wire_weights note;
    bool read = !shared_value_decode(&note, &bus_wire_weights_kind, v->bytes, v->n, &e);
    struct policy *p = read ? follow_policy(&note, &own->cfg, &e) : NULL;
    if (p)
        doctor_find(out, "weights", DOCTOR_OK,
                    "version %" PRIu64 " of term %" PRIu64 " is published, %.0f s ago",
                    note.version, note.term, v->age_s);
    else if (e.code == ERR_RANGE)
        doctor_find(out, "weights", DOCTOR_FAIL,
                    "this node would refuse them: %.200s; the learner is newer: upgrade "
                    "this node",
                    e.detail);
    else
        doctor_find(out, "weights", DOCTOR_FAIL, "would be refused: %.300s", e.detail);
    policy_free(p);
    policy_free(own);
}

static void check_bus_common(struct doctor_report *out, const struct bus_nats_value *v)
{
    struct err e = {0};
    struct bus_wire_common *c = calloc(1, sizeof *c);
    if (!c) return;
    if (shared_value_decode(c, &bus_wire_common_kind, v->bytes, v->n, &e))
        doctor_find(out, "common", DOCTOR_FAIL,
                    "shared profiles and settings cannot be read: %.200s%s", e.detail,
                    e.code == ERR_RANGE ? "; another node is newer: upgrade this one"
                                        : "");
    else
        doctor_find(out, "common", DOCTOR_OK, "%d profile%s of operators", c->n,
                    c->n == 1 ? "" : "s");
    free(c);
}

static void check_bus_learner(struct doctor_report *out, const struct bus_nats_value *v)
{
    struct err e = {0};
    struct bus_wire_heartbeat b;
    if (!v->bytes)
        doctor_find(out, "learner", DOCTOR_WARN,
                    "no learner has run yet: start abrd serve --role learn");
    else if (shared_value_decode(&b, &bus_wire_heartbeat_kind, v->bytes, v->n, &e))
        doctor_find(out, "learner", DOCTOR_FAIL, "its heartbeat cannot be read: %.200s%s",
                    e.detail, e.code == ERR_RANGE ? "; upgrade this node" : "");
    else if (b.over)
        doctor_find(out, "learner", DOCTOR_WARN,
                    "%s has stopped, and no other learner leads: start one", b.name);
    else if (v->age_s > SILENT_S)
        doctor_find(out, "learner", DOCTOR_WARN,
                    "the last heartbeat of %s is %.0f s old: check that it runs, and "
                    "that the clocks agree",
                    b.name, v->age_s);
    else
        doctor_find(out, "learner", DOCTOR_OK, "%s, term %" PRIu64, b.name, b.term);
}

static void check_bus_bucket(struct doctor_report *out, const struct bus_nats_look *look,
                             const struct bus_nats_value *value,
                             const struct serve_options *s)
{
    check_bus_replicas(out, "bucket", &look->bucket, look, s->optional.cluster.replicas);
    if (!look->bucket.there) {
        doctor_find(out, "bucket", DOCTOR_OK,
                    "bucket %s does not exist yet: serve creates it",
                    s->optional.cluster.name);
        return;
    }
    doctor_find(out, "bucket", DOCTOR_OK, "bucket %s: %.1f MB", s->optional.cluster.name,
                (double)look->bucket.bytes / MB);
    if (value[WEIGHTS].bytes) check_bus_weights(out, &value[WEIGHTS], s);
    if (value[COMMON].bytes) check_bus_common(out, &value[COMMON]);
    check_bus_learner(out, &value[BEAT]);
}

/* Of a daemon with a role: bus, stream, bucket, and the values in it. */
static void check_bus(struct doctor_report *out, const struct serve_options *s)
{
    struct err e = {0};
    struct bus_nats_look look;
    struct bus_nats_value value[VALUES] = {[WEIGHTS] = {.key = bus_wire_weights_kind.key},
                                           [COMMON] = {.key = bus_wire_common_kind.key},
                                           [BEAT] = {.key = bus_wire_heartbeat_kind.key}};
    const struct bus_nats_cfg cfg = {.url = s->optional.cluster.url,
                                     .creds = s->optional.cluster.creds,
                                     .name = s->optional.cluster.name,
                                     .who = "abrd doctor",
                                     .replicas = s->optional.cluster.replicas};
    if (bus_nats_look(&look, value, VALUES, &cfg, &e)) {
        doctor_find(out, "bus", DOCTOR_FAIL,
                    "%.200s; start nats-server -js there, or correct --bus. Without the "
                    "bus a node decides with its own weights, and nothing is learned",
                    e.detail);
        bus_nats_look_free(value, VALUES);
        return;
    }
    doctor_find(out, "bus", DOCTOR_OK, "%s answers, %d server%s known", look.server,
                look.servers, look.servers == 1 ? "" : "s");
    if (!look.jetstream)
        doctor_find(out, "jetstream", DOCTOR_FAIL,
                    "the server does not offer it (%.120s): start nats-server with -js "
                    "and -sd DIR, and allow JetStream for this account",
                    look.trouble);
    else if (*look.trouble)
        doctor_find(out, "jetstream", DOCTOR_FAIL,
                    "%.160s: check that its servers reach each other", look.trouble);
    else if (check_bus_account(out, &look, s->optional.cluster.stream_mb * MB)) {
        doctor_find(out, "jetstream", DOCTOR_OK, "on; %" PRId64 " streams, %.1f MB",
                    look.streams, (double)look.store / MB);
        check_bus_stream(out, &look, s);
        if (s->optional.cluster.role == ROLE_LEARN) check_bus_room(out, &look, s);
        check_bus_bucket(out, &look, value, s);
    }
    bus_nats_look_free(value, VALUES);
}
#endif

/* ---- all ---- */

void doctor_examine(struct doctor_report *out, const struct serve_options *s)
{
    char db[600] = "", learned[600] = "";
    if (s->config) doctor_find(out, "config", DOCTOR_OK, "%.200s can be read", s->config);
    if (s->service.data_dir) {
        snprintf(db, sizeof db, "%.500s/abrd.db", s->service.data_dir);
        snprintf(learned, sizeof learned, "%.500s/policy.safetensors",
                 s->service.data_dir);
        if (check_folder(out, s->service.data_dir)) check_store(out, s, db);
    } else {
        doctor_find(out, "folder", DOCTOR_WARN,
                    "without --data nothing is stored: sessions and learned weights are "
                    "lost when the daemon stops");
    }
    check_policies(out, s, s->service.data_dir ? learned : NULL);
    check_token(out, s);
    check_access(out, s);
    check_port(out, s);
    check_files(out, s);
    check_clock(out, s->service.data_dir ? db : NULL);
    check_pages(out, s);
    check_origins(out, &s->optional.players.origin.names);
#ifndef WITHOUT_CLUSTER
    if (s->optional.cluster.role != ROLE_STANDALONE) check_bus(out, s);
#endif
}
