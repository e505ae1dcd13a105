/* Writes down in which order a process answers (send of one byte) and looks for the end of a child (waitpid), in the file that
   LATCHKEY_ORDER names: a line of its number and the call. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

static void note(const char *call) {
  char line[64];
  int file = open(getenv("LATCHKEY_ORDER"), O_WRONLY | O_APPEND | O_CLOEXEC);
  int size = snprintf(line, sizeof line, "%d %s\n", getpid(), call);
  if (file < 0)
    return;
  if (write(file, line, size) != size)
    abort();
  close(file);
}

ssize_t send(int socket, const void *data, size_t size, int flags) {
  ssize_t (*real)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");
  if (size == 1)
    note("send");
  return real(socket, data, size, flags);
}

pid_t waitpid(pid_t child, int *status, int options) {
  pid_t (*real)(pid_t, int *, int) = dlsym(RTLD_NEXT, "waitpid");
  note("waitpid");
  return real(child, status, options);
}
