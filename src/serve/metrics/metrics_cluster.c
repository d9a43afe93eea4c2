#include "metrics_priv.h"

static void put_sent(struct emit *o, const struct cluster_stats *c)
{
    metrics_gauge(o, "abrd_outbox_waiting",
                  "Trajectories that the bus does not have yet.", c->buffered);
    metrics_gauge(o, "abrd_outbox_size", "How many may be kept.", c->buffer);
    metrics_gauge(
        o, "abrd_outbox_unconfirmed",
        "Kept until the learner publishes that it has counted them; the bus has them.",
        c->unconfirmed);
    metrics_counter(o, "abrd_outbox_resent_total",
                    "Acknowledged by the bus and then lost by it: sent again.",
                    (double)c->resent);
    metrics_counter(o, "abrd_outbox_let_go_total",
                    "Acknowledged by the bus and let go before they were confirmed.",
                    (double)c->let_go);
    metrics_counter(o, "abrd_outbox_dropped_total",
                    "Trajectories dropped because too many waited.", (double)c->dropped);
    metrics_counter(o, "abrd_outbox_published_total", "Acknowledged by the bus.",
                    (double)c->published);
    metrics_counter(o, "abrd_outbox_repeated_total",
                    "Known to the bus already, and sent under another id.",
                    (double)c->repeated);
    metrics_counter(o, "abrd_outbox_refused_total",
                    "Not taken or not answered, and sent again.", (double)c->refused);
    metrics_counter(o, "abrd_outbox_full_total", "Of those, as the stream was full.",
                    (double)c->full);
}

static void put_learned(struct emit *o, const struct cluster_stats *c)
{
    metrics_gauge(o, "abrd_learner_leading", "1 for the one learner that learns.",
                  c->leading);
    metrics_counter(o, "abrd_ledger_counted_total",
                    "Trajectories that were taken from the stream.", (double)c->counted);
    metrics_counter(o, "abrd_ledger_repeated_total",
                    "Those that came again and were passed over.", (double)c->again);
    metrics_gauge(o, "abrd_ledger_missing",
                  "Numbers that nodes gave and that never came.", (double)c->missing);
    metrics_gauge(o, "abrd_ledger_makers", "Nodes that were heard.", c->makers);
    metrics_gauge(o, "abrd_ledger_position",
                  "In the stream: what lies before has been read.", (double)c->position);
    metrics_counter(o, "abrd_stream_damaged_total", "Messages that were no trajectory.",
                    (double)c->damaged);
    metrics_counter(o, "abrd_stream_skipped_total",
                    "Messages that were gone before they were read.", (double)c->skipped);
}

void metrics_put_cluster(struct emit *o, const struct cluster_stats *c)
{
    if (c->role == ROLE_STANDALONE) return;
    metrics_gauge(o, "abrd_bus_up", "1 while the bus answers.", c->connected);
    metrics_counter(o, "abrd_bus_connects_total", "Connections made.",
                    (double)c->reconnects);
    metrics_gauge(o, "abrd_learner_term", "How often the learner has changed, and once.",
                  (double)c->term);
    metrics_gauge(o, "abrd_learner_silent_seconds",
                  "Since the learner was heard last; it speaks once a second.",
                  c->learner_silent_s);
    metrics_counter(o, "abrd_weights_taken_total", "Published weights taken over.",
                    (double)c->weights_taken);
    metrics_counter(o, "abrd_weights_refused_total",
                    "Those that were damaged, of another shape or of a newer form.",
                    (double)c->weights_refused);
    metrics_gauge(o, "abrd_weights_delay_seconds",
                  "From their publication to this node, of the last ones.",
                  c->weights_delay_s);
    metrics_gauge(o, "abrd_weights_delay_max_seconds", "The longest so far.",
                  c->weights_delay_max_s);
    metrics_gauge(o, "abrd_grown_wanted", "Profiles that are to grow, on all nodes.",
                  c->grown_wanted);
    if (c->role == ROLE_DECIDE) {
        metrics_counter(o, "abrd_grown_taken_total",
                        "Published experts of grown profiles taken over.",
                        (double)c->grown_taken);
        metrics_counter(
            o, "abrd_grown_refused_total",
            "Those that were damaged, of another shape, of a newer form or too many.",
            (double)c->grown_refused);
    }
    if (c->role == ROLE_DECIDE)
        put_sent(o, c);
    else
        put_learned(o, c);
}
