#include "cli/emulate/sequence.h"

#include "base/rng.h"
#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPEC_MAX = 64 << 10 };

#define ROW(member) FIELD(struct sequence_phase, member)

static const struct field KEYS[] = {
    {"name", "NAME", "name of the phase", ROW(name)},
    {"viewers", "N", "number of viewers", ROW(viewers), .lo = 1, .hi = 1e6},
    {"at-once", "N", "viewers at the same time", ROW(at_once), .lo = 1, .hi = 1e4},
    {"kind", "A,B", "kinds of generated links", ROW(kinds)},
    {"traces", "DIR,..", "folders of traces", ROW(traces)},
    {"part", "NAME", "part of the traces", ROW(setup.part)},
    {"links", "N", "generated links of each kind", ROW(links), .lo = 1, .hi = 1e5},
    {"seconds", "S", "length of generated links", ROW(seconds), .lo = 10, .hi = 1e5},
    {"video", "PATH", "video", ROW(setup.video)},
    {"ladder", "KBPS,..", "bitrates of a generated video", ROW(setup.ladder)},
    {"chunk-s", "S", "chunk length of a generated video", ROW(setup.chunk_s), .lo = 0,
     .hi = 10},
    {"chunks", "N", "chunks of a generated video", ROW(setup.chunks), .lo = 0, .hi = 1e5},
    {"spread", "SIGMA", "spread of a generated video's sizes", ROW(setup.spread),
     .lo = -1, .hi = 1},
    {"profile", "A:X,..", "profiles and their shares", ROW(profiles)},
    {"weights", "NAME=X,..", "weights of a profile 'custom'", ROW(setup.weights)},
    {"mu", "Q,W,S", "weights of a profile 'custom' in the papers' form", ROW(setup.mu)},
    {"no-hint", "SHARE", "viewers without a hint", ROW(no_hint), .lo = 0, .hi = 1},
    {"label", "SHARE", "of these: name their profile at the end", ROW(label), .lo = 0,
     .hi = 1},
    {"drift", "ROUNDS", "cycles of the mix of profiles", ROW(drift), .lo = 0, .hi = 1e4},
    {"contents", "N", "number of contents", ROW(contents), .lo = 0, .hi = 1e6},
    {"liars", "SHARE", "viewers that report false measurements", ROW(liars), .lo = 0,
     .hi = 1},
    {"lie", "HOW", "up, down or noise", ROW(lie)},
    {"one-address", NULL, "all liars have the same address", ROW(one_address)},
    {"explore-keys", NULL, "liars choose session keys that explore", ROW(explore_keys)},
    {0}};

/* Puts the phase in front of the field: "phase 2: viewers 0 is not within ..." */
static int sequence_fail(struct err *e, const struct sequence_phase *p, int number)
{
    struct err was = *e;
    const char *key = was.field;
    while (*key == '-')
        key++;
    char where[64];
    int code = was.code ? was.code : ERR_INVALID;
    snprintf(where, sizeof where, "--sequence phase %d%s%s%s", number,
             isdigit((unsigned char)*p->name) ? "" : " (",
             isdigit((unsigned char)*p->name) ? "" : p->name,
             isdigit((unsigned char)*p->name) ? "" : ")");
    *e = (struct err){0};
    return err_field(e, code, where, "%s%s%s", key, *key ? ": " : "", was.detail);
}

/* One word of a phase. */
static int read_key(struct sequence_phase *p, char *word, struct err *e)
{
    char *value = strchr(word, '=');
    size_t n = value ? (size_t)(value - word) : strlen(word);
    const struct field *row = field_find(KEYS, word, n);
    if (!row) {
        word[n] = 0;
        const char *near = field_nearest(KEYS, word);
        return err_field(e, ERR_INVALID, word, "there is no such key%s%s",
                         near ? "; did you mean " : "", near ? near : "");
    }
    if (!value && row->type != FIELD_FLAG)
        return err_field(e, ERR_INVALID, row->name, "needs a value: %s=%s", row->name,
                         row->arg);
    struct field bound[FIELD_TABLE_MAX + 1] = {{0}};
    const struct field one[] = {*row, {0}};
    field_bind(bound, one, p);
    return field_read(&bound[0], value ? value + 1 : NULL, false, e);
}

static int read_phase(struct sequence *s, char *text,
                      const struct sequence_phase *otherwise, struct err *e)
{
    char *rest = NULL, *word = strtok_r(text, " \t\r", &rest);
    if (!word) return 0;
    if (s->n == SEQUENCE_PHASES)
        return err_field(e, ERR_FULL, "--sequence", "more than %d phases",
                         SEQUENCE_PHASES);
    struct sequence_phase *p = &s->phase[s->n++];
    *p = *otherwise;
    p->kinds.n = p->traces.n = 0;
    snprintf(p->name, sizeof p->name, "%d", s->n);
    for (; word; word = strtok_r(NULL, " \t\r", &rest)) {
        int rc = read_key(p, word, e);
        if (rc) return sequence_fail(e, p, s->n);
    }
    if (!p->kinds.n && !p->traces.n) {
        p->kinds = otherwise->kinds;
        p->traces = otherwise->traces;
    }
    if (p->liars > 0 || (!p->one_address && !p->explore_keys)) return 0;
    err_field(e, ERR_CONFLICT, p->one_address ? "one-address" : "explore-keys",
              "needs liars=SHARE");
    return sequence_fail(e, p, s->n);
}

static void drop_comments(char *text)
{
    for (char *at = text; *at; at++)
        if (*at == '#' && (at == text || isspace((unsigned char)at[-1]) || at[-1] == ';'))
            while (*at && *at != '\n')
                *at++ = ' ';
}

int sequence_read(struct sequence *out, const char *spec,
                  const struct sequence_phase *otherwise, struct err *e)
{
    *out = (struct sequence){0};
    if (strchr(spec, '=')) {
        out->text = strdup(spec);
        if (!out->text) return err_set(e, ERR_MEMORY, "out of memory");
    } else {
        out->text = text_read_file(spec, SPEC_MAX, NULL, e);
        if (!out->text) return e->code;
    }
    drop_comments(out->text);

    char *rest = NULL;
    for (char *phase = strtok_r(out->text, ";\n", &rest); phase;
         phase = strtok_r(NULL, ";\n", &rest)) {
        int rc = read_phase(out, phase, otherwise, e);
        if (rc) return rc;
    }
    if (out->n) return 0;
    return err_field(e, ERR_INVALID, "--sequence", "'%.40s' has no phase", spec);
}

void sequence_free(struct sequence *s)
{
    free(s->text);
    s->text = NULL;
    s->n = 0;
}

/* ---- profiles ---- */

/* "live:2" in two; share 0: none is stated. name (64). */
static int split_share(char *name, double *share, const char *item, struct err *e)
{
    size_t n = strcspn(item, ":");
    *share = 0;
    if (n >= 64) n = 63;
    memcpy(name, item, n);
    name[n] = 0;
    return item[n] ? text_double(share, item + n + 1, 1e-6, 1e6, "--profile", e) : 0;
}

static void take_profile(struct viewers_profile *p, const struct setup_profile *found,
                         double share)
{
    *p = (struct viewers_profile){.qoe = found->qoe, .share = share};
    memcpy(p->name, found->name, sizeof found->name);
    /* a name means the daemon's weights; everything else is sent as weights */
    const struct qoe_profile *named = qoe_find(p->name);
    p->custom = !named || !qoe_same(&named->qoe, &p->qoe);
}

int sequence_profiles(struct viewers_cfg *out, const struct setup *setup,
                      const struct field_list *names, struct err *e)
{
    struct setup s = *setup;
    double untagged = -1, share[SETUP_PROFILES], stated = 0;
    char name[FIELD_LIST_MAX][64];
    out->n_profiles = 0;
    if (names->n > SETUP_PROFILES)
        return err_field(e, ERR_FULL, "--profile", "more than %d", SETUP_PROFILES);
    for (int i = 0; i < names->n; i++) {
        double x = 0;
        int rc = split_share(name[i], &x, names->item[i], e);
        if (rc) return rc;
        stated += x;
        x = x > 0 ? x : 1;
        if (strcmp(name[i], VIEWERS_HINTLESS) == 0) {
            untagged = x;
            continue;
        }
        share[s.profiles.n] = x;
        s.profiles.item[s.profiles.n++] = name[i];
    }
    bool custom = s.mu || s.weights.n;
    int n = 0;
    for (int i = 0; i < s.profiles.n; i++) {
        /* one name at a time: "all" stands for several, which divide the share */
        struct setup one = s;
        struct setup_profile found[SETUP_PROFILES];
        one.profiles.n = 1;
        one.profiles.item[0] = s.profiles.item[i];
        one.mu = NULL;
        one.weights.n = 0;
        int many = setup_profiles(found, &one, "all", e);
        if (many < 0) return many;
        for (int k = 0; k < many; k++) {
            if (n == VIEWERS_PROFILES - 2)
                return err_field(e, ERR_FULL, "--profile", "more than %d",
                                 VIEWERS_PROFILES - 2);
            for (int j = 0; j < n; j++)
                if (strcmp(out->profile[j].name, found[k].name) == 0)
                    return err_field(e, ERR_CONFLICT, "--profile", "'%s' is given twice",
                                     found[k].name);
            take_profile(&out->profile[n++], &found[k], share[i] / many);
        }
    }
    if (!s.profiles.n && (untagged < 0 || custom)) {
        struct setup_profile found[SETUP_PROFILES];
        int many = setup_profiles(found, &s, "all", e);
        if (many < 0) return many;
        for (int k = 0; k < many; k++)
            take_profile(&out->profile[n++], &found[k], 1);
    } else if (custom) {
        struct setup one = s;
        struct setup_profile found[SETUP_PROFILES];
        one.profiles.n = 0;
        int many = setup_profiles(found, &one, "all", e);
        if (many < 0) return many;
        take_profile(&out->profile[n++], &found[0], 1);
    }
    if (untagged >= 0)
        out->profile[n++] =
            (struct viewers_profile){.qoe = *qoe_standard(), .share = untagged};
    out->n_profiles = n;
    /* an even mix goes round instead of being drawn */
    for (int i = 0; i < n && stated <= 0; i++)
        out->profile[i].share = 0;
    return 0;
}

/* ---- links ---- */

static int append_links(struct corpus *to, struct corpus *from, struct err *e)
{
    size_t n = (size_t)(to->n + from->n);
    struct trace **more = realloc(to->traces, n * sizeof(struct trace *));
    if (!more) return err_set(e, ERR_MEMORY, "no memory for %zu traces", n);
    to->traces = more;
    memcpy(to->traces + to->n, from->traces, (size_t)from->n * sizeof(struct trace *));
    to->n = (int)n;
    from->n = 0;
    size_t used = strlen(to->name);
    snprintf(to->name + used, sizeof to->name - used, "%s%s", used ? "+" : "",
             from->name);
    return 0;
}

static void shuffle_links(struct corpus *c, uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, 0x5e9);
    for (int i = c->n - 1; i > 0; i--) {
        int k = (int)rng_below(&r, (uint32_t)i + 1);
        struct trace *t = c->traces[i];
        c->traces[i] = c->traces[k];
        c->traces[k] = t;
    }
}

static struct corpus *load_links(const struct sequence_phase *p, uint64_t seed,
                                 struct err *e)
{
    struct corpus *all = calloc(1, sizeof *all);
    if (!all) {
        err_set(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    int rc = 0, sources = p->kinds.n + p->traces.n;
    for (int i = 0; i < (sources ? sources : 1) && !rc; i++) {
        struct setup s = p->setup;
        struct corpus *one;
        if (i < p->kinds.n) {
            one = corpus_generate(p->kinds.item[i], p->links, p->seconds, seed, e);
            if (!one) {
                struct err was = *e;
                *e = (struct err){0};
                err_field(e, was.code, "kind", "%s", was.detail);
            }
        } else {
            if (sources) s.traces = p->traces.item[i - p->kinds.n];
            one = setup_corpus(&s, e);
        }
        rc = one ? append_links(all, one, e) : e->code;
        corpus_free(one);
    }
    if (rc) {
        corpus_free(all);
        return NULL;
    }
    if (sources > 1) shuffle_links(all, seed);
    return all;
}

int sequence_load(struct sequence_world *out, const struct sequence *s, int i,
                  uint64_t seed, struct err *e)
{
    const struct sequence_phase *p = &s->phase[i];
    *out = (struct sequence_world){0};
    struct viewers_cfg *c = &out->crowd;
    int rc = sequence_profiles(c, &p->setup, &p->profiles, e);
    if (!rc && viewers_lie_parse(&c->lie, p->lie, e)) {
        struct err was = *e;
        *e = (struct err){0};
        rc = err_field(e, ERR_INVALID, "lie", "%s", was.detail);
    }
    if (!rc) {
        out->corpus = load_links(p, seed, e);
        if (out->corpus) out->video = setup_video(&p->setup, e);
        if (!out->video) rc = e->code;
    }
    if (rc) {
        sequence_unload(out);
        return sequence_fail(e, p, i + 1);
    }
    c->viewers = p->viewers;
    c->at_once = p->at_once;
    c->seed = seed;
    c->emu = setup_emu(&p->setup);
    c->corpus = out->corpus;
    c->video = out->video;
    c->no_hint = p->no_hint;
    c->label = p->label;
    c->drift = p->drift;
    c->contents = p->contents;
    c->liars = p->liars;
    c->one_address = p->one_address;
    c->explore_keys = p->explore_keys;
    for (int k = 0; k < i; k++)
        c->first_key += (uint64_t)s->phase[k].viewers;
    return 0;
}

void sequence_unload(struct sequence_world *w)
{
    video_free(w->video);
    corpus_free(w->corpus);
    *w = (struct sequence_world){0};
}
