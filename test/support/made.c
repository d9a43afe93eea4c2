#include "support/made.h"

#include <check.h>

struct view made_view(int levels)
{
    static const double ladder[] = {300, 750, 1200, 1850, 2850, 4300};
    struct view v = view_default();
    ck_assert_int_le(levels, 6);
    v.levels = levels;
    for (int k = 0; k < levels; k++)
        v.ladder_kbps[k] = ladder[k];
    v.chunk_s = 4;
    v.chunks = 48;
    v.buffer_max_s = 60;
    return v;
}

struct view made_measured_view(int levels)
{
    struct view v = made_view(levels);
    v.buffer_s = 12;
    for (int i = 0; i < 4; i++)
        view_push(&v, 2000 * 125 * 4, 4);
    v.last_level = 2;
    return v;
}

struct trace *made_trace(int n, const double (*row)[2])
{
    struct trace *t = trace_new(n, "made", NULL);
    ck_assert_ptr_nonnull(t);
    for (int i = 0; i < n; i++) {
        t->time_s[i] = row[i][0];
        t->mbps[i] = row[i][1];
    }
    return t;
}
