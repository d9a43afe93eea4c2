#include "support/viewers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/bench.h"
#include "support/hammer.h"

static size_t wrap(char *out, const char *line, const char *body)
{
    return (size_t)snprintf(
        out, HAMMER_BYTES,
        "%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        line, strlen(body), body);
}

size_t viewers_open(char *out, int i, const char *answer, void *viewers)
{
    (void)i;
    (void)answer;
    (void)viewers;
    return wrap(out, "POST /v1/sessions",
                "{\"ladder_kbps\":[300,750,1200,1850,2850,4300],\"chunk_s\":4,"
                "\"profile\":\"live\"}");
}

void viewers_take(struct viewer *v, const char *answer)
{
    const char *id = strstr(answer, "\"session\":\""),
               *level = strstr(answer, "\"level\":");
    if (!level) bench_fail("no level: %s", answer);
    if (id) {
        sscanf(id + 11, "%40[^\"]", v->session);
        v->chunk = 0;
    }
    v->level = atoi(level + 8);
    v->chunk++;
}

size_t viewers_ask(char *out, int i, const char *answer, void *viewers)
{
    struct viewer *v = (struct viewer *)viewers + i;
    char line[128], body[1024];
    if (answer) viewers_take(v, answer);
    double kbps = 300 + (v->chunk * 37 + i * 101) % 4000,
           took = .3 + v->chunk * 7 % 40 / 10.;
    snprintf(line, sizeof line, "POST /v1/sessions/%s/decisions", v->session);
    snprintf(body, sizeof body,
             "{\"chunk\":%d,\"buffer_s\":%.3f,\"last\":{\"chunk\":%d,\"level\":%d,"
             "\"bytes\":%.0f,\"download_s\":%.3f,\"rebuffer_s\":%.3f},"
             "\"next_bytes\":[%d,%d,%d,%d,%d,%d]}",
             v->chunk, 4 + kbps / 250, v->chunk - 1, v->level, kbps * 125 * took, took,
             v->chunk % 9 ? 0.0 : .25, 148213, 370411, 598213, 923100, 1411234,
             2148123 + v->chunk);
    return wrap(out, line, body);
}

size_t viewers_watch(char *out, int i, const char *answer, void *viewers)
{
    struct viewer *v = (struct viewer *)viewers + i;
    bool closed = answer && strncmp(answer, "HTTP/1.1 204", 12) == 0;
    if (closed) {
        v->session[0] = '\0';
        v->watched++;
    } else if (answer) {
        viewers_take(v, answer);
    }
    if (!v->session[0]) return viewers_open(out, i, NULL, viewers);
    if (v->chunk < v->chunks) return viewers_ask(out, i, NULL, viewers);
    char line[128];
    snprintf(line, sizeof line, "DELETE /v1/sessions/%s", v->session);
    return wrap(out, line, "");
}

size_t viewers_decide(char *out, int i, const char *answer, void *turn)
{
    (void)answer;
    unsigned n = *(unsigned *)turn += 7;
    char body[1024];
    snprintf(body, sizeof body,
             "{\"ladder_kbps\":[300,750,1200,1850,2850,4300],\"chunk_s\":4,"
             "\"buffer_s\":%.3f,\"chunk\":%d,\"last_level\":%d,"
             "\"throughput_kbps\":[2113.5,1999.25,%u,1480.125],"
             "\"download_s\":[1.25,2.125,%.3f,3.5],"
             "\"next_bytes\":[148213,370411,598213,923100,1411234,2148123],"
             "\"profile\":\"news\"}",
             4 + n % 2000 / 100., i + 4, (int)(n % 6), 500 + n % 3000,
             .5 + n % 700 / 100.);
    return wrap(out, "POST /v1/decide", body);
}
