// This library is preloaded into a program, and makes its files as slow as files on a network. It delays calls on a file that is
// named relative to a folder, as the vault's files are, and calls that read or write at a position. SLOW_MILLISECONDS is the delay.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void dawdle(void) {
  const char *wanted = getenv("SLOW_MILLISECONDS");
  if (wanted) usleep(1000 * atoi(wanted));
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
  dawdle()

#define OPENAT(name) \
  int name(int folder, const char *path, int flags, ...) { \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    REAL(name); \
    return real(folder, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)
int fstatat(int folder, const char *path, struct stat *found, int flags) {
  REAL(fstatat);
  return real(folder, path, found, flags);
}
int renameat(int from, const char *old, int to, const char *new) {
  REAL(renameat);
  return real(from, old, to, new);
}
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  REAL(renameat2);
  return real(from, old, to, new, flags);
}
int fsync(int file) {
  REAL(fsync);
  return real(file);
}
int fdatasync(int file) {
  REAL(fdatasync);
  return real(file);
}
ssize_t pread64(int file, void *bytes, size_t count, off64_t place) {
  REAL(pread64);
  return real(file, bytes, count, place);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t place) {
  REAL(pwrite64);
  return real(file, bytes, count, place);
}
