#include "metrics_priv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* As Prometheus writes numbers; out holds EMIT_DOUBLE bytes. */
static void put_number(char *out, double v)
{
    if (isfinite(v))
        emit_format_double(out, v);
    else
        snprintf(out, EMIT_DOUBLE, "%s", isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
}

void metrics_head(struct emit *o, const char *name, const char *type, const char *help)
{
    emit_text(o, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void value(struct emit *o, const char *name, double v)
{
    char text[EMIT_DOUBLE];
    put_number(text, v);
    emit_text(o, "%s %s\n", name, text);
}

void metrics_counter(struct emit *o, const char *name, const char *help, double v)
{
    metrics_head(o, name, "counter", help);
    value(o, name, v);
}

void metrics_gauge(struct emit *o, const char *name, const char *help, double v)
{
    metrics_head(o, name, "gauge", help);
    value(o, name, v);
}

void metrics_labelled(struct emit *o, const char *name, const char *label,
                      const char *text, double v)
{
    char number[EMIT_DOUBLE];
    put_number(number, v);
    emit_text(o, "%s{%s=\"%s\"} %s\n", name, label, text, number);
}

void metrics_sample(struct emit *o, const char *name, const char *labels, double v)
{
    char number[EMIT_DOUBLE];
    put_number(number, v);
    emit_text(o, "%s{%s} %s\n", name, labels, number);
}

void metrics_hist(struct emit *o, const char *name, const char *labels,
                  const struct hist_reading *h)
{
    const char *comma = *labels ? "," : "", *open = *labels ? "{" : "",
               *close = *labels ? "}" : "";
    char number[EMIT_DOUBLE];
    for (int k = 0; k < h->n; k++)
        emit_text(o, "%s_bucket{%s%sle=\"%.6g\"} %" PRIu64 "\n", name, labels, comma,
                  h->bound[k], h->below[k]);
    emit_text(o, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma,
              h->count);
    put_number(number, h->sum);
    emit_text(o, "%s_sum%s%s%s %s\n%s_count%s%s%s %" PRIu64 "\n", name, open, labels,
              close, number, name, open, labels, close, h->count);
}
