/* Any bytes as sabre's JSON or a DASH MPD: refused with a reason, or a video that passes its
 * own check. */
#include "support/fuzz.h"

#include "abr/video.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct video *v =
        video_parse((const char *)data, size, "fuzz", "test/fuzz", NULL, &e);
    assert((v != NULL) == (e.code == 0));
    if (v) assert(video_check(v, &e) == 0);
    video_free(v);
    return 0;
}
