#include "cli/spent.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LISTED = 4 };

static void spent_settle(struct spent *s, double cpu_s)
{
    if (s->now < s->notes) s->note[s->now].cpu_s += cpu_s - s->since_s;
    s->since_s = cpu_s;
}

void spent_note(struct spent *s, double cpu_s, const char *note)
{
    spent_settle(s, cpu_s);
    char text[sizeof s->note[0].text];
    snprintf(text, sizeof text, "%s", note);
    s->now = 0;
    while (s->now < s->notes && strcmp(s->note[s->now].text, text) != 0)
        s->now++;
    if (s->now < s->notes || s->notes == SPENT_NOTES) return;
    s->notes++;
    s->note[s->now].cpu_s = 0;
    memcpy(s->note[s->now].text, text, sizeof text);
}

/* the largest that was not listed yet, -1 when the rest is small */
static int largest(const struct spent *s, const bool *listed, double least)
{
    int best = -1;
    for (int i = 0; i < s->notes; i++) {
        if (listed[i] || s->note[i].cpu_s < least) continue;
        if (best < 0 || s->note[i].cpu_s > s->note[best].cpu_s) best = i;
    }
    return best;
}

void spent_line(char *out, size_t size, const struct spent *s, double cpu_s)
{
    struct spent at = *s;
    bool listed[SPENT_NOTES] = {false};
    spent_settle(&at, cpu_s);
    int n = snprintf(out, size, "%.1f s CPU", cpu_s), best;
    for (int i = 0; i < LISTED && (best = largest(&at, listed, cpu_s / 10)) >= 0; i++) {
        listed[best] = true;
        if (n < (int)size)
            n += snprintf(out + n, size - (size_t)n, "%s %s %.1f s", i ? "," : ":",
                          at.note[best].text, at.note[best].cpu_s);
    }
}
