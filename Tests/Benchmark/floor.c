#include "floor.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"

/* The database has this many pages. No commit changes two neighbors. */
enum { ROWS = 512 };

static sqlite3 *database;
static sqlite3_stmt *begin, *update, *commit;
static int next_row;

static void run(sqlite3_stmt *statement) {
  if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_errmsg(database), EIO, NULL);
  sqlite3_reset(statement);
}

static void execute(const char *sql) {
  if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sqlite3_errmsg(database), EIO, NULL);
}

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) fail(sqlite3_errmsg(database), EIO, NULL);
  return statement;
}

void floor_open(const char *path) {
  if (sqlite3_open(path, &database) != SQLITE_OK) fail(path, EIO, NULL);
  execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
  execute("PRAGMA wal_autocheckpoint = 0; CREATE TABLE page (id INTEGER PRIMARY KEY, content BLOB);");
  execute("BEGIN");
  sqlite3_stmt *insert = prepare("INSERT INTO page VALUES (?, randomblob(3900))");
  for (int row = 1; row <= ROWS; row++) {
    sqlite3_bind_int(insert, 1, row);
    run(insert);
  }
  sqlite3_finalize(insert);
  execute("COMMIT");
  execute("PRAGMA wal_checkpoint(TRUNCATE)");
  begin = prepare("BEGIN IMMEDIATE");
  update = prepare("UPDATE page SET content = randomblob(3900) WHERE id = ?");
  commit = prepare("COMMIT");
}

void floor_commit(int pages) {
  run(begin);
  for (int page = 0; page < pages; page++) {
    sqlite3_bind_int(update, 1, next_row++ % ROWS + 1);
    run(update);
  }
  run(commit);
}

void floor_close(void) {
  sqlite3_finalize(begin);
  sqlite3_finalize(update);
  sqlite3_finalize(commit);
  sqlite3_close(database);
}
