/* untagged.state: whatever is written over a sound one, a start takes it over or puts it aside,
 * and the viewers without a hint are served.
 *
 * The input is a list of edits: where (3 bytes), how many bytes (1, of which 0 cuts the file
 * there), the bytes. Length and checksum are made right again, else nothing would get further. */
#include "support/fuzz.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abr/emulator/feat.h"
#include "base/bytes.h"
#include "base/text.h"
#include "policy/policy.h"
#include "serve/hintless/hintless.h"

enum { HEAD = 32 };

static struct hintless *open_state(const char *path, enum hintless_mode mode)
{
    struct policy_cfg router = policy_cfg_default(FEAT_FULL_DIM);
    struct hintless_new how = {.cfg = hintless_cfg_default(),
                               .router = &router,
                               .state_path = path,
                               .seed = 5,
                               .now = 1000};
    how.cfg.mode = mode;
    struct err e = {0};
    struct hintless *u = hintless_new(&how, &e);
    if (!u) assert(e.code && *e.detail);
    return u;
}

static unsigned char *sound_state(size_t *n)
{
    char path[] = "/tmp/abrd-fuzz-XXXXXX";
    int fd = mkstemp(path);
    assert(fd >= 0);
    close(fd);
    unlink(path);
    struct hintless *u = open_state(path, HINTLESS_IDENTIFY);
    assert(u);
    struct err e = {0};
    int rc = hintless_share(u, 1, 2, &e);
    if (!rc) rc = hintless_save(u, &e);
    assert(rc == 0);
    hintless_free(u);
    char *bytes = text_read_file(path, 64 << 20, n, &e);
    assert(bytes && *n > HEAD);
    unlink(path);
    return (unsigned char *)bytes;
}

static size_t edit(unsigned char *bytes, size_t n, const uint8_t *data, size_t size)
{
    while (size >= 4) {
        size_t at = HEAD + (data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16),
               len = data[3];
        data += 4;
        size -= 4;
        if (!len && at < n) n = at;
        if (len > size) len = size;
        if (at + len <= n) memcpy(bytes + at, data, len);
        data += len;
        size -= len;
    }
    bytes_put_u64(bytes + 16, n - HEAD);
    bytes_put_u32(bytes + 8, bytes_crc32(0, bytes + HEAD, n - HEAD));
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char *sound;
    static size_t n_sound;
    if (!sound) sound = sound_state(&n_sound);
    unsigned char *bytes = malloc(n_sound);
    if (!bytes) abort();
    memcpy(bytes, sound, n_sound);
    size_t n = edit(bytes, n_sound, data, size);

    int fd = memfd_create("state", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    free(bytes);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);

    struct hintless *u = open_state(path, HINTLESS_IDENTIFY);
    if (u) {
        struct err e = {0};
        struct hintless_worker *desk = hintless_worker_new(u, &e);
        assert(desk);
        struct qoe hint;
        if (hintless_hint(&hint, u, desk)) assert(isfinite(hint.mu_quality));
        int rc = hintless_share(u, 1, 2, &e);
        assert(rc == 0 && !hintless_has_pending(u)); /* nothing is merged */
        hintless_opened(u);
        hintless_tick(u, 5000);
        struct hintless_stats s;
        hintless_stats(&s, u);
        assert(s.tasks >= 0 && s.tasks <= PROFILE_MIX_TASKS);
        hintless_worker_free(desk);
        hintless_free(u);
    }
    close(fd);
    return 0;
}
