#include "base/err.h"

#undef err_set /* defined for analysers */
#undef err_field

#include <stdarg.h>
#include <stdio.h>

static int set_va(struct err *e, int code, const char *field, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

static int set_va(struct err *e, int code, const char *field, const char *fmt, va_list ap)
{
    if (!e || e->code) return code;
    e->code = code;
    snprintf(e->field, sizeof e->field, "%s", field);
    vsnprintf(e->detail, sizeof e->detail, fmt, ap);
    return code;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_va(e, code, "", fmt, ap);
    va_end(ap);
    return code;
}

int err_field(struct err *e, int code, const char *field, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_va(e, code, field, fmt, ap);
    va_end(ap);
    return code;
}

const char *err_word(int code)
{
    switch (code) {
    case ERR_NONE:
        return "none";
    case ERR_IO:
        return "io";
    case ERR_MEMORY:
        return "memory";
    case ERR_INVALID:
        return "invalid";
    case ERR_RANGE:
        return "range";
    case ERR_ABSENT:
        return "absent";
    case ERR_CONFLICT:
        return "conflict";
    case ERR_FULL:
        return "full";
    case ERR_CORRUPT:
        return "corrupt";
    case ERR_NUMERIC:
        return "numeric";
    default:
        return "unknown";
    }
}
