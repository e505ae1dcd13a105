/* The disk's time for one commit of SQLite. No durable store can be faster. */
#pragma once

/* Makes a database at `path`, in write-ahead mode with synchronous=FULL, without automatic checkpoints. */
void floor_open(const char *path);
/* Changes `pages` pages and commits. */
void floor_commit(int pages);
void floor_close(void);
