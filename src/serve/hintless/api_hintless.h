/* api_hintless.h - GET /v1/untagged: the merge, for pages.
 *
 * Threads: as api.h. */
#ifndef SERVE_API_HINTLESS_H
#define SERVE_API_HINTLESS_H

#include "serve/hintless/merge_view.h"
#include "serve/hintless/hintless_cfg.h"
#include "serve/wire/emit.h"
#include "serve/http/route.h"

extern const struct route api_hintless_routes[];

/* One object. view NULL: nothing is merged. */
void api_hintless_put(struct emit *o, const struct hintless_stats *u,
                      const struct merge_view_copy *view);

#endif
