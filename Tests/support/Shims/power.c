/* Replaces /sys/power/state by a file of the tests. Some kernels do not have that file, and no container may write
 * to it. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *shown(const char *path) {
  return path && strcmp(path, "/sys/power/state") == 0 ? STATE : path;
}

int access(const char *path, int mode) {
  int (*real)(const char *, int) = dlsym(RTLD_NEXT, "access");
  return real(shown(path), mode);
}

#define OPEN(name)                                                                                                             \
  int name(const char *path, int flags, ...) {                                                                                 \
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, #name);                                                             \
    va_list more;                                                                                                              \
    va_start(more, flags);                                                                                                     \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                                                    \
    va_end(more);                                                                                                              \
    return real(shown(path), flags, mode);                                                                                     \
  }

#define OPENAT(name)                                                                                                           \
  int name(int folder, const char *path, int flags, ...) {                                                                     \
    int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, #name);                                                        \
    va_list more;                                                                                                              \
    va_start(more, flags);                                                                                                     \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                                                    \
    va_end(more);                                                                                                              \
    return real(folder, shown(path), flags, mode);                                                                             \
  }

#define FOPEN(name)                                                                                                            \
  FILE *name(const char *path, const char *mode) {                                                                             \
    FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, #name);                                                       \
    return real(shown(path), mode);                                                                                            \
  }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
FOPEN(fopen)
FOPEN(fopen64)
