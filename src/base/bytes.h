/* bytes.h - CRC-32 and little-endian numbers in byte arrays.
 *
 * CRC-32 is that of zlib, PNG and Ethernet (reflected polynomial 0xedb88320);
 * bytes_crc32(0, "123456789", 9) = 0xcbf43926. Data may come in pieces: pass the result of one call
 * to the next.
 *
 * Threads: pure functions. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* crc: 0 in the first call, then the result of the previous call. */
uint32_t bytes_crc32(uint32_t crc, const void *data, size_t n);

uint16_t bytes_get_u16(const void *p);
uint32_t bytes_get_u32(const void *p);
uint64_t bytes_get_u64(const void *p);
void bytes_put_u16(void *p, uint16_t v);
void bytes_put_u32(void *p, uint32_t v);
void bytes_put_u64(void *p, uint64_t v);
/* A double as its 8 bytes. */
double bytes_get_f64(const void *p);
void bytes_put_f64(void *p, double v);

#endif
