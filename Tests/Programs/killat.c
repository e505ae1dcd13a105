// This library is preloaded into a program. It kills the program before a call that changes a file or folder. LATCHKEY_KILL_AT is
// the number of that call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void count(void) {
  static long left = -1;
  if (left < 0) {
    const char *text = getenv("LATCHKEY_KILL_AT");
    left = text ? atol(text) : 0;
  }
  if (left > 0 && --left == 0) kill(getpid(), SIGKILL);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void *bytes, size_t size) {
  struct stat status;
  // Only files count, not sockets or logs.
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) count();
  return NEXT(write)(file, bytes, size);
}

int fsync(int file) { count(); return NEXT(fsync)(file); }
int unlinkat(int folder, const char *name, int flags) { count(); return NEXT(unlinkat)(folder, name, flags); }
int renameat(int a, const char *b, int c, const char *d) { count(); return NEXT(renameat)(a, b, c, d); }
int renameat2(int a, const char *b, int c, const char *d, unsigned int e) {
  count();
  return NEXT(renameat2)(a, b, c, d, e);
}
int linkat(int a, const char *b, int c, const char *d, int e) { count(); return NEXT(linkat)(a, b, c, d, e); }
