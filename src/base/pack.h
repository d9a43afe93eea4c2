/* pack.h - plain numbers to bytes and back by the same code, so that writer and reader agree.
 *
 *   static void pass_point(struct pack *p, struct point *v)
 *   {
 *       pack_real(p, &v->x);
 *       pack_int(p, &v->kind, 0, 7);
 *   }
 *
 * With pack_writer this function writes *v, with pack_reader it reads *v. Numbers are little-endian.
 *
 * Errors: p->ok becomes false when a value does not fit, ends too early or lies outside its limits.
 * From then on nothing more is written or read. A value that was not read is 0, or lo for an integer
 * with limits.
 * Threads: not shared. */
#ifndef BASE_PACK_H
#define BASE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack {
    bool writing, ok;
    unsigned char *at, *end;
};

struct pack pack_writer(void *out, size_t room);
/* in is only read. */
struct pack pack_reader(const void *in, size_t n);
/* Bytes from start to the current place. */
size_t pack_done(const struct pack *p, const void *start);
/* Whether everything was read. */
bool pack_over(const struct pack *p);

void pack_u8(struct pack *p, uint8_t *v);
void pack_u32(struct pack *p, uint32_t *v);
void pack_u64(struct pack *p, uint64_t *v);
void pack_f32(struct pack *p, float *v);                 /* must be finite */
void pack_f64(struct pack *p, double *v);                /* any bits */
void pack_real(struct pack *p, double *v);               /* must be finite */
void pack_int(struct pack *p, int *v, int lo, int hi);   /* 8 bytes */
void pack_small(struct pack *p, int *v, int lo, int hi); /* 1 byte, v - lo */
void pack_bool(struct pack *p, bool *v);                 /* 8 bytes */
/* A string with its NUL in `size` bytes; bytes behind the NUL are 0. */
void pack_text(struct pack *p, char *v, size_t size);

#endif
