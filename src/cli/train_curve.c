#include "cli/train_curve.h"

#include <inttypes.h>

void train_curve_head(FILE *f, int experts, int tags)
{
    fputs("iteration,steps,lr,entropy_coef,policy_loss,value_loss,entropy,approx_kl,"
          "clip_share,balance,explained_variance,critic_variance,grad_norm,"
          "actor_converged,critic_converged,actor_moved,critic_moved,"
          "actor_rerouted,critic_rerouted",
          f);
    for (int k = 0; k < experts; k++)
        fprintf(f, ",expert%d", k);
    for (int i = 0; i < tags; i++)
        fprintf(f, ",reward%d", i);
    fputc('\n', f);
}

void train_curve_row(FILE *f, const struct train_row *r, int experts, int tags)
{
    const struct ppo_stats *p = &r->ppo;
    fprintf(f,
            "%" PRId64 ",%" PRId64 ",%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%."
            "6g,%d,%d,%.6g,%.6g,%.4f,%.4f",
            r->iteration, r->steps, r->lr, r->entropy, p->policy_loss, p->value_loss,
            p->entropy, p->approx_kl, p->clip_share, p->balance, p->explained_variance,
            p->critic_variance, p->grad_norm, p->gate[PPO_ACTOR].converged,
            p->gate[PPO_CRITIC].converged, p->gate[PPO_ACTOR].moved,
            p->gate[PPO_CRITIC].moved, r->rerouted[PPO_ACTOR], r->rerouted[PPO_CRITIC]);
    for (int k = 0; k < experts; k++)
        fprintf(f, ",%.4f", p->expert_share[k]);
    for (int i = 0; i < tags; i++) {
        if (r->rollout.steps[i]) {
            fprintf(f, ",%.6g", r->rollout.reward[i]);
        } else {
            fputc(',', f);
        }
    }
    fputc('\n', f);
}
