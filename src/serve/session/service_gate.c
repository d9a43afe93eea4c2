/* What an operator may do about the routers: let gates learn again, set an expert aside. */
#include "service_priv.h"

static int learning(const struct service *s, struct err *e)
{
    if (s->learner) return 0;
    return err_set(e, ERR_CONFLICT,
                   "this daemon does not learn: its routers rest anyway");
}

/* The learner waits for trajectories. */
static void wake(struct service *s)
{
    if (s->threads) s->bus.wake(s->bus.self);
}

int service_gate_reset(struct service *s, struct err *e)
{
    int rc = learning(s, e);
    if (rc) return rc;
    learner_reset_gates(s->learner);
    wake(s);
    return 0;
}

int service_set_aside(struct service *s, bool critic, int expert, int updates,
                      struct err *e)
{
    int rc = learning(s, e);
    if (!rc && (updates < 0 || updates > SERVICE_ASIDE_MAX))
        rc = err_field(e, ERR_RANGE, "updates", "%d is not within 0 .. %d", updates,
                       SERVICE_ASIDE_MAX);
    if (!rc)
        rc = learner_set_aside(s->learner, critic ? PPO_CRITIC : PPO_ACTOR, expert,
                               updates, e);
    if (!rc) wake(s);
    return rc;
}
