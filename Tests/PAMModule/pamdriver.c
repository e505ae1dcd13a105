// A caller of libpam for the module's tests. It acts like a login, a locker, or worse.
//
//   pamdriver CONFDIR SERVICE USER TOKENFILE COMMAND...
//
// The driver runs the commands one after another, and prints each libpam result with its milliseconds. It answers every prompt with
// the contents of TOKENFILE, or as PAMDRIVER_CONVERSE says, and writes the questions to the file PAMDRIVER_ASKED. Its own syslog
// writes log lines to the file PAMDRIVER_LOG. PAMDRIVER_FAIL="function:N" makes the module's N-th call of a function in FAILABLE
// fail ("*": every call).
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// ---- syslog, for libpam ----

static int log_file = -1;

static void log_line(int priority, const char *format, va_list arguments) {
  char line[4096];
  int length = snprintf(line, sizeof line, "%d\t", priority & 7);
  length += vsnprintf(line + length, sizeof line - length - 1, format, arguments);
  strcat(line, "\n");
  if (write(log_file, line, strlen(line)) < 0) abort();
}
void syslog(int priority, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format), log_line(priority, format, arguments), va_end(arguments);
}
void __syslog_chk(int priority, int flag, const char *format, ...) {
  (void)flag;
  va_list arguments;
  va_start(arguments, format), log_line(priority, format, arguments), va_end(arguments);
}
void vsyslog(int priority, const char *format, va_list arguments) { log_line(priority, format, arguments); }
void __vsyslog_chk(int priority, int flag, const char *format, va_list arguments) {
  (void)flag;
  log_line(priority, format, arguments);
}
void openlog(const char *name, int option, int facility) { (void)name, (void)option, (void)facility; }
void closelog(void) {}

// The kernel's audit log belongs to the machine, and libpam fails a call if the log refuses its names.
int audit_open(void) {
  errno = EPROTONOSUPPORT;
  return -1;
}

// ---- failures, for the module ----

static int is_module(void *caller) {
  Dl_info object;
  return dladdr(caller, &object) && object.dli_fname && strstr(object.dli_fname, "pam_latchkey");
}

static int fails(const char *function, void *caller) {
  const char *wanted = getenv("PAMDRIVER_FAIL");
  size_t length = strlen(function);
  if (!wanted || strncmp(wanted, function, length) || wanted[length] != ':' || !is_module(caller)) return 0;
  static int calls;
  calls++;
  const char *number = wanted + length + 1;
  return *number == '*' || calls == atoi(number);
}

#define FAILABLE(type, name, parameters, arguments, failure)                           \
  type name parameters {                                                               \
    static type(*real) parameters;                                                     \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name);                     \
    if (fails(#name, __builtin_return_address(0))) return failure;                     \
    return real arguments;                                                             \
  }
#define WITH_ERRNO(number) (errno = number, -1)

FAILABLE(void *, mmap, (void *a, size_t n, int p, int f, int d, off_t o), (a, n, p, f, d, o),
         (errno = ENOMEM, MAP_FAILED))
FAILABLE(int, mlock, (const void *a, size_t n), (a, n), WITH_ERRNO(ENOMEM))
FAILABLE(int, memfd_create, (const char *n, unsigned f), (n, f), WITH_ERRNO(ENFILE))
FAILABLE(int, posix_fallocate, (int d, off_t o, off_t n), (d, o, n), ENOSPC)
FAILABLE(int, socketpair, (int d, int t, int p, int v[2]), (d, t, p, v), WITH_ERRNO(EMFILE))
static void dawdle(void) {  // Gives the helper time to end before the module sends.
  if (getenv("PAMDRIVER_DAWDLE")) usleep(200000);
}
FAILABLE(ssize_t, sendmsg, (int s, const struct msghdr *m, int f), ((dawdle(), s), m, f), WITH_ERRNO(EINTR))
FAILABLE(int, socket, (int d, int t, int p), (d, t, p), WITH_ERRNO(EMFILE))
FAILABLE(int, connect, (int s, const struct sockaddr *a, socklen_t n), (s, a, n), WITH_ERRNO(EINTR))
FAILABLE(ssize_t, send, (int s, const void *b, size_t n, int f), (s, b, n, f), WITH_ERRNO(EINTR))
FAILABLE(ssize_t, recv, (int s, void *b, size_t n, int f), (s, b, n, f), WITH_ERRNO(EINTR))
FAILABLE(int, poll, (struct pollfd *f, nfds_t n, int t), (f, n, t), WITH_ERRNO(EINVAL))
FAILABLE(pid_t, waitpid, (pid_t p, int *s, int o), (p, s, o), WITH_ERRNO(ECHILD))
FAILABLE(int, posix_spawn,
         (pid_t *p, const char *f, const posix_spawn_file_actions_t *x, const posix_spawnattr_t *y, char *const *v,
          char *const *e),
         (p, f, x, y, v, e), EAGAIN)
FAILABLE(int, posix_spawn_file_actions_init, (posix_spawn_file_actions_t *x), (x), ENOMEM)
FAILABLE(int, posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t *x, int a, int b), (x, a, b), ENOMEM)
FAILABLE(int, posix_spawn_file_actions_addopen,
         (posix_spawn_file_actions_t *x, int d, const char *p, int f, mode_t m), (x, d, p, f, m), ENOMEM)
FAILABLE(int, posix_spawn_file_actions_addclosefrom_np, (posix_spawn_file_actions_t *x, int d), (x, d), ENOMEM)
FAILABLE(int, posix_spawn_file_actions_addchdir_np, (posix_spawn_file_actions_t *x, const char *p), (x, p), ENOMEM)
FAILABLE(int, posix_spawnattr_init, (posix_spawnattr_t *x), (x), ENOMEM)
FAILABLE(int, posix_spawnattr_setflags, (posix_spawnattr_t *x, short f), (x, f), EINVAL)
FAILABLE(int, getpwnam_r, (const char *n, struct passwd *e, char *b, size_t z, struct passwd **f), (n, e, b, z, f), ENOMEM)
FAILABLE(int, pam_set_data,
         (pam_handle_t *h, const char *k, void *d, void (*c)(pam_handle_t *, void *, int)), (h, k, d, c), PAM_BUF_ERR)
FAILABLE(const char *, pam_getenv, (pam_handle_t *h, const char *n), (h, n), NULL)
FAILABLE(int, pam_get_item, (const pam_handle_t *h, int i, const void **v), (h, i, v), PAM_SYSTEM_ERR)

// PAMDRIVER_SLOW makes the module's limits so many times longer, because a busy machine may start a helper only after seconds.
int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  const char *slow = getenv("PAMDRIVER_SLOW");
  if (slow && clock == CLOCK_MONOTONIC && is_module(__builtin_return_address(0))) {
    long long nanoseconds = (time->tv_sec * 1000000000LL + time->tv_nsec) / atoi(slow);
    time->tv_sec = nanoseconds / 1000000000, time->tv_nsec = nanoseconds % 1000000000;
  }
  return result;
}

// PAMDRIVER_PEER names the user at the other end of a socket, for tests that do not run as root.
int getsockopt(int descriptor, int level, int name, void *value, socklen_t *size) {
  static int (*real)(int, int, int, void *, socklen_t *);
  if (!real) real = (int (*)(int, int, int, void *, socklen_t *))dlsym(RTLD_NEXT, "getsockopt");
  if (fails("getsockopt", __builtin_return_address(0))) return WITH_ERRNO(ENOBUFS);
  int result = real(descriptor, level, name, value, size);
  if (name == SO_PEERCRED && getenv("PAMDRIVER_PEER")) ((struct ucred *)value)->uid = atoi(getenv("PAMDRIVER_PEER"));
  return result;
}

int fcntl(int descriptor, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  long argument = va_arg(arguments, long);
  va_end(arguments);
  static int (*real)(int, int, ...);
  if (!real) real = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl");
  if (fails("fcntl", __builtin_return_address(0))) return WITH_ERRNO(EMFILE);
  return real(descriptor, command, argument);
}

// ---- the caller ----

static pam_handle_t *handle;
static char token[70000];
static int input, output;

static void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format), vdprintf(output, format, arguments), va_end(arguments);
}

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *data) {
  (void)data;
  const char *path = getenv("PAMDRIVER_ASKED"), *way = getenv("PAMDRIVER_CONVERSE");
  int asked = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  for (int i = 0; asked >= 0 && i < count; i++) dprintf(asked, "%d %s%c", messages[i]->msg_style, messages[i]->msg, 0);
  close(asked);
  if (way && !strcmp(way, "fail")) return PAM_CONV_ERR;
  if (way && !strcmp(way, "nothing")) return PAM_SUCCESS;
  if (way && !strcmp(way, "slow")) usleep(3200000);
  // Setting a variable again frees the value that pam_getenv returned before.
  if (way && !strcmp(way, "renumber")) pam_putenv(handle, "LATCHKEY_PROMPT=1000000000000000001");
  *responses = calloc(count, sizeof **responses);
  if (way && !strcmp(way, "no text")) return PAM_SUCCESS;
  if (way && !strcmp(way, "fail, freed")) {
    free(*responses);
    return PAM_CONV_ERR;
  }
  for (int i = 0; i < count; i++) (*responses)[i].resp = strdup(token);
  return PAM_SUCCESS;
}

static void on_alarm(int signal) { (void)signal; }
static void on_child(int signal) {
  (void)signal;
  int error = errno;
  while (waitpid(-1, NULL, WNOHANG) > 0) {}
  errno = error;
}

static long long milliseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static int open_descriptors(void) {
  int count = 0;
  for (int i = 0; i < 1024; i++) count += fcntl(i, F_GETFD, 0L) >= 0;
  return count;
}

static struct pam_conv conversation = {converse, NULL};

static void run(char **arguments, const char *command) {
  long long start = milliseconds();
  int result = -1;
  if (!strcmp(command, "start"))
    result = pam_start_confdir(arguments[2], arguments[3], &conversation, arguments[1], &handle);
  else if (!strcmp(command, "auth")) result = pam_authenticate(handle, 0);
  else if (!strcmp(command, "acct")) result = pam_acct_mgmt(handle, 0);
  else if (!strcmp(command, "setcred")) result = pam_setcred(handle, PAM_ESTABLISH_CRED);
  else if (!strcmp(command, "open")) result = pam_open_session(handle, 0);
  else if (!strcmp(command, "close")) result = pam_close_session(handle, 0);
  else if (!strcmp(command, "chauthtok")) result = pam_chauthtok(handle, 0);
  else if (!strcmp(command, "end")) result = pam_end(handle, PAM_SUCCESS);
  else if (!strncmp(command, "tty=", 4)) result = pam_set_item(handle, PAM_TTY, command + 4);
  else if (!strncmp(command, "rhost=", 6)) result = pam_set_item(handle, PAM_RHOST, command + 6);
  else if (!strncmp(command, "user=", 5)) result = pam_set_item(handle, PAM_USER, command[5] ? command + 5 : NULL);
  else if (!strncmp(command, "env:", 4)) result = pam_putenv(handle, command + 4);
  else if (!strcmp(command, "forget-token")) explicit_bzero(token, sizeof token), result = 0;
  else if (!strcmp(command, "ignore-children")) result = signal(SIGCHLD, SIG_IGN) == SIG_ERR;
  else if (!strcmp(command, "collect-children")) result = signal(SIGCHLD, on_child) == SIG_ERR;
  else if (!strcmp(command, "close-standard")) result = close(0) | close(1) | close(2);
  else if (!strcmp(command, "odd-signals")) {
    sigset_t all;
    sigfillset(&all);
    result = signal(SIGTERM, SIG_IGN) == SIG_ERR || signal(SIGHUP, SIG_IGN) == SIG_ERR ||
             sigprocmask(SIG_BLOCK, &all, NULL);
  } else if (!strcmp(command, "storm")) {  // interrupts a call every millisecond
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval every = {{0, 1000}, {0, 1000}};
    result = sigaction(SIGALRM, &action, NULL) | setitimer(ITIMER_REAL, &every, NULL);
  } else if (!strcmp(command, "leave-open")) {  // opens a file whose descriptor the helper must not get
    result = open("/etc/passwd", O_RDONLY) < 0;
  } else if (!strcmp(command, "descriptors")) {
    result = open_descriptors();
  } else if (!strcmp(command, "no-descriptors")) {
    struct rlimit limit = {3, 3};
    result = setrlimit(RLIMIT_NOFILE, &limit);
  } else if (!strcmp(command, "pause")) {
    say("pause 0 0\n");
    char byte;
    if (read(input, &byte, 1) != 1) _exit(8);
    return;
  } else if (!strncmp(command, "child-", 6)) {  // one call in a process of its own, as in sshd's keyboard-interactive
    pid_t child = fork();
    if (child == 0) {
      run(arguments, command + 6);
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) status = 0;
    result = status;
  }
  // The output has only the name of a variable, because the value may have any bytes.
  say("%.*s %d %lld\n", (int)strcspn(command, ":"), command, result, milliseconds() - start);
}

int main(int count, char **arguments) {
  if (count < 6) return 2;
  input = fcntl(0, F_DUPFD_CLOEXEC, 200L);
  output = fcntl(1, F_DUPFD_CLOEXEC, 200L);
  const char *log = getenv("PAMDRIVER_LOG");
  int file = log ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  log_file = fcntl(file, F_DUPFD_CLOEXEC, 200L);
  close(file);
  if (log_file < 0) return 2;
  file = open(arguments[4], O_RDONLY | O_CLOEXEC);
  ssize_t size = read(file, token, sizeof token - 1);
  close(file);
  if (size < 0 || input < 0 || output < 0) return 2;
  for (int i = 5; i < count; i++) run(arguments, arguments[i]);
  return 0;
}
