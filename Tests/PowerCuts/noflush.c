/* A preloaded library that makes a program's flushes of one file do nothing. The variable
 * LATCHKEY_NO_FLUSH has the end of the file's name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_left_out(int file) {
  const char *end = getenv("LATCHKEY_NO_FLUSH");
  char link[32], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (!end || size < (ssize_t)strlen(end)) return 0;
  path[size] = 0;
  return strcmp(path + size - strlen(end), end) == 0;
}

int fsync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return is_left_out(file) ? 0 : real(file);
}

int fdatasync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  return is_left_out(file) ? 0 : real(file);
}
