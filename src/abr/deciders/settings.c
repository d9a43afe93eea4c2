#include "abr/deciders/settings.h"

#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Weights of quality, switches and stalls, divided by their sum. */
static void settings_shares(double share[3], const struct qoe *q)
{
    double w[QOE_WEIGHTS] = {q->mu_quality, q->mu_switch, q->mu_stall};
    if (q->utility == QOE_POINTS) qoe_weights(w, q);
    double sum = w[0] + w[1] + w[2];
    for (int k = 0; k < 3; k++)
        share[k] = sum > 0 ? w[k] / sum : 0;
}

int settings_kind(const struct qoe *q)
{
    double own[3], share[3], least = INFINITY;
    settings_shares(own, q);
    int nearest = 0;
    for (int i = 0; i < QOE_PROFILES; i++) {
        const struct qoe *p = &qoe_profiles[i].qoe;
        if ((p->utility == QOE_POINTS) != (q->utility == QOE_POINTS)) continue;
        settings_shares(share, p);
        double d =
            fabs(own[0] - share[0]) + fabs(own[1] - share[1]) + fabs(own[2] - share[2]);
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
