/* abrd backup: a data folder copied while its daemon runs. */
#include "cli/cmd.h"

#include <stdio.h>
#include <sys/resource.h>

#include "cli/interrupt.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "serve/store/backup.h"

static bool watch(void *ctx, double share)
{
    progress_show(ctx, share, "");
    return !interrupt_seen();
}

static void backup_put(struct out *o, const char *to, const struct backup_stats *b)
{
    out_row(o);
    out_text(o, "backup", to);
    out_int(o, "files", b->files);
    out_int(o, "bytes", b->bytes);
    out_int(o, "sessions", b->store.sessions);
    out_int(o, "live", b->store.live);
    out_int(o, "steps", b->store.steps);
    out_say(o, "complete and checked; to start a daemon on it: abrd serve --data %s", to);
}

int cmd_backup(int argc, char **argv)
{
    struct out_cfg cfg = {0};
    bool quiet = false;
    const struct field opts[] = {OPT_QUIET(quiet), OUT_OPTIONS(cfg), {0}};
    const struct opt_cmd cmd = {
        .name = "backup",
        .args = "DATA TO",
        .min_args = 2,
        .max_args = 2,
        .about = "Copies the data folder DATA of a daemon, which may be running, to the "
                 "new folder\n"
                 "TO: sessions, rewards and profiles as of one moment, learned weights "
                 "and added\n"
                 "experts. TO appears only when everything is on the disk and was read "
                 "back. To\n"
                 "restore, start the daemon on TO, or on a copy of it (cp -a), as the "
                 "user that\n"
                 "owns it. The token is not copied. The file `secret` is copied. It "
                 "determines\n"
                 "which sessions explore, so keep the copy private.",
        .opts = opts,
        .example = "abrd backup /var/lib/abrd /backup/abrd-$(date +%F)\n"
                   "abrd serve --data /backup/abrd-2026-11-22 --port 8081   # to inspect "
                   "the copy",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);

    struct err e = {0};
    struct backup_stats b;
    struct progress p;
    struct out *o = out_new(&cfg, &e);
    int rc = o ? 0 : e.code;
    if (!rc) {
        interrupt_catch();
        /* the daemon's work comes first; a failure does not matter */
        (void)setpriority(PRIO_PROCESS, 0, 10);
        progress_init(&p, "backup", quiet);
        rc = backup_make(&b, argv[at + 1], argv[at], watch, &p, &e);
        progress_end(&p);
    }
    if (!rc) backup_put(o, argv[at + 1], &b);
    if (!rc) rc = out_finish(o, &e);
    out_free(o);
    return rc ? cmd_fail("backup", &e) : OPT_EXIT_DONE;
}
