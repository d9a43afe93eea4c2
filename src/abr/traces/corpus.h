/* corpus.h - a folder of traces, and the deterministic train/test split of it.
 *
 * Files are read in name order; those beginning with '.' and README* are passed over, as are
 * sub-folders; a folder without a trace of the part is ERR_ABSENT. One bad file fails the
 * whole load (e names file and line): a figure over a corpus that silently lost a trace would
 * be wrong.
 *
 * Split by name: crc32(name) % 4 == 0 is test, the rest train.
 *
 * Threads: shared read-only after construction. */
#ifndef ABR_CORPUS_H
#define ABR_CORPUS_H

#include "abr/traces/trace.h"

enum corpus_part { CORPUS_ALL, CORPUS_TRAIN, CORPUS_TEST };

/* Paths of a folder's traces, in name order. */
struct corpus_files {
    int n, cap;
    char **path; /* (n), owned */
};

struct corpus {
    char name[64]; /* the folder's last component */
    int n;
    struct trace **traces; /* owned */
};

/* max 100,000 files. *out is zero-initialised by the caller and freed also on failure. */
int corpus_files_list(struct corpus_files *out, const char *dir, enum corpus_part part,
                      struct err *e) __attribute__((warn_unused_result));
void corpus_files_free(struct corpus_files *f);

struct corpus *corpus_load(const char *dir, enum corpus_part part, struct err *e);
/* `n` traces of `seconds` of the kind (see gen.h), or of each kind when kind is NULL, in name
 * order: the same corpus, and hash, as the folder they would be saved to. */
struct corpus *corpus_generate(const char *kind, int n, double seconds, uint64_t seed,
                               struct err *e);
void corpus_free(struct corpus *c);

/* CRC-32 over the rows of every trace in order: names the data in a provenance file. */
uint32_t corpus_hash(const struct corpus *c);

#endif
