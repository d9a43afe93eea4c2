/* The settings of a node (node.h). */
#include "serve/http/node.h"

#define ROW(member) FIELD(struct node_cfg, member)

const struct field node_fields[] = {
    {"port", "N", "port to listen on; 0: a free one", ROW(port), .lo = 0, .hi = 65535,
     .group = "network"},
    {"bind", "ADDRESS",
     "address to listen on; an address other than loopback needs --admin-token-file",
     ROW(bind)},
    {"host", "A,B", "additional host names that clients may send in the header Host",
     ROW(host), .flags = FIELD_LIVE},
    {"allow-origin", "A,B", "origins of web pages that may use the API; *: all",
     ROW(allow_origin), .flags = FIELD_LIVE},
    {"workers", "N",
     "threads that answer requests; 0: one per processor, 16 with --durability strict",
     ROW(workers), .lo = 0, .hi = NODE_WORKERS_MAX},
    {"max-connections", "N", "largest number of connections per worker",
     ROW(http.max_connections), .lo = 1, .hi = 60000, .flags = FIELD_ADVANCED},
    {0}};
