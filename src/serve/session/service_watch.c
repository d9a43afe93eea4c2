/* What pages are shown beside the figures: the learner's curve, the merge's picture. */
#include "service_priv.h"

#include <math.h>
#include <stdlib.h>

int service_earlier(struct store_version *newest, struct service *s, struct err *e)
{
    enum { EARLIER = CURVE_POINTS / 4 };
    if (!s->writer) return 0;
    struct store_version *v = calloc(EARLIER, sizeof *v);
    if (!v) return err_set(e, ERR_MEMORY, "no memory for the policy's versions");
    const struct store *store = writer_store(s->writer);
    int n, rc = store->versions(store->self, v, EARLIER, &n, e);
    for (int i = rc ? 0 : n; i-- > 0;)
        curve_add(s->curve, &(struct curve_point){.kind = CURVE_EARLIER,
                                                  .at = v[i].published_at,
                                                  .version = v[i].version,
                                                  .score = v[i].check_score,
                                                  .best = NAN});
    if (!rc && n) *newest = v[0];
    free(v);
    return rc;
}

void service_begun(struct service *s)
{
    struct online_stats l = {0};
    if (s->learner) learner_stats(s->learner, &l);
    const struct weights *w = published_get(s->published);
    struct curve_point p = {.kind = CURVE_START,
                            .at = w->published_at,
                            .version = w->policy->version,
                            .steps = l.steps,
                            .score = w->check_score,
                            .best = s->learner ? l.check_best : w->check_score};
    published_put(s->published, w);
    curve_add(s->curve, &p);
}

int service_curve(struct curve_point *out, int max, struct service *s, uint64_t after)
{
    return curve_read(out, max, s->curve, after);
}

struct grove_view *service_grove(struct service *s, struct err *e)
{
    return hintless_look(s->hintless, e);
}
