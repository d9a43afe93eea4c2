/* doctor_priv.h - what the sources of the doctor share. */
#ifndef CLI_DOCTOR_PRIV_H
#define CLI_DOCTOR_PRIV_H

#include "base/err.h"
#include "cli/doctor.h"

__attribute__((format(printf, 4, 5))) void doctor_find(struct doctor_report *out,
                                                       const char *what,
                                                       enum doctor_verdict verdict,
                                                       const char *fmt, ...);
void doctor_find_err(struct doctor_report *out, const char *what, const struct err *e);

/* Of a daemon with a role: bus, stream, board, and what is on it. */
void doctor_bus(struct doctor_report *out, const struct serve_options *s);

#endif
