#include "support/fuzz.h"

#include <math.h>
#include <string.h>

#include "serve/players/cmcd.h"
#include "serve/players/sf.h"

/* Members lie within the input and its limits; an error says what is wrong and is the end; and
 * what players tell of themselves is in range whatever they send. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct sf in = {text, text + size};
    struct sf_member m;
    struct err e = {0};
    int rc;
    bool sound = true;
    while (sound && (rc = sf_next(&m, &in, &e)) != 0) {
        if (rc < 0) {
            sound = e.code == rc && *e.detail && sf_next(&m, &in, NULL) == 0;
            break;
        }
        sound = m.n >= 0 && m.n <= SF_ITEMS && (m.list || m.n == 1) && m.key[0] &&
                strlen(m.key) < SF_KEY && in.at <= in.end;
        for (int i = 0; sound && i < m.n; i++) {
            const struct sf_item *v = &m.item[i];
            char copy[SF_TEXT];
            bool words = v->kind == SF_STRING || v->kind == SF_TOKEN;
            if (words)
                sound = v->at >= text && v->at + v->n <= in.end &&
                        sf_text(copy, sizeof copy, v, NULL) == 0;
            if (v->kind == SF_NUMBER) sound = isfinite(v->number);
        }
    }
    if (!sound) __builtin_trap();

    struct cmcd c;
    e = (struct err){0};
    rc = cmcd_parse(&c, text, size, &e);
    if (rc && (e.code != rc || !*e.detail)) __builtin_trap();
    if (!rc && !(c.buffer_s <= 1e6 && c.kbps <= 1e9 && c.starved_s <= 1e6 &&
                 strlen(c.sid) < CMCD_ID))
        __builtin_trap();
    return 0;
}
