/* Rows of the store: from structs to columns and back. */
#include "store_sqlite_priv.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void ladder_text(char *out, size_t size, const struct track_row *row)
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < row->levels; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%.17g", i ? " " : "",
                               row->ladder_kbps[i]);
}

static int ladder_parse(struct track_row *row, const char *text, struct err *e)
{
    row->levels = 0;
    while (*text && row->levels < VIEW_LEVELS) {
        int rc = text_scan_double(&row->ladder_kbps[row->levels], &text, e);
        if (rc) return rc;
        row->levels++;
    }
    return *text ? ERR_CORRUPT : 0;
}

void store_sqlite_bind_qoe(sqlite3_stmt *st, int i, const struct qoe *k)
{
    sqlite3_bind_double(st, i, k->mu_quality);
    sqlite3_bind_double(st, i + 1, k->mu_switch);
    sqlite3_bind_double(st, i + 2, k->mu_stall);
    sqlite3_bind_text(st, i + 3, qoe_utility_name(k->utility), -1, SQLITE_STATIC);
}

int store_sqlite_read_qoe(struct qoe *k, sqlite3_stmt *st, int i, struct err *e)
{
    k->mu_quality = sqlite3_column_double(st, i);
    k->mu_switch = sqlite3_column_double(st, i + 1);
    k->mu_stall = sqlite3_column_double(st, i + 2);
    return qoe_utility_parse(&k->utility, (const char *)sqlite3_column_text(st, i + 3),
                             e);
}

void store_sqlite_bind_session(sqlite3_stmt *st, const struct track_row *r)
{
    char ladder[VIEW_LEVELS * 26];
    ladder_text(ladder, sizeof ladder, r);
    sqlite3_bind_blob(st, 1, r->id, TRACK_ID, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, (int64_t)r->key);
    sqlite3_bind_text(st, 3, r->profile, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 4, r->content_id, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 5, ladder, -1, SQLITE_TRANSIENT);
    sqlite3_bind_double(st, 6, r->chunk_s);
    sqlite3_bind_int(st, 7, r->chunks);
    sqlite3_bind_double(st, 8, r->buffer_max_s);
    store_sqlite_bind_qoe(st, 9, &r->qoe);
    sqlite3_bind_int(st, 13, r->has_mu);
    sqlite3_bind_int(st, 14, r->has_key);
    sqlite3_bind_int(st, 15, r->hinted);
    sqlite3_bind_int(st, 16, r->explores);
    sqlite3_bind_double(st, 17, r->opened_at);
    sqlite3_bind_double(st, 18, r->closed_at);
    sqlite3_bind_int(st, 19, r->closed);
    sqlite3_bind_int(st, 20, r->terminal);
}

void store_sqlite_read_text(char *out, size_t size, sqlite3_stmt *st, int i)
{
    const unsigned char *text = sqlite3_column_text(st, i);
    snprintf(out, size, "%s", text ? (const char *)text : "");
}

int store_sqlite_read_session(struct track_row *r, sqlite3_stmt *st, struct err *e)
{
    *r = (struct track_row){0};
    if (!sqlite3_column_int(st, STORE_SESSION_N))
        return err_set(e, ERR_CORRUPT, "a session's row is not as it was written");
    if (sqlite3_column_bytes(st, 0) != TRACK_ID)
        return err_set(e, ERR_CORRUPT, "a session's id has %d bytes",
                       sqlite3_column_bytes(st, 0));
    memcpy(r->id, sqlite3_column_blob(st, 0), TRACK_ID);
    r->key = (uint64_t)sqlite3_column_int64(st, 1);
    store_sqlite_read_text(r->profile, sizeof r->profile, st, 2);
    store_sqlite_read_text(r->content_id, sizeof r->content_id, st, 3);
    if (ladder_parse(r, (const char *)sqlite3_column_text(st, 4), NULL))
        return err_set(e, ERR_CORRUPT, "a session's ladder cannot be read");
    r->chunk_s = sqlite3_column_double(st, 5);
    r->chunks = sqlite3_column_int(st, 6);
    r->buffer_max_s = sqlite3_column_double(st, 7);
    int rc = store_sqlite_read_qoe(&r->qoe, st, 8, e);
    r->has_mu = sqlite3_column_int(st, 12);
    r->has_key = sqlite3_column_int(st, 13);
    r->hinted = sqlite3_column_int(st, 14);
    r->explores = sqlite3_column_int(st, 15);
    r->opened_at = sqlite3_column_double(st, 16);
    r->closed_at = sqlite3_column_double(st, 17);
    r->closed = sqlite3_column_int(st, 18);
    r->terminal = sqlite3_column_int(st, 19);
    return rc;
}

void store_sqlite_bind_step(sqlite3_stmt *st, const uint8_t *id, const struct step *s)
{
    const int64_t ints[] = {s->ord,     s->rev,   s->chunk,      s->flags,
                            s->decided, s->level, s->last_level, s->expert};
    sqlite3_bind_blob(st, 1, id, TRACK_ID, SQLITE_STATIC);
    for (int i = 0; i < 8; i++)
        sqlite3_bind_int64(st, 2 + i, ints[i]);
    sqlite3_bind_double(st, 10, (double)s->logp);
    sqlite3_bind_double(st, 11, (double)s->value);
    sqlite3_bind_double(st, 12, (double)s->entropy);
    sqlite3_bind_blob(st, 13, s->prob, sizeof s->prob, SQLITE_STATIC);
    sqlite3_bind_blob(st, 14, s->next_bytes, sizeof s->next_bytes, SQLITE_STATIC);
    sqlite3_bind_int64(st, 15, (int64_t)s->question);
    sqlite3_bind_int64(st, 16, (int64_t)s->policy);
    sqlite3_bind_int64(st, 17, s->bytes);
    const double reals[] = {s->buffer_s, s->download_s, s->rebuffer_s,
                            s->reward,   s->external,   s->at};
    for (int i = 0; i < 6; i++)
        sqlite3_bind_double(st, 18 + i, reals[i]);
}

int store_sqlite_read_step(struct step *s, sqlite3_stmt *st, struct err *e)
{
    *s = (struct step){.next = -1, .prev = -1};
    if (!sqlite3_column_int(st, STORE_STEP_N))
        return err_set(e, ERR_CORRUPT, "a step's row is not as it was written");
    s->ord = (uint32_t)sqlite3_column_int64(st, 1);
    s->rev = (uint16_t)sqlite3_column_int(st, 2);
    s->chunk = sqlite3_column_int(st, 3);
    s->flags = (uint16_t)sqlite3_column_int(st, 4);
    s->decided = (int8_t)sqlite3_column_int(st, 5);
    s->level = (int8_t)sqlite3_column_int(st, 6);
    s->last_level = (int8_t)sqlite3_column_int(st, 7);
    s->expert = (int8_t)sqlite3_column_int(st, 8);
    s->logp = (float)sqlite3_column_double(st, 9);
    s->value = (float)sqlite3_column_double(st, 10);
    s->entropy = (float)sqlite3_column_double(st, 11);
    if (sqlite3_column_bytes(st, 12) != sizeof s->prob ||
        sqlite3_column_bytes(st, 13) != sizeof s->next_bytes)
        return err_set(e, ERR_CORRUPT, "a step's row has the wrong size");
    memcpy(s->prob, sqlite3_column_blob(st, 12), sizeof s->prob);
    memcpy(s->next_bytes, sqlite3_column_blob(st, 13), sizeof s->next_bytes);
    s->question = (uint64_t)sqlite3_column_int64(st, 14);
    s->policy = (uint64_t)sqlite3_column_int64(st, 15);
    s->bytes = (uint32_t)sqlite3_column_int64(st, 16);
    s->buffer_s = sqlite3_column_double(st, 17);
    s->download_s = sqlite3_column_double(st, 18);
    s->rebuffer_s = sqlite3_column_double(st, 19);
    s->reward = sqlite3_column_double(st, 20);
    s->external = sqlite3_column_double(st, 21);
    s->at = sqlite3_column_double(st, 22);
    return 0;
}
