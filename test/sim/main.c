/* make sim: seeds FIRST .. FIRST + SEEDS - 1, over as many processes as there are processors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "sim/sim.h"
#include "support/tmpdir.h"

enum { JOBS_MAX = 64, STEPS_MAX = 1000, FINDINGS = 20 };

static uint64_t number(const char *name, uint64_t without)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : without;
}

struct tally {
    uint64_t seeds, found;
    double cpu_s;
    struct sim_counts counts;
};

static void minimise(const struct sim_cfg *cfg, const struct sim_result *r)
{
    static bool skip[STEPS_MAX];
    struct sim_cfg again = *cfg;
    struct sim_result same;
    again.skip = skip;
    again.steps = r->step + 1;
    int left = sim_minimise(skip, again.steps, cfg, r->rule);
    printf("---- and with %d of %d events ----\n", left, again.steps);
    sim_run(&same, &again);
}

static void show_finding(const struct sim_cfg *cfg, const struct sim_result *r)
{
    unsigned long long seed = cfg->seed;
    fprintf(stderr,
            "seed %llu, step %d: %s: %s\n"
            "  replay: make sim FIRST=%llu SEEDS=1 VERBOSE=1 (MINIMISE=1: with fewer "
            "events)\n",
            seed, r->step, sim_rule_name(r->rule), r->detail, seed);
    if (cfg->tell && number("MINIMISE", 0)) minimise(cfg, r);
}

/* Every jobs-th seed. */
static void work(struct tally *t, int job, int jobs, uint64_t first, uint64_t seeds)
{
    char dir[256], policy[256], experts[256];
    snprintf(dir, sizeof dir, "%s", tmpdir_new());
    sim_policies(policy, experts, dir);
    for (uint64_t i = (uint64_t)job; i < seeds; i += (uint64_t)jobs) {
        struct sim_cfg cfg = {.seed = first + i,
                              .dir = dir,
                              .policy = policy,
                              .experts = experts,
                              .broken = (enum sim_break)number("BREAK", 0),
                              .tell = number("VERBOSE", 0) ? stdout : NULL};
        struct sim_result r;
        sim_run(&r, &cfg);
        if (cfg.tell) printf("hash %016llx\n", (unsigned long long)r.hash);
        t->seeds++;
        sim_counts_add(&t->counts, &r.counts);
        if (r.rule != SIM_NONE && ++t->found <= FINDINGS) show_finding(&cfg, &r);
        if (job == 0 && t->seeds % 100 == 0)
            fprintf(stderr, "%llu of %llu seeds, %llu findings\r",
                    (unsigned long long)(i + 1), (unsigned long long)seeds,
                    (unsigned long long)t->found);
    }
    t->cpu_s = clock_cpu();
    tmpdir_remove(dir);
}

static void add(struct tally *to, const struct tally *t)
{
    to->seeds += t->seeds;
    to->found += t->found;
    to->cpu_s += t->cpu_s;
    sim_counts_add(&to->counts, &t->counts);
}

static void show(const struct tally *t)
{
    const struct sim_counts *c = &t->counts;
    const struct {
        const char *what;
        uint64_t n;
    } row[] = {{"events", c->steps},         {"requests", c->requests},
               {"refused", c->refused},      {"in the midst of another", c->nested},
               {"decisions", c->decisions},  {"repeats", c->repeats},
               {"conflicts", c->conflicts},  {"rewards", c->rewards},
               {"commits", c->commits},      {"failed writes", c->failed_writes},
               {"crashes", c->crashes},      {"drains", c->drains},
               {"clock jumps", c->jumps},    {"damaged files", c->damaged},
               {"updates", c->updates},      {"versions", c->versions},
               {"slots", c->slots},          {"expired", c->expired},
               {"grown profiles", c->added}, {"dropped trajectories", c->dropped}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        printf("  %-24s %12llu\n", row[i].what, (unsigned long long)row[i].n);
    printf("%llu seeds, %.1f s of CPU, %.1f ms a seed: %llu findings\n",
           (unsigned long long)t->seeds, t->cpu_s,
           t->seeds ? 1e3 * t->cpu_s / (double)t->seeds : 0,
           (unsigned long long)t->found);
}

int main(void)
{
    uint64_t first = number("FIRST", 1), seeds = number("SEEDS", 10000);
    int jobs = (int)number("JOBS", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    if (jobs < 1) jobs = 1;
    if (jobs > JOBS_MAX) jobs = JOBS_MAX;
    if (seeds < (uint64_t)jobs) jobs = 1;
    struct stat st;
    if (!stat("/dev/shm", &st)) setenv("TMPDIR", "/dev/shm", 0);

    int end[JOBS_MAX][2];
    for (int j = 0; j < jobs; j++) {
        if (pipe(end[j])) return 2;
        pid_t pid = jobs == 1 ? 0 : fork();
        if (pid < 0) return 2;
        if (pid) {
            close(end[j][1]);
            continue;
        }
        struct tally mine = {0};
        work(&mine, j, jobs, first, seeds);
        if (write(end[j][1], &mine, sizeof mine) != sizeof mine) return 2;
        if (jobs > 1) return 0;
        close(end[j][1]);
    }
    struct tally all = {0};
    bool whole = true;
    for (int j = 0; j < jobs; j++) {
        struct tally one = {0};
        whole &= read(end[j][0], &one, sizeof one) == sizeof one;
        add(&all, &one);
    }
    while (wait(NULL) > 0)
        ;
    show(&all);
    if (!whole) fprintf(stderr, "a process of the simulation has died\n");
    return !whole || all.found || !all.seeds;
}
