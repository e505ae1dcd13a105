// Preloaded into latchkey-security-key, this library makes libfido2 find security keys at sockets instead of
// /dev/hidraw. support/authenticator.py answers at these sockets. Everything above the packets is the real libfido2.
//
//     AUTHENTICATORS  the paths of the sockets, separated by colons; a missing socket is a key that is not plugged in
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// Copied from <fido.h>, so that the tests need no package for the build.
typedef struct fido_dev fido_dev_t;
typedef struct fido_dev_info fido_dev_info_t;
typedef struct fido_dev_io {
  void *(*open)(const char *);
  void (*close)(void *);
  int (*read)(void *, unsigned char *, size_t, int);
  int (*write)(void *, const unsigned char *, size_t);
} fido_dev_io_t;
enum { FIDO_OK };

static char paths[4096];

// The program clears its environment, so the library reads the variable at the start.
__attribute__((constructor)) static void start(void) {
  const char *value = getenv("AUTHENTICATORS");
  if (value) strncpy(paths, value, sizeof paths - 1);
}

static void *open_socket(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (file < 0 || connect(file, (struct sockaddr *)&address, sizeof address) != 0) return NULL;
  int *handle = malloc(sizeof *handle);
  *handle = file;
  return handle;
}

static void close_socket(void *handle) {
  close(*(int *)handle);
  free(handle);
}

static int read_socket(void *handle, unsigned char *bytes, size_t size, int timeout) {
  struct pollfd entry = {.fd = *(int *)handle, .events = POLLIN};
  if (poll(&entry, 1, timeout) != 1) return -1;
  ssize_t count = recv(entry.fd, bytes, size, 0);
  return count == (ssize_t)size ? (int)count : -1;
}

static int write_socket(void *handle, const unsigned char *bytes, size_t size) {
  return send(*(int *)handle, bytes, size, MSG_NOSIGNAL) == (ssize_t)size ? (int)size : -1;
}

static const fido_dev_io_t io = {open_socket, close_socket, read_socket, write_socket};

int fido_dev_info_set(fido_dev_info_t *, size_t, const char *, const char *, const char *, const fido_dev_io_t *, const void *);
int fido_dev_set_io_functions(fido_dev_t *, const fido_dev_io_t *);

int fido_dev_info_manifest(fido_dev_info_t *list, size_t limit, size_t *found) {
  char copy[sizeof paths], *rest = copy;
  strcpy(copy, paths);
  *found = 0;
  for (char *path; (path = strsep(&rest, ":")) && *found < limit;)
    if (*path && access(path, F_OK) == 0 &&
        fido_dev_info_set(list, *found, path, "Tests", "Software Key", &io, NULL) == FIDO_OK)
      ++*found;
  return FIDO_OK;
}

int fido_dev_open(fido_dev_t *device, const char *path) {
  int (*real)(fido_dev_t *, const char *) = (int (*)(fido_dev_t *, const char *))dlsym(RTLD_NEXT, "fido_dev_open");
  int result = fido_dev_set_io_functions(device, &io);
  return result == FIDO_OK ? real(device, path) : result;
}
