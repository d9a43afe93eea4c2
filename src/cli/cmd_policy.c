/* abrd policy: look into policy files, join specialists into one, merge their weights. */
#include "abr/emulator/feat.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "policy/join.h"
#include "learn/ckpt.h"
#include "serve/learner/exam.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------ show */

static void show_row(struct out *o, const char *path, const char *key, const char *value)
{
    out_row(o);
    out_cells(o, "file=%s key=%s value=%s", path, key, value);
}

static void show_number(struct out *o, const char *path, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    show_row(o, path, key, text);
}

static int show_file(struct out *o, const char *path, struct err *e)
{
    struct ckpt_meta m = {0};
    struct policy *p = ckpt_load(path, &m, NULL, NULL, e);
    if (!p) return e->code;
    const struct policy_cfg *c = &p->cfg;
    char crc[16];
    snprintf(crc, sizeof crc, "%08" PRIx32, policy_crc32(p));
    show_number(o, path, "experts", c->experts);
    show_row(o, path, "route", mix_route_word(c->route));
    show_number(o, path, "inputs", c->obs_dim);
    show_number(o, path, "hidden", c->hidden);
    show_number(o, path, "layers", c->layers);
    show_number(o, path, "actions", c->actions);
    show_number(o, path, "weights", (int64_t)(p->actor->n + p->critic->n));
    show_row(o, path, "weights_crc32", crc);
    show_number(o, path, "version", (int64_t)p->version);
    show_row(o, path, "forecast", p->input_n ? "corrected" : "as shipped");
    for (int i = 0; i < m.n; i++)
        show_row(o, path, m.key[i], m.value[i]);
    policy_free(p);
    return 0;
}

static int policy_show(int argc, char **argv)
{
    struct out_cfg cfg = {0};
    const struct field opts[] = {OUT_OPTIONS(cfg), {0}};
    const struct opt_cmd cmd = {
        .name = "policy show",
        .args = "FILE...",
        .min_args = 1,
        .about = "Prints the contents of policy files: the networks, a checksum of the "
                 "weights, and\n"
                 "metadata about the training.",
        .opts = opts,
        .example = "abrd policy show deploy/policy/moe.safetensors",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);

    struct err e = {0};
    struct out *o = out_new(&cfg, &e);
    if (!o) return cmd_fail("policy show", &e);
    int rc = 0;
    for (; at < argc && !rc; at++)
        rc = show_file(o, argv[at], &e);
    if (!rc) rc = out_finish(o, &e);
    out_free(o);
    return rc ? cmd_fail("policy show", &e) : OPT_EXIT_DONE;
}

/* ------------------------------------------------------------------------------ join */

struct joining {
    int n;
    const char *path[MIX_EXPERTS_MAX];
    struct policy *policy[MIX_EXPERTS_MAX];
    struct ckpt_meta meta[MIX_EXPERTS_MAX];
};

/* Is the entry the same in all files, or missing in all? */
static int agree(const struct joining *j, const char *key, const char *why, struct err *e)
{
    const char *first = ckpt_meta_get(&j->meta[0], key);
    for (int k = 1; k < j->n; k++) {
        const char *own = ckpt_meta_get(&j->meta[k], key);
        if ((!own && !first) || (own && first && !strcmp(own, first))) continue;
        return err_field(e, ERR_CONFLICT, j->path[k], "has %s %s, the first file %s: %s",
                         key, own ? own : "none", first ? first : "none", why);
    }
    return 0;
}

static void names(char *out, size_t n, const struct joining *j)
{
    *out = '\0';
    for (int k = 0; k < j->n; k++) {
        const char *profile = ckpt_meta_get(&j->meta[k], "profile");
        size_t used = strlen(out);
        snprintf(out + used, n - used, "%s%s", k ? "," : "", profile ? profile : "?");
    }
}

static void checksums(char *out, size_t n, const struct joining *j)
{
    *out = '\0';
    for (int k = 0; k < j->n; k++) {
        size_t used = strlen(out);
        snprintf(out + used, n - used, "%s%08" PRIx32, k ? "," : "",
                 policy_crc32(j->policy[k]));
    }
}

static void policy_describe(struct ckpt_meta *m, const struct joining *j)
{
    static const char *const kept[] = {
        "start_crc32", "layout",      "preset",       "variant", "steps",
        "traces",      "traces_part", "traces_crc32", "video",   "changes"};
    char text[sizeof m->value[0]];
    names(text, sizeof text, j);
    ckpt_meta_set(m, "experts_for", "%s", text);
    checksums(text, sizeof text, j);
    ckpt_meta_set(m, "experts_crc32", "%s", text);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *value = ckpt_meta_get(&j->meta[0], kept[i]);
        if (value && !agree(j, kept[i], "", NULL)) ckpt_meta_set(m, kept[i], "%s", value);
    }
    ckpt_meta_set(m, "program", "abrd %s", CMD_VERSION);
}

static int join_files(struct joining *j, const char *to, struct err *e)
{
    for (int k = 0; k < j->n; k++) {
        j->policy[k] = ckpt_load(j->path[k], &j->meta[k], NULL, NULL, e);
        if (!j->policy[k]) return e->code;
    }
    int rc =
        agree(j, "start_crc32",
              "only policies that were tuned from the same start can be averaged", e);
    if (!rc) rc = agree(j, "layout", "they must have the same observation layout", e);
    if (rc) return rc;
    struct policy *joined = join_new((const struct policy *const *)j->policy, j->n, e);
    if (!joined) return e->code;
    struct ckpt_meta *m = calloc(1, sizeof *m);
    if (m) policy_describe(m, j);
    rc = m ? ckpt_save(to, joined, m, NULL, 0, e)
           : err_set(e, ERR_MEMORY, "no memory for the metadata");
    free(m);
    policy_free(joined);
    return rc;
}

/* Shows the new file as `policy show` does. */
static int put_made(const struct out_cfg *cfg, const char *path, struct err *e)
{
    struct out *o = out_new(cfg, e);
    int rc = o ? show_file(o, path, e) : e->code;
    if (!rc) rc = out_finish(o, e);
    out_free(o);
    return rc;
}

static int join(int argc, char **argv)
{
    const char *to = "merge.safetensors";
    struct out_cfg cfg = {0};
    const struct field opts[] = {
        {"out", "FILE", "file for the joined policy", FIELD_TO(to)},
        OUT_OPTIONS(cfg),
        {0}};
    const struct opt_cmd cmd = {
        .name = "policy join",
        .args = "FILE FILE...",
        .min_args = 2,
        .max_args = MIX_EXPERTS_MAX,
        .about = "Packs policies of one expert each into one policy with all these "
                 "experts. All must\n"
                 "have been tuned from the same start (abrd train --start). The daemon "
                 "merges the\n"
                 "experts for viewers without a hint.",
        .opts = opts,
        .example = "abrd policy join documentary.safetensors live.safetensors --out "
                   "merge.safetensors",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);

    struct err e = {0};
    struct joining *j = calloc(1, sizeof *j);
    if (!j) {
        err_set(&e, ERR_MEMORY, "no memory");
        return cmd_fail("policy join", &e);
    }
    for (; at < argc; at++)
        j->path[j->n++] = argv[at];
    int rc = join_files(j, to, &e);
    if (!rc) rc = put_made(&cfg, to, &e);
    for (int k = 0; k < j->n; k++)
        policy_free(j->policy[k]);
    free(j);
    return rc ? cmd_fail("policy join", &e) : OPT_EXIT_DONE;
}

/* ----------------------------------------------------------------------------- merge */

/* The weights as given, divided by their sum. */
static int read_weights(float *x, const struct field_list *given, int experts,
                        struct err *e)
{
    double sum = 0;
    if (given->n != experts)
        return err_field(e, ERR_INVALID, "--weights",
                         "%d numbers are given for %d experts", given->n, experts);
    for (int k = 0; k < experts; k++) {
        double value = 0;
        int rc = text_double(&value, given->item[k], 0, 1e6, "--weights", e);
        if (rc) return rc;
        x[k] = (float)value;
        sum += value;
    }
    if (!(sum > 0)) return err_field(e, ERR_RANGE, "--weights", "all are 0");
    for (int k = 0; k < experts; k++)
        x[k] = (float)((double)x[k] / sum);
    return 0;
}

static int merge_file(const char *from, const char *to, const struct field_list *weights,
                      struct err *e)
{
    struct ckpt_meta *m = calloc(1, sizeof *m);
    if (!m) return err_set(e, ERR_MEMORY, "no memory for the metadata");
    struct policy *p = ckpt_load(from, m, NULL, NULL, e), *merged = NULL;
    float x[MIX_EXPERTS_MAX];
    char text[512] = "";
    int rc = p ? 0 : e->code;
    assert(p || rc);
    if (!rc && (p->cfg.experts < 2 || p->cfg.critic_experts != p->cfg.experts))
        rc =
            err_field(e, ERR_INVALID, from,
                      "is not a joined policy: %d experts of the actor, %d of the critic",
                      p->cfg.experts, p->cfg.critic_experts);
    if (!rc) rc = read_weights(x, weights, p->cfg.experts, e);
    if (rc) goto out;

    struct policy_cfg c = join_merged_cfg(&p->cfg);
    merged = policy_new(&c, e);
    rc = merged ? join_merge(merged, p, x) : e->code;
    if (rc) {
        err_field(e, rc, from, "the merged weights are not finite");
        goto out;
    }
    for (int k = 0; k < p->cfg.experts; k++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%.6g", k ? "," : "", (double)x[k]);
    }
    ckpt_meta_set(m, "merged", "%s", text);
    rc = ckpt_save(to, merged, m, NULL, 0, e);
out:
    policy_free(merged);
    policy_free(p);
    free(m);
    return rc;
}

static int merge(int argc, char **argv)
{
    const char *to = "merged.safetensors";
    struct field_list weights = {0};
    struct out_cfg cfg = {0};
    const struct field opts[] = {
        {"weights", "X,...",
         "weight of each expert; the weights are divided by their sum",
         FIELD_TO(weights)},
        {"out", "FILE", "file for the merged policy, which has one expert", FIELD_TO(to)},
        OUT_OPTIONS(cfg),
        {0}};
    const struct opt_cmd cmd = {
        .name = "policy merge",
        .args = "FILE",
        .min_args = 1,
        .max_args = 1,
        .about =
            "Averages the experts of a joined policy into one expert of the same size:\n"
            "theta = sum_k x_k theta_k, with the weights x of --weights.",
        .opts = opts,
        .example = "abrd policy merge deploy/policy/merge.safetensors --weights "
                   "0.25,0.25,0.25,0.25",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    if (!weights.n) return opt_usage("policy merge", "--weights X,... is missing");
    struct err e = {0};
    int rc = merge_file(argv[at], to, &weights, &e);
    if (!rc) rc = put_made(&cfg, to, &e);
    return rc ? cmd_fail("policy merge", &e) : OPT_EXIT_DONE;
}

/* ------------------------------------------------------------------------------ keep */

/* The experts as bits; none given: all. */
static int read_experts(uint64_t *out, const struct field_list *given, const char *option,
                        int experts, struct err *e)
{
    *out = experts < 64 ? ((uint64_t)1 << experts) - 1 : UINT64_MAX;
    if (given->n) *out = 0;
    for (int i = 0; i < given->n; i++) {
        double k = 0;
        int rc = text_double(&k, given->item[i], 0, experts - 1, option, e);
        if (rc) return rc;
        if (k != floor(k))
            return err_field(e, ERR_INVALID, option, "'%s' is not a whole number",
                             given->item[i]);
        *out |= (uint64_t)1 << (int)k;
    }
    return 0;
}

static int keep_file(const char *from, const char *to, const struct field_list *actor,
                     const struct field_list *critic, struct err *e)
{
    struct ckpt_meta *m = calloc(1, sizeof *m);
    if (!m) return err_set(e, ERR_MEMORY, "no memory for the metadata");
    struct policy *p = ckpt_load(from, m, NULL, NULL, e), *kept = NULL;
    uint64_t bits[2] = {0};
    int rc = p ? 0 : e->code;
    assert(p || rc);
    if (!rc) rc = read_experts(&bits[0], actor, "--experts", p->cfg.experts, e);
    if (!rc)
        rc = read_experts(&bits[1], critic, "--critic-experts", p->cfg.critic_experts, e);
    if (!rc) {
        kept = join_keep(p, bits[0], bits[1], e);
        rc = kept ? ckpt_save(to, kept, m, NULL, 0, e) : e->code;
    }
    policy_free(kept);
    policy_free(p);
    free(m);
    return rc;
}

static int keep(int argc, char **argv)
{
    const char *to = "kept.safetensors";
    struct field_list actor = {0}, critic = {0};
    struct out_cfg cfg = {0};
    const struct field opts[] = {
        {"experts", "K,...", "experts of the actor to keep, from 0 (default: all)",
         FIELD_TO(actor)},
        {"critic-experts", "K,...",
         "experts of the critic to keep, from 0 (default: all)", FIELD_TO(critic)},
        {"out", "FILE", "file for the policy", FIELD_TO(to)},
        OUT_OPTIONS(cfg),
        {0}};
    const struct opt_cmd cmd = {
        .name = "policy keep",
        .args = "FILE",
        .min_args = 1,
        .max_args = 1,
        .about =
            "Leaves experts out of a policy. The router keeps the rows of the others.",
        .opts = opts,
        .example = "abrd policy keep deploy/policy/moe.safetensors --experts 0,2 --out "
                   "without-1.safetensors",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    struct err e = {0};
    int rc = keep_file(argv[at], to, &actor, &critic, &e);
    if (!rc) rc = put_made(&cfg, to, &e);
    return rc ? cmd_fail("policy keep", &e) : OPT_EXIT_DONE;
}

/* ---------------------------------------------------------------------------- import */

struct scores {
    double own, lowest; /* exam.h; lowest: of always the lowest level */
};

/* The exam that every update of the daemon's learner has to pass. */
static int examine(struct scores *out, const struct policy *p, const char *path,
                   struct err *e)
{
    if (p->cfg.obs_dim != FEAT_FULL_DIM && p->cfg.obs_dim != FEAT_PLAN_DIM)
        return err_field(
            e, ERR_INVALID, path,
            "takes %d inputs, but the daemon observes %d or %d (src/abr/emulator/feat.h)",
            p->cfg.obs_dim, FEAT_PLAN_DIM, FEAT_FULL_DIM);
    struct exam *x = exam_new(&p->cfg, e);
    struct policy *lowest = x ? policy_new(&p->cfg, e) : NULL; /* all equal: level 0 */
    int rc = lowest ? 0 : e->code;
    if (!rc) {
        out->own = exam_score(x, p);
        out->lowest = exam_score(x, lowest);
        if (!(out->own > out->lowest))
            rc = err_field(e, ERR_INVALID, path,
                           "scores %.3f in the safety check; always choosing the lowest "
                           "level scores %.3f: train it further",
                           out->own, out->lowest);
    }
    policy_free(lowest);
    exam_free(x);
    return rc;
}

static int save_imported(const struct policy *p, const char *from, const char *to,
                         const struct scores *s, struct err *e)
{
    char name[256];
    text_last_component(name, sizeof name, from);
    struct ckpt_meta *m = calloc(1, sizeof *m);
    if (!m) return err_set(e, ERR_MEMORY, "no memory for the metadata");
    ckpt_meta_set(
        m, "layout", "%s",
        feat_layout_name(p->cfg.obs_dim == FEAT_PLAN_DIM ? FEAT_PLAN : FEAT_FULL));
    ckpt_meta_set(m, "imported_from", "%s", name);
    ckpt_meta_set(m, "exam", "%.4f", s->own);
    ckpt_meta_set(m, "program", "abrd %s", CMD_VERSION);
    int rc = ckpt_save(to, p, m, NULL, 0, e);
    free(m);
    return rc;
}

static int put_import(struct out *o, const char *to, const struct policy *p,
                      const struct scores *s, struct err *e)
{
    const struct policy_cfg *c = &p->cfg;
    out_row(o);
    out_cells(o,
              "file=%s experts=%d route=%s hidden=%d layers=%d actions=%d exam=%.4f "
              "exam_lowest_level=%.4f",
              to, c->experts, mix_route_word(c->route), c->hidden, c->layers, c->actions,
              s->own, s->lowest);
    out_say(o, "score it on traces: abrd eval --policy moe:%s,mpc", to);
    return out_finish(o, e);
}

static int parse_routes(struct ckpt_import_cfg *cfg, const char *route,
                        const char *critic_route, struct err *e)
{
    cfg->has_route = route != NULL;
    cfg->has_critic_route = critic_route != NULL;
    int rc = route ? mix_route_parse(&cfg->route, route, e) : 0;
    return rc || !critic_route ? rc
                               : mix_route_parse(&cfg->critic_route, critic_route, e);
}

static int import(int argc, char **argv)
{
    struct out_cfg out = {0};
    const char *to = NULL, *route = NULL, *critic_route = NULL;
    const struct field opts[] = {
        {"out", "POLICY", "file for the policy, which abrd serve reads with --policy",
         FIELD_TO(to)},
        {"route", "NAME",
         "how an expert of the actor is chosen: single, dense, top1, top1-unscaled or "
         "dense-probs (default: top1; single for one expert)",
         FIELD_TO(route)},
        {"critic-route", "NAME",
         "how an expert of the critic is chosen (default: the same as --route)",
         FIELD_TO(critic_route)},
        OUT_OPTIONS(out),
        {0}};
    const struct opt_cmd cmd = {
        .name = "policy import",
        .args = "FILE",
        .min_args = 1,
        .max_args = 1,
        .about = "Converts a safetensors file that another program trained. It holds the "
                 "tensors\n"
                 "actor.expert.K.L.weight (out, in), actor.expert.K.L.bias (out), "
                 "actor.router.*\n"
                 "and the same for critic, all F32. The 128 inputs are those that\n"
                 "abrd eval --detail obs writes. Checks shapes and numbers, and writes "
                 "the policy\n"
                 "only if it passes the safety check of the daemon's learner.",
        .opts = opts,
        .example = "abrd policy import torch.safetensors --out mine.safetensors",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    int short_of = cmd_blas("policy import", 1);
    if (short_of) return short_of;
    if (!to) return opt_usage("policy import", "--out POLICY is missing");

    struct err e = {0};
    struct ckpt_import_cfg cfg = {0};
    struct scores s = {0};
    if (parse_routes(&cfg, route, critic_route, &e))
        return opt_usage("policy import", "%s", e.detail);
    struct out *o = out_new(&out, &e);
    struct policy *p = o ? ckpt_import(argv[at], &cfg, &e) : NULL;
    int rc = p ? examine(&s, p, argv[at], &e) : e.code;
    if (!rc) rc = save_imported(p, argv[at], to, &s, &e);
    if (!rc) rc = put_import(o, to, p, &s, &e);
    policy_free(p);
    out_free(o);
    return rc ? cmd_fail("policy import", &e) : OPT_EXIT_DONE;
}

/* ---------------------------------------------------------------------------- policy */

static const struct cmd_sub subcommands[] = {
    {"show", "print the contents of policy files", policy_show},
    {"join", "pack policies of one expert each into one policy", join},
    {"import", "convert weights that another program trained", import},
    {"merge", "average the experts of a joined policy", merge},
    {"keep", "leave experts out of a policy", keep},
    {NULL, NULL, NULL},
};

int cmd_policy(int argc, char **argv)
{
    return cmd_sub_run(
        "policy", "Shows, joins, imports, merges and cuts down policy files.",
        subcommands, "abrd policy show deploy/policy/moe.safetensors", argc, argv);
}
