/* What the disk takes for one commit of SQLite: the least that a durable store can cost. */
#pragma once

/* A database of its own at `path`, in write-ahead mode with synchronous=FULL, without automatic checkpoints. */
void floor_open(const char *path);
/* Changes `pages` pages and commits. */
void floor_commit(int pages);
void floor_close(void);
