#include "learn/ckpt_import.h"

#include "base/text.h"
#include "ckpt_priv.h"

#include <stdio.h>
#include <stdlib.h>

/* Rows and columns that the header states for a tensor; false when it is not there. */
static bool shape_of(int *rows, int *cols, const struct ckpt_file *f, const char *name)
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

static bool weight(int *rows, int *cols, const struct ckpt_file *f, const char *net,
                   int expert, int layer)
{
    char name[80];
    snprintf(name, sizeof name, "%s.expert.%d.%d.weight", net, expert, layer);
    return shape_of(rows, cols, f, name);
}

static int infer(struct net *n, const struct ckpt_file *f, const char *net, struct err *e)
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

static int infer_cfg(struct policy_cfg *out, const struct ckpt_file *f,
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

static int read_tensors(struct policy **out, const struct ckpt_file *f,
                        const struct policy_cfg *cfg, struct err *e)
{
    struct ckpt_tensor *t = NULL;
    int n, rc = ckpt_list_policy(&t, &n, cfg, NULL, "", 0, e);
    if (!rc) rc = ckpt_check_tensors(f, t, n, e);
    free(t);
    if (rc) return rc;
    struct policy *p = policy_new(cfg, e);
    t = NULL;
    rc = p ? ckpt_list_policy(&t, &n, cfg, p, "", 0, e) : ERR_MEMORY;
    if (!rc) rc = ckpt_fill(f, t, n, e);
    free(t);
    if (rc)
        policy_free(p);
    else
        *out = p;
    return rc;
}

struct policy *ckpt_import(const char *path, const struct ckpt_import_cfg *cfg,
                           struct err *e)
{
    static const struct ckpt_import_cfg as_found;
    struct ckpt_file f = {.what = path};
    struct policy_cfg shape;
    struct policy *p = NULL;
    size_t n;
    char *bytes = text_read_file(path, CKPT_FILE_MAX, &n, e);
    if (!bytes) return NULL;
    int rc = ckpt_open_any(&f, bytes, n, e);
    if (!rc) rc = infer_cfg(&shape, &f, cfg ? cfg : &as_found, e);
    if (!rc) rc = read_tensors(&p, &f, &shape, e);
    ckpt_close(&f);
    free(bytes);
    return rc ? NULL : p;
}
