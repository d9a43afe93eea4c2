#include "abr/deciders/forecast.h"

#include "abr/deciders/forecast_net.h"
#include "abr/deciders/forecast_own.h"
#include "abr/deciders/simple.h"
#include "base/bytes.h"

#include <math.h>
#include <string.h>

enum {
    WINDOW = 5,
    TIMES = VIEW_HISTORY,
    PRESENT = 2 * VIEW_HISTORY,
    SPREAD = 3 * VIEW_HISTORY,
    CHUNK,
    PAST_MEAN,
    PAST_LOW,
    PAST_COUNT,
    PAST_DEVIATION,
    PAST_CHANGE,
    ENTRIES
};
_Static_assert(ENTRIES == FORECAST_ENTRIES, "inputs and header");

/* far beyond these the network was not trained */
#define RATIO_MIN 0.01
#define RATIO_MAX 100.0
#define DOWNLOAD_MAX_S 100.0
#define LN_MAX 4.0 /* of deviation and change */
/* keeps the logarithm of a short download finite */
#define ADDED_S 0.05
#define GROWTH_MAX 0.9
#define SIZE_MAX_RATIO 20.0

const double forecast_share[FORECAST_QUANTILES] = {
    0.01, 0.02, 0.04, 0.06, 0.22 / 3, 0.35 / 3, 0.13, 0.13, 0.14, 0.14, 0.14};

/* A short history shows too little of a link's spread. This is added to it, as variances are, after 1, 2
 * .. chunks; chosen so that the quantiles hold for short histories on the same sets. */
static const double UNSEEN[VIEW_HISTORY + 1] = {0,    0.34, 0.34, 0.25, 0.20,
                                                0.13, 0.08, 0.04, 0};

/* of the logarithms of n throughputs */
static double spread_of(const double *logs, int n)
{
    double sum = 0, square = 0;
    for (int i = 0; i < n; i++) {
        sum += logs[i];
        square += logs[i] * logs[i];
    }
    double mean = sum / n;
    double variance = fmax(square / n - mean * mean, 0);
    return sqrt(variance + UNSEEN[n] * UNSEEN[n]);
}

static void logs_of(double logs[VIEW_HISTORY], const struct view *v)
{
    for (int i = 0; i < v->n_history; i++)
        logs[i] = log(fmax(v->throughput_kbps[i], 1e-3));
}

double forecast_mean_kbps(const struct view *v)
{
    return simple_harmonic_kbps(v, v->n_history, WINDOW);
}

double forecast_spread(const struct view *v)
{
    if (!(forecast_mean_kbps(v) > 0)) return -1;
    double logs[VIEW_HISTORY];
    logs_of(logs, v);
    return spread_of(logs, v->n_history);
}

/* Raise it when observe() changes in a way that no constant shows. */
enum { MEANING = 2 };

uint32_t forecast_crc32(void)
{
    const double inputs[] = {MEANING,    WINDOW,         TIMES,          PRESENT,
                             SPREAD,     CHUNK,          PAST_MEAN,      PAST_LOW,
                             PAST_COUNT, PAST_DEVIATION, PAST_CHANGE,    RATIO_MIN,
                             RATIO_MAX,  LN_MAX,         DOWNLOAD_MAX_S, ADDED_S,
                             GROWTH_MAX, SIZE_MAX_RATIO, VIEW_PAST};
    uint32_t crc = bytes_crc32(0, inputs, sizeof inputs);
    crc = bytes_crc32(crc, UNSEEN, sizeof UNSEEN);
    crc = bytes_crc32(crc, FORECAST_FIRST, sizeof FORECAST_FIRST);
    crc = bytes_crc32(crc, FORECAST_FIRST_BIAS, sizeof FORECAST_FIRST_BIAS);
    crc = bytes_crc32(crc, FORECAST_SECOND, sizeof FORECAST_SECOND);
    crc = bytes_crc32(crc, FORECAST_SECOND_BIAS, sizeof FORECAST_SECOND_BIAS);
    crc = bytes_crc32(crc, FORECAST_THIRD, sizeof FORECAST_THIRD);
    crc = bytes_crc32(crc, FORECAST_THIRD_BIAS, sizeof FORECAST_THIRD_BIAS);
    return crc ? crc : 1;
}

static double within(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static void observe(double x[ENTRIES], struct forecast *f, const struct view *v)
{
    double logs[VIEW_HISTORY];
    int n = v->n_history;
    logs_of(logs, v);
    memset(x, 0, ENTRIES * sizeof *x);
    for (int i = 0; i < n; i++) {
        int at = VIEW_HISTORY - n + i;
        double ratio = fmax(v->throughput_kbps[i], 1e-3) / f->mean_kbps;
        x[at] = log(within(ratio, RATIO_MIN, RATIO_MAX));
        x[TIMES + at] = log(within(v->download_s[i], 0, DOWNLOAD_MAX_S) + ADDED_S);
        x[PRESENT + at] = 1;
    }
    f->spread = spread_of(logs, n);
    x[SPREAD] = f->spread;
    x[CHUNK] = log(v->chunk_s);
    const struct view_past *past = &v->past;
    if (!past->n) return; /* made without view_push */
    x[PAST_MEAN] =
        log(within(past->kbit / past->download_s / f->mean_kbps, RATIO_MIN, RATIO_MAX));
    x[PAST_LOW] = within(past->low - log(f->mean_kbps), log(RATIO_MIN), log(RATIO_MAX));
    x[PAST_COUNT] = log(1 + past->n);
    x[PAST_DEVIATION] = within(sqrt(fmax(past->ln_variance, 0)), 0, LN_MAX);
    x[PAST_CHANGE] = within(past->ln_change, 0, LN_MAX);
}

/* The geometric mean of the newest sizes. */
static double usual_bytes(const struct view *v)
{
    int n = v->n_history < WINDOW ? v->n_history : WINDOW;
    double logs = 0;
    for (int i = v->n_history - n; i < v->n_history; i++)
        logs += log(fmax(v->throughput_kbps[i] * v->download_s[i] * 125, 1));
    return exp(logs / n);
}

double forecast_bytes(const struct forecast *f, double bytes)
{
    double ratio = within(bytes / f->usual_bytes, 1 / SIZE_MAX_RATIO, SIZE_MAX_RATIO);
    return bytes * pow(ratio, -f->growth);
}

double forecast_usual_kbps(const struct forecast *f, double kbps, double bytes)
{
    return kbps * forecast_bytes(f, bytes) / bytes;
}

/* y = W x + b; a row of weights per input, so that the inner loop is one of independent sums. */
#define LAYER(y, x, weights, bias)                                                     \
    do {                                                                               \
        memcpy((y), (bias), sizeof(bias));                                             \
        for (size_t i_ = 0; i_ < sizeof(weights) / sizeof *(weights); i_++)            \
            if ((x)[i_] != 0)                                                          \
                for (size_t j_ = 0; j_ < sizeof *(weights) / sizeof **(weights); j_++) \
                    (y)[j_] += (weights)[i_][j_] * (x)[i_];                            \
    } while (0)

static void rectify(double *y, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
}

static void quantiles(double *kbps, const double *logs, double mean_kbps)
{
    double most = logs[0];
    for (int i = 0; i < FORECAST_QUANTILES; i++) {
        most = logs[i] > most ? logs[i] : most;
        kbps[i] = mean_kbps * exp(most);
    }
}

/* The outputs of the network: logarithms before they are sorted, and the growth, which is returned. They are
 * computed in an array of this function, because the compiler makes slower code for one of the caller. */
static double shipped_logs(double *y, const double *x)
{
    double a[FORECAST_HIDDEN], b[FORECAST_HIDDEN], c[FORECAST_OUTPUTS + 1];
    LAYER(a, x, FORECAST_FIRST, FORECAST_FIRST_BIAS);
    rectify(a, FORECAST_HIDDEN);
    LAYER(b, a, FORECAST_SECOND, FORECAST_SECOND_BIAS);
    rectify(b, FORECAST_HIDDEN);
    LAYER(c, b, FORECAST_THIRD, FORECAST_THIRD_BIAS);
    memcpy(y, c, FORECAST_OUTPUTS * sizeof *c);
    return c[FORECAST_OUTPUTS];
}

bool forecast_look(struct forecast *f, double entries[FORECAST_ENTRIES],
                   double logs[FORECAST_OUTPUTS], const struct view *v)
{
    f->mean_kbps = forecast_mean_kbps(v);
    if (!(f->mean_kbps > 0)) return false;
    observe(entries, f, v);
    f->usual_bytes = usual_bytes(v);
    f->growth = within(shipped_logs(logs, entries), 0, GROWTH_MAX);
    if (v->own_forecast)
        forecast_own_correct(logs, v->own_forecast, entries, f->mean_kbps);
    return true;
}

struct forecast forecast_of(const struct view *v)
{
    if (v->forecast) return *v->forecast;
    struct forecast f = {0};
    double x[ENTRIES], y[FORECAST_OUTPUTS];
    if (!forecast_look(&f, x, y, v)) return f;
    quantiles(f.next_kbps, y, f.mean_kbps);
    quantiles(f.later_kbps, y + FORECAST_QUANTILES, f.mean_kbps);
    return f;
}
