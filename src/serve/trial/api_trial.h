/* api_trial.h - the trial over HTTP: its report, its start, promotion and rollback.
 *
 *   GET  /v1/trial            the report; ?format=csv: a row per arm, network and figure;
 *                             ?format=flow: a row per arm with its sessions, as CONSORT draws them
 *   PUT  /v1/trial            {name, arms, sessions?, stall_margin?, startup_margin_s?}; arms is a text
 *                             as the setting trial-arms
 *   POST /v1/trial/promote    {arm}
 *   POST /v1/trial/rollback   {}
 *
 * Changes are jobs (http/jobs.h), because they read weights and write a file. Threads: as api.h. */
#ifndef SERVE_API_TRIAL_H
#define SERVE_API_TRIAL_H

#include "serve/http/route.h"
#include "serve/trial/trial_run.h"
#include "serve/wire/emit.h"

extern const struct route api_trial_routes[];

void api_trial_put_report(struct emit *o, const struct trial_report *r);
void api_trial_put_csv(struct emit *o, const struct trial_report *r);
void api_trial_put_flow(struct emit *o, const struct trial_report *r);

#endif
