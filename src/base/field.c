#include "base/field.h"

#include "base/text.h"

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(enum field_type) == sizeof(int), "enums are kept in ints");

/* ---- names ---- */

static bool same_name(const char *name, const char *given, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!name[i] || name[i] != (given[i] == '_' && name[i] == '-' ? '-' : given[i]))
            return false;
    return !name[n];
}

const struct field *field_find(const struct field *rows, const char *name, size_t n)
{
    for (; rows->name; rows++)
        if (same_name(rows->name, name, n)) return rows;
    return NULL;
}

const char *field_nearest(const struct field *rows, const char *name)
{
    size_t n = strlen(name);
    const char *found = NULL;
    /* two typing mistakes, or one in three letters: more make another word */
    int best = 1 + (n > 6 ? (int)n / 3 : 2);
    for (; rows->name; rows++) {
        int d = text_distance(name, rows->name);
        if (d < best) {
            best = d;
            found = rows->name;
        }
    }
    return found;
}

void field_bind(struct field *out, const struct field *rows, const void *base)
{
    int n = 0;
    while (out[n].name)
        n++;
    const char *group = NULL;
    for (; rows->name; rows++) {
        assert(n < FIELD_TABLE_MAX);
        out[n] = *rows;
        if (rows->group) group = rows->group;
        out[n].group = group;
        out[n++].to = field_place(rows, base);
    }
    out[n] = (struct field){0};
}

/* ---- values ---- */

static int word_number(const char *const *words, const char *text)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0) return i;
    return -1;
}

static int read_word(const struct field *f, const char *text, struct err *e)
{
    static const char *const truths[] = {"false", "true", "no", "yes", "off",
                                         "on",    "0",    "1",  NULL};
    const char *const *words = f->words ? f->words : truths;
    int i = word_number(words, text);
    if (i < 0) {
        char known[160] = "";
        size_t used = 0;
        for (int k = 0; words[k] && used < sizeof known; k++)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     k ? ", " : "", words[k]);
        return err_field(e, ERR_INVALID, f->name, "'%.40s' is not one of %s", text,
                         known);
    }
    if (f->type == FIELD_FLAG)
        *(bool *)f->to = i % 2;
    else
        memcpy(f->to, &i, sizeof i);
    return 0;
}

/* The limits in whole numbers; any number of the type when there are none. */
static void whole_limits(const struct field *f, int64_t *lo, int64_t *hi)
{
    bool any = f->lo == 0 && f->hi == 0;
    *lo = !any ? (int64_t)f->lo : f->type == FIELD_INT ? INT_MIN : INT64_MIN;
    *hi = !any ? (int64_t)f->hi : f->type == FIELD_INT ? INT_MAX : INT64_MAX;
}

static int read_number(const struct field *f, const char *text, struct err *e)
{
    bool any = f->lo == 0 && f->hi == 0;
    int64_t whole = 0, lo = 0, hi = 0;
    double real = 0;
    switch (f->type) {
    case FIELD_UINT64:
        return text_u64(f->to, text, f->name, e);
    case FIELD_REAL: {
        int rc = text_double(&real, text, any ? -DBL_MAX : f->lo, any ? DBL_MAX : f->hi,
                             f->name, e);
        if (!rc) *(double *)f->to = f->scale != 0 ? real * f->scale : real;
        return rc;
    }
    default: {
        whole_limits(f, &lo, &hi);
        int rc = text_int(&whole, text, lo, hi, f->name, e);
        if (rc) return rc;
        if (f->type == FIELD_INT)
            *(int *)f->to = (int)whole;
        else
            *(int64_t *)f->to = whole;
        return 0;
    }
    }
}

/* Cuts text at the separators; "" as separators: it is one item. */
static int read_list(const struct field *f, char *text, const char *separators, bool more,
                     struct err *e)
{
    struct field_list *l = f->to;
    char *rest = NULL;
    if (!more) l->n = 0;
    for (char *item = strtok_r(text, separators, &rest); item;
         item = strtok_r(NULL, separators, &rest)) {
        if (l->n == FIELD_LIST_MAX)
            return err_field(e, ERR_RANGE, f->name, "more than %d items", FIELD_LIST_MAX);
        l->item[l->n++] = item;
    }
    return l->n ? 0 : err_field(e, ERR_INVALID, f->name, "the list is empty");
}

static int read_value(const struct field *f, char *text, const char *separators,
                      bool more, struct err *e)
{
    struct err why = {0};
    int rc = 0;
    assert(f->to);
    switch (f->type) {
    case FIELD_FLAG:
    case FIELD_WORD:
        return read_word(f, text, e);
    case FIELD_TEXT:
        *(const char **)f->to = text;
        return 0;
    case FIELD_CHARS:
        if (strlen(text) >= f->size)
            return err_field(e, ERR_RANGE, f->name, "is longer than %zu characters",
                             f->size - 1);
        strcpy(f->to, text);
        return 0;
    case FIELD_LIST:
        return read_list(f, text, separators, more, e);
    case FIELD_INT:
    case FIELD_INT64:
    case FIELD_UINT64:
    case FIELD_REAL:
        rc = read_number(f, text, &why);
        if (!rc) return 0;
        return err_field(e, rc, f->name, "%s%s%s", why.detail,
                         rc == ERR_RANGE && f->unit ? " " : "",
                         rc == ERR_RANGE && f->unit ? f->unit : "");
    case FIELD_REALS:
    case FIELD_COUNTS:
    case FIELD_NAMES:
    case FIELD_OBJECT:
    case FIELD_ANY:
        break;
    }
    assert(!"a type of JSON only");
    return ERR_INVALID;
}

int field_read(const struct field *f, char *text, bool more, struct err *e)
{
    if (!text) {
        assert(f->type == FIELD_FLAG);
        *(bool *)f->to = true;
        return 0;
    }
    return read_value(f, text, f->flags & FIELD_WHOLE_ITEMS ? "" : ",", more, e);
}

void field_show(char *out, size_t n, const struct field *f, const void *base)
{
    const void *at = field_place(f, base);
    const struct field_list *l = at;
    size_t used = 0;
    int word = 0;
    *out = '\0';
    switch (f->type) {
    case FIELD_FLAG:
        word = *(const bool *)at;
        if (f->words) snprintf(out, n, "%s", f->words[word]);
        return;
    case FIELD_WORD:
        memcpy(&word, at, sizeof word);
        snprintf(out, n, "%s", f->words[word]);
        return;
    case FIELD_INT:
        snprintf(out, n, "%d", *(const int *)at);
        return;
    case FIELD_INT64:
        snprintf(out, n, "%lld", (long long)*(const int64_t *)at);
        return;
    case FIELD_UINT64:
        snprintf(out, n, "%llu", (unsigned long long)*(const uint64_t *)at);
        return;
    case FIELD_REAL: {
        double v = *(const double *)at / (f->scale != 0 ? f->scale : 1);
        if (isfinite(v)) snprintf(out, n, "%g", v);
        return;
    }
    case FIELD_TEXT:
    case FIELD_CHARS: {
        const char *text = f->type == FIELD_TEXT ? *(const char *const *)at : at;
        if (text) snprintf(out, n, "%s", f->flags & FIELD_SECRET && *text ? "***" : text);
        return;
    }
    case FIELD_LIST:
        for (int i = 0; i < l->n && used < n; i++)
            used +=
                (size_t)snprintf(out + used, n - used, "%s%s", i ? "," : "", l->item[i]);
        return;
    case FIELD_REALS:
    case FIELD_COUNTS:
    case FIELD_NAMES:
    case FIELD_OBJECT:
    case FIELD_ANY:
        return;
    }
}

void field_default(char *out, size_t n, const struct field *f, const void *base)
{
    if (f->shown)
        snprintf(out, n, "%s", f->shown);
    else
        field_show(out, n, f, base);
}

bool field_same(const struct field *a, const struct field *b)
{
    const struct field_list *la = a->to, *lb = b->to;
    const char *ta = a->to, *tb = b->to;
    switch (a->type) {
    case FIELD_TEXT:
        ta = *(const char *const *)a->to;
        tb = *(const char *const *)b->to;
        if (!ta || !tb) return ta == tb;
        return strcmp(ta, tb) == 0;
    case FIELD_CHARS:
        return strcmp(ta, tb) == 0;
    case FIELD_LIST:
        for (int i = 0; i < la->n && i < lb->n; i++)
            if (strcmp(la->item[i], lb->item[i]) != 0) return false;
        return la->n == lb->n;
    case FIELD_REAL:
        return *(const double *)a->to == *(const double *)b->to;
    default:
        return memcmp(a->to, b->to, a->size) == 0;
    }
}

int field_check(const struct field *rows, const void *base, struct err *e)
{
    for (const struct field *f = rows; f->name; f++) {
        const void *at = field_place(f, base);
        double lo = f->lo, hi = f->hi, v = 0;
        int word = 0;
        switch (f->type) {
        case FIELD_INT:
            v = *(const int *)at;
            break;
        case FIELD_INT64:
            v = (double)*(const int64_t *)at;
            break;
        case FIELD_REAL:
            v = *(const double *)at / (f->scale != 0 ? f->scale : 1);
            break;
        case FIELD_WORD:
            memcpy(&word, at, sizeof word);
            for (v = word, lo = 0, hi = -1; f->words[(int)hi + 1];)
                hi++;
            break;
        default:
            continue;
        }
        if ((lo != 0 || hi != 0) && !(v >= lo && v <= hi))
            return err_field(e, ERR_RANGE, f->name, "%g is not within %g .. %g%s%s", v,
                             lo, hi, f->unit ? " " : "", f->unit ? f->unit : "");
    }
    return 0;
}

/* ---- the configuration file ---- */

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts blanks from both ends, in place. */
static char *trim(char *s)
{
    while (blank(*s))
        s++;
    size_t n = strlen(s);
    while (n && blank(s[n - 1]))
        n--;
    s[n] = '\0';
    return s;
}

/* Ends the line at a '#' that begins a word and is not within quotes. */
static void cut_comment(char *s)
{
    bool quoted = false;
    for (char *p = s; *p; p++) {
        if (*p == '"') quoted = !quoted;
        if (*p == '#' && !quoted && (p == s || blank(p[-1]))) {
            *p = '\0';
            return;
        }
    }
}

static int unquote(char **value, struct err *e)
{
    char *v = *value;
    if (*v != '"') return 0;
    size_t n = strlen(v);
    if (n < 2 || v[n - 1] != '"' || memchr(v + 1, '"', n - 2))
        return err_set(e, ERR_INVALID,
                       "a quoted value begins and ends with \", without \" inside");
    v[n - 1] = '\0';
    *value = v + 1;
    return 0;
}

static int unknown_key(const struct field *rows, const char *name, struct err *e)
{
    const struct field *option = field_find(rows, name, strlen(name));
    if (option)
        return err_field(e, ERR_INVALID, option->name,
                         "is an option of the command line, not a key of the file");
    const char *meant = field_nearest(rows, name);
    return err_set(e, ERR_INVALID, "unknown key '%.30s'%s%s%s", name,
                   meant ? "; did you mean '" : "", meant ? meant : "",
                   meant ? "'?" : "");
}

static int parse_line(char *s, const struct field *rows, bool *met, struct err *e)
{
    cut_comment(s);
    s = trim(s);
    if (!*s) return 0;
    char *equals = strchr(s, '=');
    if (!equals) return err_set(e, ERR_INVALID, "'%.40s' is not key = value", s);
    *equals = '\0';
    char *name = trim(s), *value = trim(equals + 1);

    const struct field *f = field_find(rows, name, strlen(name));
    if (!f || f->flags & FIELD_NO_FILE) return unknown_key(rows, name, e);
    if (met[f - rows]) return err_field(e, ERR_CONFLICT, f->name, "is set twice");
    met[f - rows] = true;
    int rc = unquote(&value, e);
    if (rc) return rc;
    bool text = f->type == FIELD_TEXT || f->type == FIELD_CHARS || f->type == FIELD_LIST;
    return text && !*value ? 0 : read_value(f, value, ", \t", false, e);
}

int field_parse(char *text, size_t n, const char *name, const struct field *rows,
                struct err *e)
{
    bool met[FIELD_TABLE_MAX] = {false};
    int count = 0;
    while (rows[count].name)
        count++;
    assert(count <= FIELD_TABLE_MAX);

    const char *slash = strrchr(name, '/');
    char *end;
    for (int line = 1; n; line++, n -= (size_t)(end - text), text = end) {
        char *newline = memchr(text, '\n', n);
        end = newline ? newline + 1 : text + n;
        if (newline) *newline = '\0';

        struct err why = {0};
        size_t length = (size_t)((newline ? newline : end) - text);
        int rc = memchr(text, '\0', length)
                     ? err_set(&why, ERR_INVALID, "a zero byte: this is not a text file")
                     : parse_line(text, rows, met, &why);
        if (!rc) continue;
        char where[64];
        snprintf(where, sizeof where, "%.48s:%d", slash ? slash + 1 : name, line);
        return err_field(e, rc, where, "%s%s%s", why.field, *why.field ? ": " : "",
                         why.detail);
    }
    return 0;
}

int field_file(char **text, const char *path, const struct field *rows, struct err *e)
{
    size_t n = 0;
    struct err why = {0};
    *text = text_read_file(path, FIELD_FILE_MAX, &n, &why);
    if (!*text) return err_field(e, why.code, why.field, "%s", why.detail);
    return field_parse(*text, n, path, rows, e);
}
