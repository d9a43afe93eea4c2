/* Rows carry a checksum of their own: SQLite sees pages that do not fit together, but not a number
 * that changed on the disk. */
#include "store_sqlite_priv.h"

#include <stdio.h>

#include "base/bytes.h"

/* crc_of(value, ...): CRC-32 over the types and bytes of its arguments. */
static void crc_of(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    uint32_t crc = 0;
    for (int i = 0; i < n; i++) {
        unsigned char head[9] = {(unsigned char)sqlite3_value_type(v[i])};
        switch (head[0]) {
        case SQLITE_INTEGER:
            bytes_put_u64(head + 1, (uint64_t)sqlite3_value_int64(v[i]));
            break;
        case SQLITE_FLOAT: /* a stored -0 comes back as 0 */
            bytes_put_f64(head + 1, sqlite3_value_double(v[i]) + 0.0);
            break;
        case SQLITE_NULL:
            break;
        default:
            bytes_put_u64(head + 1, (uint64_t)sqlite3_value_bytes(v[i]));
        }
        crc = bytes_crc32(crc, head, sizeof head);
        if (head[0] == SQLITE_TEXT || head[0] == SQLITE_BLOB)
            crc = bytes_crc32(crc, sqlite3_value_blob(v[i]),
                              (size_t)sqlite3_value_bytes(v[i]));
    }
    sqlite3_result_int64(ctx, crc);
}

int store_sqlite_crc_function(sqlite3 *db)
{
    return sqlite3_create_function_v2(db, "crc_of", -1,
                                      SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, crc_of,
                                      NULL, NULL, NULL);
}

int store_sqlite_crc_check(char *found, size_t size, sqlite3 *db)
{
    static const char *const sql[] = {
        "SELECT 'the row of session ' || lower(hex(id)) FROM sessions"
        " WHERE crc <> crc_of(" STORE_SESSION_COLUMNS ") LIMIT 1",
        "SELECT 'chunk ' || chunk || ' of session ' || lower(hex(session)) FROM steps"
        " WHERE crc <> crc_of(" STORE_STEP_COLUMNS ") LIMIT 1"};
    found[0] = '\0';
    for (int i = 0; i < 2; i++) {
        sqlite3_stmt *st = NULL;
        int rc = sqlite3_prepare_v2(db, sql[i], -1, &st, NULL);
        if (!rc) rc = sqlite3_step(st);
        if (rc == SQLITE_ROW) store_sqlite_read_text(found, size, st, 0);
        sqlite3_finalize(st);
        if (rc != SQLITE_DONE) return rc;
    }
    return SQLITE_DONE;
}
