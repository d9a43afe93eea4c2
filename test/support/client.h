/* client.h - a player's keep-alive connection to the daemon: one request, one answer, on one
 * thread. It connects when it must; what fails is told, not fatal, so that it outlives a
 * daemon that is killed. */
#ifndef TEST_CLIENT_H
#define TEST_CLIENT_H

#include <stddef.h>

struct client {
    const char *from; /* the address it asks from; NULL: any */
    int port;
    int fd; /* -1: not connected */
    char *answer;
    size_t room;
};

struct client client_open(int port);
void client_close(struct client *c);

/* The status of the answer; 0: none came, and whether the request was heard is not known.
 * body may be NULL. It waits for at most 30 s. */
int client_ask(struct client *c, const char *method, const char *path, const char *body);
/* The last answer's body, NUL behind it, until the next request. */
const char *client_body(const struct client *c);

#endif
