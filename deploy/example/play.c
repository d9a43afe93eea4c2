/* play.c - a small player with abrd's policy, and a trace as the network.
 *
 *   cc play.c $(pkg-config --cflags --libs abrd) -o play
 *   ./play moe.safetensors trace.txt live
 *
 * Prints each downloaded chunk with its quality in points, and the viewer's QoE. */
#include <abrd/policy.h>

#include <stdio.h>

enum { LEVELS = 6, CHUNKS = 48 };

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: play POLICY TRACE [PROFILE]\n"
                        "PROFILE: standard, documentary, live, news, sports, lecture, or "
                        "of the papers: pensieve, paper-news, ..\n");
        return 2;
    }
    const double ladder[LEVELS] = {300, 750, 1200, 1850, 2850, 4300};
    struct abrd_error e = {0};
    struct abrd_viewer who = abrd_viewer_named(argc > 3 ? argv[3] : "standard");
    struct abrd_policy *policy = abrd_policy_load(argv[1], &e);
    struct abrd_video *video = abrd_video_new(ladder, LEVELS, 4, CHUNKS, NULL, &e);
    struct abrd_trace *trace = abrd_trace_load(argv[2], &e);
    struct abrd_session *session = NULL;
    struct abrd_emulator *link = NULL;
    if (policy && video && trace) {
        session = abrd_session_new(policy, video, &who, &e);
        link = abrd_emulator_new(video, trace, who.buffer_max_s, &e);
    }

    struct abrd_fetched got = {0};
    while (session && link && !got.last && !e.code) {
        struct abrd_decision d;
        if (abrd_session_decide(session, got.buffer_s, &d, &e)) break;
        if (abrd_emulator_fetch(link, d.level, &got, &e)) break;
        if (abrd_session_report(session, &got.outcome, &e)) break;
        printf("chunk %2d  %4.0f kbit/s  quality %5.1f  %6.3f s  stalled %6.3f s  "
               "buffer %6.3f s\n",
               d.chunk, d.kbps, d.quality, got.outcome.download_s, got.outcome.stall_s,
               got.buffer_s);
    }
    if (!e.code)
        printf("%d chunks, quality %.1f, QoE %.6f\n", abrd_session_chunks(session),
               abrd_session_quality(session), abrd_session_qoe(session));
    else
        fprintf(stderr, "play: %s\n", e.text);

    abrd_emulator_free(link);
    abrd_session_free(session);
    abrd_trace_free(trace);
    abrd_video_free(video);
    abrd_policy_free(policy);
    return e.code ? 1 : 0;
}
