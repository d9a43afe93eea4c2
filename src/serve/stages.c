#include "serve/stages.h"

void stages_init(struct stages *s)
{
    *s = (struct stages){0};
    for (int i = 0; i < STAGES; i++)
        hist_init(&s->seconds[i], 100e-9, 2.0, 20); /* 100 ns .. 52 ms */
}

const char *stages_name(enum stage which)
{
    static const char *const names[STAGES] = {"wire", "track", "policy", "keep", "emit"};
    return names[which];
}
