/* program.h - runs the built program as a user would, through the shell. */
#ifndef TEST_PROGRAM_H
#define TEST_PROGRAM_H

struct program_result {
    int code;   /* exit code; -1 when a signal ended it */
    char *text; /* stdout and stderr as they came, owned */
};

/* args as typed behind "abrd"; may redirect. The program is the one that was built beside
 * this test runner, so sanitizer and coverage builds test themselves. */
struct program_result program_run(const char *args);
void program_free(struct program_result *r);

/* The same with standard input, output and errors on a terminal of so many columns. `env` stands in front
 * of the program: "NO_COLOR=1 PATH=...". The newlines of the terminal are \r\n. */
struct program_result program_on_terminal(const char *env, const char *args, int columns);

/* Runs it and asserts the exit code and that `part` is in what it printed. */
void program_expect(const char *args, int code, const char *part);

/* The same with a folder: it replaces every '@' in args and part. */
struct program_result program_run_in(const char *dir, const char *args);
void program_expect_in(const char *dir, const char *args, int code, const char *part);

#endif
