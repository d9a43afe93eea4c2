/* mpd_xml.c - elements, attributes and numbers of a DASH manifest. */
#include "mpd_priv.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

int mpd_line(const xmlNode *at)
{
    return at ? (int)xmlGetLineNo(at) : 1;
}

static bool is(const xmlNode *n, const char *element)
{
    return n->type == XML_ELEMENT_NODE && !strcmp((const char *)n->name, element);
}

const xmlNode *mpd_named(const xmlNode *n, const char *element)
{
    while (n && !is(n, element))
        n = n->next;
    return n;
}

const xmlNode *mpd_child(const xmlNode *n, const char *element)
{
    return mpd_named(n->children, element);
}

bool mpd_attribute(char *out, size_t size, const xmlNode *n, const char *attr)
{
    xmlChar *s = xmlGetNoNsProp(n, (const xmlChar *)attr);
    bool ok = s && strlen((const char *)s) < size;
    if (ok) strcpy(out, (const char *)s);
    xmlFree(s);
    return ok;
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
    } parts[] = {
        {'D', false, 86400.0}, {'H', true, 3600.0}, {'M', true, 60.0}, {'S', true, 1.0}};
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
        while (i < 4 && (parts[i].unit != *end || parts[i].time != time))
            i++;
        if (i == 4) return -1.0;
        sum += v * parts[i].seconds;
        s = end + 1;
    }
    return sum < 1e9 ? sum : -1.0;
}

const xmlNode *mpd_inherited(char *out, size_t size, const struct mpd_chain *c,
                             const char *element, const char *attr)
{
    for (int i = c->n - 1; i >= 0; i--) {
        const xmlNode *t = mpd_child(c->at[i], element);
        if (t && mpd_attribute(out, size, t, attr)) return t;
    }
    return NULL;
}

int mpd_inherited_int(int64_t *out, const struct mpd_chain *c, const char *element,
                      const char *attr, int64_t fallback, const char *name, struct err *e)
{
    char text[32];
    const xmlNode *t = mpd_inherited(text, sizeof text, c, element, attr);
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
