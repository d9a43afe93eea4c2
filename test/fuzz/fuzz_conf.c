#include "support/fuzz.h"

#include "base/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool flag = false;
    int i = 0;
    uint64_t u64 = 0;
    double d = 0;
    char text[8] = "";
    const struct conf_key keys[] = {
        {"learn", .flag = &flag},
        {"port", .i = &i, .lo = 1, .hi = 65535},
        {"seed", .u64 = &u64},
        {"share", .d = &d, .lo = 0, .hi = 1},
        {"data", .text = text, .size = sizeof text},
        {0},
    };
    struct err e = {0};
    int rc = conf_parse((const char *)data, size, "fuzz", keys, &e);

    /* what was accepted is within its limits; what was not says why */
    if (rc == 0 && (i < 0 || i > 65535 || !(d >= 0 && d <= 1))) __builtin_trap();
    if (rc != 0 && (!e.code || !*e.field || !*e.detail)) __builtin_trap();
    return 0;
}
