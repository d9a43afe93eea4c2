/* Who asks, told by proxies. Whatever the header says: a peer that is not trusted stays the
 * client; and what stands left of the last proxy's entry, which a client may have written,
 * changes nothing.
 *
 * The first byte chooses the header, the rest is the client's part of it. */
#include "support/fuzz.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/access/forwarded.h"

static struct addr of(const char *text)
{
    struct addr a;
    bool good = addr_parse(&a, text, strlen(text));
    assert(good);
    return a;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    size_t n = size - 1;
    enum forwarded_by by = data[0] & 1 ? FORWARDED_RFC7239 : FORWARDED_X_FOR;
    char *value = malloc(n + 64);
    if (!value) abort();
    memcpy(value, data + 1, n);
    value[n] = '\0';

    struct addr_nets nets;
    struct err e = {0};
    int rc = addr_nets_parse(&nets, "127.0.0.1, 10.0.0.0/8", "t", &e);
    assert(!rc);
    struct addr proxy = of("127.0.0.1"), stranger = of("192.0.2.1"),
                real = of("198.51.100.7");

    struct addr c = forwarded_client(&stranger, &nets, by, value);
    assert(addr_equal(&c, &stranger));
    c = forwarded_client(&proxy, &nets, by, value);
    char text[ADDR_TEXT];
    addr_text(text, &c);

    /* the proxy adds whom it was asked by: he is the client, or, when the client's part cannot be
     * read, the proxy answers for it; nobody else */
    strcat(value, by == FORWARDED_X_FOR ? ", 198.51.100.7" : ", for=198.51.100.7");
    c = forwarded_client(&proxy, &nets, by, value);
    assert(addr_equal(&c, &real) || (by == FORWARDED_RFC7239 && addr_equal(&c, &proxy)));
    free(value);

    /* and a list of networks is one or says why not */
    char list[256];
    snprintf(list, sizeof list, "%.*s", (int)(n < 255 ? n : 255), (const char *)data + 1);
    e = (struct err){0};
    rc = addr_nets_parse(&nets, list, "t", &e);
    assert(rc ? e.code == rc && *e.detail : nets.n <= ADDR_NETS);
    return 0;
}
