#include "lab/scale.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { POINTS = 31 };
enum { LEAST = 3 }; /* nodes of the smallest cluster, as `make cluster` has */
static const double SHOWN[] = {1, 2, 3, 10, 30, 100, 300, 1000};
enum { ROWS = sizeof SHOWN / sizeof *SHOWN };

struct scale_point scale_at(const struct scale_units *u, double nodes)
{
    struct scale_point p = {.nodes = nodes};
    double asked = nodes * u->rate, most = u->load * 1e6 / u->learn_us;
    p.viewers = asked * u->chunk_s;
    p.steps = asked * u->explore;
    p.updates = p.steps / u->batch;
    p.decide_cpus = asked * u->decide_us * 1e-6;
    p.learn_cpus = p.steps * u->learn_us * 1e-6;
    p.stream_mb = p.steps * u->step_bytes * 1e-6;
    p.weights_mb = p.updates * u->weights_bytes * (nodes + 1) * 1e-6;
    p.state_mb = p.updates * u->state_bytes * 1e-6;

    p.explore = fmin(u->explore, most / asked);
    p.sampled_weights_mb =
        fmin(p.steps, most) / u->batch * u->weights_bytes * (nodes + 1) * 1e-6;
    p.learners = fmax(1, ceil(p.learn_cpus / u->load));
    p.gradient_mb = 2 * (p.learners - 1) / p.learners * u->gradient_bytes *
                    u->minibatches * p.updates * 1e-6;
    return p;
}

double scale_learner_full(const struct scale_units *u)
{
    return u->load * 1e6 / (u->rate * u->explore * u->learn_us);
}

/* a (N + 1) N + b N = net, of the weights and the rest */
double scale_network_full(const struct scale_units *u)
{
    double updates = u->rate * u->explore / u->batch;
    double a = updates * u->weights_bytes * 1e-6;
    double b =
        a + updates * u->state_bytes * 1e-6 + u->rate * u->explore * u->step_bytes * 1e-6;
    return (sqrt(b * b + 4 * a * u->net_mb) - b) / (2 * a);
}

static struct scale_units units_of(const struct lab_task *t)
{
    return (struct scale_units){.rate = lab_real(t, "rate"),
                                .chunk_s = lab_real(t, "chunk-s"),
                                .explore = lab_real(t, "explore"),
                                .decide_us = lab_real(t, "decide-us"),
                                .learn_us = lab_real(t, "learn-us"),
                                .step_bytes = lab_real(t, "step-bytes"),
                                .weights_bytes = lab_real(t, "weights-bytes"),
                                .state_bytes = lab_real(t, "state-bytes"),
                                .gradient_bytes = lab_real(t, "weights-bytes"),
                                .batch = lab_real(t, "batch"),
                                .minibatches = lab_real(t, "minibatches"),
                                .load = lab_real(t, "load"),
                                .net_mb = lab_real(t, "net-mb")};
}

static void scale_table(struct report *r, const struct scale_units *u)
{
    report_table(r, "Costs per second, by the number of nodes");
    for (int i = 0; i < ROWS; i++) {
        struct scale_point p = scale_at(u, SHOWN[i]);
        report_row(r);
        report_int(r, "nodes", (int64_t)p.nodes);
        report_real(r, "viewers [1000]", p.viewers / 1e3, 0);
        report_real(r, "deciding [CPUs]", p.decide_cpus, 2);
        report_real(r, "learning [CPUs]", p.learn_cpus, 2);
        report_real(r, "trajectories [MB]", p.stream_mb, 2);
        report_real(r, "updates", p.updates, 2);
        report_real(r, "weights out [MB]", p.weights_mb, 1);
        report_real(r, "state in [MB]", p.state_mb, 1);
    }
    report_table(r, "Beyond one learner");
    for (int i = 0; i < ROWS; i++) {
        struct scale_point p = scale_at(u, SHOWN[i]);
        report_row(r);
        report_int(r, "nodes", (int64_t)p.nodes);
        report_real(r, "sampling: share that explores", p.explore, 5);
        report_real(r, "then weights out [MB]", p.sampled_weights_mb, 1);
        report_int(r, "or sharding: learners", (int64_t)p.learners);
        report_real(r, "gradients of each [MB]", p.gradient_mb, 1);
    }
}

/* One curve of the last panel; member: offset in struct scale_point. */
static void scale_curve(struct report *r, const struct scale_units *u, const char *name,
                        enum report_kind kind, size_t member)
{
    double x[POINTS], y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i] = pow(10, 3.0 * i / (POINTS - 1));
        struct scale_point p = scale_at(u, x[i]);
        memcpy(&y[i], (const char *)&p + member, sizeof y[i]);
    }
    report_series(r, &(struct report_series){name, kind, POINTS, x, y, NULL, NULL});
}

#define CURVE(name, kind, member) \
    scale_curve(r, u, name, kind, offsetof(struct scale_point, member))

static void scale_figures(struct report *r, const struct scale_units *u)
{
    const struct report_axis nodes = {.label = "nodes", .log = true};
    report_figure(r, "cpu", "Processors", "The learner has one.");
    report_panel(r, &(struct report_panel){.x = nodes, .y = {"CPUs", .log = true}});
    CURVE("deciding", REPORT_LINE, decide_cpus);
    CURVE("learning", REPORT_LINE, learn_cpus);
    report_rule(r, 'y', u->load, "one learner");
    report_figure(r, "network", "Network",
                  "Weights go to all nodes, and more often with more of them.");
    report_panel(r, &(struct report_panel){.x = nodes, .y = {"MB/s", .log = true}});
    CURVE("trajectories", REPORT_LINE, stream_mb);
    CURVE("weights", REPORT_LINE, weights_mb);
    CURVE("weights, sampled", REPORT_DASHED, sampled_weights_mb);
    report_rule(r, 'y', u->net_mb, "a server");
}

static int scale_run(struct lab_task *t, struct err *e)
{
    (void)e;
    struct report *r = t->report;
    struct scale_units u = units_of(t);
    double learner = scale_learner_full(&u), network = scale_network_full(&u);
    struct scale_point per_million = scale_at(&u, 1e6 / (u.rate * u.chunk_s));
    report_text(r, "Arithmetic from unit costs, which are the options; nothing was "
                   "simulated. Their defaults are what `make cluster` measured with "
                   "the shipped policy.");
    report_text(r,
                "A million viewers are %.0f nodes at %.0f decisions/s: deciding takes "
                "%.1f CPUs, learning %.1f, trajectories %.1f MB/s.",
                per_million.nodes, u.rate, per_million.decide_cpus,
                per_million.learn_cpus, per_million.stream_mb);
    report_text(r,
                "The learner is full at %.1f nodes, the network of one server at %.1f: "
                "first the %s.",
                learner, network, learner < network ? "learner" : "network");
    scale_table(r, &u);
    scale_figures(r, &u);
    /* fewer nodes are no cluster: use single daemons, or a smaller share that explores */
    report_check(r, "nodes that one learner takes", learner, LEAST, INFINITY);
    report_check(r, "nodes that the network of one server takes", network, LEAST,
                 INFINITY);
    return 0;
}

#define REAL(name, arg, v, low, high, help) \
    LAB_NUMBER(LAB_REAL, name, arg, v, v, low, high, help)

static const struct lab_option OPTIONS[] = {
    REAL("rate", "N", 5000, 1, 1e6, "decisions per second that one node makes"),
    REAL("chunk-s", "S", 4, 0.1, 60, "seconds of a chunk; a viewer asks once per chunk"),
    REAL("explore", "SHARE", 0.2, 1e-6, 1,
         "share of viewers that explore, whose steps are learned"),
    REAL("decide-us", "US", 87, 0.1, 1e5, "CPU microseconds of a decision"),
    REAL("learn-us", "US", 37, 0.1, 1e5, "CPU microseconds of a learned step"),
    REAL("step-bytes", "N", 79, 1, 1e4, "bytes of one step on the bus"),
    REAL("weights-bytes", "N", 440e3, 1, 1e9, "bytes of the published weights"),
    REAL("state-bytes", "N", 876e3, 0, 1e9,
         "bytes of the learner's state, sent with the weights"),
    REAL("batch", "N", 2048, 1, 1e6, "steps in one update"),
    REAL("minibatches", "N", 32, 1, 1e6, "minibatches in one update, over all epochs"),
    REAL("load", "SHARE", 0.7, 0.01, 1, "share of a processor that may be used"),
    REAL("net-mb", "MB", 100, 0.1, 1e6, "MB per second that a server passes on"),
    {0},
};

const struct lab scale_lab = {
    .name = "scale",
    .about = "the cost of a growing cluster, and its first bottleneck",
    .title = "How the cost of a cluster grows",
    .source = "arithmetic from measured unit costs (make cluster)",
    .options = OPTIONS,
    .run = scale_run,
    .exact = true,
};
