#include "abr/train/recipe_fields.h"

#include "base/bytes.h"
#include "base/text.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum kind { INT, REAL, PAIR, WORD, SWITCH };

enum { STEPS_MAX = 1 << 20 /* of one rollout */ };

static const char *const ROUTES[] = {"single", "dense", "top1", "top1-unscaled", NULL};
static const char *const LAYOUTS[] = {"full",       "paper", "blind",
                                      "paper-hint", "plan",  NULL};
static const char *const SCHEDULES[] = {"constant", "linear", "geometric", NULL};
static const char *const NORMS[] = {"none", "batch", "tag", NULL};

_Static_assert(sizeof(enum mix_route) == sizeof(int), "words are kept in ints");
_Static_assert(MIX_TOP1_UNSCALED == 3 && FEAT_PAPER_HINT == 3 && TRAIN_GEOMETRIC == 2 &&
                   PPO_NORM_TAG == 2 && RECIPE_DRAWN == 3 && RECIPE_ONE == 4,
               "words in the order of their enums");

static void hide_viewer(struct recipe *r)
{
    /* the paper's state has nothing to hide */
    if (r->env.layout == FEAT_FULL) r->env.layout = FEAT_BLIND;
}

static bool viewer_hidden(const struct recipe *r)
{
    return r->env.layout == FEAT_BLIND || r->env.layout == FEAT_PAPER;
}

static void drop_tutor(struct recipe *r)
{
    r->train.privileged = r->env.privileged = false;
}

static bool tutor_dropped(const struct recipe *r)
{
    return !r->train.privileged;
}

struct field {
    const char *name, *arg;
    enum kind kind;
    size_t at, too;               /* members that are set; too = 0: only `at` */
    size_t end;                   /* PAIR: the second number */
    double lo, hi;                /* INT, REAL, PAIR */
    const char *const *words;     /* WORD */
    void (*on)(struct recipe *r); /* SWITCH */
    bool (*is)(const struct recipe *r);
    bool
        later; /* newer than the first policies: not part of a recipe's checksum when it is 0 */
    const char *help;
};

#define AT(member) offsetof(struct recipe, member)
#define SHARE_OF(member) "SHARE", REAL, AT(env.member), .lo = 0, .hi = 1
#define SHARE(option, member, text)              \
    {                                            \
        option, SHARE_OF(member), .help = (text) \
    }
#define LATER_SHARE(option, member, text)                       \
    {                                                           \
        option, SHARE_OF(member), .later = true, .help = (text) \
    }

/* 0 can mean "none" in `too`: struct recipe begins with the policy's obs_dim, which no field sets. */
static const struct field FIELDS[] = {
    {"experts", "N", INT, AT(policy.experts), AT(policy.critic_experts), .lo = 1,
     .hi = 16, .help = "experts of the actor and of the critic"},
    {"hidden", "N", INT, AT(policy.hidden), AT(policy.critic_hidden), .lo = 1, .hi = 1024,
     .help = "units in each hidden layer of an expert"},
    {"layers", "N", INT, AT(policy.layers), .lo = 1, .hi = 3,
     .help = "hidden layers of an expert"},
    {"route", "NAME", WORD, AT(policy.route), AT(policy.critic_route), .words = ROUTES,
     .help = "how an expert is chosen: single, dense, top1 or top1-unscaled"},
    {"critic-experts", "N", INT, AT(policy.critic_experts), .lo = 1, .hi = 16,
     .help = "experts of the critic, if other than the actor's"},
    {"critic-hidden", "N", INT, AT(policy.critic_hidden), .lo = 1, .hi = 1024,
     .help =
         "units in each hidden layer of the critic's experts, if other than the actor's"},
    {"critic-route", "NAME", WORD, AT(policy.critic_route), .words = ROUTES,
     .help = "how an expert of the critic is chosen, if other than the actor's"},
    {"prior", "GAIN", INT, AT(policy.prior.gain), .lo = 0, .hi = 1000, .later = true,
     .help =
         "weight of the plan's worth of each level in the logits (layout plan); 0: none"},
    {"prior-end", "GAIN", INT, AT(prior_end), .lo = 0, .hi = 1000, .later = true,
     .help =
         "the same in the trained policy: more trusts the plan more than in training; "
         "0: as in training"},
    {"layout", "NAME", WORD, AT(env.layout), .words = LAYOUTS,
     .help =
         "observation: full, paper (48 numbers, no profile) or blind (full, no profile)"},
    {"no-hint", NULL, SWITCH, .on = hide_viewer, .is = viewer_hidden,
     .help =
         "remove the viewer's profile from the observation; the same as --layout blind"},

    {"lr", "A,B", PAIR, AT(train.ppo.lr), AT(train.ppo.critic_lr), AT(train.lr_end), 0, 1,
     .help = "learning rate at the start and at the end"},
    {"entropy", "A,B", PAIR, AT(train.ppo.entropy), 0, AT(train.entropy_end), 0, 100,
     .help = "entropy coefficient at the start and at the end"},
    {"schedule", "NAME", WORD, AT(train.schedule), .words = SCHEDULES,
     .help = "how A becomes B in --lr and --entropy: constant, linear or geometric"},
    {"balance", "A", REAL, AT(train.ppo.balance), .lo = 0, .hi = 100,
     .help = "weight of the router's balance loss"},
    {"locality", "L", REAL, AT(train.ppo.gate.locality), .lo = 0, .hi = 1e4,
     .help =
         "weight of the router's locality loss, which charges for experts that changed"},
    {"latch", "N", INT, AT(train.ppo.gate.latch), .lo = 0, .hi = 1 << 30,
     .help = "stop a router whose experts have converged, after N updates at the "
             "earliest; 0: never"},
    {"latch-gap", "G", REAL, AT(train.ppo.gate.gap), .lo = 0, .hi = 1e4,
     .help = "experts have converged if their score is within G of the chosen expert's"},
    {"shift-limit", "H", REAL, AT(train.ppo.drift.limit), .lo = 0, .hi = 1e4,
     .help = "wake a stopped router when the CUSUM of the critic's error exceeds H; 0: "
             "never"},
    {"noise", "G", REAL, AT(train.ppo.noise_gamma), .lo = 0, .hi = 1e4,
     .help = "standard deviation of the plasticity noise, as a multiple of the learning "
             "rate"},
    {"noise-std", "S", REAL, AT(train.ppo.noise_std), .lo = 0, .hi = 10,
     .help = "standard deviation of plasticity noise of fixed size, as in PA-MoE's code"},
    {"router-noise", "S", REAL, AT(train.rollout.router_noise),
     AT(train.ppo.router_noise), .lo = 0, .hi = 100,
     .help = "standard deviation of the noise on the router's logits"},
    {"gamma", "G", REAL, AT(train.ppo.gamma), .lo = 0, .hi = 1,
     .help = "discount factor"},
    {"lambda", "L", REAL, AT(train.ppo.lambda), .lo = 0, .hi = 1,
     .help = "lambda of GAE"},
    {"clip", "C", REAL, AT(train.ppo.clip), .lo = 1e-6, .hi = 10,
     .help = "clip range of PPO's ratio"},
    {"value-coef", "C", REAL, AT(train.ppo.value_coef), .lo = 0, .hi = 1000,
     .help = "weight of the critic's loss"},
    {"max-grad-norm", "N", REAL, AT(train.ppo.max_grad_norm), .lo = 0, .hi = 1e6,
     .help = "largest norm of a gradient; 0: no clipping"},
    {"target-kl", "K", REAL, AT(train.ppo.target_kl), .lo = 0, .hi = 100,
     .help = "KL divergence that ends the epochs of an update early; 0: never"},
    {"weight-decay", "W", REAL, AT(train.ppo.weight_decay), .lo = 0, .hi = 1,
     .help = "Adam's weight decay"},
    {"adam-eps", "E", REAL, AT(train.ppo.eps), .lo = 1e-12, .hi = 1,
     .help = "Adam's epsilon"},
    {"adv-norm", "NAME", WORD, AT(train.ppo.adv_norm), .words = NORMS,
     .help = "how advantages are normalised: none, batch or tag (per profile)"},
    {"envs", "N", INT, AT(train.rollout.envs), .lo = 1, .hi = 65536,
     .help = "environments, one viewer each"},
    {"rollout", "N", INT, AT(train.rollout.steps), .lo = 1, .hi = 1 << 20,
     .help = "chunks of each environment between updates"},
    {"imitate", "A,B", PAIR, AT(train.ppo.imitate), 0, AT(train.imitate_end), 0, 1,
     .help =
         "weight of imitating teachers at the start and at the end; linear in between"},
    {"advice", "P", REAL, AT(train.rollout.advice), .lo = 0, .hi = 1,
     .help = "imitate RobustMPC too, as a teacher that gives its choice probability P; "
             "0: never"},
    {"peek", "P", REAL, AT(train.rollout.peek), .lo = 0, .hi = 1,
     .help = "also try actions of probability P or more in the emulator; 0: none"},
    {"branch", "N", INT, AT(train.rollout.branch), .lo = 0, .hi = 1000, .later = true,
     .help = "follow every tried action for N chunks in the emulator, on the same link"},
    {"minibatch", "N", INT, AT(train.ppo.minibatch), .lo = 1, .hi = 1 << 20,
     .help = "chunks per gradient step"},
    {"epochs", "N", INT, AT(train.ppo.epochs), .lo = 1, .hi = 100,
     .help = "passes of an update over its chunks"},
    {"critic-epochs", "N", INT, AT(train.ppo.critic_epochs), .lo = 0, .hi = 100,
     .help = "epochs of the policy's critic if a privileged critic is trained too; 0: as "
             "many as --epochs"},
    {"no-tutor", NULL, SWITCH, .on = drop_tutor, .is = tutor_dropped,
     .help = "train without a privileged critic; the policy's own critic gives the "
             "advantages"},
    {"tutor-hidden", "N", INT, AT(train.priv_hidden), .lo = 0, .hi = 1024,
     .help = "units in each hidden layer of the privileged critic"},
    {"tutor-layers", "N", INT, AT(train.priv_layers), .lo = 0, .hi = 3,
     .help = "hidden layers of the privileged critic"},

    {"splices", "N", INT, AT(splices), .lo = 0, .hi = 100000,
     .help = "links spliced from --traces"},
    {"links", "N", INT, AT(links), .lo = 0, .hi = 100000, .help = "generated links"},
    {"ladders", "N", INT, AT(ladders), .lo = 0, .hi = 10000, .help = "generated videos"},
    {"min-mbps", "M", REAL, AT(min_mbps), .lo = 0, .hi = 1e6,
     .help = "leave out links with a mean below M Mbit/s"},
    {"delay-noise", "N", REAL, AT(env.noise), .lo = 0, .hi = .9,
     .help = "multiply download times by a factor drawn from 1 - N to 1 + N"},
    SHARE("share-generated", generated,
          "share of episodes on generated links if --traces is given"),
    {"profile", "NAME", WORD, AT(profile), .words = recipe_profiles,
     .help = "profile of all viewers: all, product, papers, drawn (drawn weights) or one "
             "name"},
    SHARE("share-custom", custom, "share of episodes with drawn weights"),
    LATER_SHARE(
        "share-points", points,
        "share of --share-custom whose weights are in points, near those of `standard`"),
    SHARE("share-simplex", simplex,
          "share of the others whose weights are any with sum 1; the rest are near a "
          "profile's"),
    SHARE("share-ladders", ladders, "share of episodes on a generated video"),
    SHARE("share-players", players,
          "share of episodes with a drawn buffer limit and round-trip time"),
    SHARE("share-stretch", stretch,
          "share of episodes whose link is 0.6 to 1.6 times as fast as its trace"),
    SHARE("share-live", live, "share of episodes without a known end"),
    LATER_SHARE("share-lengths", lengths,
                "share of episodes with a drawn number of chunks, at least 10"),
    LATER_SHARE("share-abandon", abandon,
                "share of episodes whose player may abandon a chunk"),
    SHARE("share-first", choose_first,
          "share of episodes in which the policy chooses chunk 0"),
    LATER_SHARE(
        "share-start", start,
        "share of the other episodes in which chunk 0 has the first level of a session"),
    {"caution", "C", REAL, AT(env.caution), .lo = 0, .hi = 100,
     .help = "multiply the cost of a stall by 1 + C if the buffer limit is at most 12 s"},
    {"reward-floor", "R", REAL, AT(env.reward_floor), .lo = -1e6, .hi = 0,
     .help = "smallest scaled reward of a chunk; 0: no limit"},
};

enum { N_FIELDS = sizeof FIELDS / sizeof *FIELDS };
_Static_assert(N_FIELDS <= RECIPE_FIELDS_MAX, "RECIPE_FIELDS_MAX");

int recipe_fields_count(void)
{
    return N_FIELDS;
}

struct recipe_field recipe_fields_at(int i)
{
    assert(i >= 0 && i < N_FIELDS);
    return (struct recipe_field){FIELDS[i].name, FIELDS[i].arg, FIELDS[i].help};
}

static int field_place(const char *name)
{
    for (int i = 0; i < N_FIELDS; i++)
        if (!strcmp(FIELDS[i].name, name)) return i;
    return -1;
}

static bool given(const struct recipe_changes *v, const char *name)
{
    return v->text[field_place(name)] != NULL;
}

static const void *inside(const struct recipe *r, size_t at)
{
    return (const char *)r + at;
}

static void field_put(struct recipe *r, const struct field *f, const void *value,
                      size_t n)
{
    memcpy((char *)r + f->at, value, n);
    if (f->too) memcpy((char *)r + f->too, value, n);
}

void recipe_fields_show(char *out, size_t n, const struct recipe *r, int i)
{
    assert(i >= 0 && i < N_FIELDS);
    const struct field *f = &FIELDS[i];
    int whole = 0;
    double real = 0, end = 0;
    switch (f->kind) {
    case INT:
        memcpy(&whole, inside(r, f->at), sizeof whole);
        snprintf(out, n, "%d", whole);
        break;
    case REAL:
        memcpy(&real, inside(r, f->at), sizeof real);
        snprintf(out, n, "%.12g", real);
        break;
    case PAIR:
        memcpy(&real, inside(r, f->at), sizeof real);
        memcpy(&end, inside(r, f->end), sizeof end);
        if (r->train.schedule == TRAIN_CONSTANT) end = real;
        snprintf(out, n, "%.12g,%.12g", real, end);
        break;
    case WORD:
        memcpy(&whole, inside(r, f->at), sizeof whole);
        snprintf(out, n, "%s", f->words[whole]);
        break;
    case SWITCH:
        snprintf(out, n, "%s", f->is(r) ? "yes" : "no");
        break;
    }
}

/* ---- reading one value ---- */

static int set_word(struct recipe *r, const struct field *f, const char *text,
                    struct err *e)
{
    char known[128] = "";
    for (int i = 0; f->words[i]; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", f->words[i]);
        if (strcmp(f->words[i], text) != 0) continue;
        field_put(r, f, &i, sizeof i);
        return 0;
    }
    return err_field(e, ERR_INVALID, f->name, "'%.40s' is not one of %s", text, known);
}

static int set_pair(struct recipe *r, const struct field *f, const char *text,
                    struct err *e)
{
    char start[RECIPE_FIELDS_VALUE];
    snprintf(start, sizeof start, "%s", text);
    char *comma = strchr(start, ',');
    if (comma) *comma = 0;
    double from = 0, to = 0;
    int rc = text_double(&from, start, f->lo, f->hi, f->name, e);
    if (!rc) rc = text_double(&to, comma ? comma + 1 : start, f->lo, f->hi, f->name, e);
    if (rc) return rc;
    field_put(r, f, &from, sizeof from);
    memcpy((char *)r + f->end, &to, sizeof to);
    return 0;
}

static int set(struct recipe *r, const struct field *f, const char *text, struct err *e)
{
    double real = 0;
    int64_t wide = 0;
    int rc = 0, whole = 0;
    if (strlen(text) >= RECIPE_FIELDS_VALUE || strpbrk(text, " ="))
        return err_field(e, ERR_INVALID, f->name, "'%.40s' is not a value", text);
    switch (f->kind) {
    case INT:
        rc = text_int(&wide, text, (int64_t)f->lo, (int64_t)f->hi, f->name, e);
        whole = (int)wide;
        if (!rc) field_put(r, f, &whole, sizeof whole);
        return rc;
    case REAL:
        rc = text_double(&real, text, f->lo, f->hi, f->name, e);
        if (!rc) field_put(r, f, &real, sizeof real);
        return rc;
    case PAIR:
        return set_pair(r, f, text, e);
    case WORD:
        return set_word(r, f, text, e);
    case SWITCH:
        if (strcmp(text, "yes") != 0)
            return err_field(e, ERR_INVALID, f->name, "'%.40s' is not yes", text);
        f->on(r);
    }
    return 0;
}

/* ---- the recipe as a whole ---- */

static void recipe_fields_follow(struct recipe *r, const struct recipe_changes *v)
{
    struct policy_cfg *p = &r->policy;
    if (given(v, "experts") && p->experts == 1 && !given(v, "route"))
        p->route = MIX_SINGLE;
    if (given(v, "route") && p->route == MIX_SINGLE && !given(v, "experts"))
        p->experts = 1;
    bool route = given(v, "route") || given(v, "critic-route");
    bool experts = given(v, "experts") || given(v, "critic-experts");
    if (experts && p->critic_experts == 1 && !route) p->critic_route = MIX_SINGLE;
    if (route && p->critic_route == MIX_SINGLE && !experts) p->critic_experts = 1;
    p->obs_dim = feat_dim(r->env.layout);
    if (p->prior.gain && r->env.layout == FEAT_PLAN) {
        p->prior.at = FEAT_WORTH;
        p->prior.stride = FEAT_WORTH_STRIDE;
    }
    if (r->profile == RECIPE_DRAWN) {
        r->env.custom = 1.0;
    } else if (r->profile != RECIPE_ALL) {
        int first = r->profile == RECIPE_PRODUCT  ? 0
                    : r->profile == RECIPE_PAPERS ? QOE_PRODUCT
                                                  : (int)r->profile - RECIPE_ONE;
        r->env.n_profiles = r->profile == RECIPE_PRODUCT  ? QOE_PRODUCT
                            : r->profile == RECIPE_PAPERS ? QOE_PAPERS
                                                          : 1;
        for (int i = 0; i < r->env.n_profiles; i++)
            r->env.profiles[i] = qoe_profiles[first + i].qoe;
        if (r->profile >= RECIPE_ONE && !given(v, "share-custom")) r->env.custom = 0.0;
    }
    /* each of several environments counts only its own steps towards a shift */
    if (given(v, "envs") && r->env.cycle_steps > 0) {
        r->env.cycle_steps /= r->train.rollout.envs;
        if (!r->env.cycle_steps) r->env.cycle_steps = 1;
    }
}

static int check_pair(const struct recipe *r, const struct recipe_changes *v,
                      const char *name, double from, double to, struct err *e)
{
    const char *text = v->text[field_place(name)];
    if (text && strchr(text, ',') && from != to && r->train.schedule == TRAIN_CONSTANT)
        return err_field(
            e, ERR_CONFLICT, name,
            "has an end, but the schedule is constant: use --schedule linear "
            "or geometric");
    if (from != to && (from <= 0 || to <= 0) && r->train.schedule == TRAIN_GEOMETRIC)
        return err_field(e, ERR_CONFLICT, name,
                         "a geometric schedule cannot begin or end at 0: use "
                         "--schedule linear");
    return 0;
}

static int recipe_fields_check(const struct recipe *r, const struct recipe_changes *v,
                               struct err *e)
{
    const struct policy_cfg *p = &r->policy;
    const struct train_cfg *t = &r->train;
    if (p->route == MIX_SINGLE && p->experts > 1)
        return err_field(e, ERR_CONFLICT, "experts",
                         "%d experts need a router: --route dense or top1", p->experts);
    if (p->critic_route == MIX_SINGLE && p->critic_experts > 1)
        return err_field(e, ERR_CONFLICT, "critic-experts",
                         "%d experts need a router: --critic-route dense or top1",
                         p->critic_experts);
    int64_t batch = (int64_t)t->rollout.envs * t->rollout.steps;
    if (batch > STEPS_MAX)
        return err_field(e, ERR_RANGE, "rollout",
                         "%d x %d chunks between updates are more than %d",
                         t->rollout.envs, t->rollout.steps, STEPS_MAX);
    if (t->ppo.minibatch > batch)
        return err_field(e, ERR_RANGE, "minibatch",
                         "%d is more than the %lld chunks of an update", t->ppo.minibatch,
                         (long long)batch);
    if (t->privileged && (t->priv_hidden < 1 || t->priv_layers < 1))
        return err_field(e, ERR_RANGE,
                         t->priv_hidden < 1 ? "tutor-hidden" : "tutor-layers",
                         "0 is too small; --no-tutor trains without a privileged critic");
    int rc = check_pair(r, v, "lr", t->ppo.lr, t->lr_end, e);
    if (!rc) rc = check_pair(r, v, "entropy", t->ppo.entropy, t->entropy_end, e);
    if (!rc && p->prior.gain && r->env.layout != FEAT_PLAN)
        rc = err_field(e, ERR_RANGE, "prior",
                       "the plan is in no other layout: add --layout plan");
    if (!rc && r->prior_end && !p->prior.gain)
        rc = err_field(e, ERR_RANGE, "prior-end", "there is no prior: add --prior");
    return rc ? rc : policy_cfg_check(p, e);
}

int recipe_fields_apply(struct recipe *r, const struct recipe_changes *v, struct err *e)
{
    for (int i = 0; i < N_FIELDS; i++) {
        int rc = v->text[i] ? set(r, &FIELDS[i], v->text[i], e) : 0;
        if (rc) return rc;
    }
    recipe_fields_follow(r, v);
    return recipe_fields_check(r, v, e);
}

/* ---- changes as a line of text ---- */

int recipe_fields_write(char *out, const struct recipe_changes *v, struct err *e)
{
    int used = 0;
    *out = 0;
    for (int i = 0; i < N_FIELDS; i++) {
        if (!v->text[i]) continue;
        used += snprintf(out + used, (size_t)(RECIPE_FIELDS_TEXT - used), "%s%s=%s",
                         used ? " " : "", FIELDS[i].name, v->text[i]);
        if (used >= RECIPE_FIELDS_TEXT)
            return err_field(
                e, ERR_RANGE, FIELDS[i].name,
                "the list of changed settings is longer than %d characters: change fewer",
                RECIPE_FIELDS_TEXT - 1);
    }
    return 0;
}

int recipe_fields_read(struct recipe_changes *v, char *text, struct err *e)
{
    *v = (struct recipe_changes){0};
    char *rest;
    for (char *word = strtok_r(text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (value) *value++ = 0;
        int i = field_place(word);
        if (i < 0 || !value)
            return err_set(e, ERR_INVALID, "'%.40s' is not a setting of this program",
                           word);
        v->text[i] = value;
    }
    return 0;
}

uint32_t recipe_fields_hash(const struct recipe *r)
{
    uint32_t crc = 0;
    for (int i = 0; i < N_FIELDS; i++) {
        char value[RECIPE_FIELDS_VALUE], line[2 * RECIPE_FIELDS_VALUE];
        recipe_fields_show(value, sizeof value, r, i);
        if (FIELDS[i].later && !strcmp(value, "0")) continue;
        int n = snprintf(line, sizeof line, "%s=%s\n", FIELDS[i].name, value);
        crc = bytes_crc32(crc, line, (size_t)n);
    }
    return crc;
}
