/* assets.h - the texts that a report's page is made of (report/report.h): uPlot, our script, our style.
 *
 * Found with home.h. uPlot's are there after `make web`; the error says so when they are not.
 *
 * Errors: ERR_ABSENT, ERR_IO. Threads: pure functions. */
#ifndef CLI_ASSETS_H
#define CLI_ASSETS_H

#include "base/err.h"
#include "report/report.h"

/* The texts are owned: assets_free, also after a failure. */
int assets_load(struct report_assets *out, struct err *e)
    __attribute__((warn_unused_result));
void assets_free(struct report_assets *a);

#endif
