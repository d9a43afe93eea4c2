/* IDX files: whatever the bytes are, the head ends in sizes that fill the file to its last byte,
 * or in a told error. */
#include "support/fuzz.h"

#include "lab/images.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int dims = 1; dims <= 3; dims += 2) {
        int dim[3] = {1, 1, 1};
        struct err e = {0};
        int rc = images_idx(dim, dims, "fuzz", data, size, &e);
        assert(rc == e.code && (rc == 0 || (rc < 0 && e.detail[0])));
        if (rc) continue;
        for (int i = 0; i < dims; i++)
            assert(dim[i] >= 1 && dim[i] <= (i ? IMAGES_SIDE_MAX : IMAGES_MAX));
        size_t values = (size_t)dim[0] * (size_t)dim[1] * (size_t)dim[2];
        assert(size == 4 + 4 * (size_t)dims + values);
    }
    return 0;
}
