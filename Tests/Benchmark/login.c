/* One login: authenticates with the password on standard input, opens a session, and prints the elapsed nanoseconds. The
 * session stays open.
 *
 *   login FOLDER SERVICE USER     FOLDER has the PAM service's file
 */
#include <security/pam_appl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char password[256];

static int answer(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)messages, (void)data;
  struct pam_response *given = calloc((size_t)count, sizeof *given);
  if (!given) return PAM_BUF_ERR;
  for (int i = 0; i < count; i++) given[i].resp = strdup(password);
  *responses = given;
  return PAM_SUCCESS;
}

static void check(const char *what, pam_handle_t *handle, int result) {
  if (result == PAM_SUCCESS) return;
  fprintf(stderr, "login: %s: %s\n", what, pam_strerror(handle, result));
  exit(1);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char **arguments) {
  if (count != 4 || !fgets(password, sizeof password, stdin)) return 64;
  password[strcspn(password, "\n")] = 0;
  struct pam_conv conversation = {answer, NULL};
  pam_handle_t *handle = NULL;
  long long start = now();
  check("start", handle, pam_start_confdir(arguments[2], arguments[3], &conversation, arguments[1], &handle));
  check("authenticate", handle, pam_authenticate(handle, 0));
  check("acct_mgmt", handle, pam_acct_mgmt(handle, 0));
  check("open_session", handle, pam_open_session(handle, 0));
  long long end = now();
  pam_end(handle, PAM_SUCCESS);
  printf("%lld\n", end - start);
}
