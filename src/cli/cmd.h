/* cmd.h - the subcommands of abrd.
 *
 * Each lives in cli/cmd_<name>.c and is listed in the table of main.c. argv[0] is the
 * subcommand's name. Returns the exit code: 0 done, 1 failed, 2 wrong usage. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include <stdio.h>

#define CMD_VERSION "0.1.0"
#define CMD_DATE "2026-11-22" /* of the manual pages */

/* ---- commands by name (cmd_sub.c) ---- */

/* A table of them ends with a name of NULL. */
struct cmd_sub {
    const char *name, *help; /* help: one line */
    int (*run)(int argc, char **argv);
};

const struct cmd_sub *cmd_sub_find(const struct cmd_sub *table, const char *name);
/* At most two typing mistakes away; NULL: none. */
const char *cmd_sub_nearest(const struct cmd_sub *table, const char *name);
void cmd_sub_print(FILE *f, const struct cmd_sub *table);
/* Their names, one a line: for completion. */
void cmd_sub_words(const struct cmd_sub *table);
/* Runs the command that argv[1] names, or prints the table; example: one command. */
int cmd_sub_run(const char *command, const char *about, const struct cmd_sub *table,
                const char *example, int argc, char **argv);

/* Call it before a command computes with so many threads. Reserves the address space that OpenBLAS needs
 * (nn/blas.h). 0, or OPT_EXIT_FAILED after printing why. */
int cmd_blas(const char *command, int threads);

/* Prints "abrd COMMAND: FIELD: DETAIL" on stderr; returns OPT_EXIT_FAILED. */
struct err;
int cmd_fail(const char *command, const struct err *e);

/* ---- the commands ---- */

int cmd_emulate(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_trial(int argc, char **argv);
int cmd_backup(int argc, char **argv);
int cmd_forget(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_policy(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_train(int argc, char **argv);
int cmd_retrain(int argc, char **argv);
int cmd_video(int argc, char **argv);
/* table: the commands to complete. */
int cmd_completion(const struct cmd_sub *table, int argc, char **argv);

/* table: the commands with a page. */
int cmd_man(const struct cmd_sub *table, int argc, char **argv);

/* cmd_lab with another table of labs, which ends with NULL. */
struct lab;
int cmd_lab_of(const struct lab *const *table, int argc, char **argv);

#endif
