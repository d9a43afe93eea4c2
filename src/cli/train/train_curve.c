#include "cli/train/train_curve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

enum { LIMIT = 1 << 30 };

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

static int commas(const char *from, const char *end)
{
    int n = 0;
    for (; from < end; from++)
        n += *from == ',';
    return n;
}

/* Copies the rows up to a step, without rows that an older program wrote twice when it resumed. */
static void keep_rows(FILE *to, const char *text, int columns, int64_t resumed)
{
    int64_t last = 0;
    const char *end;
    for (; (end = strchr(text, '\n')); text = end + 1) {
        if (commas(text, end) != columns - 1) continue;
        int64_t steps = strtoll(strchr(text, ',') + 1, NULL, 10);
        if (steps <= last || steps > resumed) continue;
        fwrite(text, 1, (size_t)(end + 1 - text), to);
        last = steps;
    }
}

static int train_curve_keep(const char *path, const char *text, int64_t resumed,
                            int experts, int tags, struct err *e)
{
    char *kept = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&kept, &n);
    if (!f) return err_set(e, ERR_MEMORY, "out of memory");
    train_curve_head(f, experts, tags);
    int rc = fflush(f) ? err_set(e, ERR_MEMORY, "out of memory") : 0;
    size_t head = rc ? 0 : n;
    /* a training that was killed at once may have written a part of the head */
    if (!rc && strncmp(text, kept, strlen(text) < head ? strlen(text) : head) != 0)
        rc = err_field(e, ERR_CONFLICT, path, "is not a curve of this training");
    if (!rc && strlen(text) > head)
        keep_rows(f, text + head, commas(kept, kept + head) + 1, resumed);
    if (fclose(f) && !rc) rc = err_set(e, ERR_MEMORY, "out of memory");
    if (!rc) rc = text_write_file(path, kept, n, e);
    free(kept);
    return rc;
}

FILE *train_curve_open(const char *path, int64_t resumed, int experts, int tags,
                       struct err *e)
{
    struct stat st;
    bool there = resumed && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    if (strcmp(path, "-") == 0) {
        train_curve_head(stdout, experts, tags);
        return stdout;
    }
    if (there) {
        char *text = text_read_file(path, LIMIT, NULL, e);
        int rc = text ? train_curve_keep(path, text, resumed, experts, tags, e) : e->code;
        free(text);
        if (rc) return NULL;
    }
    FILE *f = fopen(path, there ? "a" : "w");
    if (!f)
        err_field(e, ERR_IO, path, "cannot be written: %s", strerror(errno));
    else if (!there)
        train_curve_head(f, experts, tags);
    return f;
}

bool train_curve_close(FILE *f)
{
    bool whole = !ferror(f);
    return (f == stdout ? fflush(f) : fclose(f)) == 0 && whole;
}
