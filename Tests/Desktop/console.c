// A console for a display manager on a system without consoles, such as a container. /dev/tty0 remembers which terminal is active.
// LD_PRELOAD loads this library.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/vt.h>
#include <stdarg.h>
#include <string.h>

#undef open
#undef open64

static int active = 1;
static int console = -1;

static int open_next(const char *name, const char *path, int flags, int mode) {
  int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
  if (strcmp(path, "/dev/tty0") != 0) return next(path, flags, mode);
  return console = next("/dev/null", flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  return open_next("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  return open_next("open64", path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  int (*next)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
  if (fd < 0 || fd != console) return next(fd, request, argument);
  if (request == VT_ACTIVATE) active = (int)(long)argument;
  if (request == VT_GETSTATE) ((struct vt_stat *)argument)->v_active = (unsigned short)active;
  return 0;
}
