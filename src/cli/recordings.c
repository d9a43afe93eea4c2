#include "cli/recordings.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "abr/compare.h"
#include "base/siphash.h"
#include "base/text.h"
#include "cli/home.h"
#include "cli/out.h"
#include "serve/store/store_sqlite.h"
#include "serve/trial/trial_cfg.h"

enum { PATH_BYTES = 560 };

struct recordings_cfg recordings_cfg_default(void)
{
    return (struct recordings_cfg){
        .rtt_ms = emu_cfg_default().rtt_s * 1000, .least = RECORDED_LEAST, .max = 2000};
}

const char *recordings_option(const struct recordings_cfg *c)
{
    const struct recordings_cfg usual = recordings_cfg_default();
    const struct {
        bool given;
        const char *name;
    } all[] = {{c->arms.n, "arm"},
               {c->networks.n, "network"},
               {c->labels.n, "label"},
               {c->since, "since"},
               {c->until, "until"},
               {c->content, "content"},
               {c->trial, "trial"},
               {c->decides.n, "decides"},
               {c->least != usual.least, "least"},
               {c->max != usual.max, "sessions-max"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].given) return all[i].name;
    return NULL;
}

/* ---- paths ---- */

/* Of a file next to the store. */
static int data_path(char out[PATH_BYTES], const char *data, const char *file,
                     struct err *e)
{
    struct stat st;
    bool folder = !stat(data, &st) && S_ISDIR(st.st_mode);
    const char *slash = strrchr(data, '/');
    int n = folder ? snprintf(out, PATH_BYTES, "%s/%s", data, file)
            : slash
                ? snprintf(out, PATH_BYTES, "%.*s/%s", (int)(slash - data), data, file)
                : snprintf(out, PATH_BYTES, "%s", file);
    bool store = !folder && strcmp(file, "abrd.db") == 0;
    if (store) n = snprintf(out, PATH_BYTES, "%s", data);
    return n < PATH_BYTES ? 0 : err_field(e, ERR_RANGE, data, "the path is too long");
}

void recordings_published(char *out, size_t size, const char *data)
{
    char path[PATH_BYTES], shipped[HOME_PATH];
    *out = '\0';
    if (!data_path(path, data, "policy.safetensors", NULL) && !access(path, R_OK))
        snprintf(out, size, "moe:%s", path);
    else if (!home_find(shipped, HOME_POLICY, NULL))
        snprintf(out, size, "moe:%s", shipped);
}

/* ---- filters ---- */

static int read_time(double *out, const char *text, const char *option, struct err *e)
{
    static const char *const FORMS[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
                                        "%Y-%m-%d"};
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        struct tm tm = {0};
        const char *end = strptime(text, FORMS[i], &tm);
        if (!end || *end) continue;
        *out = (double)timegm(&tm);
        return 0;
    }
    if (!text_double(out, text, 0, 1e11, option, NULL)) return 0;
    return err_field(
        e, ERR_INVALID, option,
        "'%.40s' must be a date as 2026-11-01, a time as 2026-11-01T18:00, or "
        "seconds since 1970",
        text);
}

static bool list_has(const struct field_list *l, const char *name)
{
    for (int i = 0; i < l->n; i++)
        if (!strcmp(l->item[i], name)) return true;
    return !l->n;
}

struct wanted {
    uint64_t rank;
    int64_t place; /* in the order of opening */
    uint8_t id[TRACK_ID];
};

struct load {
    struct recordings *out;
    const struct recordings_cfg *cfg;
    const struct store *store;
    double since, until;
    struct labels labels;
    int n, cap;
    struct wanted *wanted; /* (n) owned */
    double newest;         /* opening of the newest session of a trial */
};

static int load_filters(struct load *l, struct err *e)
{
    const struct recordings_cfg *c = l->cfg;
    l->since = 0;
    l->until = HUGE_VAL;
    for (int i = 0; i < c->networks.n; i++) {
        int k = 0;
        while (compare_networks[k] && strcmp(compare_networks[k], c->networks.item[i]))
            k++;
        if (!compare_networks[k])
            return err_field(e, ERR_INVALID, "--network",
                             "'%.40s' is not unknown, slow, middle or fast",
                             c->networks.item[i]);
    }
    int rc = c->since ? read_time(&l->since, c->since, "--since", e) : 0;
    if (!rc && c->until) rc = read_time(&l->until, c->until, "--until", e);
    for (int i = 0; i < c->labels.n && !rc; i++)
        rc = labels_read(&l->labels, c->labels.item[i], "--label", e);
    return rc;
}

static bool load_wants(const struct load *l, const struct track_row *row)
{
    const struct recordings_cfg *c = l->cfg;
    bool of_trial = !strcmp(row->arm.trial, l->out->trial);
    if (row->opened_at < l->since || row->opened_at >= l->until) return false;
    if (c->content && strcmp(c->content, row->content_id)) return false;
    if (!list_has(&c->profiles, row->profile)) return false;
    if (!labels_fit(&row->labels, &l->labels)) return false;
    if (c->arms.n && (!of_trial || !list_has(&c->arms, row->arm.name))) return false;
    return !c->networks.n ||
           (row->arm.trial[0] &&
            list_has(&c->networks,
                     compare_networks[row->arm.network % COMPARE_NETWORKS]));
}

static int see_trial(void *ctx, const struct track_row *row, struct err *e)
{
    (void)e;
    struct load *l = ctx;
    if (!row->arm.trial[0] || row->opened_at < l->newest) return 0;
    l->newest = row->opened_at;
    snprintf(l->out->trial, sizeof l->out->trial, "%s", row->arm.trial);
    return 0;
}

static int see_session(void *ctx, const struct track_row *row, struct err *e)
{
    static const uint8_t KEY[SIPHASH_KEY] = {'s', 'a', 'm', 'p', 'l', 'e'};
    struct load *l = ctx;
    int64_t place = l->out->stored++;
    if (!load_wants(l, row)) {
        l->out->filtered++;
        return 0;
    }
    if (!row->closed) {
        l->out->running++;
        return 0;
    }
    if (l->n == l->cap) {
        int cap = l->cap ? 2 * l->cap : 1024;
        struct wanted *more = realloc(l->wanted, (size_t)cap * sizeof *more);
        if (!more) return err_set(e, ERR_MEMORY, "no memory for %d sessions", cap);
        l->wanted = more;
        l->cap = cap;
    }
    struct wanted *w = &l->wanted[l->n++];
    *w = (struct wanted){siphash(KEY, row->id, TRACK_ID), place, {0}};
    memcpy(w->id, row->id, TRACK_ID);
    return 0;
}

static int by_rank(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_place(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

/* ---- arms ---- */

static int arm_place(struct recordings *s, const char *name)
{
    for (int i = 0; i < s->arms; i++)
        if (!strcmp(s->arm[i].name, name)) return i;
    if (s->arms == COMPARE_ARMS) return -1;
    s->arm[s->arms] = (struct recordings_arm){0};
    snprintf(s->arm[s->arms].name, sizeof s->arm->name, "%s", name);
    return s->arms++;
}

static void arm_decides(struct recordings_arm *a, const char *decides, const char *data)
{
    a->known = !a->reweighted;
    a->policy[0] = '\0';
    if (a->reweighted || !strcmp(decides, "player")) return;
    if (!strcmp(decides, "abrd")) {
        recordings_published(a->policy, sizeof a->policy, data);
        a->known = a->policy[0];
    } else if (!strncmp(decides, "abrd:", 5)) {
        snprintf(a->policy, sizeof a->policy, "moe:%s", decides + 5);
    } else {
        snprintf(a->policy, sizeof a->policy, "%s", decides);
    }
}

static int read_plan(struct recordings *s, const struct recordings_cfg *c, struct err *e)
{
    char path[PATH_BYTES], *text = NULL;
    struct trial_saved t;
    struct trial_plan plan = {.arms = 0};
    int rc = data_path(path, c->data, "trial.state", e);
    if (rc || access(path, F_OK)) return rc;
    rc = trial_saved_read(&t, &text, path, e);
    if (!rc && t.name && (!c->trial || !strcmp(c->trial, t.name)))
        rc = trial_saved_plan(&plan, &t, e);
    for (int i = 0; i < plan.arms; i++) {
        struct recordings_arm *a = &s->arm[arm_place(s, plan.arm[i].name)];
        a->reweighted = trial_plan_reweighted(&plan, i);
        arm_decides(a, plan.arm[i].decides, c->data);
    }
    if (!rc && plan.arms) snprintf(s->trial, sizeof s->trial, "%s", plan.name);
    free(text);
    return rc;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (!strcmp(a, b)) return true;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int recordings_check_unused(const char *data, const char *file, struct err *e)
{
    char path[PATH_BYTES], *text = NULL;
    struct trial_saved t;
    struct trial_plan plan = {.arms = 0};
    int rc = data_path(path, data, "trial.state", e);
    if (rc || access(path, F_OK)) return rc;
    rc = trial_saved_read(&t, &text, path, e);
    if (!rc && t.name && t.phase != TRIAL_ENDED) rc = trial_saved_plan(&plan, &t, e);
    for (int i = 0; i < plan.arms && !rc; i++) {
        const struct trial_arm *a = &plan.arm[i];
        if (!strncmp(a->decides, "abrd:", 5) && same_file(a->decides + 5, file))
            rc = err_field(e, ERR_CONFLICT, "--out",
                           "%s decides for the arm %s of the trial %s: give another file",
                           file, a->name, plan.name);
    }
    free(text);
    return rc;
}

static int read_decides(struct recordings *s, const struct recordings_cfg *c,
                        struct err *e)
{
    for (int i = 0; i < c->decides.n; i++) {
        char name[SERVICE_TRIAL] = "";
        const char *item = c->decides.item[i], *is = strchr(item, '=');
        size_t n = is ? (size_t)(is - item) : 0;
        if (!n || n >= sizeof name || !is[1])
            return err_field(e, ERR_INVALID, "--decides",
                             "'%.60s' must be ARM=POLICY, for example old=player", item);
        memcpy(name, item, n);
        int at = arm_place(s, name);
        if (at < 0)
            return err_field(e, ERR_FULL, "--decides", "more than %d arms", COMPARE_ARMS);
        arm_decides(&s->arm[at], is + 1, c->data);
    }
    return 0;
}

/* ---- sessions ---- */

static void chunk_of(struct recorded_chunk *c, const struct track_row *row,
                     const struct step *s)
{
    *c = (struct recorded_chunk){
        .chunk = s->chunk,
        .level = s->level,
        .bytes = s->bytes,
        .download_s = s->download_s,
        .stall_s = s->rebuffer_s,
        .buffer_s = s->flags & STEP_DECIDED ? s->buffer_s : (double)NAN,
        .reward = s->reward,
        .reported = (s->flags & STEP_REPORTED) && s->level >= 0 && s->level < row->levels,
        .sampled = s->flags & STEP_SAMPLED,
        .followed = s->flags & STEP_FOLLOWED,
        .logp = (double)s->logp,
    };
    track_points(c->points, row, s);
    for (int k = 0; k < row->levels; k++)
        c->next_bytes[k] = s->next_bytes[k];
}

static struct recorded_terms terms_of(const struct load *l, const struct track_row *row,
                                      int64_t place)
{
    struct recorded_terms t = {.levels = row->levels,
                               .chunks = row->chunks,
                               .chunk_s = row->chunk_s,
                               .buffer_max_s = row->buffer_max_s,
                               .qoe = row->qoe,
                               .rtt_s = l->cfg->rtt_ms / 1000,
                               .key = row->key,
                               .least = l->cfg->least};
    snprintf(t.name, sizeof t.name, "session-%06lld", (long long)place);
    memcpy(t.ladder_kbps, row->ladder_kbps, sizeof t.ladder_kbps);
    memcpy(t.points, row->points, sizeof t.points);
    return t;
}

static int load_one(struct load *l, const struct wanted *w, struct err *e)
{
    struct track_row row;
    struct step *steps = NULL;
    struct recordings *s = l->out;
    int n = 0;
    int rc = l->store->history(l->store->self, &row, &(double){0}, &steps, &n, w->id, 0,
                               RECORDED_MOST + 1, e);
    struct recorded_chunk *chunk = rc ? NULL : malloc(((size_t)n + 1) * sizeof *chunk);
    if (!rc && !chunk) rc = err_set(e, ERR_MEMORY, "no memory for %d chunks", n);
    for (int i = 0; i < n && !rc; i++)
        chunk_of(&chunk[i], &row, &steps[i]);
    struct recorded *r = &s->at[s->n];
    const struct recorded_terms terms =
        rc ? (struct recorded_terms){0} : terms_of(l, &row, w->place);
    int why = rc ? rc : recorded_make(r, &terms, chunk, n, e);
    if (why >= 0) s->why[why]++;
    if (why == RECORDED_OK) {
        r->explores = row.explores;
        snprintf(s->profile[s->n++], SERVICE_NAME, "%s", row.profile);
        if (s->trial[0] && !strcmp(row.arm.trial, s->trial) &&
            row.arm.assigned == TRACK_COUNTED)
            r->arm = arm_place(s, row.arm.name);
        if (r->arm >= 0) s->arm[r->arm].n++;
    }
    free(chunk);
    free(steps);
    return why < 0 ? why : 0;
}

static int load_all(struct load *l, struct err *e)
{
    struct recordings *s = l->out;
    int rc = load_filters(l, e);
    if (!rc) rc = read_plan(s, l->cfg, e);
    if (!rc && l->cfg->trial) snprintf(s->trial, sizeof s->trial, "%s", l->cfg->trial);
    if (!rc && !s->trial[0]) rc = store_sqlite_sessions(l->store, see_trial, l, e);
    if (!rc) rc = read_decides(s, l->cfg, e);
    if (!rc) rc = store_sqlite_sessions(l->store, see_session, l, e);
    if (rc) return rc;
    if (l->n > l->cfg->max) {
        qsort(l->wanted, (size_t)l->n, sizeof *l->wanted, by_rank);
        s->unsampled = l->n - l->cfg->max;
        l->n = l->cfg->max;
        qsort(l->wanted, (size_t)l->n, sizeof *l->wanted, by_place);
    }
    s->at = calloc((size_t)l->n + 1, sizeof *s->at);
    s->profile = calloc((size_t)l->n + 1, sizeof *s->profile);
    if (!s->at || !s->profile)
        return err_set(e, ERR_MEMORY, "no memory for %d sessions", l->n);
    for (int i = 0; i < l->n && !rc; i++)
        rc = load_one(l, &l->wanted[i], e);
    if (rc || s->n) return rc;
    return err_field(e, ERR_ABSENT, l->cfg->data,
                     "has no usable session: of %lld, %lld are left out by the filters, "
                     "%lld run, %lld are too short, %lld have holes, %lld have no start, "
                     "%lld were not measured",
                     (long long)s->stored, (long long)s->filtered, (long long)s->running,
                     (long long)s->why[RECORDED_SHORT], (long long)s->why[RECORDED_HOLE],
                     (long long)s->why[RECORDED_LATE], (long long)s->why[RECORDED_EMPTY]);
}

int recordings_load(struct recordings *out, const struct recordings_cfg *cfg,
                    struct err *e)
{
    *out = (struct recordings){.n = 0};
    char path[PATH_BYTES];
    struct store store = {0};
    struct load l = {.out = out, .cfg = cfg, .store = &store};
    int rc = data_path(path, cfg->data, "abrd.db", e);
    if (!rc) rc = store_sqlite_read(&store, path, e);
    if (!rc) rc = load_all(&l, e);
    if (store.free) store.free(store.self);
    free(l.wanted);
    if (rc) recordings_free(out);
    return rc;
}

void recordings_free(struct recordings *s)
{
    for (int i = 0; i < s->n; i++)
        recorded_free(&s->at[i]);
    free(s->at);
    free(s->profile);
    *s = (struct recordings){.n = 0};
}

/* ---- figures of all sessions ---- */

static int see_figures(void *ctx, const struct track_row *row, struct err *e)
{
    (void)e;
    struct compare_ended ended = trial_ended_of(row);
    if (row->closed) compare_end(ctx, 0, 0, &ended);
    return 0;
}

int recordings_figures(struct compare_cell out[COMPARE_FIGURES], const char *data,
                       struct err *e)
{
    char path[PATH_BYTES];
    struct store store = {0};
    struct compare *all = malloc(sizeof *all);
    if (!all) return err_set(e, ERR_MEMORY, "no memory for the sessions' figures");
    struct compare_cfg cfg = compare_cfg_default();
    cfg.arms = 2;
    cfg.share[0] = cfg.share[1] = .5;
    compare_init(all, &cfg);
    int rc = data_path(path, data, "abrd.db", e);
    if (!rc) rc = store_sqlite_read(&store, path, e);
    if (!rc) rc = store_sqlite_sessions(&store, see_figures, all, e);
    if (!rc && !compare_analysed(&all->arm[0]))
        rc = err_field(e, ERR_ABSENT, data, "has no session that ended");
    if (!rc) memcpy(out, all->arm[0].cell[0], sizeof all->arm[0].cell[0]);
    if (store.free) store.free(store.self);
    free(all);
    return rc;
}

/* ---- for people ---- */

void recordings_say(struct out *o, const struct recordings *s, const char *data)
{
    char text[400] = "";
    size_t n = 0;
    const struct {
        int64_t count;
        const char *what;
    } rows[] = {{s->filtered, "left out by the filters"},
                {s->running, "still running"},
                {s->unsampled, "outside of the sample"},
                {s->why[RECORDED_SHORT], recorded_whys[RECORDED_SHORT]},
                {s->why[RECORDED_HOLE], recorded_whys[RECORDED_HOLE]},
                {s->why[RECORDED_LATE], recorded_whys[RECORDED_LATE]},
                {s->why[RECORDED_EMPTY], recorded_whys[RECORDED_EMPTY]},
                {s->why[RECORDED_LIMITS], recorded_whys[RECORDED_LIMITS]}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].count)
            n += (size_t)snprintf(text + n, sizeof text - n, ", %lld %s",
                                  (long long)rows[i].count, rows[i].what);
    out_say(o, "%s: %lld sessions, %d used%s", data, (long long)s->stored, s->n, text);
}

/* ---- the mix ---- */

static void mix_row(char *out, size_t size, const struct recordings *s, int i)
{
    const struct recorded *r = &s->at[i];
    size_t n = (size_t)snprintf(out, size, "%s,", s->profile[i]);
    for (int k = 0; k < r->terms.levels; k++)
        n += (size_t)snprintf(out + n, size - n, "%s%.10g", k ? " " : "",
                              r->terms.ladder_kbps[k]);
    snprintf(out + n, size - n, ",%.10g,%.10g,%s", r->terms.chunk_s,
             r->terms.buffer_max_s, r->arm >= 0 ? s->arm[r->arm].name : "");
}

enum { MIX_ROW = 1024 };

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

int recordings_mix(const struct recordings *s, const char *path, struct err *e)
{
    static const char HEAD[] = "sessions,profile,ladder_kbps,chunk_s,buffer_max_s,arm\n";
    char(*row)[MIX_ROW] = calloc((size_t)s->n, sizeof *row);
    size_t size = (size_t)s->n * (MIX_ROW + 16) + sizeof HEAD, n = 0;
    char *text = row ? malloc(size) : NULL;
    if (!text) {
        free(row);
        return err_set(e, ERR_MEMORY, "no memory for %d sessions", s->n);
    }
    for (int i = 0; i < s->n; i++)
        mix_row(row[i], MIX_ROW, s, i);
    qsort(row, (size_t)s->n, sizeof *row, by_text);
    n += (size_t)snprintf(text, size, "%s", HEAD);
    for (int i = 0, same = 1; i < s->n; i++, same++) {
        if (i + 1 < s->n && !strcmp(row[i], row[i + 1])) continue;
        n += (size_t)snprintf(text + n, size - n, "%d,%s\n", same, row[i]);
        same = 0;
    }
    int rc = text_write_file(path, text, n, e);
    free(text);
    free(row);
    return rc;
}
