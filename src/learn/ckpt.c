#include "learn/ckpt.h"

#include "base/text.h"
#include "learn/safetensors.h"
#include "nn/mlp.h"
#include "policy/parts.h"

#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char FORMAT[] = "abrd-1", FORMAT_ADDED[] = "abrd-grown-1";

/* ---- metadata */

static const char *const RESERVED[] = {
    "format",      "obs_dim",       "actions",        "hidden",       "layers",
    "route",       "critic_hidden", "critic_experts", "critic_route", "experts",
    "crc32",       "version",       "ret_mean",       "ret_std",      "actor_busy",
    "critic_busy", "prior_at",      "prior_stride",   "prior_gain",   "input_n",
    "input_of",
};

static bool is_reserved(const char *key)
{
    for (size_t i = 0; i < sizeof RESERVED / sizeof *RESERVED; i++)
        if (strcmp(key, RESERVED[i]) == 0) return true;
    return strncmp(key, "graft_", 6) == 0;
}

void ckpt_meta_set(struct ckpt_meta *m, const char *key, const char *fmt, ...)
{
    int i = 0;
    while (i < m->n && strcmp(m->key[i], key) != 0)
        i++;
    assert(i < CKPT_META_MAX && strlen(key) < sizeof m->key[i]);
    if (i == m->n) strcpy(m->key[m->n++], key);

    char raw[2 * sizeof m->value[i]];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    text_clean(m->value[i], sizeof m->value[i], raw);
}

const char *ckpt_meta_get(const struct ckpt_meta *m, const char *key)
{
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->key[i], key) == 0) return m->value[i];
    return NULL;
}

static int add_u64(json_t *meta, const char *key, uint64_t value, struct err *e)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return safetensors_add_text(meta, key, text, e);
}

/* Adds nothing when all experts are idle, as in most files. */
static int add_busy(json_t *meta, const char *key, uint64_t busy, struct err *e)
{
    return busy ? add_u64(meta, key, busy, e) : 0;
}

static int add_input(json_t *meta, const struct policy *p, struct err *e)
{
    int rc = p->input_n ? safetensors_add_number(meta, "input_n", p->input_n, e) : 0;
    return !rc && p->input_n ? add_u64(meta, "input_of", p->input_of, e) : rc;
}

static int add_policy(json_t *meta, const struct policy *p, struct err *e)
{
    const struct policy_cfg *c = &p->cfg;
    int rc = safetensors_add_number(meta, "obs_dim", c->obs_dim, e);
    if (!rc) rc = safetensors_add_number(meta, "actions", c->actions, e);
    if (!rc) rc = safetensors_add_number(meta, "hidden", c->hidden, e);
    if (!rc) rc = safetensors_add_number(meta, "layers", c->layers, e);
    if (!rc) rc = safetensors_add_number(meta, "experts", c->experts, e);
    if (!rc) rc = safetensors_add_text(meta, "route", mix_route_word(c->route), e);
    if (!rc) rc = safetensors_add_number(meta, "critic_hidden", c->critic_hidden, e);
    if (!rc) rc = safetensors_add_number(meta, "critic_experts", c->critic_experts, e);
    if (!rc)
        rc = safetensors_add_text(meta, "critic_route", mix_route_word(c->critic_route),
                                  e);
    if (!rc && c->prior.gain) {
        rc = safetensors_add_number(meta, "prior_at", c->prior.at, e);
        if (!rc) rc = safetensors_add_number(meta, "prior_stride", c->prior.stride, e);
        if (!rc) rc = safetensors_add_number(meta, "prior_gain", c->prior.gain, e);
    }
    if (!rc) rc = add_u64(meta, "version", p->version, e);
    if (!rc) rc = safetensors_add_number(meta, "ret_mean", (double)p->ret_mean, e);
    if (!rc) rc = safetensors_add_number(meta, "ret_std", (double)p->ret_std, e);
    if (!rc) rc = add_busy(meta, "actor_busy", p->actor->busy, e);
    if (!rc) rc = add_busy(meta, "critic_busy", p->critic->busy, e);
    return rc ? rc : add_input(meta, p, e);
}

static bool is_clean(const char *text)
{
    char clean[sizeof(struct ckpt_meta){0}.value[0]];
    text_clean(clean, sizeof clean, text);
    return strcmp(clean, text) == 0;
}

static int add_caller(json_t *meta, const struct ckpt_meta *from, struct err *e)
{
    for (int i = 0; from && i < from->n; i++) {
        if (is_reserved(from->key[i]))
            return err_field(e, ERR_INVALID, from->key[i],
                             "the metadata key is one of the checkpoint's own");
        if (!is_clean(from->key[i]) || !is_clean(from->value[i]))
            return err_field(e, ERR_INVALID, from->key[i],
                             "the metadata is not printable UTF-8");
        int rc = safetensors_add_text(meta, from->key[i], from->value[i], e);
        if (rc) return rc;
    }
    return 0;
}

static int need_meta(struct ckpt_meta *out, const struct safetensors *f, struct err *e)
{
    const char *key;
    json_t *value;
    out->n = 0;
    json_object_foreach((json_t *)f->meta, key, value)
    {
        const char *text = json_string_value(value);
        if (is_reserved(key)) continue;
        if (out->n == CKPT_META_MAX || strlen(key) >= sizeof out->key[0] ||
            strlen(text) >= sizeof out->value[0])
            return err_field(e, ERR_RANGE, f->what,
                             "metadata '%.40s' is too long, or one of more than %d", key,
                             CKPT_META_MAX);
        text_clean(out->key[out->n], sizeof out->key[0], key);
        text_clean(out->value[out->n++], sizeof out->value[0], text);
    }
    return 0;
}

/* ---- tensors */

static int added_count(const struct norga_cfg *c)
{
    return 3 + 2 * (c->layers + 1) * c->experts;
}

/* Lists the tensors of one network's added experts, from t on; g NULL: names and shapes alone. Returns
 * their number. */
static int list_added(struct safetensors_tensor *t, const char *who,
                      const struct norga_cfg *c, const struct norga *g)
{
    struct mlp_cfg ec = {c->in, c->hidden, c->layers, c->out};
    float *theta = g ? g->theta : NULL;
    size_t scores = norga_scores(c).at, biases = (size_t)c->experts * (size_t)c->in;
    int n = 0;
    t[n++] = (struct safetensors_tensor){.rows = 2, .at = theta};
    t[n++] = (struct safetensors_tensor){
        .rows = c->experts, .cols = c->in, .at = g ? theta + scores : NULL};
    t[n++] = (struct safetensors_tensor){.rows = c->experts,
                                         .at = g ? theta + scores + biases : NULL};
    snprintf(t[0].name, sizeof t[0].name, "%s.shape", who);
    snprintf(t[1].name, sizeof t[1].name, "%s.score.weight", who);
    snprintf(t[2].name, sizeof t[2].name, "%s.score.bias", who);

    for (int j = 0; j < c->experts; j++) {
        size_t at = norga_expert(c, j).at;
        for (int l = 0; l <= c->layers; l++) {
            struct mlp_layer v = mlp_layer(&ec, l);
            t[n] = (struct safetensors_tensor){
                .rows = v.out, .cols = v.in, .at = g ? theta + at + v.w : NULL};
            snprintf(t[n].name, sizeof t[n].name, "%s.new.%d.%d.weight", who, j, l);
            n++;
            t[n] = (struct safetensors_tensor){.rows = v.out,
                                               .at = g ? theta + at + v.b : NULL};
            snprintf(t[n].name, sizeof t[n].name, "%s.new.%d.%d.bias", who, j, l);
            n++;
        }
    }
    assert(n == added_count(c));
    return n;
}

/* The tensors of a policy with so many numbers of input; p NULL: names and shapes alone. *out (*n) owned by
 * the caller. */
static int list_policy(struct safetensors_tensor **out, int *n,
                       const struct policy_cfg *cfg, int input_n, struct policy *p,
                       struct err *e)
{
    bool adds = cfg->added.experts > 0;
    const struct policy_added *a = p ? p->added : NULL;
    struct norga_cfg actor = policy_added_actor_cfg(cfg);
    struct norga_cfg critic = policy_added_critic_cfg(cfg);
    int count = parts_count(cfg),
        more = adds ? added_count(&actor) + added_count(&critic) : 0;
    struct safetensors_tensor *t = calloc((size_t)(count + more + 1), sizeof *t);
    if (!t) return safetensors_no_memory(e);
    struct parts_part part;
    for (int i = 0; parts_get(&part, cfg, i); i++) {
        t[i].rows = part.rows;
        t[i].cols = part.cols;
        t[i].at = p ? parts_view(p, &part) : NULL;
        snprintf(t[i].name, sizeof t[i].name, "%s%s", adds ? "base." : "", part.name);
    }
    if (adds) {
        count += list_added(t + count, "actor", &actor, a ? a->actor : NULL);
        count += list_added(t + count, "critic", &critic, a ? a->critic : NULL);
    }
    if (input_n)
        t[count++] = (struct safetensors_tensor){
            .name = "input", .rows = input_n, .at = p ? p->input : NULL};
    *out = t;
    *n = count;
    return 0;
}

/* ---- writing */

/* A file of such weights could not be loaded, and would replace one that can. */
static int check_finite(const struct policy *p, const struct safetensors_tensor *t,
                        int count, struct err *e)
{
    bool finite = isfinite(p->ret_mean) && isfinite(p->ret_std) && p->ret_std > 0.0f;
    for (int i = 0; i < count; i++) {
        size_t n = (size_t)t[i].rows * (size_t)(t[i].cols ? t[i].cols : 1);
        for (size_t j = 0; j < n; j++)
            finite = finite && isfinite(t[i].at[j]);
    }
    if (finite) return 0;
    return err_set(e, ERR_NUMERIC, "the policy's weights are not finite: not saved");
}

static int add_added(json_t *meta, const struct policy_added *g, struct err *e)
{
    int rc = add_u64(meta, "graft_experts", (uint64_t)g->cfg.added.experts, e);
    if (!rc)
        rc = safetensors_add_text(meta, "graft_gate",
                                  norga_sigma_word(g->cfg.added.sigma), e);
    if (!rc) rc = add_u64(meta, "graft_version", g->version, e);
    if (!rc) rc = add_u64(meta, "graft_learns_shape", g->shape_learns, e);
    if (!rc) rc = add_u64(meta, "graft_base_crc", g->base_crc, e);
    return rc;
}

int ckpt_encode(void **out, size_t *n, const struct policy *p,
                const struct ckpt_meta *meta, const void *extra, size_t extra_n,
                struct err *e)
{
    assert(!p->added || policy_added_fits(p->added, p));
    struct safetensors_tensor *t;
    /* the list is read only: writing takes the weights out, nothing in */
    int count, rc = list_policy(&t, &count, &p->cfg, p->input_n, (struct policy *)p, e);
    if (rc) return rc;
    rc = check_finite(p, t, count, e);
    if (rc) {
        free(t);
        return rc;
    }

    json_t *m = json_object();
    const char *format = p->added ? FORMAT_ADDED : FORMAT;
    rc = m ? safetensors_add_text(m, "format", format, e) : safetensors_no_memory(e);
    if (!rc) rc = add_policy(m, p, e);
    if (!rc && p->added) rc = add_added(m, p->added, e);
    if (!rc) rc = add_caller(m, meta, e);
    if (!rc) rc = safetensors_pack(out, n, m, t, count, extra, extra_n, e);
    json_decref(m);
    free(t);
    return rc;
}

int ckpt_save(const char *path, const struct policy *p, const struct ckpt_meta *meta,
              const void *extra, size_t extra_n, struct err *e)
{
    void *file;
    size_t n;
    int rc = ckpt_encode(&file, &n, p, meta, extra, extra_n, e);
    if (rc) return rc;
    rc = text_write_file(path, file, n, e);
    free(file);
    return rc;
}

/* ---- reading */

static int need_float(float *out, const struct safetensors *f, const char *key, double lo,
                      struct err *e)
{
    const char *text;
    double value;
    struct err why = {0};
    int rc = safetensors_text(&text, f, key, e);
    if (rc) return rc;
    if (text_double(&value, text, lo, (double)FLT_MAX, key, &why))
        return safetensors_blame(f, key, &why, e);
    *out = (float)value;
    return 0;
}

static int need_route(enum mix_route *out, const struct safetensors *f, const char *key,
                      struct err *e)
{
    const char *text;
    struct err why = {0};
    int rc = safetensors_text(&text, f, key, e);
    if (rc) return rc;
    return mix_route_parse(out, text, &why) ? safetensors_blame(f, key, &why, e) : 0;
}

/* Of the metadata of added experts. */
static int need_added_cfg(struct policy_cfg *c, const struct safetensors *f,
                          struct err *e)
{
    const char *gate;
    struct err why = {0};
    int rc = safetensors_int(&c->added.experts, f, "graft_experts", e);
    if (!rc) rc = safetensors_text(&gate, f, "graft_gate", e);
    if (rc) return rc;
    if (norga_sigma_parse(&c->added.sigma, gate, &why))
        return safetensors_blame(f, "graft_gate", &why, e);
    if (c->added.experts < 1)
        err_set(&why, ERR_RANGE, "0 is not within 1 .. %d", NORGA_EXPERTS_MAX);
    return why.code || policy_cfg_check(c, &why)
               ? safetensors_blame(f, "graft_experts", &why, e)
               : 0;
}

static int need_cfg(struct policy_cfg *out, const struct safetensors *f, bool adds,
                    struct err *e)
{
    struct policy_cfg cfg = {0}, *c = &cfg;
    int rc = safetensors_int(&c->obs_dim, f, "obs_dim", e);
    if (!rc) rc = safetensors_int(&c->actions, f, "actions", e);
    if (!rc) rc = safetensors_int(&c->hidden, f, "hidden", e);
    if (!rc) rc = safetensors_int(&c->layers, f, "layers", e);
    if (!rc) rc = safetensors_int(&c->experts, f, "experts", e);
    if (!rc) rc = need_route(&c->route, f, "route", e);
    if (!rc) rc = safetensors_int(&c->critic_hidden, f, "critic_hidden", e);
    if (!rc) rc = safetensors_int(&c->critic_experts, f, "critic_experts", e);
    if (!rc) rc = need_route(&c->critic_route, f, "critic_route", e);
    if (!rc && json_object_get(f->meta, "prior_gain")) {
        rc = safetensors_int(&c->prior.at, f, "prior_at", e);
        if (!rc) rc = safetensors_int(&c->prior.stride, f, "prior_stride", e);
        if (!rc) rc = safetensors_int(&c->prior.gain, f, "prior_gain", e);
    }
    if (rc) return rc;

    struct err why = {0};
    if (policy_cfg_check(c, &why)) return safetensors_blame(f, why.field, &why, e);
    if (adds) rc = need_added_cfg(c, f, e);
    if (!rc) *out = cfg;
    return rc;
}

/* A file without the key has no busy experts. At least one expert must be idle. */
static int need_busy(struct mix *m, const struct safetensors *f, const char *key,
                     struct err *e)
{
    m->busy = 0;
    if (!json_object_get(f->meta, key)) return 0;
    uint64_t busy, all = UINT64_MAX >> (MIX_EXPERTS_MAX - m->cfg.experts);
    int rc = safetensors_u64(&busy, f, key, e);
    if (rc) return rc;
    struct err why = {0};
    if (busy > all || busy == all) {
        err_set(&why, ERR_RANGE, "%llu leaves none of %d experts idle, or is of more",
                (unsigned long long)busy, m->cfg.experts);
        return safetensors_blame(f, key, &why, e);
    }
    m->busy = busy;
    return 0;
}

/* Files without it have none; those of older programs do not say what it belongs to. */
static int need_input(int *n, uint32_t *of, const struct safetensors *f, struct err *e)
{
    uint64_t id = 0;
    if (!json_object_get(f->meta, "input_n")) return 0;
    int rc = safetensors_int(n, f, "input_n", e);
    if (!rc && json_object_get(f->meta, "input_of"))
        rc = safetensors_u64(&id, f, "input_of", e);
    if (rc) return rc;
    struct err why = {0};
    if (*n < 0 || *n > POLICY_INPUT) {
        err_set(&why, ERR_RANGE, "%d is not within 0 .. %d", *n, POLICY_INPUT);
        return safetensors_blame(f, "input_n", &why, e);
    }
    if (id > UINT32_MAX) {
        err_set(&why, ERR_RANGE, "%" PRIu64 " is not within 0 .. %" PRIu32, id,
                UINT32_MAX);
        return safetensors_blame(f, "input_of", &why, e);
    }
    *of = (uint32_t)id;
    return 0;
}

static int need_policy(struct policy *p, const struct safetensors *f, struct err *e)
{
    int rc = safetensors_u64(&p->version, f, "version", e);
    if (!rc) rc = need_float(&p->ret_mean, f, "ret_mean", -(double)FLT_MAX, e);
    if (!rc) rc = need_float(&p->ret_std, f, "ret_std", (double)FLT_MIN, e);
    if (!rc) rc = need_busy(p->actor, f, "actor_busy", e);
    if (!rc) rc = need_busy(p->critic, f, "critic_busy", e);
    return rc;
}

/* What is no tensor, of the added experts. */
static int need_added(struct policy *p, const struct safetensors *f, struct err *e)
{
    struct policy_added *a = p->added;
    uint64_t learns = 0, crc = 0;
    int rc = safetensors_u64(&a->version, f, "graft_version", e);
    if (!rc) rc = safetensors_u64(&learns, f, "graft_learns_shape", e);
    if (!rc) rc = safetensors_u64(&crc, f, "graft_base_crc", e);
    if (rc) return rc;
    a->shape_learns = learns != 0;
    a->base_version = p->version;
    a->base_crc = (uint32_t)crc;
    if (crc <= UINT32_MAX && policy_added_fits(a, p)) return 0;
    return err_field(e, ERR_CORRUPT, f->what,
                     "its added experts are of other weights than those in the file");
}

/* Weights of this configuration from a file whose tensors have been checked. */
static int fill_policy(struct policy **out, const struct safetensors *f,
                       const struct policy_cfg *cfg, int input_n, struct err *e)
{
    struct safetensors_tensor *t = NULL;
    int n;
    struct policy *p = policy_new(cfg, e);
    int rc = p ? list_policy(&t, &n, cfg, input_n, p, e) : ERR_MEMORY;
    if (!rc) p->input_n = input_n;
    if (!rc) rc = safetensors_fill(f, t, n, e);
    free(t);
    if (rc)
        policy_free(p);
    else
        *out = p;
    return rc;
}

/* Checked as a whole before anything is allocated for it. */
static int read_policy(struct policy **out, const struct safetensors *f, bool adds,
                       struct err *e)
{
    struct policy_cfg cfg;
    struct safetensors_tensor *t;
    struct policy *p = NULL;
    uint32_t input_of = 0;
    int n, input_n = 0, rc = need_cfg(&cfg, f, adds, e);
    if (!rc) rc = need_input(&input_n, &input_of, f, e);
    if (!rc) rc = list_policy(&t, &n, &cfg, input_n, NULL, e);
    if (rc) return rc;
    rc = safetensors_check(f, t, n, e);
    free(t);
    if (!rc) rc = fill_policy(&p, f, &cfg, input_n, e);
    if (!rc) p->input_of = input_of;
    if (!rc) rc = need_policy(p, f, e);
    if (!rc && adds) rc = need_added(p, f, e);
    if (rc)
        policy_free(p);
    else
        *out = p;
    return rc;
}

/* Reads the caller's metadata and the trainer's bytes; NULL: not wanted. Writes all of the results, or none
 * of them. */
static int need_rest(struct ckpt_meta *meta, void **extra, size_t *extra_n,
                     const struct safetensors *f, struct err *e)
{
    struct ckpt_meta *m = meta ? malloc(sizeof *m) : NULL;
    void *x = NULL;
    size_t x_n = 0;
    int rc = 0;
    if (meta) rc = m ? need_meta(m, f, e) : safetensors_no_memory(e);
    if (!rc && extra) rc = safetensors_trainer(&x, &x_n, f, e);
    if (!rc) {
        if (m) *meta = *m;
        if (extra) *extra = x;
        if (extra && extra_n) *extra_n = x_n;
    }
    free(m);
    return rc;
}

/* any: with added experts or without. */
static struct policy *decode(bool any, const char *what, const void *data, size_t n,
                             struct ckpt_meta *meta, void **extra, size_t *extra_n,
                             struct err *e)
{
    struct safetensors f = {.what = what};
    struct policy *p = NULL;
    bool adds = false;
    int rc = safetensors_open(&f, data, n, e);
    if (!rc && any && safetensors_format(&f))
        adds = strcmp(safetensors_format(&f), FORMAT_ADDED) == 0;
    if (!rc) rc = safetensors_need_format(&f, adds ? FORMAT_ADDED : FORMAT, e);
    if (!rc) rc = read_policy(&p, &f, adds, e);
    if (!rc) rc = need_rest(meta, extra, extra_n, &f, e);
    if (rc) {
        policy_free(p);
        p = NULL;
    }
    safetensors_close(&f);
    return p;
}

static struct policy *load(bool any, const char *path, struct ckpt_meta *meta,
                           void **extra, size_t *extra_n, struct err *e)
{
    size_t n;
    char *file = text_read_file(path, CKPT_FILE_MAX, &n, e);
    if (!file) return NULL;
    struct policy *p = decode(any, path, file, n, meta, extra, extra_n, e);
    free(file);
    return p;
}

struct policy *ckpt_decode(const void *data, size_t n, struct ckpt_meta *meta,
                           void **extra, size_t *extra_n, struct err *e)
{
    return decode(false, "checkpoint", data, n, meta, extra, extra_n, e);
}

struct policy *ckpt_load(const char *path, struct ckpt_meta *meta, void **extra,
                         size_t *extra_n, struct err *e)
{
    return load(false, path, meta, extra, extra_n, e);
}

struct policy *ckpt_decode_any(const void *data, size_t n, struct ckpt_meta *meta,
                               void **extra, size_t *extra_n, struct err *e)
{
    return decode(true, "checkpoint", data, n, meta, extra, extra_n, e);
}

struct policy *ckpt_load_any(const char *path, struct ckpt_meta *meta, void **extra,
                             size_t *extra_n, struct err *e)
{
    return load(true, path, meta, extra, extra_n, e);
}

/* ---- files of other programs */

/* Rows and columns that the header states for a tensor; false when it is not there. */
static bool shape_of(int *rows, int *cols, const struct safetensors *f, const char *name)
{
    const json_t *shape = json_object_get(json_object_get(f->header, name), "shape");
    if (json_array_size(shape) != 2) return false;
    json_int_t r = json_integer_value(json_array_get(shape, 0));
    json_int_t c = json_integer_value(json_array_get(shape, 1));
    if (r < 1 || c < 1 || r > INT16_MAX || c > INT16_MAX) return false;
    *rows = (int)r;
    *cols = (int)c;
    return true;
}

/* What the shapes say of actor or critic. */
struct net {
    int inputs, hidden, layers, outputs, experts;
    bool router;
};

static bool weight(int *rows, int *cols, const struct safetensors *f, const char *net,
                   int expert, int layer)
{
    char name[80];
    snprintf(name, sizeof name, "%s.expert.%d.%d.weight", net, expert, layer);
    return shape_of(rows, cols, f, name);
}

static int infer(struct net *n, const struct safetensors *f, const char *net,
                 struct err *e)
{
    int rows, cols, layers = 0;
    char router[80];
    *n = (struct net){0};
    if (!weight(&n->hidden, &n->inputs, f, net, 0, 0))
        return err_field(e, ERR_ABSENT, f->what,
                         "there is no tensor '%s.expert.0.0.weight' of two dimensions",
                         net);
    while (layers < 64 && weight(&rows, &cols, f, net, 0, layers))
        layers++;
    (void)weight(&n->outputs, &cols, f, net, 0, layers - 1);
    n->layers = layers - 1; /* the last is the head */
    while (n->experts < MIX_EXPERTS_MAX && weight(&rows, &cols, f, net, n->experts, 0))
        n->experts++;
    snprintf(router, sizeof router, "%s.router.weight", net);
    n->router = shape_of(&rows, &cols, f, router);
    return 0;
}

static enum mix_route route_of(const struct net *n, bool given, enum mix_route route)
{
    return given ? route : n->router ? MIX_TOP1 : MIX_SINGLE;
}

static int infer_cfg(struct policy_cfg *out, const struct safetensors *f,
                     const struct ckpt_import_cfg *cfg, struct err *e)
{
    struct net actor, critic;
    int rc = infer(&actor, f, "actor", e);
    if (!rc) rc = infer(&critic, f, "critic", e);
    if (rc) return rc;
    if (critic.layers != actor.layers || critic.inputs != actor.inputs ||
        critic.outputs != 1)
        return err_field(e, ERR_INVALID, f->what,
                         "the critic has %d inputs, %d layers and %d outputs; it needs "
                         "the actor's %d and %d, and 1",
                         critic.inputs, critic.layers + 1, critic.outputs, actor.inputs,
                         actor.layers + 1);
    *out = (struct policy_cfg){
        .obs_dim = actor.inputs,
        .actions = actor.outputs,
        .hidden = actor.hidden,
        .layers = actor.layers,
        .experts = actor.experts,
        .critic_hidden = critic.hidden,
        .critic_experts = critic.experts,
        .route = route_of(&actor, cfg->has_route, cfg->route),
        .critic_route = route_of(&critic, cfg->has_critic_route, cfg->critic_route),
    };
    struct err why = {0};
    rc = policy_cfg_check(out, &why);
    return rc ? err_field(e, rc, f->what, "%s: %s", why.field, why.detail) : 0;
}

static int read_foreign(struct policy **out, const struct safetensors *f,
                        const struct policy_cfg *cfg, struct err *e)
{
    struct safetensors_tensor *t = NULL;
    int n, rc = list_policy(&t, &n, cfg, 0, NULL, e);
    if (!rc) rc = safetensors_check_tensors(f, t, n, e);
    free(t);
    return rc ? rc : fill_policy(out, f, cfg, 0, e);
}

struct policy *ckpt_import(const char *path, const struct ckpt_import_cfg *cfg,
                           struct err *e)
{
    static const struct ckpt_import_cfg as_found;
    struct safetensors f = {.what = path};
    struct policy_cfg shape;
    struct policy *p = NULL;
    size_t n;
    char *bytes = text_read_file(path, CKPT_FILE_MAX, &n, e);
    if (!bytes) return NULL;
    int rc = safetensors_open(&f, bytes, n, e);
    if (!rc) rc = infer_cfg(&shape, &f, cfg ? cfg : &as_found, e);
    if (!rc) rc = read_foreign(&p, &f, &shape, e);
    safetensors_close(&f);
    free(bytes);
    return rc ? NULL : p;
}
