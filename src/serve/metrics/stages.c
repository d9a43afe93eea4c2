#include "serve/metrics/stages.h"

#include "base/clock.h"

void stages_init(struct stages *s)
{
    *s = (struct stages){0};
    for (int i = 0; i < STAGES; i++)
        hist_init(&s->seconds[i], 100e-9, 2.0, 20); /* 100 ns .. 52 ms */
}

void stages_start(struct stages *s)
{
    s->at_s = clock_mono();
}

void stages_note(struct stages *s, enum stage which)
{
    double now_s = clock_mono();
    hist_add(&s->seconds[which], now_s - s->at_s);
    s->at_s = now_s;
}

const char *stages_name(enum stage which)
{
    static const char *const names[STAGES] = {"wire", "track", "policy", "keep", "emit"};
    return names[which];
}
