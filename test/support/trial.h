/* trial.h - a trial of the whole daemon from outside: the real program in a fresh folder,
 * ended and started as often as one likes, and one report about it.
 *
 *   struct trial *t = trial_new("chaos", "Nothing lost");
 *   int kills = trial_option(t, "KILLS", 200);           (from the environment)
 *   trial_start(t, (const char *[]){"--checkpoint", "1", NULL});
 *   struct client c = client_open(trial_server(t)->port);
 *   ...
 *   server_kill(trial_server(t));
 *   trial_start(t, NULL);                                (the same port and folder)
 *   report_check(trial_report(t), "rewards lost", lost, 0, 0);
 *   return trial_end(t);
 *
 * The report lies in build/trial/NAME.html, .csv, .json (report/report.h). TRIAL_ABRD names
 * another program than build/abrd, TRIAL_OUT another folder. What cannot be done ends the
 * program (bench_fail); the folder with the daemon's log is kept then. */
#ifndef TEST_TRIAL_H
#define TEST_TRIAL_H

#include "report/report.h"
#include "support/server.h"

struct trial;

struct trial *trial_new(const char *name, const char *title);

/* A number from the environment; it is told in the report. */
double trial_option(struct trial *t, const char *name, double otherwise);

/* dir/name in the trial's own folder; the daemon's data is in "data", what it prints in
 * "log". Good for the next 8 calls. */
const char *trial_path(struct trial *t, const char *name);

/* `abrd serve` with these further options (NULL ends them; NULL itself: those of before). */
void trial_start(struct trial *t, const char *const *options);
/* The same without waiting for it to listen (server_wait). */
void trial_launch(struct trial *t, const char *const *options);
struct server *trial_server(struct trial *t);

/* A value of /metrics by its name with labels as printed: "abrd_store_queue",
 * "abrd_requests_total{code=\"200\"}"; NAN when it is not there. */
double trial_metric(struct trial *t, const char *name);
/* Updates so far that the learner published, held or rolled back. */
double trial_updates(struct trial *t);

struct report *trial_report(struct trial *t);

/* Ends the daemon if it runs, writes the report, prints its checks, removes the folder when
 * all passed. Returns the exit code: 0, or 1 when a check failed or there was none. */
int trial_end(struct trial *t);

#endif
