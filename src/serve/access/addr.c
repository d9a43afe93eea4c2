#include "serve/access/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

/* prefix of a mapped IPv4 address */
static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

static void from_v4(struct addr *out, const struct in_addr *v4)
{
    memcpy(out->byte, mapped, sizeof mapped);
    memcpy(out->byte + sizeof mapped, v4, 4);
}

static bool is_v4(const struct addr *a)
{
    return memcmp(a->byte, mapped, sizeof mapped) == 0;
}

bool addr_parse(struct addr *out, const char *text, size_t n)
{
    char copy[ADDR_TEXT];
    struct in_addr v4;
    if (n >= sizeof copy || memchr(text, '\0', n)) return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    if (inet_pton(AF_INET6, copy, out->byte) == 1) return true;
    if (inet_pton(AF_INET, copy, &v4) != 1) return false;
    from_v4(out, &v4);
    return true;
}

bool addr_from_socket(struct addr *out, const struct sockaddr *a)
{
    if (a->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, a, sizeof v4);
        from_v4(out, &v4.sin_addr);
        return true;
    }
    if (a->sa_family != AF_INET6) return false;
    struct sockaddr_in6 v6;
    memcpy(&v6, a, sizeof v6);
    memcpy(out->byte, &v6.sin6_addr, sizeof out->byte);
    return true;
}

int addr_port(const struct sockaddr *a)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (a->sa_family == AF_INET) {
        memcpy(&v4, a, sizeof v4);
        return ntohs(v4.sin_port);
    }
    if (a->sa_family != AF_INET6) return 0;
    memcpy(&v6, a, sizeof v6);
    return ntohs(v6.sin6_port);
}

void addr_text(char *out, const struct addr *a)
{
    if (is_v4(a))
        inet_ntop(AF_INET, a->byte + sizeof mapped, out, ADDR_TEXT);
    else
        inet_ntop(AF_INET6, a->byte, out, ADDR_TEXT);
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
    return memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

bool addr_is_loopback(const struct addr *a)
{
    if (is_v4(a)) return a->byte[12] == 127;
    return memcmp(a->byte, &in6addr_loopback, sizeof a->byte) == 0;
}

struct prefix {
    unsigned char base[4];
    int bits;
};

static bool in_any(const struct prefix *p, size_t n, const unsigned char *a)
{
    uint32_t x = (uint32_t)a[0] << 24 | (uint32_t)a[1] << 16 | (uint32_t)a[2] << 8 | a[3];
    for (; n > 0; n--, p++) {
        const unsigned char *b = p->base;
        uint32_t y =
            (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        if (!((x ^ y) >> (32 - p->bits))) return true;
    }
    return false;
}

static bool private_v4(const unsigned char *a)
{
    static const struct prefix nets[] = {
        {{0, 0, 0, 0}, 8},      {{10, 0, 0, 0}, 8},     {{100, 64, 0, 0}, 10},
        {{127, 0, 0, 0}, 8},    {{169, 254, 0, 0}, 16}, {{172, 16, 0, 0}, 12},
        {{192, 0, 0, 0}, 24},   {{192, 0, 2, 0}, 24},   {{192, 88, 99, 0}, 24},
        {{192, 168, 0, 0}, 16}, {{198, 18, 0, 0}, 15},  {{198, 51, 100, 0}, 24},
        {{203, 0, 113, 0}, 24}, {{224, 0, 0, 0}, 3},
    };
    return in_any(nets, sizeof nets / sizeof *nets, a);
}

/* Within 2000::/3, by the first 32 bits: IETF protocols (such as Teredo), documentation. */
static bool special_v6(const unsigned char *a)
{
    static const struct prefix nets[] = {
        {{0x20, 0x01, 0x00, 0x00}, 23},
        {{0x20, 0x01, 0x0d, 0xb8}, 32},
        {{0x3f, 0xff, 0x00, 0x00}, 20},
    };
    return in_any(nets, sizeof nets / sizeof *nets, a);
}

bool addr_is_private(const struct addr *a)
{
    static const unsigned char nat64[12] = {0, 0x64, 0xff, 0x9b};
    const unsigned char *b = a->byte;
    if (is_v4(a) || memcmp(b, nat64, sizeof nat64) == 0) return private_v4(b + 12);
    if (b[0] == 0x20 && b[1] == 0x02) return private_v4(b + 2); /* 6to4 */
    return (b[0] & 0xe0) != 0x20 || special_v6(b);
}

struct addr addr_subscriber(const struct addr *a)
{
    struct addr s = *a;
    if (!is_v4(a)) memset(s.byte + 8, 0, 8);
    return s;
}

struct addr addr_network(const struct addr *a)
{
    struct addr n = *a;
    if (is_v4(a))
        n.byte[15] = 0;
    else
        memset(n.byte + 6, 0, 10);
    return n;
}

/* ---- networks ---- */

/* True if a and b have the same first bits. */
static bool agree(const struct addr *a, const struct addr *b, int bits)
{
    int whole = bits / 8, rest = bits % 8;
    if (memcmp(a->byte, b->byte, (size_t)whole) != 0) return false;
    return !rest || (a->byte[whole] ^ b->byte[whole]) >> (8 - rest) == 0;
}

/* False for a base with bits set beyond the prefix, which is more likely an error than intended. */
static bool base_is_clean(const struct addr *base, int bits)
{
    struct addr zero = *base;
    for (int i = bits; i < 128; i++)
        zero.byte[i / 8] &= (unsigned char)~(0x80 >> i % 8);
    return addr_equal(&zero, base);
}

static int parse_net(struct addr_nets *nets, const char *text, size_t n, const char *what,
                     struct err *e)
{
    struct addr base;
    const char *slash = memchr(text, '/', n);
    bool good = addr_parse(&base, text, slash ? (size_t)(slash - text) : n);
    int bits = 128;
    if (good && slash) {
        char number[4] = "";
        size_t digits = n - (size_t)(slash - text) - 1;
        if (digits < sizeof number) memcpy(number, slash + 1, digits);
        int64_t given = 0;
        int most = is_v4(&base) ? 32 : 128;
        good = text_int(&given, number, 0, most, what, NULL) == 0;
        bits = (int)given + 128 - most;
    }
    if (!good || !base_is_clean(&base, bits))
        return err_field(e, ERR_INVALID, what,
                         "'%.*s' is not an address or network such as 10.0.0.0/8 or ::1",
                         (int)(n < 60 ? n : 60), text);
    if (nets->n == ADDR_NETS)
        return err_field(e, ERR_RANGE, what, "has more than %d entries", ADDR_NETS);
    nets->at[nets->n].base = base;
    nets->at[nets->n++].bits = bits;
    return 0;
}

int addr_nets_parse(struct addr_nets *out, const char *text, const char *what,
                    struct err *e)
{
    out->n = 0;
    for (const char *p = text; p && *p;) {
        p += strspn(p, ", \t");
        size_t n = strcspn(p, ", \t");
        int rc = n ? parse_net(out, p, n, what, e) : 0;
        if (rc) return rc;
        p += n;
    }
    return 0;
}

bool addr_in(const struct addr_nets *nets, const struct addr *a)
{
    for (int i = 0; i < nets->n; i++)
        if (agree(&nets->at[i].base, a, nets->at[i].bits)) return true;
    return false;
}
