/* Any bytes as a playlist that is written anew: refused with a reason, or a playlist with the same lines but
 * for variants and addresses. Without caps and addresses it has as many bytes. */
#include "support/fuzz.h"

#include "abr/manifests/hls.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool map_all(void *self, char out[SEGMENTS_URL], const char *uri)
{
    (void)self;
    return segments_join(out, "http://h/a/b", uri);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    const struct hls_offer offers[] = {
        {0}, {.max_kbps = 1000, .max_height = 480, .first_kbps = 700, .map = map_all}};
    for (int i = 0; i < 2; i++) {
        struct err e = {0};
        size_t n = 0;
        char *out = hls_offer(&n, text, size, "fuzz", &offers[i], &e);
        assert((out != NULL) == (e.code == 0));
        assert(!out || i || (n == size && !memcmp(out, text, n)));
        assert(!out || hls_kind(out) == hls_kind(text) || strlen(text) < size);
        free(out);
    }
    struct err e = {0};
    struct video *v = hls_ladder(text, "fuzz", 6, &e);
    assert((v != NULL) == (e.code == 0));
    video_free(v);
    free(text);
    return 0;
}
