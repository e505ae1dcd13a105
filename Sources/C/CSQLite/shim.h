#pragma once
#include <sqlite3.h>

// Variadic functions and macros with casts, which Swift does not import.
static inline int sqlite_defensive(sqlite3 *db) { return sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (void *)0); }
static inline int sqlite_distrust_schema(sqlite3 *db) { return sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (void *)0); }
static inline int sqlite_run_no_triggers(sqlite3 *db) { return sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (void *)0); }
static inline int sqlite_ask_no_views(sqlite3 *db) { return sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (void *)0); }
static inline int sqlite_bind_blob_copy(sqlite3_stmt *s, int i, const void *p, sqlite3_uint64 n) {
  return sqlite3_bind_blob64(s, i, p, n, SQLITE_TRANSIENT);
}
// The size of the database file, without the write-ahead log. SQLite may know more pages than are in the file.
static inline int sqlite_file_size(sqlite3 *db, sqlite3_int64 *size) {
  sqlite3_file *file = (void *)0;
  int status = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (status != SQLITE_OK) return status;
  return file && file->pMethods ? file->pMethods->xFileSize(file, size) : SQLITE_ERROR;
}
enum { sqlite_short_read = SQLITE_IOERR_SHORT_READ };
static inline int sqlite_keep_log(sqlite3 *db, int on) { return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on, (void *)0); }
