#include "cli/progress.h"

#include "base/clock.h"
#include "cli/interrupt.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 24 };

void progress_init(struct progress *p, const char *label, bool quiet)
{
    double now = clock_mono();
    *p = (struct progress){.label = label, .quiet = quiet, .start_s = now};
    p->terminal = isatty(STDERR_FILENO) == 1;
    p->last_s = p->terminal ? now - 1 : now;
}

static void time_text(char *buf, size_t n, double s)
{
    long t = (long)(s + .5);
    if (t >= 3600)
        snprintf(buf, n, "%ld:%02ld:%02ld", t / 3600, t / 60 % 60, t % 60);
    else
        snprintf(buf, n, "%ld:%02ld", t / 60, t % 60);
}

void progress_line(char *buf, size_t n, const char *label, double share, double elapsed_s,
                   const char *note, bool bar)
{
    if (!(share > 0)) share = 0;
    if (share > 1) share = 1;

    char drawing[BAR + 4] = "";
    if (bar) {
        int full = (int)(share * BAR);
        drawing[0] = '[';
        memset(drawing + 1, '#', (size_t)full);
        memset(drawing + 1 + full, '.', (size_t)(BAR - full));
        strcpy(drawing + 1 + BAR, "] ");
    }

    /* below one in a thousand the guess is worth nothing */
    char left[64] = "";
    if (share >= .001 && share < 1) {
        char t[32];
        time_text(t, sizeof t, elapsed_s * (1 - share) / share);
        snprintf(left, sizeof left, "  %s left", t);
    } else if (share >= 1) {
        char t[32];
        time_text(t, sizeof t, elapsed_s);
        snprintf(left, sizeof left, "  in %s", t);
    }
    snprintf(buf, n, "%s  %s%3d %%%s%s%s", label, drawing, (int)(share * 100), left,
             *note ? "  " : "", note);
}

void progress_show(struct progress *p, double share, const char *note)
{
    double now = clock_mono();
    if (p->quiet || now - p->last_s < (p->terminal ? .1 : 10)) return;
    p->last_s = now;

    char line[256];
    progress_line(line, sizeof line, p->label, share, now - p->start_s, note,
                  p->terminal);
    if (p->terminal)
        fprintf(stderr, "\r%s\x1b[K", line);
    else
        fprintf(stderr, "%s\n", line);
    p->drawn = p->terminal;
}

bool progress_watch(void *p, double share)
{
    progress_show(p, share, "");
    return interrupt_seen();
}

void progress_end(struct progress *p)
{
    if (p->drawn) fputs("\r\x1b[K", stderr);
    p->drawn = false;
}

/* ---- CPU time ---- */

enum { LISTED = 4 };

static void cpu_settle(struct progress_cpu *s, double cpu_s)
{
    if (s->now < s->notes) s->note[s->now].cpu_s += cpu_s - s->since_s;
    s->since_s = cpu_s;
}

void progress_cpu_note(struct progress_cpu *s, double cpu_s, const char *note)
{
    cpu_settle(s, cpu_s);
    char text[sizeof s->note[0].text];
    snprintf(text, sizeof text, "%s", note);
    s->now = 0;
    while (s->now < s->notes && strcmp(s->note[s->now].text, text) != 0)
        s->now++;
    if (s->now < s->notes || s->notes == PROGRESS_PARTS) return;
    s->notes++;
    s->note[s->now].cpu_s = 0;
    memcpy(s->note[s->now].text, text, sizeof text);
}

/* the largest that is not listed yet; -1: the rest is small */
static int cpu_largest(const struct progress_cpu *s, const bool *listed, double least)
{
    int best = -1;
    for (int i = 0; i < s->notes; i++) {
        if (listed[i] || s->note[i].cpu_s < least) continue;
        if (best < 0 || s->note[i].cpu_s > s->note[best].cpu_s) best = i;
    }
    return best;
}

void progress_cpu_line(char *out, size_t size, const struct progress_cpu *s, double cpu_s)
{
    struct progress_cpu at = *s;
    bool listed[PROGRESS_PARTS] = {false};
    cpu_settle(&at, cpu_s);
    int n = snprintf(out, size, "%.1f s CPU", cpu_s), best;
    for (int i = 0; i < LISTED && (best = cpu_largest(&at, listed, cpu_s / 10)) >= 0;
         i++) {
        listed[best] = true;
        if (n < (int)size)
            n += snprintf(out + n, size - (size_t)n, "%s %s %.1f s", i ? "," : ":",
                          at.note[best].text, at.note[best].cpu_s);
    }
}
