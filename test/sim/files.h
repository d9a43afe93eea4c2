/* files.h - the folder as it is at one moment, and system calls that fail.
 *
 * The service's own code writes its files; here they are remembered and put back, damaged, and
 * the calls that make them durable (fsync, link, rename) are counted: the linker sends them
 * through this module (Makefile: SIM_WRAP), so that one of them can fail or be the moment of a
 * crash. What was written and not yet synced (FILE.tmp) may be torn in what is remembered.
 *
 * Threads: one at a time has a watch. */
#ifndef SIM_FILES_H
#define SIM_FILES_H

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>

#define FILES_MAX 64

struct files {
    int n;
    struct {
        char name[96];
        void *bytes; /* owned; NULL: kept as a link beside the folder */
        size_t size;
    } at[FILES_MAX];
};

void files_remember(struct files *f, const char *dir, struct rng *torn);
/* The folder holds these files and no others. */
void files_put_back(const struct files *f, const char *dir);
void files_release(struct files *f);

void files_remove(const char *dir, const char *name);

/* Changes, shortens or removes one of the files that must be readable; *name says which. */
bool files_damage(char name[96], const char *dir, struct rng *r);

struct files_watch {
    int calls;     /* since the watch began */
    int fail_from; /* the call that fails first, with ENOSPC; 0 = none */
    int fail_n;    /* so many of them */
    int failed;
    void (*before)(void *ctx); /* each call; NULL = nothing */
    void *ctx;
};
/* NULL: nobody watches. */
void files_watch(struct files_watch *w);

#endif
