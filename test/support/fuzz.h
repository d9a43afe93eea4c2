/* fuzz.h - the one function of a fuzz target test/fuzz/fuzz_<name>.c.
 *
 * `make fuzz` runs it under libFuzzer; `make check` replays every file of
 * test/fuzz/corpus/<name>/ through it (and that folder may not be empty). It returns 0.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
