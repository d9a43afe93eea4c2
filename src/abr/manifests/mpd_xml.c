/* mpd_xml.c - elements, attributes and numbers of a DASH manifest. */
#include "mpd_priv.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

int mpd_line(const struct mpd_node *at)
{
    return at ? at->line : 1;
}

const struct mpd_node *mpd_named(const struct mpd_node *n, const char *element)
{
    while (n && strcmp(n->texts, element) != 0)
        n = n->next;
    return n;
}

const struct mpd_node *mpd_child(const struct mpd_node *n, const char *element)
{
    return mpd_named(n->children, element);
}

bool mpd_attribute(char *out, size_t size, const struct mpd_node *n, const char *attr)
{
    const char *at = n->texts + strlen(n->texts) + 1;
    for (int i = 0; i < n->attributes; i++) {
        const char *value = at + strlen(at) + 1;
        if (!strcmp(at, attr)) {
            if (strlen(value) >= size) return false;
            strcpy(out, value);
            return true;
        }
        at = value + strlen(value) + 1;
    }
    return false;
}

#define NUMBER_MAX INT64_C(100000000000000000)

bool mpd_whole(int64_t *out, const char *s)
{
    char *end;
    if (*s != '-' && (*s < '0' || *s > '9')) return false;
    long long v = strtoll(s, &end, 10);
    *out = v;
    return !*end && v > -NUMBER_MAX && v < NUMBER_MAX;
}

double mpd_seconds(const char *s)
{
    static const struct {
        char unit;
        bool time;
        double seconds;
    } parts[] = {{'Y', false, 0.0},   {'M', false, 0.0}, {'D', false, 86400.0},
                 {'H', true, 3600.0}, {'M', true, 60.0}, {'S', true, 1.0}};
    static const size_t units = sizeof parts / sizeof *parts;
    if (*s++ != 'P' || !*s) return -1.0;
    double sum = 0.0;
    bool time = false;
    while (*s) {
        if (*s == 'T' && !time) {
            time = true;
            s++;
            continue;
        }
        char *end;
        if (*s < '0' || *s > '9') return -1.0;
        double v = strtod(s, &end);
        size_t i = 0;
        while (i < units && (parts[i].unit != *end || parts[i].time != time))
            i++;
        if (i == units || (v > 0.0 && parts[i].seconds <= 0.0)) return -1.0;
        sum += v * parts[i].seconds;
        s = end + 1;
    }
    return sum < 1e9 ? sum : -1.0;
}

const struct mpd_node *mpd_inherited(char *out, size_t size, const struct mpd_chain *c,
                                     const char *element, const char *attr)
{
    for (int i = c->n - 1; i >= 0; i--) {
        const struct mpd_node *t = mpd_child(c->at[i], element);
        if (t && mpd_attribute(out, size, t, attr)) return t;
    }
    return NULL;
}

int mpd_inherited_int(int64_t *out, const struct mpd_chain *c, const char *element,
                      const char *attr, int64_t fallback, const char *name, struct err *e)
{
    char text[32];
    const struct mpd_node *t = mpd_inherited(text, sizeof text, c, element, attr);
    *out = fallback;
    if (!t || (mpd_whole(out, text) && *out >= 0)) return 0;
    return text_refuse(name, mpd_line(t), ERR_INVALID, e,
                       "%s: %s '%s' is not a whole number", element, attr, text);
}

bool mpd_range(int64_t *from, int64_t *to, const char *s)
{
    char copy[64], *dash = NULL;
    if (snprintf(copy, sizeof copy, "%s", s) < (int)sizeof copy) dash = strchr(copy, '-');
    if (!dash) return false;
    *dash = '\0';
    return mpd_whole(from, copy) && mpd_whole(to, dash + 1) && *from >= 0 && *to >= *from;
}
