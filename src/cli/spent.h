/* spent.h - where a long command spent its CPU time.
 *
 *   struct spent s = {0};
 *   spent_note(&s, clock_cpu(), "MNIST, M = 7");       from here on that is what is being done
 *   spent_line(line, sizeof line, &s, clock_cpu());    "12.3 s CPU: MNIST, M = 7 8.1 s, ..."
 *
 * Equal notes are one entry; past SPENT_NOTES the rest counts in the total alone. The line names
 * the largest entries with a tenth of the total or more, four at most.
 *
 * Threads: not shared. */
#ifndef CLI_SPENT_H
#define CLI_SPENT_H

#include <stddef.h>

#define SPENT_NOTES 64

struct spent {
    struct spent_note {
        char text[80];
        double cpu_s;
    } note[SPENT_NOTES];
    int notes, now; /* now: whose time runs, notes when nobody's */
    double since_s; /* when that began */
};

void spent_note(struct spent *s, double cpu_s, const char *note);
void spent_line(char *out, size_t size, const struct spent *s, double cpu_s);

#endif
