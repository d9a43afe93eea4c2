/* corpus.h - a folder of traces, and its deterministic split into train and test.
 *
 * Split by name: crc32(name) % 4 == 0 is test, the rest is train.
 *
 * Files are read in the order of their names. Sub-folders, README* and names that begin with '.' are
 * skipped. One bad file fails the whole load, since a figure over a corpus that silently lost a trace
 * would be wrong.
 *
 * Errors: ERR_ABSENT for a folder without a trace of the part; those of trace.h, with file and line.
 * Threads: shared read-only after construction. */
#ifndef ABR_CORPUS_H
#define ABR_CORPUS_H

#include "abr/traces/trace.h"

enum corpus_part { CORPUS_ALL, CORPUS_TRAIN, CORPUS_TEST };

/* Paths of a folder's traces, in the order of their names. */
struct corpus_files {
    int n, cap;
    char **path; /* (n), owned */
};

struct corpus {
    char name[64]; /* the folder's last component */
    int n;
    struct trace **traces; /* owned */
};

/* At most 100,000 files. The caller zero-initialises *out and frees it also after a failure. */
int corpus_files_list(struct corpus_files *out, const char *dir, enum corpus_part part,
                      struct err *e) __attribute__((warn_unused_result));
void corpus_files_free(struct corpus_files *f);

struct corpus *corpus_load(const char *dir, enum corpus_part part, struct err *e);
/* n traces of a kind (gen.h), each `seconds` long; kind NULL: n of each kind. They are in the order of
 * their names, so corpus and hash equal those of a folder with these traces. */
struct corpus *corpus_generate(const char *kind, int n, double seconds, uint64_t seed,
                               struct err *e);
void corpus_free(struct corpus *c);

/* CRC-32 over the rows of all traces in order. It identifies the data in a provenance file. */
uint32_t corpus_hash(const struct corpus *c);

#endif
