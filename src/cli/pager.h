/* pager.h - a program that shows standard output page by page: man(1), less(1).
 *
 *   const char *argv[] = {"man", "-l", "-", NULL};
 *   struct pager p;
 *   if (!pager_begin(&p, argv)) ...        standard output is as it was
 *   (print)
 *   pager_end(&p);
 *
 * The program is found in PATH and gets standard output as its standard input. A reader may leave it
 * before the end of the text. Ctrl-C is for the program until it ends.
 * Threads: main thread (standard output, signals). */
#ifndef CLI_PAGER_H
#define CLI_PAGER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct pager {
    pid_t pid;
    int saved; /* the former standard output */
    struct sigaction interrupt, pipe;
};

/* False: the program is not there or cannot be started. */
bool pager_begin(struct pager *p, const char *const *argv)
    __attribute__((warn_unused_result));
/* Waits for the program. Its exit code, or -1 if a signal ended it. */
int pager_end(struct pager *p);

#endif
