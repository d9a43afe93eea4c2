/* Any bytes as sabre's JSON, a DASH MPD or an HLS playlist: refused with a reason, or a video that
 * passes its own check. */
#include "support/fuzz.h"

#include "abr/manifests/video.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    char *text = malloc(size + 1); /* texts end with a NUL */
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    struct video *v = video_parse(text, size, "fuzz", "test/fuzz", NULL, &e);
    assert((v != NULL) == (e.code == 0));
    if (v) assert(video_check(v, &e) == 0);
    video_free(v);
    free(text);
    return 0;
}
