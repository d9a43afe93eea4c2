#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int pager_spawn(pid_t *pid, const char *const *argv, int input)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t usual;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&how, &usual);
    int rc =
        posix_spawnp(pid, argv[0], &files, &how, (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

bool pager_begin(struct pager *p, const char *const *argv)
{
    int pipe_to[2];
    if (fflush(stdout) || pipe2(pipe_to, O_CLOEXEC)) return false;
    p->saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (p->saved < 0 || pager_spawn(&p->pid, argv, pipe_to[0])) {
        close(pipe_to[0]);
        close(pipe_to[1]);
        if (p->saved >= 0) close(p->saved);
        return false;
    }
    /* a reader who leaves early closes the pipe, and Ctrl-C is for the pager */
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &ignored, &p->interrupt);
    sigaction(SIGPIPE, &ignored, &p->pipe);
    dup2(pipe_to[1], STDOUT_FILENO);
    close(pipe_to[0]);
    close(pipe_to[1]);
    return true;
}

int pager_end(struct pager *p)
{
    int status = 0;
    fflush(stdout);
    dup2(p->saved, STDOUT_FILENO); /* the pager meets the end of its input */
    close(p->saved);
    clearerr(stdout);
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &p->interrupt, NULL);
    sigaction(SIGPIPE, &p->pipe, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
