// The parts of libc and libpam that the PAM module needs. Embedded Swift has no Glibc module, so this file includes the headers.
// The inline functions are for things that Swift cannot import: errno, variadic functions, a configured string.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1  // posix_spawn_file_actions_addclosefrom_np, POSIX_SPAWN_SETSID, strerrordesc_np
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <security/pam_ext.h>
#include <security/pam_modules.h>

#ifndef LATCHKEY_LIBEXECDIR
#define LATCHKEY_LIBEXECDIR "/usr/libexec"
#endif

/// The helper that the module starts unless `helper=` names another one.
static inline const char *latchkey_default_helper(void) { return LATCHKEY_LIBEXECDIR "/latchkey-derive"; }

static inline int latchkey_errno(void) { return errno; }
static inline void latchkey_set_errno(int error) { errno = error; }

/// Logs a text. The text is the argument of "%s" and never the format, because it may come from a service file.
static inline void latchkey_log(const pam_handle_t *handle, int priority, const char *text) {
  pam_syslog(handle, priority, "%s", text);
}

/// Duplicates a descriptor to a number that is at least `lowest` (F_DUPFD_CLOEXEC). Returns -1 with errno on failure.
static inline int latchkey_duplicate_above(int descriptor, int lowest) {
  return fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
}

/// Maps anonymous private pages, or returns NULL. MAP_FAILED is a cast, which Swift does not import.
static inline void *latchkey_map(size_t size) {
  void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return base == MAP_FAILED ? NULL : base;
}

/// The signal that ended a child, or 0 if the child exited by itself.
static inline int latchkey_terminating_signal(int status) { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }

/// Connects to the socket at a path. Returns 0, or -1 with errno.
static inline int latchkey_connect(int descriptor, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return errno = ENAMETOOLONG, -1;
  strcpy(address.sun_path, path);
  return connect(descriptor, (const struct sockaddr *)&address, sizeof address);
}

/// Whether root listens at the other end of a connection.
static inline bool latchkey_is_roots(int descriptor) {
  struct ucred peer = {.uid = (uid_t)-1};
  socklen_t size = sizeof peer;
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && size == sizeof peer && peer.uid == 0;
}
