/* The person of a test is in front of the machine, until the file `away` is in the folder SEATS. Where no logind runs, libsystemd
 * finds no seat of anybody's, and has nothing to watch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/types.h>
#include <unistd.h>

int sd_uid_get_sessions(uid_t user, int is_active, char ***sessions) {
  (void)user, (void)is_active;
  if (access(SEATS "/away", F_OK) == 0) return 0;
  *sessions = calloc(2, sizeof(char *));
  if (*sessions) **sessions = strdup("c1");
  return 1;
}

static int copy(const char *text, char **value) {
  *value = strdup(text);
  return *value ? 0 : -ENOMEM;
}

int sd_session_get_seat(const char *session, char **seat) {
  (void)session;
  return copy("seat0", seat);
}

int sd_session_get_state(const char *session, char **state) {
  (void)session;
  return copy("active", state);
}

/* libsystemd keeps the descriptor in the pointer. */
int sd_login_monitor_new(const char *category, void **monitor) {
  (void)category;
  int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watch < 0 || inotify_add_watch(watch, SEATS, IN_MOVED_TO | IN_DELETE) < 0) return -errno;
  *monitor = (void *)(unsigned long)(watch + 1);
  return 0;
}
