#include "serve/hintless/hintless_cfg.h"

#include <string.h>

#include "abr/emulator/view.h"
#include "serve/hintless/merge_exam.h"

_Static_assert(HINTLESS_WATCHED_CHUNKS == VIEW_HISTORY, "as a decision looks back on");

static const char *const MODES[] = {"default", "identify", "merge", NULL};

struct hintless_cfg hintless_cfg_default(void)
{
    struct hintless_cfg c = {.mode = HINTLESS_DEFAULT,
                             .slot_s = 300,
                             .half_life = 3,
                             .bandit = tanbr_cfg_informed(2, PROFILE_MIX_TASKS),
                             .merge_links = 5,
                             .exam_links = MERGE_EXAM_LINKS};
    c.bandit.keep = 0;
    return c;
}

#define ROW(member) FIELD(struct hintless_cfg, member)
const struct field hintless_fields[] = {
    {"untagged", "MODE",
     "what decides for viewers without a hint: merge (one expert merged from several), "
     "identify (the router, with a hint estimated for each viewer), default (the router, "
     "with "
     "the mean hint)",
     ROW(mode), .words = MODES, .group = "viewers without a hint"},
    {"merge-policy", "FILE", "policy whose experts are merged (default: the shipped one)",
     ROW(merge_policy)},
    {"slot", "S", "choose a new merge and estimate the mix of profiles every S seconds",
     ROW(slot_s), .lo = 1, .hi = 1e7, .unit = "seconds"},
    {"slot-sessions", "N", "end a slot early after N sessions without a hint; 0: never",
     ROW(slot_sessions), .lo = 0, .hi = 1e9, .flags = FIELD_ADVANCED},
    {"mix-half-life", "SLOTS",
     "half-life of the estimated mix, in slots; without sessions it returns to equal "
     "shares",
     ROW(half_life), .lo = .01, .hi = 1e6, .unit = "slots", .flags = FIELD_ADVANCED},
    {"merge-keep", "B", "largest number of experts in a merge; 0: all", ROW(bandit.keep),
     .lo = 0, .hi = HINTLESS_EXPERTS, .flags = FIELD_ADVANCED},
    {"merge-links", "N",
     "number of generated links of each kind on which merges are scored at the start; 0: "
     "none",
     ROW(merge_links), .lo = 0, .hi = 1000, .flags = FIELD_ADVANCED},
    {"merge-c", "C", "the bandit's tree: a larger C splits cells later (Tanbr, Eq. 2)",
     ROW(bandit.c), .lo = HINTLESS_LEAST, .hi = 1e3, .flags = FIELD_ADVANCED},
    {"merge-delta", "D", "the bandit's tree: confidence (Tanbr, Eq. 2)",
     ROW(bandit.delta), .lo = HINTLESS_LEAST, .hi = 1, .flags = FIELD_ADVANCED},
    {"merge-nu1", "NU", "the bandit's tree: width of the first cell (Tanbr, Eq. 4)",
     ROW(bandit.nu1), .lo = HINTLESS_LEAST, .hi = 1e3, .flags = FIELD_ADVANCED},
    {"merge-rho", "RHO",
     "the bandit's tree: each split multiplies the width of a cell by RHO",
     ROW(bandit.rho), .lo = HINTLESS_LEAST, .hi = HINTLESS_RHO_MAX,
     .flags = FIELD_ADVANCED},
    {"merge-gamma", "G",
     "weight of the uncertainty in the bandit's choice (Tanbr, Eq. 4)", ROW(bandit.gamma),
     .lo = 0, .hi = 1e3, .flags = FIELD_ADVANCED},
    {"merge-lambda", "L", "the bandit's network: regularisation", ROW(bandit.lambda),
     .lo = HINTLESS_LEAST, .hi = 1e6, .flags = FIELD_ADVANCED},
    {"merge-eta", "E", "the bandit's network: learning rate", ROW(bandit.eta), .lo = 0,
     .hi = 10, .flags = FIELD_ADVANCED},
    {"merge-steps", "J", "the bandit's network: gradient steps per slot",
     ROW(bandit.steps), .lo = 0, .hi = 1e5, .flags = FIELD_ADVANCED},
    {"merge-history", "N", "the bandit's network: slots that it learns from",
     ROW(bandit.history), .lo = 1, .hi = 1e6, .flags = FIELD_ADVANCED},
    {0}};
#undef ROW

int hintless_cfg_check(const struct hintless_cfg *c, struct err *e)
{
    if (c->exam_links < 0 || c->exam_links > 1000)
        return err_field(e, ERR_RANGE, "exam-links", "%d is not within 0 .. 1000",
                         c->exam_links);
    return field_check(hintless_fields, c, e);
}

const char *hintless_mode_name(enum hintless_mode mode)
{
    return MODES[mode];
}

int hintless_mode_parse(enum hintless_mode *out, const char *name, struct err *e)
{
    for (int i = 0; i <= HINTLESS_MERGE; i++)
        if (!strcmp(name, MODES[i])) {
            *out = (enum hintless_mode)i;
            return 0;
        }
    return err_field(e, ERR_INVALID, "untagged",
                     "must be default, identify or merge, not '%.40s'", name);
}

/* ---- figures ---- */

#define ROW(member) FIELD(struct hintless_stats, member)
#define NAMES(member)                                                   \
    .type = FIELD_NAMES, .at = offsetof(struct hintless_stats, member), \
    .size = HINTLESS_NAME
#define COUNT(member) .count = FIELD_PLACE(struct hintless_stats, member)
/* Only while there is a merge; only where its slots are shared with other nodes. */
#define MERGES FIGURE_WHEN(struct hintless_stats, experts)
#define SHARES FIGURE_WHEN(struct hintless_stats, shares)
#define LEARNED FIGURE_WHEN(struct hintless_stats, examples)

const struct figure hintless_figures[] = {
    {"abrd_untagged_mode", "mode", FIGURE_GAUGE,
     "1 for what decides for viewers without a hint (--untagged).", ROW(mode),
     .label = "mode", .words = MODES},
    {"abrd_untagged_sessions_total", "sessions", FIGURE_COUNTER,
     "Sessions opened without a hint.", ROW(sessions)},
    {"abrd_slots_total", "slots", FIGURE_COUNTER, "Slots that have ended (--slot).",
     ROW(slots)},
    {"abrd_untagged_mix_known", "known", FIGURE_GAUGE,
     "1 if there were enough sessions to estimate the mix of profiles.", ROW(known)},
    {NULL, "tasks", FIGURE_GAUGE, NULL, NAMES(task), COUNT(tasks)},
    {"abrd_untagged_mix", "mix", FIGURE_GAUGE,
     "Estimated share of each profile among viewers without a hint.", ROW(mix),
     .label = "profile", .names = offsetof(struct hintless_stats, task),
     .name_size = HINTLESS_NAME, COUNT(tasks)},
    {NULL, "experts", FIGURE_GAUGE, NULL, NAMES(expert), COUNT(experts)},
    {"abrd_merge_weight", "weights", FIGURE_GAUGE,
     "Weight of each expert in the merge of this slot.", ROW(weight), .label = "expert",
     COUNT(experts), MERGES},
    {"abrd_merge_tree_leaves", "leaves", FIGURE_GAUGE,
     "Leaves of the bandit's tree that can be chosen.", ROW(leaves), MERGES},
    {"abrd_merge_tree_depth", "depth", FIGURE_GAUGE, "Depth of the deepest leaf.",
     ROW(depth), MERGES},
    {"abrd_merge_reward", "reward", FIGURE_GAUGE,
     "Mean reward of the last slot; 0 is that of the lowest level.", ROW(reward), MERGES},
    {"abrd_merge_expected", "expected", FIGURE_GAUGE,
     "Reward that the bandit expects of this slot.", ROW(expected), MERGES},
    {"abrd_identity_examples_total", "examples", FIGURE_COUNTER,
     "Labelled sessions that the classifier learned from.", ROW(examples)},
    {"abrd_identity_accuracy", "accuracy", FIGURE_GAUGE,
     "Share of labelled sessions whose profile the classifier had guessed.",
     ROW(accuracy), LEARNED},
    {"abrd_identity_calibration_error", NULL, FIGURE_GAUGE,
     "Mean difference between the confidence of the classifier and its accuracy.",
     ROW(calibration), LEARNED},
    {"abrd_identity_log_loss", NULL, FIGURE_GAUGE,
     "Log loss of the classifier's guesses, in nats.", ROW(log_loss), LEARNED},
    {"abrd_identity_dropped_total", NULL, FIGURE_COUNTER,
     "Labelled sessions dropped because there was no room.", ROW(dropped)},
    {"abrd_untagged_decisions_total", NULL, FIGURE_COUNTER,
     "Decisions for viewers without a hint, by how they were made.", ROW(decisions),
     .label = "by", .words = service_by_words, .from = BY_ROUTER + 1},
    {"abrd_untagged_labels_total", NULL, FIGURE_COUNTER,
     "Sessions without a hint whose client named a profile at the end.", ROW(labels)},
    {"abrd_untagged_labels_refused_total", NULL, FIGURE_COUNTER,
     "Labels that were ignored: too few chunks fetched as decided (unwatched); the "
     "address "
     "has used its share of the slot (address) or of the content and the classifier "
     "(content).",
     ROW(labels_unwatched), .label = "reason", .word = "unwatched"},
    {"abrd_untagged_labels_refused_total", NULL, FIGURE_COUNTER, NULL,
     ROW(labels_address), .label = "reason", .word = "address"},
    {"abrd_untagged_labels_refused_total", NULL, FIGURE_COUNTER, NULL,
     ROW(labels_content), .label = "reason", .word = "content"},
    {"abrd_slots_empty_total", NULL, FIGURE_COUNTER,
     "Slots that ended without a chunk to learn from.", ROW(empty_slots)},
    {"abrd_slot_late_total", NULL, FIGURE_COUNTER,
     "Chunks that were reported after their slot had ended.", ROW(late)},
    {"abrd_untagged_state_refused_total", NULL, FIGURE_COUNTER,
     "Damaged state files that were renamed to NAME.bad.", ROW(refused)},
    {"abrd_merge_chosen_total", NULL, FIGURE_COUNTER,
     "Slots in which the expert had the largest weight.", ROW(chosen), .label = "expert",
     COUNT(experts), MERGES},
    {"abrd_merge_tree_nodes", NULL, FIGURE_GAUGE, "Nodes of the bandit's tree.",
     ROW(nodes), MERGES},
    {"abrd_merge_left_cells", NULL, FIGURE_GAUGE,
     "Leaves whose weights lie outside their cell.", ROW(left), MERGES},
    {"abrd_merge_regret_total", NULL, FIGURE_COUNTER,
     "Sum over slots of the expected reward that the best known weights would have "
     "added.",
     ROW(regret), MERGES},
    {"abrd_merge_given_total", NULL, FIGURE_COUNTER,
     "Slots of this node that were shared with other nodes.", ROW(given), SHARES},
    {"abrd_merge_heard_total", NULL, FIGURE_COUNTER,
     "Slots of other nodes that this node learned from.", ROW(heard), SHARES},
    {"abrd_merge_missed_total", NULL, FIGURE_COUNTER,
     "Slots that were lost before they were shared or read.", ROW(missed), SHARES},
    {"abrd_merge_pending", NULL, FIGURE_GAUGE, "Slots that wait for the bus.",
     ROW(pending), SHARES},
    {"abrd_merge_makers", NULL, FIGURE_GAUGE,
     "Bandits that share their slots, this one included.", ROW(makers), SHARES},
    {"abrd_merge_read_timestamp_seconds", NULL, FIGURE_GAUGE,
     "Time at which the slots of all nodes were last read; 0: never.", ROW(heard_at),
     SHARES},
    {0}};

#define CHECKED FIGURE_WHEN(struct hintless_stats, examined)

const struct figure hintless_exam_figures[] = {
    {"abrd_untagged_exam_refused_total", "refused", FIGURE_COUNTER,
     "Merges and mean hints that failed the safety check.", ROW(exam_refused), CHECKED},
    {"abrd_untagged_served_share", "hint_share", FIGURE_GAUGE,
     "How far the served merge or hint lies between the known start (0) and the learned "
     "one "
     "(1).",
     ROW(hint_share), .label = "served", .word = "hint", CHECKED},
    {0}};

const struct figure hintless_merge_exam_figures[] = {
    {"abrd_untagged_served_share", "merge_share", FIGURE_GAUGE, NULL, ROW(merge_share),
     .label = "served", .word = "merge", MERGES},
    {"abrd_merge_kept", "kept", FIGURE_GAUGE,
     "1 while no merge passes the safety check and the last good one stays.",
     ROW(exam_kept), MERGES},
    {"abrd_merge_kept_total", "kept_slots", FIGURE_COUNTER,
     "Slots that kept the last good merge.", ROW(exam_kept_all), MERGES},
    {"abrd_merge_exam_loss", "loss", FIGURE_GAUGE,
     "Loss that this slot's merge costs the profile that loses most, as a share of its "
     "range "
     "from the lowest level to the best; at most 0.005.",
     ROW(exam_loss), MERGES},
    {0}};
