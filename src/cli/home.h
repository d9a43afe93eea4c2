/* home.h - finds the program's own files: pages, the shipped policy, bundled traces.
 *
 * Places in this order; the first that has the file is used:
 *   1. the folder in the environment variable ABRD_HOME, and no other if it is set;
 *   2. <program's folder>/../share/abrd   (installed);
 *   3. the folders above the program, up to three (built: build/release/abrd in the sources).
 *
 * Threads: pure function (reads the environment). */
#ifndef CLI_HOME_H
#define CLI_HOME_H

#include "base/err.h"

#define HOME_PATH 4096
#define HOME_POLICY "deploy/policy/moe.safetensors"  /* the shipped weights */
#define HOME_MERGE "deploy/policy/merge.safetensors" /* the shipped experts to merge */

/* The path of rel ("web", "deploy/policy/moe.safetensors"). ERR_ABSENT names the places. */
int home_find(char out[HOME_PATH], const char *rel, struct err *e)
    __attribute__((warn_unused_result));

#endif
