#include "metrics_priv.h"

#include <stdio.h>

static void put_mix(struct emit *o, const struct untagged_stats *u)
{
    metrics_head(o, "abrd_untagged_mix", "gauge",
                 "Share of each profile among viewers without a hint, as estimated.");
    for (int v = 0; v < u->tasks; v++)
        metrics_labelled(o, "abrd_untagged_mix", "profile", u->task[v], u->mix[v]);
    metrics_gauge(o, "abrd_untagged_mix_known", "0 while too little is known of the mix.",
                  u->known);
}

static void put_refused(struct emit *o, const struct untagged_stats *u)
{
    static const char NAME[] = "abrd_untagged_labels_refused_total";
    metrics_head(
        o, NAME, "counter",
        "What did not count: sessions with too few chunks fetched as decided; "
        "sessions of an address beyond its share of a slot; labels of an address "
        "beyond its share of a content or of the classifier's examples.");
    metrics_labelled(o, NAME, "reason", "unwatched", (double)u->labels_unwatched);
    metrics_labelled(o, NAME, "reason", "address", u->labels_address);
    metrics_labelled(o, NAME, "reason", "content", u->labels_content);
}

static void put_exam(struct emit *o, const struct untagged_stats *u)
{
    static const char NAME[] = "abrd_untagged_served_share";
    metrics_counter(o, "abrd_untagged_exam_refused_total",
                    "Merges and mean hints that the exam refused since the start.",
                    (double)u->exam_refused);
    metrics_head(
        o, NAME, "gauge",
        "How far what is served goes from what is known at a start, 0, to what was "
        "learned, 1.");
    metrics_labelled(o, NAME, "served", "hint", u->hint_share);
    if (!u->experts) return;
    metrics_labelled(o, NAME, "served", "merge", u->merge_share);
    metrics_gauge(
        o, "abrd_merge_kept",
        "1 while the slot keeps the last good merge, since none passed the exam.",
        u->exam_kept);
    metrics_counter(o, "abrd_merge_kept_total", "Such slots since the start.",
                    (double)u->exam_kept_all);
    metrics_gauge(
        o, "abrd_merge_exam_loss",
        "What this slot's merge costs the profile that loses most, as a share of "
        "its scale from the lowest level to the best; at most 0.01.",
        u->exam_loss);
}

static void put_merge(struct emit *o, const struct untagged_stats *u)
{
    char name[16];
    metrics_head(o, "abrd_merge_weight", "gauge",
                 "Weight of each expert in this slot's merge.");
    for (int k = 0; k < u->experts; k++) {
        snprintf(name, sizeof name, "%d", k);
        metrics_labelled(o, "abrd_merge_weight", "expert", name, u->weight[k]);
    }
    metrics_head(o, "abrd_merge_chosen_total", "counter",
                 "Slots in which the expert had the largest weight.");
    for (int k = 0; k < u->experts; k++) {
        snprintf(name, sizeof name, "%d", k);
        metrics_labelled(o, "abrd_merge_chosen_total", "expert", name,
                         (double)u->chosen[k]);
    }
    metrics_gauge(o, "abrd_merge_tree_nodes", "Nodes of the partition tree.", u->nodes);
    metrics_gauge(o, "abrd_merge_tree_leaves", "Leaves that may be chosen.", u->leaves);
    metrics_gauge(o, "abrd_merge_tree_depth", "Depth of the deepest of them.", u->depth);
    metrics_gauge(o, "abrd_merge_left_cells",
                  "Leaves whose weights lie outside their cell.", u->left);
    metrics_gauge(o, "abrd_merge_reward",
                  "What the last slot earned, 0 the lowest level.", u->reward);
    metrics_gauge(o, "abrd_merge_expected", "What this slot is expected to earn.",
                  u->expected);
    metrics_counter(
        o, "abrd_merge_regret_total",
        "Sum over slots of what the best known weights were expected to earn more.",
        u->regret);
}

static void put_share(struct emit *o, const struct untagged_stats *u)
{
    metrics_counter(o, "abrd_merge_given_total",
                    "Slots of this node that other nodes can learn from.",
                    (double)u->given);
    metrics_counter(o, "abrd_merge_heard_total",
                    "Slots of other nodes that this one has learned from.",
                    (double)u->heard);
    metrics_counter(o, "abrd_merge_missed_total",
                    "Slots that were gone before they could be given or heard.",
                    (double)u->missed);
    metrics_gauge(o, "abrd_merge_pending", "Slots that wait until the bus answers.",
                  u->pending);
    metrics_gauge(o, "abrd_merge_makers",
                  "Bandits whose slots are shared, this one's included.", u->makers);
    metrics_gauge(o, "abrd_merge_read_timestamp_seconds",
                  "When the slots of all nodes were read last; 0 never.", u->heard_at);
}

void metrics_put_untagged(struct emit *o, const struct untagged_stats *u)
{
    metrics_head(o, "abrd_untagged_mode", "gauge",
                 "1 for what viewers without a hint get.");
    for (int i = UNTAGGED_DEFAULT; i <= UNTAGGED_MERGE; i++)
        metrics_labelled(o, "abrd_untagged_mode", "mode",
                         untagged_mode_name((enum untagged_mode)i),
                         u->mode == (enum untagged_mode)i);
    metrics_counter(o, "abrd_untagged_sessions_total", "Sessions opened without a hint.",
                    (double)u->sessions);
    metrics_head(o, "abrd_untagged_decisions_total", "counter",
                 "Decisions for them, by how they were made.");
    for (int i = BY_ROUTER + 1; i < BY_WAYS; i++)
        metrics_labelled(o, "abrd_untagged_decisions_total", "by",
                         untagged_by_name((enum untagged_by)i), (double)u->decisions[i]);
    metrics_counter(
        o, "abrd_untagged_labels_total",
        "Sessions without a hint that named a profile at their end, counted or not.",
        (double)u->labels);
    put_refused(o, u);
    metrics_counter(o, "abrd_slots_total", "Slots that have ended.", (double)u->slots);
    metrics_counter(o, "abrd_slots_empty_total",
                    "Of those: without a chunk to learn from.", (double)u->empty_slots);
    metrics_counter(o, "abrd_slot_late_total", "Chunks of a slot that was over.",
                    (double)u->late);
    metrics_counter(o, "abrd_untagged_state_refused_total",
                    "Damaged state files that were put aside.", (double)u->refused);
    put_mix(o, u);
    if (u->examined) put_exam(o, u);
    if (u->experts) put_merge(o, u);
    if (u->shares) put_share(o, u);
    metrics_counter(o, "abrd_identity_examples_total",
                    "Labelled sessions the head learned from.", (double)u->examples);
    metrics_counter(o, "abrd_identity_dropped_total",
                    "Of those, dropped for want of room.", (double)u->dropped);
    if (!u->examples) return;
    metrics_gauge(o, "abrd_identity_accuracy",
                  "Share of profiles guessed before being told.", u->accuracy);
    metrics_gauge(o, "abrd_identity_calibration_error",
                  "Mean distance between how sure the guesses are and how often right.",
                  u->calibration);
    metrics_gauge(o, "abrd_identity_log_loss", "Of the same guesses, in nats.",
                  u->log_loss);
}
