#include "cli/eval/trajectories.h"

#include "base/text.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *dir;

static void set_up(void)
{
    dir = tmpdir_new();
}

/* Two rows, one of a network, as the file then holds them. */
static char *written(const char *name, int with)
{
    struct err e = {0};
    struct view view = view_default();
    view.levels = 2;
    view.ladder_kbps[0] = 1000;
    view.ladder_kbps[1] = 2000;
    view.buffer_s = 3.5;
    struct algo_choice choice = {.expert = 2, .value = .5f, .prob = {.25f, .75f}};
    struct replay_step s = {.chunk = 1,
                            .level = 1,
                            .prev_level = 0,
                            .kbps = 2000,
                            .bytes = 1000000,
                            .start_s = 1.5,
                            .download_s = .5,
                            .throughput_kbps = 16000,
                            .buffer_after_s = 7,
                            .reward = -.25,
                            .view = &view};
    const char *path = tmpdir_path(dir, name);
    struct trajectories *t = trajectories_new(path, with, 2, &e);
    ck_assert_msg(t != NULL, "%s", e.detail);
    trajectories_of(t, "mpc", "live", "a \"b\",c");
    ck_assert_int_eq(trajectories_step(t, &s, &e), 0);
    s.choice = &choice;
    trajectories_of(t, "moe", "live", "d");
    ck_assert_int_eq(trajectories_step(t, &s, &e), 0);
    ck_assert_int_eq(trajectories_rows(t), 2);
    ck_assert_ptr_null(
        text_read_file(path, 1, NULL, NULL)); /* not there before it is whole */
    ck_assert_int_eq(trajectories_close(t, &e), 0);
    trajectories_free(t);
    char *text = text_read_file(path, 100000, NULL, &e);
    ck_assert_msg(text != NULL, "%s", e.detail);
    return text;
}

#define COLUMNS                                                                       \
    "policy,profile,trace,chunk,level,kbps,bytes,start_s,download_s,throughput_kbps," \
    "stall_s,buffer_s,buffer_after_s,reward"
#define VALUES "1,1,2000,1000000,1.5,0.5,16000,0,3.5,7,-0.25"

TEST(csv)
{
    char *text = written("t.csv", 0);
    ck_assert_str_eq(text, COLUMNS "\nmpc,live,\"a \"\"b\"\",c\"," VALUES
                                   "\nmoe,live,d," VALUES "\n");
    free(text);
    text = written("t.csv", TRAJECTORIES_PROBS);
    ck_assert_str_eq(text, COLUMNS
                     ",expert,value,prob0,prob1\nmpc,live,\"a \"\"b\"\",c\"," VALUES
                     ",,,,\nmoe,live,d," VALUES ",2,0.5,0.25,0.75\n");
    free(text);
    text = written("t.csv", TRAJECTORIES_OBS);
    ck_assert_ptr_nonnull(strstr(text, ",obs0,obs1,"));
    ck_assert_ptr_nonnull(strstr(text, ",obs127\n"));
    free(text);
}

TEST(json_lines)
{
    char *text = written("t.jsonl", TRAJECTORIES_PROBS | TRAJECTORIES_OBS);
    ck_assert_ptr_nonnull(
        strstr(text, "{\"policy\": \"mpc\", \"profile\": \"live\", \"trace\": "
                     "\"a \\\"b\\\",c\", \"chunk\": 1, \"level\": 1, \"kbps\": 2000, "));
    ck_assert_ptr_nonnull(
        strstr(text, "\"reward\": -0.25, \"expert\": null, \"value\": null, \"prob\": "
                     "null, \"obs\": ["));
    ck_assert_ptr_nonnull(strstr(
        text, "\"expert\": 2, \"value\": 0.5, \"prob\": [0.25, 0.75], \"obs\": ["));
    ck_assert_str_eq(text + strlen(text) - 3, "]}\n");
    free(text);
}

/* A rename would put a file in the place of a device, or of a link. */
TEST(devices_and_links_stay)
{
    struct err e = {0};
    struct stat st;
    char path[2][512];
    snprintf(path[0], sizeof path[0], "%s/fifo", dir);
    snprintf(path[1], sizeof path[1], "%s/link", dir);
    ck_assert_int_eq(mkfifo(path[0], 0600), 0);
    ck_assert_int_eq(symlink("real.csv", path[1]), 0);
    tmpdir_put(dir, "real.csv", "old");
    int fd = open(path[0], O_RDONLY | O_NONBLOCK);
    for (int i = 0; i < 2; i++) {
        struct trajectories *t = trajectories_new(path[i], 0, 2, &e);
        ck_assert_msg(t != NULL, "%s", e.detail);
        ck_assert_int_eq(trajectories_close(t, &e), 0);
        trajectories_free(t);
        ck_assert_int_eq(lstat(path[i], &st), 0);
        ck_assert(i ? S_ISLNK(st.st_mode) : S_ISFIFO(st.st_mode));
    }
    char head[8] = "",
         *text = text_read_file(tmpdir_path(dir, "real.csv"), 1000, NULL, &e);
    ck_assert_int_eq(read(fd, head, 6), 6);
    ck_assert_str_eq(head, "policy");
    ck_assert_int_eq(strncmp(text, "policy", 6), 0);
    free(text);
    close(fd);
}

TEST(nothing_is_left_of_what_was_not_closed)
{
    struct err e = {0};
    struct trajectories *t = trajectories_new(tmpdir_path(dir, "x.csv"), 0, 2, &e);
    ck_assert_ptr_nonnull(t);
    trajectories_free(t);
    ck_assert_ptr_null(fopen(tmpdir_path(dir, "x.csv"), "r"));
    ck_assert_ptr_null(fopen(tmpdir_path(dir, "x.csv.tmp"), "r"));
    ck_assert_ptr_null(trajectories_new(tmpdir_path(dir, "no/x.csv"), 0, 2, &e));
    ck_assert_int_eq(e.code, ERR_IO);
    trajectories_free(NULL);
}

SUITE_SET_UP(cli_eval_trajectories, 0, set_up, NULL, csv, json_lines,
             devices_and_links_stay, nothing_is_left_of_what_was_not_closed);
