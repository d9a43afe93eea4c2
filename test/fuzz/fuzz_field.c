#include "support/fuzz.h"

#include "base/field.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const levels[] = {"low", "high", NULL};
    enum level { LOW, HIGH } level = LOW;
    bool flag = false;
    int i = 0;
    uint64_t u64 = 0;
    double d = 0;
    char chars[8] = "";
    const char *text = "";
    struct field_list list = {0};
    const struct field rows[] = {
        {"learn", NULL, "", FIELD_TO(flag)},
        {"port", "N", "", FIELD_TO(i), .lo = 1, .hi = 65535},
        {"seed", "N", "", FIELD_TO(u64)},
        {"share", "X", "", FIELD_TO(d), .lo = 0, .hi = 1},
        {"data", "DIR", "", FIELD_TO(chars)},
        {"web-dir", "DIR", "", FIELD_TO(text)},
        {"host", "A,B", "", FIELD_TO(list)},
        {"level", "WORD", "", FIELD_TO(level), .words = levels},
        {0},
    };
    char *copy = malloc(size + 1);
    if (!copy) return 0;
    memcpy(copy, data, size);
    copy[size] = 0;
    struct err e = {0};
    int rc = field_parse(copy, size, "fuzz", rows, &e);

    /* what was accepted is within its limits; what was not says why */
    if (rc == 0 && (i < 0 || i > 65535 || !(d >= 0 && d <= 1) || level > HIGH))
        __builtin_trap();
    if (rc == 0 && field_check(rows + 2, NULL, NULL)) __builtin_trap();
    if (rc != 0 && (!e.code || !*e.field || !*e.detail)) __builtin_trap();
    if (strlen(text) > size || list.n > FIELD_LIST_MAX) __builtin_trap();
    free(copy);
    return 0;
}
