/* The trial on all processes of a cluster: glue between trial_shared and the turns (guest.h). */
#include "serve/cluster/guest.h"

#include "base/clock.h"
#include "serve/cluster/trial_shared.h"

extern const struct guest trial_guest;

static int trial_guest_open(void **self, const struct guest_host *host, struct err *e)
{
    struct service *s = host->service;
    struct trial_shared_cfg cfg = {.bucket = host->bucket,
                                   .trial = trial_run_of(s),
                                   .wanted = trial_run_wanted(s),
                                   .maker = host->role == ROLE_DECIDE ? host->maker : 0,
                                   .log = s->cfg.log};
    *self = trial_shared_new(&cfg, e);
    return *self ? 0 : ERR_MEMORY;
}

static void trial_guest_free(void *self)
{
    trial_shared_free(self);
}

static struct shared_value *trial_guest_value(void *self)
{
    return trial_shared_value(self);
}

static void trial_guest_called(void *self)
{
    trial_shared_called(self);
}

static void trial_guest_rest(void *self, bool drain)
{
    trial_shared_rest(self, clock_mono(), drain);
}

const struct guest trial_guest = {.open = trial_guest_open,
                                  .free = trial_guest_free,
                                  .value = trial_guest_value,
                                  .called = trial_guest_called,
                                  .rest = trial_guest_rest};
