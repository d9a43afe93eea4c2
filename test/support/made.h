/* made.h - views and traces made by hand. */
#ifndef TEST_MADE_H
#define TEST_MADE_H

#include "abr/traces/trace.h"
#include "abr/emulator/view.h"

/* Before the first chunk of 48 of 4 s, buffer limit 60 s; the first `levels` of the ladder 300, 750,
 * 1200, 1850, 2850, 4300 kbit/s. */
struct view made_view(int levels);

/* The same after four chunks at 2 Mbit/s, the last at level 2, with 12 s in the buffer. */
struct view made_measured_view(int levels);

/* Rows of (s, Mbit/s); the caller's. */
struct trace *made_trace(int n, const double (*row)[2]);

#endif
