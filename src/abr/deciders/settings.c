#include "abr/deciders/settings.h"

#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int settings_kind(const struct qoe *q)
{
    double sum = q->mu_quality + q->mu_switch + q->mu_stall, least = INFINITY;
    double unit = sum > 0 ? 1 / sum : 0;
    int nearest = 0;
    for (int i = 0; i < QOE_PROFILES; i++) {
        const struct qoe *p = &qoe_profiles[i].qoe;
        if ((p->utility == QOE_POINTS) != (q->utility == QOE_POINTS)) continue;
        double whole = p->mu_quality + p->mu_switch + p->mu_stall;
        double d = fabs(q->mu_quality * unit - p->mu_quality / whole) +
                   fabs(q->mu_switch * unit - p->mu_switch / whole) +
                   fabs(q->mu_stall * unit - p->mu_stall / whole);
        if (d < least) {
            least = d;
            nearest = i;
        }
    }
    return nearest;
}

static int read_setting(void *sets, size_t size, int n, const struct field *rows,
                        char *text, struct err *e)
{
    char *value = strchr(text, '=');
    size_t length = value ? (size_t)(value - text) : strlen(text);
    const struct field *row = field_find(rows, text, length);
    if (!row || !value)
        return err_field(e, ERR_INVALID, "policy",
                         "'%.40s' is not a setting of this policy", text);
    *value++ = '\0';
    for (int i = 0; i < n; i++) {
        struct field bound[FIELD_TABLE_MAX + 1] = {{0}};
        field_bind(bound, rows, (char *)sets + (size_t)i * size);
        int rc = field_read(&bound[row - rows], value, false, e);
        if (rc) return rc;
    }
    return 0;
}

int settings_read(void *sets, size_t size, int n, const struct field *rows,
                  const char *arg, struct err *e)
{
    char text[SETTINGS_TEXT], *rest = NULL;
    if (!arg || !*arg) return 0;
    if (snprintf(text, sizeof text, "%s", arg) >= (int)sizeof text)
        return err_field(e, ERR_RANGE, "policy", "more than %d characters of settings",
                         SETTINGS_TEXT - 1);
    for (char *one = strtok_r(text, "+", &rest); one; one = strtok_r(NULL, "+", &rest)) {
        int rc = read_setting(sets, size, n, rows, one, e);
        if (rc) return rc;
    }
    return 0;
}

struct settings_self {
    const struct settings_algo *algo;
    alignas(max_align_t) char sets[];
};

static int settings_decide(void *self, const struct view *v, const struct video *video)
{
    const struct settings_self *s = self;
    size_t at = (size_t)settings_kind(&v->qoe) * s->algo->size;
    return s->algo->level(s->sets + at, v, video);
}

int settings_new(struct algo *out, const struct settings_algo *a, const char *arg,
                 struct err *e)
{
    struct settings_self *s = malloc(sizeof *s + QOE_PROFILES * a->size);
    if (!s) return err_set(e, ERR_MEMORY, "no memory for a policy");
    s->algo = a;
    memcpy(s->sets, a->sets, QOE_PROFILES * a->size);
    int rc = settings_read(s->sets, a->size, QOE_PROFILES, a->rows, arg, e);
    if (rc) {
        free(s);
        return rc;
    }
    out->self = s;
    out->decide = settings_decide;
    out->free = free;
    return 0;
}
