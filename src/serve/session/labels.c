#include "serve/session/labels.h"

#include <stdio.h>
#include <string.h>

const char *const labels_keys[LABELS_KEYS + 1] = {
    "device", "cdn", "country", "app", "network", "experiment", "tenant", NULL};

int labels_find(const char *key)
{
    for (int k = 0; k < LABELS_KEYS; k++)
        if (!strcmp(labels_keys[k], key)) return k;
    return -1;
}

static bool value_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '.' || c == '_' || c == '-';
}

int labels_check_value(enum labels_key key, const char *value, const char *prefix,
                       struct err *e)
{
    char field[32];
    snprintf(field, sizeof field, "%s%s", prefix, labels_keys[key]);
    size_t n = strlen(value);
    if (!n || n >= LABELS_VALUE)
        return err_field(e, ERR_RANGE, field, "has %zu characters, must have 1 to %d", n,
                         LABELS_VALUE - 1);
    for (size_t i = 0; i < n; i++)
        if (!value_char(value[i]))
            return err_field(e, ERR_INVALID, field,
                             "character %zu is not one of A-Z a-z 0-9 . _ -", i + 1);
    return 0;
}

int labels_check(const struct labels *l, struct err *e)
{
    int rc = 0;
    for (int k = 0; k < LABELS_KEYS && !rc; k++)
        if (l->value[k][0])
            rc = labels_check_value((enum labels_key)k, l->value[k], "labels.", e);
    return rc;
}

bool labels_none(const struct labels *l)
{
    for (int k = 0; k < LABELS_KEYS; k++)
        if (l->value[k][0]) return false;
    return true;
}

bool labels_fit(const struct labels *l, const struct labels *filter)
{
    for (int k = 0; k < LABELS_KEYS; k++)
        if (filter->value[k][0] && strcmp(filter->value[k], l->value[k])) return false;
    return true;
}

size_t labels_text(char out[LABELS_TEXT], const struct labels *l)
{
    size_t n = 0;
    out[0] = '\0';
    for (int k = 0; k < LABELS_KEYS; k++)
        if (l->value[k][0])
            n += (size_t)snprintf(out + n, LABELS_TEXT - n, "%s%s=%s", n ? ";" : "",
                                  labels_keys[k], l->value[k]);
    return n;
}

static int read_one(struct labels *filter, const char *text, const char *option,
                    struct err *e)
{
    char key[16];
    const char *sign = strchr(text, '=');
    size_t n = sign ? (size_t)(sign - text) : sizeof key;
    int k = -1;
    if (n < sizeof key) {
        memcpy(key, text, n);
        key[n] = '\0';
        k = labels_find(key);
    }
    if (k < 0)
        return err_field(e, ERR_INVALID, option,
                         "'%.40s' is not KEY=VALUE with a KEY of device, cdn, country, "
                         "app, network, experiment or tenant",
                         text);
    struct err why = {0};
    int rc = labels_check_value((enum labels_key)k, sign + 1, "", &why);
    if (rc) return err_field(e, rc, option, "%s %s", why.field, why.detail);
    if (filter->value[k][0])
        return err_field(e, ERR_INVALID, option, "%s is given twice", labels_keys[k]);
    strcpy(filter->value[k], sign + 1);
    return 0;
}

int labels_read(struct labels *filter, const char *text, const char *option,
                struct err *e)
{
    int rc = 0;
    for (const char *at = text; at && !rc;) {
        char one[LABELS_VALUE + 48];
        const char *comma = strchr(at, ',');
        size_t n = comma ? (size_t)(comma - at) : strlen(at);
        snprintf(one, sizeof one, "%.*s", n < sizeof one ? (int)n : (int)sizeof one, at);
        rc = read_one(filter, one, option, e);
        at = comma ? comma + 1 : NULL;
    }
    return rc;
}
