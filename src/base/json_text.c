#include "base/json_text.h"

#include "base/text.h"

json_t *json_text_parse(const char *text, size_t len, int max, const char *name,
                        struct err *e)
{
    if (len > (size_t)max) {
        text_refuse(name, 0, ERR_RANGE, e, "%zu bytes of JSON, more than %d", len, max);
        return NULL;
    }
    json_error_t why;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (root) return root;
    int code =
        json_error_code(&why) == json_error_out_of_memory ? ERR_MEMORY : ERR_INVALID;
    text_refuse(name, why.line > 0 ? why.line : 0, code, e, "not JSON: %s", why.text);
    return NULL;
}
