// Preloaded into a program: sends it SIGINT as soon as it has made a folder of its own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

char *mkdtemp(char *template) {
  char *made = ((__typeof__(&mkdtemp))dlsym(RTLD_NEXT, "mkdtemp"))(template);
  raise(SIGINT);
  return made;
}
