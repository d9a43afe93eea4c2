/* crc.h - CRC-32 (IEEE 802.3: reflected polynomial 0xedb88320), as zip and PNG use it.
 *
 * Guards files against damage and turns names into a stable split; it is no defence against
 * anybody. Threads: pure function. */
#ifndef BASE_CRC_H
#define BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Start with crc = 0 and feed the pieces in order: the result is the CRC of all of them. */
uint32_t crc_update(uint32_t crc, const void *data, size_t len);

#endif
