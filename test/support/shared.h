/* shared.h - real data that lies beside the project, not in it.
 *
 * Tests on it run where the folder ../shared is, and skip elsewhere with one clear line.
 */
#ifndef TEST_SHARED_H
#define TEST_SHARED_H

/* The path of ../shared/<rel>, in storage good for the next 8 calls; NULL, and a printed
 * line that says what is skipped, when it is not there. */
const char *shared_path(const char *rel);

#endif
