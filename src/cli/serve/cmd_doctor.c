/* abrd doctor: what a daemon with these options would meet. */
#include "cli/cmd.h"

#include <stdio.h>

#include "cli/serve/doctor.h"
#include "cli/out.h"

static int report(const struct out_cfg *cfg, const struct doctor_report *r, struct err *e)
{
    struct out *o = out_new(cfg, e);
    if (!o) return e->code;
    for (int i = 0; i < r->n; i++) {
        out_row(o);
        out_cells(o, "check=%s verdict=%s detail=%s", r->at[i].what,
                  doctor_word(r->at[i].verdict), r->at[i].detail);
    }
    out_say(o, "%d checks, %d warning%s, %d failure%s", r->n, r->warnings,
            r->warnings == 1 ? "" : "s", r->failures, r->failures == 1 ? "" : "s");
    int rc = out_finish(o, e);
    out_free(o);
    return rc;
}

int cmd_doctor(int argc, char **argv)
{
    struct out_cfg out = {0};
    bool accept_loss = false;
    const struct field more[] = {{"accept-loss", NULL,
                                  "accept the loss of damaged files in --data: rename "
                                  "them to NAME.bad, so that the daemon starts",
                                  FIELD_TO(accept_loss)},
                                 OUT_OPTIONS(out),
                                 {0}};
    const struct serve_options_cmd cmd = {
        .name = "doctor",
        .about = "Checks whether 'abrd serve' would work with the same options: data "
                 "folder, store,\n"
                 "weights, port, token, limits, clock, and with --role the bus. Prints "
                 "what is wrong\n"
                 "and what to do. Changes nothing unless --accept-loss is given.",
        .example = "abrd doctor --config /etc/abrd.conf\n"
                   "abrd doctor --role decide --bus nats://nats1:4222\n"
                   "abrd doctor --data var --json - | jq '.rows[] | select(.verdict != "
                   "\"ok\")'",
        .more = more};
    struct serve_options s = serve_options_default();
    int code = serve_options_read(&s, &cmd, argc, argv);
    bool starts = code < 0;
    if (starts) code = cmd_blas("doctor", 1);
    if (starts && !code) {
        struct doctor_report r = {0};
        struct err e = {0};
        if (accept_loss) doctor_accept_loss(&r, &s);
        doctor_examine(&r, &s);
        code = r.failures ? OPT_EXIT_FAILED : OPT_EXIT_DONE;
        if (report(&out, &r, &e)) code = cmd_fail("doctor", &e);
    }
    serve_options_free(&s);
    return code;
}
