/* Players by their CMCD reports. test/web has real players, test/http/cmcd.mjs the way over HTTP. */
#include "serve/players/steer.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/served.h"
#include "support/suites.h"

static struct served f;
static struct clients *players;
static struct video *video;
static struct err e;
static struct steer_told told;

static void setup(void)
{
    served_begin(&f, false);
    served_start(&f);
    players = steer_clients(3, 7, &e);
    video =
        video_generate(6, 8, 4, (double[]){300, 750, 1200, 1850, 2850, 4300}, 0, 1, &e);
    ck_assert(players && video);
}

static void teardown(void)
{
    video_free(video);
    clients_free(players);
    served_end(&f);
}

static struct cmcd tells(const char *text)
{
    struct cmcd c;
    e = (struct err){0};
    ck_assert_msg(!cmcd_parse(&c, text, strlen(text), &e), "%s %s", e.field, e.detail);
    return c;
}

/* bytes: of a second at 1 Mbit/s, times 8 */
static int ask(const char *text, const char *file, double now)
{
    struct cmcd c = tells(text);
    struct steer_segment in = {&c, file, 1000000, now, 0, -1, -1};
    int rc = steer_ask(&told, players, f.service, f.worker, video, &in, &e);
    if (rc != 1) return rc;
    rc = steer_open(players, f.service, f.worker, video, &c, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
    return steer_ask(&told, players, f.service, f.worker, video, &in, &e);
}

static struct history history(void)
{
    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, told.session, NULL), 0);
    return h;
}

/* The quality that the manifest or the video's files state is that of the session. */
TEST(a_session_has_the_quality_of_its_video)
{
    for (int i = 0; i < 6; i++)
        video->level_points[i] = 10 * i + 5;
    video->quality = QUALITY_CHUNK;
    video->points = calloc(8 * 6, sizeof *video->points);
    for (int i = 0; i < 8 * 6; i++)
        video->points[i] = (float)i;
    ck_assert_int_eq(ask("sid=\"q\",ot=v,br=300,bl=0", "0-1.m4s", 1), 0);
    ck_assert_int_eq(ask("sid=\"q\",ot=v,br=300,bl=4000", "0-2.m4s", 3), 0);
    struct history h = history();
    ck_assert_int_eq(h.open.quality_from, QUALITY_LEVEL);
    ck_assert_double_eq(h.open.quality[5], 55);
    ck_assert_int_gt(h.n, 1);
    for (int i = 0; i < h.n; i++) {
        const struct history_step *x = &h.steps[i];
        int level = x->reported ? x->level : x->decided_level;
        ck_assert_double_eq(x->quality, x->chunk * 6 + level);
    }
    service_history_free(&h);
}

static int sessions_opened(void)
{
    struct service_stats s;
    service_stats(&s, f.service);
    return (int)s.sessions_opened;
}

TEST(a_request_for_a_chunk_caps_the_next_one)
{
    ck_assert_int_eq(ask("sid=\"a\",cid=\"film\",ot=v,br=750,bl=0,bs", "750-1.m4s", 10),
                     0);
    ck_assert_str_ne(told.session, "");
    ck_assert_double_gt(told.max_kbps, 0);
    ck_assert_double_eq(told.throughput_kbps, 0); /* nothing has arrived yet */
    ck_assert_uint_eq(told.estimated, STEER_BUFFER);
    steer_sent(players, f.service, video, "a", "750-1.m4s", 14); /* 2 Mbit/s */

    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=1200,bl=4000", "1200-2.m4s", 14.5), 0);
    ck_assert_double_eq_tol(told.throughput_kbps, 2000, 1e-6);
    ck_assert_uint_eq(told.estimated, STEER_BUFFER | STEER_DOWNLOAD);

    struct history h = history();
    ck_assert_str_eq(h.open.content_id, "film");
    ck_assert(!h.opened.hinted && h.open.chunks == 8 && h.open.levels == 6);
    ck_assert_int_eq(h.n, 3); /* opened, and the caps of chunks 1 and 2 */
    const struct history_step *s = &h.steps[0];
    ck_assert(s->reported && s->level == 1 && s->bytes == 1000000);
    ck_assert_double_eq(s->download_s, 4);
    ck_assert_double_eq(s->rebuffer_s, 0); /* before the first picture */
    ck_assert_int_eq(h.steps[2].chunk, 2);
    ck_assert_double_eq(h.steps[2].kbps, told.max_kbps);
    /* 4 s less the 4 that the chunk will take, and the chunk */
    ck_assert_double_eq_tol(h.steps[2].buffer_s, 4, 1e-6);
    service_history_free(&h);
}

TEST(sound_is_added_to_the_cap)
{
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-1.m4s", 1), 0);
    double pictures = told.max_kbps;
    ck_assert_int_eq(ask("sid=\"a\",ot=a,br=64,bl=0", "audio-1.m4s", 1), 0);
    ck_assert_double_eq(told.max_kbps, pictures + 64);
    ck_assert_uint_eq(told.estimated, 0);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-1.m4s", 1), 0);
    ck_assert_double_eq(told.max_kbps, pictures + 64); /* the same again: the same cap */
    ck_assert_int_eq(sessions_opened(), 1);
}

static double reported_stall(const char *second, const char *event)
{
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=1000", "750-1.m4s", 1), 0);
    steer_sent(players, f.service, video, "a", "750-1.m4s", 5);
    if (event) {
        struct cmcd c = tells(event);
        ck_assert_int_eq(steer_event(players, f.service, &c, 5, &e), 0);
    }
    ck_assert_int_eq(ask(second, "750-2.m4s", 6), 0);
    struct history h = history();
    double stall = h.steps[0].rebuffer_s;
    service_history_free(&h);
    return stall;
}

TEST(a_stall_is_what_the_download_outlasted_the_buffer_by)
{
    ck_assert_double_eq(reported_stall("sid=\"a\",ot=v,br=750,bl=4000,bs", NULL), 3);
    ck_assert(told.estimated & STEER_REBUFFER);
}

TEST(a_stall_is_what_he_says)
{
    ck_assert_double_eq(
        reported_stall("sid=\"a\",ot=v,br=750,bl=4000,bs,bsd=(700;v)", NULL), .7);
    ck_assert(!(told.estimated & STEER_REBUFFER));
}

TEST(a_stall_is_what_a_report_said)
{
    ck_assert_double_eq(reported_stall("sid=\"a\",ot=v,br=750,bl=4000,bs",
                                       "sid=\"a\",e=ps,sta=p,bsd=(1250;v)"),
                        1.25);
    ck_assert(!(told.estimated & STEER_REBUFFER));
}

TEST(who_did_not_starve_had_no_stall)
{
    ck_assert_double_eq(reported_stall("sid=\"a\",ot=v,br=750,bl=4000", NULL), 0);
    ck_assert(!(told.estimated & STEER_REBUFFER));
}

TEST(a_download_is_what_a_report_said_else_what_mtp_says)
{
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-1.m4s", 1), 0);
    struct cmcd c =
        tells("sid=\"a\",e=rr,ot=v,ttlb=1600,url=\"https://x/750-1.m4s?y=/z\"");
    ck_assert_int_eq(steer_event(players, f.service, &c, 3, &e), 0);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000", "750-2.m4s", 3), 0);
    ck_assert(!(told.estimated & STEER_DOWNLOAD));
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=8000,mtp=4000", "750-3.m4s", 9), 0);
    ck_assert(told.estimated & STEER_DOWNLOAD);
    struct history h = history();
    ck_assert_double_eq(h.steps[0].download_s, 1.6);
    ck_assert_double_eq(h.steps[1].download_s, 2);
    service_history_free(&h);
}

static void event(const char *text)
{
    struct cmcd c = tells(text);
    ck_assert_int_eq(steer_event(players, f.service, &c, 5, &e), 0);
}

/* The first report comes when the next chunk is under way. */
TEST(a_report_of_another_chunk_is_not_taken_for_this_one)
{
    static const char late[] = "sid=\"a\",e=rr,ot=v,ttlb=1600,bsd=(900;v),"
                               "url=\"https://x/750-1.m4s\"",
                      nameless[] = "sid=\"a\",e=rr,ot=v,ttlb=1700,bsd=(900;v)",
                      right[] = "sid=\"a\",e=rr,ot=v,ttlb=800,bsd=(300;v),"
                                "url=\"https://x/750-3.m4s\"";
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=1000", "750-1.m4s", 1), 0);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000", "750-2.m4s", 5), 0);
    event(late);
    event(nameless);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000", "750-3.m4s", 8), 0);
    ck_assert(told.estimated & STEER_DOWNLOAD);
    event(right);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000", "750-4.m4s", 9), 0);
    ck_assert(!(told.estimated & STEER_DOWNLOAD));
    struct history h = history();
    ck_assert_double_eq(h.steps[1].download_s,
                        3); /* until it was asked for the next one */
    ck_assert_double_eq(h.steps[1].rebuffer_s, 0);
    ck_assert_double_eq(h.steps[2].download_s, .8);
    ck_assert_double_eq(h.steps[2].rebuffer_s, .3);
    service_history_free(&h);
}

/* ---- what happens while the service thinks, which asks for the time ---- */

static void (*meanwhile)(void);

static double clock_of_others(void *ctx)
{
    void (*once)(void) = meanwhile;
    meanwhile = NULL;
    if (once) once();
    return ((const struct served *)ctx)->now;
}

static void sound_sent_and_starved(void)
{
    struct steer_told other;
    struct cmcd c = tells("sid=\"a\",ot=a,br=64,bl=0");
    struct steer_segment in = {&c, "audio-2.m4s", 1000, 5, 0, -1, -1};
    ck_assert_int_eq(steer_ask(&other, players, f.service, f.worker, video, &in, &e), 0);
    event("sid=\"a\",e=ps,sta=p,bsd=(1250;v)");
    steer_sent(players, f.service, video, "a", "750-1.m4s", 3);
}

TEST(what_others_tell_meanwhile_is_not_lost)
{
    served_kill(&f);
    f.cfg.clock = clock_of_others;
    served_start(&f);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=1000", "750-1.m4s", 1), 0);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=1000", "750-1.m4s", 1), 0);
    meanwhile = sound_sent_and_starved;
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000,bs", "750-2.m4s", 6), 0);
    ck_assert_ptr_null(meanwhile);
    double pictures = told.max_kbps - 64;
    bool of_the_ladder = false;
    for (int k = 0; k < video->levels; k++)
        if (pictures == video->ladder_kbps[k]) of_the_ladder = true;
    ck_assert_msg(of_the_ladder, "cap of %g", told.max_kbps);
    ck_assert_double_eq_tol(told.throughput_kbps, 4004,
                            1e-6); /* 1 MB, and the sound, until it was sent */
    ck_assert(!(told.estimated & STEER_REBUFFER));
}

enum { RACES = 200 };

struct opener {
    pthread_barrier_t *start;
    struct service_worker *worker;
    int wrong;
};

/* Its first request in each race, of sound or of video: what api_cmcd.c does. */
static void *open_in_each_race(void *self)
{
    struct opener *o = self;
    for (int i = 0; i < RACES; i++) {
        char text[48];
        struct cmcd c;
        snprintf(text, sizeof text, "sid=\"race%d\",ot=v,br=750,bl=0", i);
        o->wrong += cmcd_parse(&c, text, strlen(text), NULL) != 0;
        pthread_barrier_wait(o->start);
        o->wrong += steer_open(players, f.service, o->worker, video, &c, NULL) != 0;
    }
    return NULL;
}

TEST(two_first_requests_at_once_open_one_session)
{
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, 2);
    struct opener here = {.start = &start, .worker = f.worker};
    struct opener there = {.start = &start, .worker = service_worker_new(f.service, &e)};
    ck_assert_ptr_nonnull(there.worker);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, open_in_each_race, &there), 0);
    open_in_each_race(&here);
    pthread_join(thread, NULL);
    service_worker_free(there.worker);
    pthread_barrier_destroy(&start);
    ck_assert_int_eq(here.wrong + there.wrong, 0);
    ck_assert_int_eq(sessions_opened(), RACES);
}

static void quits(void)
{
    event("sid=\"a\",e=ps,sta=q");
}

TEST(who_quits_meanwhile_is_not_brought_back)
{
    served_kill(&f);
    f.cfg.clock = clock_of_others;
    served_start(&f);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=1000", "750-1.m4s", 1), 0);
    struct cmcd c = tells("sid=\"a\",ot=v,br=750,bl=4000");
    struct steer_segment in = {&c, "750-2.m4s", 1000000, 6, 0, -1, -1};
    meanwhile = quits;
    ck_assert_int_eq(steer_ask(&told, players, f.service, f.worker, video, &in, &e), 1);
    ck_assert_int_eq(clients_count(players), 0);
}

TEST(a_live_stream_has_no_last_chunk)
{
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0,st=l", "750-8.m4s", 1), 0);
    steer_sent(players, f.service, video, "a", "750-8.m4s", 3);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000,st=l", "750-9.m4s", 5), 0);
    ck_assert(!(told.estimated & STEER_CHUNK));
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000,st=l", "750-999999999.m4s", 9),
                     0);
    ck_assert_double_gt(told.max_kbps, 0);
    struct history h = history();
    ck_assert(!h.open.chunks && !h.closed && !h.opened.hinted);
    ck_assert_int_eq(h.steps[h.n - 1].chunk, 999999999);
    ck_assert_int_eq(h.steps[1].chunk, 8);
    ck_assert_double_eq(h.steps[1].download_s, 4);
    service_history_free(&h);
    ck_assert_int_eq(sessions_opened(), 1);
}

TEST(what_is_not_told_is_estimated)
{
    /* no number in the name, no bl: counted, and the buffer that was foreseen has run down */
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=310", "x.m4s", 1), 0);
    ck_assert(told.estimated & STEER_CHUNK);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=310,mtp=8000", "y.m4s", 2.5), 0);
    struct history h = history();
    ck_assert_int_eq(h.steps[0].level, 0);
    ck_assert_int_eq(h.steps[2].chunk, 2);
    /* 4 s foreseen, 1.5 of them played, 1 for this chunk, and the chunk */
    ck_assert_double_eq_tol(h.steps[2].buffer_s, 5.5, 1e-6);
    service_history_free(&h);
}

TEST(seeks_gaps_and_other_levels_break_nothing)
{
    static const char *const files[] = {
        "750-1.m4s", "750-5.m4s", "750-6.m4s", "1850-2.m4s", "1850-3.m4s", "300-3.m4s",
        "750-1.m4s", "750-2.m4s", "750-8.m4s", "750-99.m4s", "750-4.m4s"};
    double now = 1;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int rc = ask("sid=\"a\",ot=v,br=750,bl=4000,mtp=2000", files[i], now++);
        ck_assert_msg(rc == 0, "%s: %s %s", files[i], e.field, e.detail);
        ck_assert_double_gt(told.max_kbps, 0);
    }
    ck_assert_int_eq(sessions_opened(), 1);
}

static void expect_sessions(const char *text, const char *file, int opened)
{
    ck_assert_msg(ask(text, file, 10) == 0, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(sessions_opened(), opened);
}

TEST(another_video_is_another_session)
{
    struct video *film = video,
                 *other = video_generate(3, 8, 2, (double[]){100, 200, 400}, 0, 1, &e);
    ck_assert_ptr_nonnull(other);
    expect_sessions("sid=\"a\",cid=\"film\",ot=v,br=750,bl=0", "750-1.m4s", 1);
    struct steer_told first = told;
    video = other; /* audio does not say which video */
    expect_sessions("sid=\"a\",cid=\"film\",ot=a,br=64,bl=0", "audio-1.m4s", 1);
    expect_sessions("sid=\"a\",cid=\"film\",ot=v,br=200,bl=0", "200-1.m4s", 2);
    ck_assert_double_le(told.max_kbps, 400);
    expect_sessions("sid=\"a\",ot=v,br=200,bl=0", "200-2.m4s", 2); /* cid is no duty */
    expect_sessions("sid=\"a\",cid=\"more\",ot=v,br=200,bl=0", "200-3.m4s", 3);
    expect_sessions("sid=\"a\",cid=\"more\",ot=v,br=200,bl=0", "200-4.m4s", 3);
    video = film;
    video_free(other);

    told = first;
    struct history h = history();
    ck_assert(h.closed && !h.terminal);
    service_history_free(&h);
}

TEST(the_end_closes_the_session)
{
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-7.m4s", 1), 0);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000,mtp=2000", "750-8.m4s", 5), 0);
    struct cmcd c = tells("sid=\"a\",e=ps,sta=e");
    ck_assert_int_eq(steer_event(players, f.service, &c, 9, &e), 0);
    struct history h = history();
    ck_assert(h.closed && h.terminal);
    ck_assert_double_eq(h.steps[h.n - 1].download_s, 4); /* the last chunk's, until now */
    service_history_free(&h);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-1.m4s", 20), 0);
    ck_assert_int_eq(sessions_opened(), 2);
}

TEST(the_last_byte_of_the_last_chunk_is_the_end)
{
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-7.m4s", 1), 0);
    steer_sent(players, f.service, video, "a", "750-7.m4s", 3);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000", "750-8.m4s", 5), 0);
    for (int again = 0; again < 2; again++)
        steer_sent(players, f.service, video, "a", "750-8.m4s", 9);
    struct history h = history();
    ck_assert(h.closed && h.terminal);
    ck_assert_double_eq(h.steps[h.n - 1].download_s, 4);
    service_history_free(&h);

    /* other segments open no session, video does */
    ck_assert_int_eq(ask("sid=\"a\",ot=a,br=64", "audio-8.m4s", 10), 0);
    struct cmcd c = tells("sid=\"a\",e=ps,sta=e");
    ck_assert_int_eq(steer_event(players, f.service, &c, 11, &e), 0);
    ck_assert_int_eq(sessions_opened(), 1);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-1.m4s", 20), 0);
    ck_assert_int_eq(sessions_opened(), 2);
}

TEST(a_closed_session_is_opened_again_by_pictures)
{
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-8.m4s", 1), 0);
    steer_sent(players, f.service, video, "a", "750-8.m4s", 9);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-2.m4s", 20), 0);
    ck_assert_int_eq(sessions_opened(), 2);
}

/* Chunks 5 to 8 were under way at once, and the last came first. */
TEST(a_late_chunk_opens_no_session)
{
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-4.m4s", 1), 0);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000", "750-8.m4s", 5), 0);
    steer_sent(players, f.service, video, "a", "750-8.m4s", 9);
    struct steer_told last = told;
    static const int late[] = {7, 7, 8, 6};
    for (int i = 0; i < 4; i++) {
        char file[32];
        snprintf(file, sizeof file, "750-%d.m4s", late[i]);
        ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000", file, 10 + i), 0);
        ck_assert_str_eq(told.session, last.session);
        ck_assert_double_eq(told.max_kbps, last.max_kbps);
        steer_sent(players, f.service, video, "a", file, 10.5 + i);
    }
    ck_assert_int_eq(sessions_opened(), 1);
    struct history h = history();
    ck_assert(h.closed && h.terminal);
    service_history_free(&h);

    /* when a buffer of a minute is played, it is a viewer who went back */
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-7.m4s", 80), 0);
    ck_assert_int_eq(sessions_opened(), 2);
}

TEST(who_quits_has_not_watched_it)
{
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-1.m4s", 1), 0);
    struct cmcd c = tells("sid=\"a\",e=ps,sta=q");
    ck_assert_int_eq(steer_event(players, f.service, &c, 9, &e), 0);
    struct history h = history();
    ck_assert(h.closed && !h.terminal);
    service_history_free(&h);
    c = tells("sid=\"nobody\",e=ps,sta=q");
    ck_assert_int_eq(steer_event(players, f.service, &c, 9, &e), 0);
}

TEST(a_session_that_went_silent_is_opened_again)
{
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-1.m4s", 1), 0);
    f.now += f.cfg.session_ttl_s + 1;
    service_periodic(f.service);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-2.m4s", 2), 0);
    ck_assert_int_eq(sessions_opened(), 2);
}

/* Sound on the way of a chunk shares its link: 1 MB and 64,000 bytes in 4 s, of which the sound needs
 * 128 kbit/s. Then the video has 1,000,000. Sound before and after it does not count. */
TEST(sound_takes_its_part_of_the_link)
{
    struct steer_told other;
    struct cmcd c = tells("sid=\"a\",ot=a,br=128,bl=0");
    struct steer_segment in = {&c, "audio-1.m4s", 64000, 1, 0, -1, -1};
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=0", "750-1.m4s", 1), 0);
    double cap = told.max_kbps;
    ck_assert_int_eq(steer_ask(&other, players, f.service, f.worker, video, &in, &e), 0);
    ck_assert_double_eq(other.max_kbps, cap + 128);
    steer_sent(players, f.service, video, "a", "750-1.m4s", 5);
    in.file = "audio-2.m4s";
    ck_assert_int_eq(steer_ask(&other, players, f.service, f.worker, video, &in, &e), 0);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=4000", "750-2.m4s", 6), 0);
    ck_assert_double_eq(told.throughput_kbps, 2128);
    struct history h = history();
    ck_assert_int_eq(h.steps[0].bytes, 1000000);
    service_history_free(&h);
    /* muxed chunks, and ladders that contain the sound: it counts once */
    ck_assert_int_eq(ask("sid=\"a\",ot=av,br=750,bl=4000", "750-3.m4s", 9), 0);
    bool of_the_ladder = false;
    for (int k = 0; k < video->levels; k++)
        of_the_ladder |= told.max_kbps == video->ladder_kbps[k];
    ck_assert(of_the_ladder);
}

/* tb, and tpb before it, cap what is decided; the number may be the peak of a level. */
TEST(the_players_own_cap)
{
    for (int k = 0; k < video->levels; k++)
        video->peak_kbps[k] = 1.5 * video->ladder_kbps[k];
    const struct {
        const char *tells;
        double most;
    } t[] = {{"tb=1125", 750}, {"tb=750", 750}, {"tb=4300,tpb=300", 300}, {"tb=1", 300}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char text[100];
        for (int chunk = 1; chunk < 4; chunk++) {
            char file[32];
            snprintf(text, sizeof text, "sid=\"%zu\",ot=v,br=450,bl=60000,%s", i,
                     t[i].tells);
            snprintf(file, sizeof file, "300-%d.m4s", chunk);
            ck_assert_int_eq(ask(text, file, chunk * 0.1), 0);
            ck_assert_msg(told.max_kbps <= t[i].most, "%s: %g", t[i].tells,
                          told.max_kbps);
        }
        struct history h = history();
        ck_assert_int_eq(h.steps[0].level, 0); /* 450 is the peak of 300 */
        service_history_free(&h);
    }
}

/* dash.js lowers tb by the cap that it was told. That must not lower the next cap. */
TEST(a_cap_does_not_lower_itself)
{
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=60000,tb=1200", "750-1.m4s", 0), 0);
    double first = told.max_kbps;
    ck_assert_double_gt(first, 300);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=60000,tb=300", "750-2.m4s", .1), 0);
    ck_assert_double_ge(told.max_kbps, first);
}

/* An advertisement with another ladder: a new session over the same link. */
TEST(another_ladder_continues)
{
    for (int chunk = 1; chunk < 4; chunk++) {
        char file[32];
        snprintf(file, sizeof file, "750-%d.m4s", chunk);
        ck_assert_int_eq(ask("sid=\"a\",ot=v,br=750,bl=8000", file, 4 * chunk), 0);
        steer_sent(players, f.service, video, "a", file, 4 * chunk + 2);
    }
    char before[SERVICE_ID];
    strcpy(before, told.session);
    double etp = told.throughput_kbps;
    ck_assert_double_gt(etp, 0);
    video_free(video);
    video = video_generate(2, 8, 4, (double[]){500, 1500}, 0, 1, &e);
    ck_assert_int_eq(ask("sid=\"a\",ot=v,br=500,bl=8000", "500-1.m4s", 16), 0);
    ck_assert_str_ne(told.session, before);
    ck_assert_double_eq(told.throughput_kbps, etp);
    ck_assert_double_eq(told.max_kbps, 1500); /* 4 Mbit/s were measured before */
}

SUITE_SET_UP(serve_players_steer, 0, setup, teardown,
             a_request_for_a_chunk_caps_the_next_one,
             a_session_has_the_quality_of_its_video, sound_is_added_to_the_cap,
             a_stall_is_what_the_download_outlasted_the_buffer_by,
             a_stall_is_what_he_says, a_stall_is_what_a_report_said,
             who_did_not_starve_had_no_stall,
             a_download_is_what_a_report_said_else_what_mtp_says,
             a_report_of_another_chunk_is_not_taken_for_this_one,
             what_others_tell_meanwhile_is_not_lost,
             two_first_requests_at_once_open_one_session,
             who_quits_meanwhile_is_not_brought_back, a_live_stream_has_no_last_chunk,
             what_is_not_told_is_estimated, another_video_is_another_session,
             seeks_gaps_and_other_levels_break_nothing, the_end_closes_the_session,
             the_last_byte_of_the_last_chunk_is_the_end,
             a_closed_session_is_opened_again_by_pictures, a_late_chunk_opens_no_session,
             who_quits_has_not_watched_it, a_session_that_went_silent_is_opened_again,
             sound_takes_its_part_of_the_link, the_players_own_cap,
             a_cap_does_not_lower_itself, another_ladder_continues);
