/* Runs every suite, or those whose name contains argv[1]; fails if nothing ran.
 *
 * Every suite is a process of its own with output of its own. JOBS run at a time (default: the
 * processors) and one more, because some suites wait; JOBS=1 is one at a time. The last suites of
 * the table are the longest, so they begin first. */
#include "support/suites.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOWEST = 8 };

/* What a suite's process leaves: counts in shared memory, its output in a file without a name. */
struct suite_run {
    const char *name;
    Suite *(*make)(void);
    FILE *output;
    pid_t pid;
    struct timespec began;
    double took_s;
    int ran, failed;
};

static double seconds_since(struct timespec then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then.tv_sec) +
           (double)(now.tv_nsec - then.tv_nsec) / 1e9;
}

static int jobs_wanted(void)
{
    const char *jobs = getenv("JOBS");
    if (jobs && atoi(jobs) > 0) return atoi(jobs) > 1 ? atoi(jobs) + 1 : 1;
    cpu_set_t here;
    return sched_getaffinity(0, sizeof here, &here) ? 2 : CPU_COUNT(&here) + 1;
}

/* In the suite's process, which ends with its runner: Ctrl-C reaches the runner alone, and libcheck
 * passes SIGINT on to the test. */
static void suite_process(struct suite_run *r, pid_t runner)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGINT);
    if (getppid() != runner) _exit(1);
    dup2(fileno(r->output), STDOUT_FILENO);
    dup2(fileno(r->output), STDERR_FILENO);

    SRunner *suite = srunner_create(r->make());
    srunner_run_all(suite, CK_ENV);
    r->ran = srunner_ntests_run(suite);
    r->failed = srunner_ntests_failed(suite);
    srunner_free(suite);
    exit(r->failed ? 1 : 0);
}

static void suite_begin(struct suite_run *r)
{
    r->output = tmpfile();
    if (!r->output) {
        perror("tmpfile");
        exit(1);
    }
    clock_gettime(CLOCK_MONOTONIC, &r->began);
    fflush(stdout);
    pid_t runner = getpid();
    pid_t pid = fork();
    if (pid < 0) {
        perror("fork");
        exit(1);
    }
    if (!pid) suite_process(r, runner);
    r->pid = pid; /* by the runner alone: the child shares *r */
}

/* A suite that passed is one line; of another, or of the only one, everything is shown. */
static void suite_end(struct suite_run *r, int status, int whole)
{
    r->took_s = seconds_since(r->began);
    if (status && !r->failed) r->failed = 1;
    printf("%-4s %s: %d tests, %.1f s\n", r->failed ? "FAIL" : "ok", r->name, r->ran,
           r->took_s);
    if (WIFSIGNALED(status))
        printf("%s: ended by signal %d\n", r->name, WTERMSIG(status));

    char part[4096];
    rewind(r->output);
    for (size_t n;
         (r->failed || whole) && (n = fread(part, 1, sizeof part, r->output)) > 0;)
        fwrite(part, 1, n, stdout);
    fclose(r->output);
    fflush(stdout);
}

/* Waits for one; returns how many are still running. */
static int suites_wait(struct suite_run *runs, int n, int running, int whole)
{
    int status;
    pid_t pid = wait(&status);
    if (pid < 0) return errno == EINTR ? running : 0;
    for (int i = 0; i < n; i++)
        if (runs[i].pid == pid) {
            suite_end(&runs[i], status, whole);
            return running - 1;
        }
    return running;
}

static int by_time(const void *a, const void *b)
{
    const struct suite_run *x = a, *y = b;
    return (x->took_s < y->took_s) - (x->took_s > y->took_s);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : "";
    int count = 0, n = 0;
    while (suites[count].name)
        count++;
    struct suite_run *runs =
        mmap(NULL, sizeof *runs * (size_t)(count + 1), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (runs == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    if (strstr("fuzz/replay", only))
        runs[n++] = (struct suite_run){.name = "fuzz/replay", .make = suite_fuzz_replay};
    for (int i = count - 1; i >= 0; i--)
        if (strstr(suites[i].name, only))
            runs[n++] =
                (struct suite_run){.name = suites[i].name, .make = suites[i].make};

    /* Against tests that hang, not against slow machines: no test takes more than 10 s of a
     * processor, and libcheck's clock is the wall's. So a test ends after a quarter of an hour,
     * and one that names 30 or 120 s after 15 times as much. */
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    setenv("CK_TIMEOUT_MULTIPLIER", "15", 0);

    int jobs = jobs_wanted(), running = 0;
    for (int i = 0; i < n; i++) {
        while (running >= jobs)
            running = suites_wait(runs, n, running, *only != 0);
        suite_begin(&runs[i]);
        running++;
    }
    while (running)
        running = suites_wait(runs, n, running, *only != 0);

    int ran = 0, failed = 0;
    for (int i = 0; i < n; i++) {
        ran += runs[i].ran;
        failed += runs[i].failed;
    }
    qsort(runs, (size_t)n, sizeof *runs, by_time);
    printf("slowest suites:");
    for (int i = 0; i < n && i < SLOWEST; i++)
        printf("%s %s %.1f s", i ? "," : "", runs[i].name, runs[i].took_s);
    printf("\n");
    if (!ran) fprintf(stderr, "no test ran (nothing matches '%s')\n", only);
    printf("%d passed, %d failed\n", ran > failed ? ran - failed : 0, failed);
    return ran > 0 && failed == 0 ? 0 : 1;
}
