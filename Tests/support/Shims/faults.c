// Preloaded into a program, this library counts the program's changes of files below a folder. At a chosen change, the
// library kills the program, or simulates a full disk. The tests choose the fault by a file, which they may change while
// the program runs.
//
//     FAULTS_ROOT     the folder, as /proc/self/fd names it
//     FAULTS_CONTROL  the file, which contains a struct control
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTHING, KILL, FULL, STOP };
static struct control {
  uint64_t fault;    // the kind of fault
  uint64_t at;       // the number of the change; with FULL, the first change without room
  uint64_t changes;  // the changes so far
  uint64_t growing;  // the changes so far that need room
  uint64_t hits;     // the number of faults so far
} *control;
static const char *root;

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("FAULTS_CONTROL");
  root = getenv("FAULTS_ROOT");
  int file = path && root ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) control = mapped;
}

static int is_below(const char *path) {
  size_t length = strlen(root);
  return strncmp(path, root, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static int watched(int fd) {
  if (!control) return 0;
  char link[64] = "/proc/self/cwd", path[4096];
  if (fd != AT_FDCWD) snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return 0;
  path[size] = 0;
  return is_below(path);
}

static int watched_path(int folder, const char *path) {
  if (!control) return 0;
  if (path[0] == '/') return is_below(path);
  return watched(folder);
}

// Whether the change may happen.
static int change(int grows) {
  uint64_t number = ++control->changes;
  if (grows) control->growing++;
  if ((control->fault == KILL || control->fault == STOP) && number == control->at) {
    control->hits++;
    kill(getpid(), control->fault == KILL ? SIGKILL : SIGSTOP);
  }
  if (control->fault == FULL && grows && control->growing >= control->at) {
    control->hits++;
    errno = ENOSPC;
    return 0;
  }
  return 1;
}

ssize_t write(int fd, const void *bytes, size_t size) {
  REAL(write);
  if (watched(fd) && !change(1)) return -1;
  return real(fd, bytes, size);
}
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  REAL(pwrite64);
  if (watched(fd) && !change(1)) return -1;
  return real(fd, bytes, size, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
  REAL(pwrite);
  if (watched(fd) && !change(1)) return -1;
  return real(fd, bytes, size, at);
}
int ftruncate64(int fd, off64_t size) {
  REAL(ftruncate64);
  if (watched(fd)) change(0);
  return real(fd, size);
}
int ftruncate(int fd, off_t size) {
  REAL(ftruncate);
  if (watched(fd)) change(0);
  return real(fd, size);
}
// Some file systems allocate room for earlier writes only now.
int fsync(int fd) {
  REAL(fsync);
  if (watched(fd) && !change(1)) return -1;
  return real(fd);
}
int fdatasync(int fd) {
  REAL(fdatasync);
  if (watched(fd) && !change(1)) return -1;
  return real(fd);
}
int rename(const char *from, const char *to) {
  REAL(rename);
  if (watched_path(AT_FDCWD, to) && !change(1)) return -1;
  return real(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
  REAL(renameat);
  if (watched_path(b, to) && !change(1)) return -1;
  return real(a, from, b, to);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
  REAL(renameat2);
  if (watched_path(b, to) && !change(1)) return -1;
  return real(a, from, b, to, flags);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
  REAL(linkat);
  if (watched_path(b, to) && !change(1)) return -1;
  return real(a, from, b, to, flags);
}
int unlink(const char *path) {
  REAL(unlink);
  if (watched_path(AT_FDCWD, path)) change(0);
  return real(path);
}
int unlinkat(int folder, const char *path, int flags) {
  REAL(unlinkat);
  if (watched_path(folder, path)) change(0);
  return real(folder, path, flags);
}
#define OPEN(name, arguments, call, folder) \
  int name arguments { \
    REAL(name); \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
      va_list list; \
      va_start(list, flags); \
      mode = va_arg(list, mode_t); \
      va_end(list); \
    } \
    int unnamed = (flags & O_TMPFILE) == O_TMPFILE; \
    int makes = (unnamed || (flags & O_CREAT)) && watched_path(folder, path) && \
                (unnamed || faccessat(folder, path, F_OK, 0) != 0); \
    if (makes && !change(1)) return -1; \
    return real call; \
  }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode), at)
OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode), at)
