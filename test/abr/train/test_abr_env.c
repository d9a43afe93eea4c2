#include "abr/train/abr_env.h"

#include "abr/deciders/first_level.h"
#include "abr/deciders/mpc.h"
#include "abr/deciders/window.h"
#include "abr/emulator/player.h"
#include "abr/deciders/first_level.h"

#include "base/rng.h"

#include "support/alloc.h"
#include "support/suites.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct video *video;
static struct worlds *worlds;
static struct env open_envs[4];
static int n_open;

/* tear_down frees them. */
static void use_worlds(int ladders)
{
    video = video_default(NULL);
    struct worlds_cfg c = {
        .links = 20, .link_s = 120, .video = video, .ladders = ladders, .seed = 1};
    worlds = worlds_new(&c, NULL);
    ck_assert_ptr_nonnull(worlds);
}

static void tear_down(void)
{
    for (int i = 0; i < n_open; i++)
        open_envs[i].free(open_envs[i].self);
    worlds_free(worlds);
    video_free(video);
}

struct walk {
    struct env env;
    struct env_out out;
    float obs[FEAT_FULL_DIM], priv[ABR_ENV_PRIV];
    struct rng rng;
};

/* The environment is freed after the test. */
static void begin(struct walk *w, const struct abr_env_cfg *c, uint64_t id)
{
    w->env = abr_env_new(c, worlds, 5, id, NULL);
    ck_assert_ptr_nonnull(w->env.self);
    open_envs[n_open++] = w->env;
    w->out = (struct env_out){.obs = w->obs, .priv = w->priv};
    rng_init(&w->rng, 8, id);
    w->env.reset(w->env.self, &w->out);
}

static int any_level(struct walk *w)
{
    int levels = 0;
    while (w->out.mask >> levels & 1)
        levels++;
    return (int)rng_below(&w->rng, (uint32_t)levels);
}

/* one step with a random level; starts again after an end */
static void step(struct walk *w)
{
    w->env.step(w->env.self, any_level(w), &w->out);
    if (w->out.done || w->out.truncated) w->env.reset(w->env.self, &w->out);
}

TEST(everything_drawn_stays_finite)
{
    use_worlds(30);
    struct abr_env_cfg c = abr_env_cfg_default();
    c.custom = c.ladders = c.players = c.live = c.choose_first = .5;
    enum { TAGS = 2 * QOE_PROFILES + 2 };
    int tags[TAGS] = {0}, ends = 0, cuts = 0, masks = 0, broken = 0;
    struct walk w;
    begin(&w, &c, 0);
    for (int i = 0; i < 80000; i++) {
        tags[w.out.tag]++;
        w.env.step(w.env.self, any_level(&w), &w.out);
        ends += w.out.done;
        cuts += w.out.truncated;
        broken += !isfinite(w.out.reward);
        for (int k = 0; k < FEAT_FULL_DIM; k++)
            broken += !isfinite(w.obs[k]);
        for (int k = 0; k < ABR_ENV_PRIV; k++)
            broken += !isfinite(w.priv[k]);
        masks |= (int)w.out.mask + 1;
        if (w.out.done || w.out.truncated) w.env.reset(w.env.self, &w.out);
    }
    ck_assert_int_eq(broken, 0);
    ck_assert_int_eq(w.env.spec.tags, TAGS);
    for (int k = 0; k < TAGS; k++)
        ck_assert_int_gt(tags[k], 0);
    ck_assert_int_gt(ends, 50);
    ck_assert_int_gt(cuts, 50);
    ck_assert_int_eq(masks & 0x1ffc, 0x1ffc); /* ladders of 2 .. 12 levels came up */
}

/* Weights on the simplex sum to 1 and come near its edges; the others keep to their ranges. The
 * level of chunk 0 is always 1, or any. */
TEST(weights_and_first_levels_as_asked)
{
    use_worlds(30);
    for (int any = 0; any < 2; any++) {
        struct abr_env_cfg c = abr_env_cfg_default();
        c.custom = 1;
        c.ladders = c.choose_first = 0;
        c.simplex = any;
        c.first_level = any ? -1 : 1;
        struct walk w;
        begin(&w, &c, 0);
        int outside = 0, edge = 0, seen = 0;
        for (int i = 0; i < 400; i++) {
            w.env.reset(w.env.self, &w.out);
            const struct view *v = &abr_env_player(&w.env)->view;
            const struct qoe *q = &v->qoe;
            double sum = q->mu_quality + q->mu_switch + q->mu_stall;
            seen |= 1 << v->last_level;
            edge += q->mu_quality < .05 * sum || q->mu_stall < .05 * sum;
            outside += any ? fabs(sum - 1) > 1e-12
                           : q->mu_quality < .5 || q->mu_switch < .2 || q->mu_stall > 8;
        }
        ck_assert_int_eq(outside, 0);
        ck_assert_int_eq(seen, any ? (1 << video->levels) - 1 : 1 << 1);
        if (any) ck_assert_int_gt(edge, 40); /* a share of 1 - .95^2 - .95^2 + .9^2 */
    }
}

/* No noise, no draws but the trace and the row: the rewards are those of a player that
 * the same world gave. Found by trying all traces and rows, as the draw is the env's. */
TEST(rewards_are_the_players)
{
    use_worlds(0);
    struct abr_env_cfg c = abr_env_cfg_default();
    c.noise = c.custom = c.ladders = c.players = c.live = 0;
    c.choose_first = 1;
    c.n_profiles = 1;
    c.profiles[0] = qoe_find("paper-documentary")->qoe;
    struct walk w;
    begin(&w, &c, 0);
    const int levels[] = {0, 3, 5, 1, 2};
    double got[5];
    for (int i = 0; i < 5; i++) {
        w.env.step(w.env.self, levels[i], &w.out);
        got[i] = (double)w.out.reward;
    }

    int matches = 0;
    for (int i = 0; i < worlds->n_traces; i++)
        for (int row = 1; row < worlds->traces[i]->n; row++) {
            struct emu_world world = {video, worlds->traces[i], c.emu};
            struct player p;
            player_start(&p, &world, row, &c.profiles[0], -1);
            double difference = 0;
            for (int k = 0; k < 5; k++) {
                player_step(&p, levels[k], 1.0);
                difference += fabs(p.last.reward / 8.0 - got[k]); /* 1 + 6 + 1 */
            }
            matches += difference < 1e-4;
        }
    ck_assert_int_ge(matches, 1);
}

/* A tag tells whose weights they are and whether the player is the standard one. */
TEST(tags_tell_the_player)
{
    use_worlds(0);
    struct abr_env_cfg c = abr_env_cfg_default();
    c.custom = c.ladders = 0;
    c.players = .5;
    c.live = .2;
    struct walk w;
    begin(&w, &c, 0);
    double standard_s = c.emu.buffer_max_s;
    int other = 0;
    for (int i = 0; i < 200; i++) {
        const struct view *v = &abr_env_player(&w.env)->view;
        bool drawn = w.out.tag >= c.n_profiles + 2;
        int p = drawn ? w.out.tag - abr_env_tag_drawn(&c, 0) : w.out.tag;
        ck_assert(p >= 0 && p < c.n_profiles);
        ck_assert_double_eq(v->qoe.mu_stall, c.profiles[p].mu_stall);
        if (!drawn) ck_assert_double_eq(v->buffer_max_s, standard_s);
        other += drawn;
        while (!w.out.done && !w.out.truncated)
            w.env.step(w.env.self, 0, &w.out);
        w.env.reset(w.env.self, &w.out);
    }
    /* 1 - .5 * .8 of 200: 120 +- 7 */
    ck_assert_int_gt(other, 90);
    ck_assert_int_lt(other, 150);

    c.players = c.live = 0;
    ck_assert_int_eq(abr_env_tags(&c), QOE_PROFILES + 2);
}

/* Stalls behind short buffers cost more, others what the weights say. */
TEST(caution_behind_short_buffers)
{
    use_worlds(0);
    struct abr_env_cfg c = abr_env_cfg_default();
    c.custom = c.ladders = c.live = 0;
    c.players = .5;
    struct walk plain, careful;
    begin(&plain, &c, 0);
    c.caution = .5;
    begin(&careful, &c, 0);
    int stalls = 0, others = 0;
    for (int i = 0; i < 20000; i++) {
        int level = any_level(&plain);
        plain.env.step(plain.env.self, level, &plain.out);
        careful.env.step(careful.env.self, level, &careful.out);
        const struct player *p = abr_env_player(&careful.env);
        double scale = feat_reward_scale(&p->view), stall_s = p->result.rebuffer_s;
        bool brief = p->view.buffer_max_s <= 12.0;
        double more = brief ? .5 * p->view.qoe.mu_stall * stall_s / scale : 0.0;
        double tol = 1e-5 * (1.0 + fabs(plain.out.reward));
        ck_assert_double_eq_tol(plain.out.reward - careful.out.reward, more, tol);
        stalls += brief && stall_s > 0.0;
        others += !brief && stall_s > 0.0;
        if (!plain.out.done) continue;
        plain.env.reset(plain.env.self, &plain.out);
        careful.env.reset(careful.env.self, &careful.out);
    }
    ck_assert_int_gt(stalls, 100);
    ck_assert_int_gt(others, 100);
}

/* A video of 10 chunks or more is the end of the one that is given; advice knows it by its sizes. */
TEST(videos_of_any_length)
{
    use_worlds(0);
    struct abr_env_cfg c = abr_env_cfg_default();
    c.custom = c.ladders = c.players = c.live = c.choose_first = 0;
    c.lengths = .5;
    struct walk w;
    begin(&w, &c, 0);
    int whole = 0, brief = 0, least = video->chunks;
    for (int i = 0; i < 200; i++) {
        const struct view *v = &abr_env_player(&w.env)->view;
        int skipped = video->chunks - v->chunks;
        int place = w.out.tag - (skipped ? abr_env_tag_short(&c, 0) : 0);
        ck_assert(place >= 0 && place < c.n_profiles);
        ck_assert_double_eq(v->qoe.mu_stall, c.profiles[place].mu_stall);
        ck_assert_int_eq(v->chunk, 1);
        ck_assert_double_eq(v->next_bytes[2], video_chunk(video, skipped + 1)[2]);
        whole += skipped == 0;
        brief += v->chunks < 22;
        least = v->chunks < least ? v->chunks : least;
        int n = 1;
        for (w.out.done = 0; !w.out.done; n++)
            w.env.step(w.env.self, w.env.advise(w.env.self), &w.out);
        ck_assert_int_eq(n, v->chunks);
        w.env.reset(w.env.self, &w.out);
    }
    ck_assert_int_eq(abr_env_tags(&c), 2 * QOE_PROFILES + 3); /* no other players here */
    ck_assert_int_eq(least, 10);
    /* half, and of the others those below the middle of ln 10 .. ln 49: 100 +- 7, 50 +- 6 */
    ck_assert(whole > 70 && whole < 130);
    ck_assert(brief > 25 && brief < 75);
}

/* What is fetched is not what was chosen, now and then; never when nobody abandons. */
TEST(players_that_abandon)
{
    use_worlds(0);
    for (int may = 0; may < 2; may++) {
        struct abr_env_cfg c = abr_env_cfg_default();
        c.ladders = 0;
        c.abandon = .5 * may;
        struct walk w;
        begin(&w, &c, 0);
        int other = 0, without = 0;
        for (int i = 0; i < 4000; i++) {
            int level = any_level(&w);
            w.env.step(w.env.self, level, &w.out);
            const struct player *p = abr_env_player(&w.env);
            other += p->result.level != level;
            without += !p->emu.world->cfg.abandon;
            if (w.out.done || w.out.truncated) w.env.reset(w.env.self, &w.out);
        }
        if (may)
            ck_assert(other > 20 && without > 1000 && without < 3000);
        else
            ck_assert(other == 0 && without == 4000);
    }
}

/* Who minds switches alone begins higher (first_level.h), in half of the episodes here. */
TEST(first_chunks_as_sessions_begin)
{
    use_worlds(0);
    struct abr_env_cfg c = abr_env_cfg_default();
    c.custom = c.ladders = c.players = c.live = c.choose_first = 0;
    c.profiles[0] = qoe_of_mu(1, 8, .5, QOE_LINEAR);
    c.n_profiles = 1;
    c.start = .5;
    struct walk w;
    begin(&w, &c, 0);
    struct emu_world world = {video, worlds->traces[0], c.emu};
    struct player p;
    player_start(&p, &world, 1, &c.profiles[0], -1);
    int level = first_level(&p.view), begun = 0;
    ck_assert_int_gt(level, 1);
    for (int i = 0; i < 200; i++) {
        int last = abr_env_player(&w.env)->view.last_level;
        ck_assert(last == level || last == 1);
        begun += last == level;
        w.env.reset(w.env.self, &w.out);
    }
    ck_assert(begun > 70 && begun < 130);
}

TEST(ids_differ_and_repeat)
{
    use_worlds(5);
    struct abr_env_cfg c = abr_env_cfg_default();
    struct walk a, b, other;
    begin(&a, &c, 1);
    begin(&b, &c, 1);
    begin(&other, &c, 2);
    int different = 0;
    for (int i = 0; i < 300; i++) {
        step(&a);
        step(&b);
        step(&other);
        ck_assert_mem_eq(a.obs, b.obs, sizeof a.obs);
        ck_assert_float_eq(a.out.reward, b.out.reward);
        different += a.out.reward != other.out.reward;
    }
    ck_assert_int_gt(different, 200);
}

TEST(state_round_trip)
{
    use_worlds(5);
    struct abr_env_cfg c = abr_env_cfg_default();
    c.lengths = c.abandon = c.start = .5;
    struct walk a, b;
    begin(&a, &c, 1);
    begin(&b, &c, 9);
    for (int i = 0; i < 100; i++)
        step(&a);
    char *state = malloc(a.env.state_size);
    a.env.state_get(a.env.self, state);
    b.env.state_put(b.env.self, state);
    b.rng = a.rng;
    b.out.mask = a.out.mask;
    for (int i = 0; i < 300; i++) {
        step(&a);
        step(&b);
        ck_assert_mem_eq(a.obs, b.obs, sizeof a.obs);
        ck_assert_mem_eq(a.priv, b.priv, sizeof a.priv);
        ck_assert_float_eq(a.out.reward, b.out.reward);
    }
    free(state);
}

/* Advice is what RobustMPC decides, episode after episode, and changes no step. */
TEST(advice_is_mpcs)
{
    use_worlds(0);
    struct abr_env_cfg c = abr_env_cfg_default();
    struct walk w, alone;
    begin(&w, &c, 0);
    begin(&alone, &c, 0);
    struct algo mpc;
    struct algo_ctx ctx = {0};
    ck_assert_int_eq(mpc_new(&mpc, NULL, &ctx, NULL), 0);
    mpc.reset(mpc.self, 0);
    int levels = 0;
    for (int i = 0; i < 400; i++) {
        int advised = w.env.advise(w.env.self);
        ck_assert_int_eq(advised,
                         mpc.decide(mpc.self, &abr_env_player(&w.env)->view, video));
        levels |= 1 << advised;
        int level = any_level(&w);
        w.env.step(w.env.self, level, &w.out);
        alone.env.step(alone.env.self, level, &alone.out);
        ck_assert_float_eq(w.out.reward, alone.out.reward);
        ck_assert_mem_eq(w.obs, alone.obs, sizeof w.obs);
        if (!w.out.done && !w.out.truncated) continue;
        w.env.reset(w.env.self, &w.out);
        alone.env.reset(alone.env.self, &alone.out);
        mpc.reset(mpc.self, 0);
    }
    ck_assert_int_eq(levels, 63);
    algo_free(&mpc);
}

/* peek tells what step will give, for any level, and changes nothing. */
TEST(peeks_come_true)
{
    use_worlds(5);
    struct abr_env_cfg c = abr_env_cfg_default();
    struct walk w;
    begin(&w, &c, 3);
    size_t size = w.env.state_size;
    char *before = malloc(size), *after = malloc(size);
    for (int i = 0; i < 400; i++) {
        float obs[FEAT_FULL_DIM], priv[ABR_ENV_PRIV];
        struct env_out told = {.obs = obs, .priv = priv};
        int level = any_level(&w);
        w.env.state_get(w.env.self, before);
        w.env.peek(w.env.self, level, &told);
        w.env.state_get(w.env.self, after);
        ck_assert_mem_eq(before, after, size);
        w.env.step(w.env.self, level, &w.out);
        ck_assert_float_eq(told.reward, w.out.reward);
        ck_assert_int_eq(told.done, w.out.done);
        ck_assert_int_eq(told.truncated, w.out.truncated);
        ck_assert_mem_eq(obs, w.obs, sizeof obs);
        ck_assert_mem_eq(priv, w.priv, sizeof priv);
        if (w.out.done || w.out.truncated) w.env.reset(w.env.self, &w.out);
    }
    free(after);
    free(before);
}

/* The shifts: documentary, live, news, documentary, each for exactly so many steps. */
TEST(profiles_in_turn)
{
    use_worlds(0);
    struct abr_env_cfg c = abr_env_cfg_paper(true, 70);
    struct walk w;
    begin(&w, &c, 0);
    for (int i = 0; i < 280; i++) {
        ck_assert_int_eq(w.out.tag, i / 70 % 3);
        step(&w);
    }
    ck_assert_int_eq(w.env.spec.obs_dim, FEAT_PAPER_DIM);
    ck_assert_int_eq(w.env.spec.priv_dim, 0);
}

/* Of a long ladder an agent sees a window: its actions are places in it. */
TEST(actions_of_a_long_ladder_are_places)
{
    double ladder[20];
    for (int k = 0; k < 20; k++)
        ladder[k] = 150 * pow(1.3, k);
    video = video_generate(20, 48, 4, ladder, .3, 1, NULL);
    struct worlds_cfg wc = {.links = 20, .link_s = 120, .video = video, .seed = 1};
    worlds = worlds_new(&wc, NULL);
    ck_assert_ptr_nonnull(worlds);
    struct abr_env_cfg c = abr_env_cfg_default();
    c.ladders = 0;
    c.choose_first = c.live = .5;
    struct walk w;
    begin(&w, &c, 0);
    int above = 0;
    for (int i = 0; i < 2000; i++) {
        struct view v = abr_env_player(&w.env)->view;
        uint32_t offered = feat_mask(&v);
        bool live = w.obs[8] > 0;
        if (live) v.chunks = 0;
        struct window window;
        float want[FEAT_FULL_DIM];
        feat_observe(want, FEAT_FULL, window_see(&window, &v, offered));
        ck_assert_mem_eq(w.obs, want, sizeof want);
        ck_assert_uint_eq(w.out.mask, window_mask(&window, offered));
        int advised = w.env.advise(w.env.self);
        ck_assert(advised >= 0 && w.out.mask >> advised & 1);
        int action = (int)rng_below(&w.rng, FEAT_LEVELS);
        if (!(w.out.mask >> action & 1)) action = advised;
        w.env.step(w.env.self, action, &w.out);
        int level = window_level(&window, action);
        ck_assert_int_eq(abr_env_player(&w.env)->view.last_level, level);
        above += level >= FEAT_LEVELS;
        if (w.out.done || w.out.truncated) w.env.reset(w.env.self, &w.out);
    }
    ck_assert_int_gt(above, 100);
    ck_assert_int_eq(w.env.spec.actions, FEAT_LEVELS);
}

/* In training as in evaluation: hidden from the first observation on, and the paper's state
 * is pushed once per decision also where the policy chooses chunk 0. */
TEST(other_layouts)
{
    use_worlds(10);
    struct abr_env_cfg c = abr_env_cfg_default();
    c.layout = FEAT_BLIND;
    struct walk w;
    begin(&w, &c, 0);
    for (int i = 0; i < 200; i++) {
        for (int k = 10; k < 16; k++)
            ck_assert_float_eq(w.obs[k], 0);
        for (int k = 0; k < FEAT_LEVELS; k++)
            ck_assert_float_eq(w.obs[FEAT_FULL_DIM - 6 * (k + 1) + 4], 0);
        step(&w);
    }

    c.layout = FEAT_PAPER;
    c.choose_first = 1;
    c.ladders = 0;
    begin(&w, &c, 0);
    ck_assert_int_eq(w.env.spec.obs_dim, FEAT_PAPER_DIM);
    ck_assert_float_eq(w.obs[5 * 8 + 7], 1); /* all chunks remain */
    ck_assert_float_gt(w.obs[4 * 8], 0);     /* the first chunk's size */
}

/* The viewer's weights follow the state, and change with the shift. */
TEST(hints_are_the_weights_in_force)
{
    use_worlds(0);
    struct abr_env_cfg c = abr_env_cfg_paper(false, 70);
    c.layout = FEAT_PAPER_HINT;
    static const float share[3][3] = {{1 / 8.f, 6 / 8.f, 1 / 8.f},
                                      {1 / 8.f, 1 / 8.f, 6 / 8.f},
                                      {6 / 8.f, 1 / 8.f, 1 / 8.f}};
    struct walk plain, hinted;
    begin(&hinted, &c, 0);
    c.layout = FEAT_PAPER;
    begin(&plain, &c, 0);
    ck_assert_int_eq(hinted.env.spec.obs_dim, FEAT_PAPER_DIM + 3);
    for (int i = 0; i < 280; i++) {
        ck_assert_mem_eq(hinted.obs, plain.obs, FEAT_PAPER_DIM * sizeof(float));
        ck_assert_mem_eq(hinted.obs + FEAT_PAPER_DIM, share[i / 70 % 3], sizeof share[0]);
        step(&hinted);
        step(&plain);
    }
}

TEST(the_player_tells_of_the_last_chunk)
{
    use_worlds(0);
    struct abr_env_cfg c = abr_env_cfg_paper(false, 1000);
    struct walk w;
    begin(&w, &c, 0);
    for (int i = 0; i < 200; i++) {
        w.env.step(w.env.self, any_level(&w), &w.out);
        const struct player *p = abr_env_player(&w.env);
        ck_assert_float_eq(w.out.reward, (float)p->last.reward);
        /* the newest column of the state, and an empty buffer behind the end */
        ck_assert_float_eq(w.obs[15], (float)p->view.buffer_s);
        ck_assert(!w.out.done || p->view.buffer_s == 0.0);
        if (w.out.done) w.env.reset(w.env.self, &w.out);
    }
}

TEST(steps_allocate_nothing)
{
    use_worlds(10);
    struct abr_env_cfg c = abr_env_cfg_default();
    struct walk w;
    begin(&w, &c, 0);
    alloc_watch();
    for (int i = 0; i < 500; i++)
        step(&w);
    long calls = alloc_calls();
    ck_assert_int_eq(calls, 0);
}

SUITE_SET_UP(abr_train_abr_env, 0, NULL, tear_down, everything_drawn_stays_finite,
             weights_and_first_levels_as_asked, rewards_are_the_players,
             tags_tell_the_player, caution_behind_short_buffers, videos_of_any_length,
             players_that_abandon, first_chunks_as_sessions_begin, ids_differ_and_repeat,
             state_round_trip, advice_is_mpcs, peeks_come_true, profiles_in_turn,
             actions_of_a_long_ladder_are_places, other_layouts,
             hints_are_the_weights_in_force, the_player_tells_of_the_last_chunk,
             steps_allocate_nothing);
