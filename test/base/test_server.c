/* Programs seen from outside (support/server.h), which trials and benchmarks rest on. */
#include "support/server.h"
#include "support/suites.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static int listens(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof a) && !listen(fd, 8));
    return fd;
}

TEST(another_program_on_the_port_is_not_ours)
{
    struct server s = {.port = server_port()};
    int other = listens(s.port);
    s = server_launch((const char *const[]){"false", NULL}, s.port, NULL);
    siginfo_t how;
    ck_assert_int_eq(waitid(P_PID, (id_t)s.pid, &how, WEXITED | WNOWAIT), 0);
    ck_assert(!server_wait(&s, 60));
    ck_assert_int_eq(s.pid, 0);
    close(other);
}

TEST(who_never_listens_is_not_waited_for_for_ever)
{
    struct server s =
        server_launch((const char *const[]){"sleep", "1000", NULL}, server_port(), NULL);
    pid_t was = s.pid;
    double began = clock_mono();
    ck_assert(!server_wait(&s, .05));
    ck_assert_double_ge(clock_mono() - began, .05);
    ck_assert_int_eq(s.pid, 0);
    ck_assert_int_eq(kill(was, 0), -1);
}

TEST(who_listens_and_lives_is_there)
{
    struct server s = {.port = server_port()};
    int fd = listens(s.port);
    s = server_launch((const char *const[]){"sleep", "1000", NULL}, s.port, NULL);
    ck_assert(server_wait(&s, 60));
    ck_assert_int_ne(s.pid, 0);
    server_kill(&s);
    close(fd);
}

SUITE(base_server, another_program_on_the_port_is_not_ours,
      who_never_listens_is_not_waited_for_for_ever, who_listens_and_lives_is_there);
