/* cmd.h - the subcommands of abrd.
 *
 * Each lives in cli/cmd_<name>.c and is listed in the table of main.c. argv[0] is the
 * subcommand's name. Returns the exit code: 0 done, 1 failed, 2 wrong usage. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#define CMD_VERSION "0.1.0"

int cmd_emulate(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_policy(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_train(int argc, char **argv);

/* cmd_lab with another table of labs, which ends with NULL. */
struct lab;
int cmd_lab_of(const struct lab *const *table, int argc, char **argv);

#endif
