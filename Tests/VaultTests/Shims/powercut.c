// This library is preloaded into a process. Next to a folder it keeps the state that a power cut would leave: a second copy of each
// file, updated only when the file is synchronised, and a list of names, updated only when the folder is synchronised. It can also
// kill the process before its Nth change of a file.
//
//     POWERCUT_ROOT     the folder that is watched, as /proc/self/fd names it
//     POWERCUT_DURABLE  where the second copies go: <inode> for contents, `names` with "<inode> <name>" lines
//     POWERCUT_DIE_AT   in front of which call to die; 0 or absent for none
//     POWERCUT_FAIL_AT  which call fails, as on a disk with an error; 0 or absent for none
//     POWERCUT_FAILURES how many calls fail from there on; 1 if absent
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *root, *durable;
static long die_at, fail_at, failures = 1, calls;

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void start(void) {
  root = getenv("POWERCUT_ROOT");
  durable = getenv("POWERCUT_DURABLE");
  const char *text = getenv("POWERCUT_DIE_AT");
  die_at = text ? atol(text) : 0;
  text = getenv("POWERCUT_FAIL_AT");
  fail_at = text ? atol(text) : 0;
  text = getenv("POWERCUT_FAILURES");
  if (text) failures = atol(text);
}

// Whether the call must fail.
static int change(void) {
  if (++calls == die_at) kill(getpid(), SIGKILL);
  if (!fail_at || calls < fail_at || calls >= fail_at + failures) return 0;
  errno = EIO;
  return 1;
}

// Whether the descriptor belongs to a file in the folder, or to the folder itself.
static int watched(int fd) {
  if (!root || !durable) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return 0;
  path[size] = 0;
  size_t length = strlen(root);
  return strncmp(path, root, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static int watched_path(int folder, const char *path) {
  if (!root || !durable) return 0;
  if (path[0] == '/') return strncmp(path, root, strlen(root)) == 0;
  return folder != AT_FDCWD && watched(folder);
}

static void put(const char *name, const char *bytes, size_t size) {
  ssize_t (*real_write)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  int (*real_rename)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
  char temporary[4200], final[4200];
  snprintf(temporary, sizeof temporary, "%s/.new", durable);
  snprintf(final, sizeof final, "%s/%s", durable, name);
  int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  while (size > 0) {
    ssize_t n = real_write(fd, bytes, size);
    if (n <= 0) abort();
    bytes += n;
    size -= n;
  }
  close(fd);
  real_rename(temporary, final);
}

static void synchronised(int fd) {
  struct stat status;
  if (!watched(fd) || fstat(fd, &status) != 0) return;
  int saved = errno;
  if (S_ISDIR(status.st_mode)) {
    char link[64], *list = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&list, &size);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    DIR *folder = opendir(link);
    for (struct dirent *entry; (entry = readdir(folder));)
      if (entry->d_type == DT_REG) fprintf(out, "%lu %s\n", (unsigned long)entry->d_ino, entry->d_name);
    closedir(folder);
    fclose(out);
    put("names", list, size);
    free(list);
  } else if (S_ISREG(status.st_mode)) {
    char link[64], name[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int copy = open(link, O_RDONLY);
    char *bytes = malloc(status.st_size + 1);
    off_t filled = 0;
    for (ssize_t n; filled < status.st_size && (n = pread(copy, bytes + filled, status.st_size - filled, filled)) > 0;)
      filled += n;
    close(copy);
    snprintf(name, sizeof name, "%lu", (unsigned long)status.st_ino);
    put(name, bytes, filled);
    free(bytes);
  }
  errno = saved;
}

ssize_t write(int fd, const void *bytes, size_t size) {
  REAL(write);
  if (fd > 2 && watched(fd) && change()) return -1;
  return real(fd, bytes, size);
}
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  REAL(pwrite64);
  if (watched(fd) && change()) return -1;
  return real(fd, bytes, size, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
  REAL(pwrite);
  if (watched(fd) && change()) return -1;
  return real(fd, bytes, size, at);
}
int ftruncate64(int fd, off64_t size) {
  REAL(ftruncate64);
  if (watched(fd) && change()) return -1;
  return real(fd, size);
}
int ftruncate(int fd, off_t size) {
  REAL(ftruncate);
  if (watched(fd) && change()) return -1;
  return real(fd, size);
}
int fsync(int fd) {
  REAL(fsync);
  if (watched(fd) && change()) return -1;
  int result = real(fd);
  if (result == 0) synchronised(fd);
  return result;
}
int fdatasync(int fd) {
  REAL(fdatasync);
  if (watched(fd) && change()) return -1;
  int result = real(fd);
  if (result == 0) synchronised(fd);
  return result;
}
int rename(const char *from, const char *to) {
  REAL(rename);
  if (watched_path(AT_FDCWD, to) && change()) return -1;
  return real(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
  REAL(renameat);
  if (watched_path(b, to) && change()) return -1;
  return real(a, from, b, to);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
  REAL(renameat2);
  if (watched_path(b, to) && change()) return -1;
  return real(a, from, b, to, flags);
}
// Acts as a file system without hard links, if the test wants one.
int linkat(int a, const char *from, int b, const char *to, int flags) {
  REAL(linkat);
  if (!watched_path(b, to)) return real(a, from, b, to, flags);
  if (change()) return -1;
  if (!getenv("POWERCUT_WITHOUT_LINKS")) return real(a, from, b, to, flags);
  errno = EPERM;
  return -1;
}
int unlink(const char *path) {
  REAL(unlink);
  if (watched_path(AT_FDCWD, path) && change()) return -1;
  return real(path);
}
int unlinkat(int folder, const char *path, int flags) {
  REAL(unlinkat);
  if (watched_path(folder, path) && change()) return -1;
  return real(folder, path, flags);
}
static int creating(int folder, const char *path, int flags) {
  return (flags & O_CREAT) && watched_path(folder, path);
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
    if (creating(folder, path, flags) && change()) return -1; \
    return real call; \
  }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode), at)
OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode), at)
