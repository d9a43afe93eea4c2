#include "cli/serve/manager.h"

#include <inttypes.h>
#include <stdint.h>
#include <systemd/sd-daemon.h>

int manager_socket(struct err *e)
{
    int n = sd_listen_fds(1);
    if (n <= 0) return MANAGER_NONE;
    if (n > 1)
        return err_field(e, ERR_INVALID, "LISTEN_FDS",
                         "has %d sockets: give one ListenStream", n);
    return SD_LISTEN_FDS_START;
}

void manager_ready(const char *status)
{
    sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void manager_reloading(double mono_s)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, (uint64_t)(mono_s * 1e6));
}

void manager_stopping(void)
{
    sd_notify(0, "STOPPING=1\nSTATUS=finishing open requests");
}

double manager_watchdog_s(void)
{
    uint64_t usec = 0;
    return sd_watchdog_enabled(0, &usec) > 0 ? (double)usec / 1e6 : 0;
}

void manager_alive(void)
{
    sd_notify(0, "WATCHDOG=1");
}
