/* server.h - a program that listens on a port of this machine, seen from outside: start and
 * end, CPU, memory, descriptors. What cannot be done ends the program (bench_fail). */
#ifndef TEST_SERVER_H
#define TEST_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct server {
    pid_t pid; /* 0: none runs */
    int port;
};

/* A port that nobody listens on. */
int server_port(void);
/* A connection to it, -1 when nobody listens. */
int server_dial(int port);
/* From another address of this machine, as "127.0.0.2"; NULL: any. */
int server_dial_from(const char *from, int port);

/* Starts argv (NULL ends it), which is to listen on port. What it prints is appended to log;
 * NULL: thrown away. It ends with this program. */
struct server server_launch(const char *const *argv, int port, const char *log);
#define SERVER_START_S 60.0
/* Until somebody takes connections on its port while it lives; false: it ended before, or was killed
 * after limit_s (pid is 0 then). */
bool server_wait(struct server *s, double limit_s);
/* Both; a program that does not come up ends this one. */
struct server server_start(const char *const *argv, int port, const char *log);

/* SIGTERM, or SIGKILL, and the exit code; -1: by a signal. */
int server_stop(struct server *s);
void server_kill(struct server *s);
/* The two halves of it. */
void server_signal(const struct server *s, int sig);
int server_await(struct server *s);

/* CPU seconds so far of its threads whose name begins so; "" for all. */
double server_cpu(struct server s, const char *thread);
/* Resident memory [bytes]. */
double server_memory(struct server s);
int server_descriptors(struct server s);

#endif
