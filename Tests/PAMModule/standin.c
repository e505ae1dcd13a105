// Stands in for latchkey-derive. It records its input, and then does what the file "behaviour" next to it says. A test can direct
// it only through files, because the module gives it a fixed environment and argument list.
//
//   answer N        the result byte N            garbage        bytes that are no result
//   first N M       the byte N for the first request, M for all others
//   late MS N       N, after MS milliseconds     silent         ends without a result
//   signal N        dies by the signal N         hang           never ends, whatever signal may be blocked
//   linger N        the byte N, then hangs       deaf N         N, without taking the request
//   unread MS N     N, after MS milliseconds in which the request is not read
//   orphan          hangs until it is killed; only then its child reads the request, as a helper without processor time does
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "request.h"

static char folder[4096];

static void copy(const char *from, const char *to) {
  static char buffer[65536];
  int in = open(from, O_RDONLY);
  FILE *out = fopen(to, "w");
  for (ssize_t n; (n = read(in, buffer, sizeof buffer)) > 0;) fwrite(buffer, 1, n, out);
  fclose(out);
  close(in);
}

static void record(const char *request, size_t size) {
  char path[5000], name[5000];
  int number = 0;
  do snprintf(path, sizeof path, "%s/record.%d", folder, ++number); while (access(path, F_OK) == 0);
  snprintf(name, sizeof name, "%s/.cmdline.%d", folder, number), copy("/proc/self/cmdline", name);
  snprintf(name, sizeof name, "%s/.environ.%d", folder, number), copy("/proc/self/environ", name);
  snprintf(name, sizeof name, "%s/.status.%d", folder, number), copy("/proc/self/status", name);
  snprintf(name, sizeof name, "%s/.request.%d", folder, number);
  FILE *file = fopen(name, "w");
  fwrite(request, 1, size, file);
  fclose(file);
  snprintf(name, sizeof name, "%s/.facts.%d", folder, number);
  char cwd[4096] = "";
  if (!getcwd(cwd, sizeof cwd)) return;
  int flags = fcntl(0, F_GETFL);
  DIR *open_files = opendir("/proc/self/fd");
  char list[4096] = "";
  for (struct dirent *entry; (entry = readdir(open_files));) {
    char link[300], target[1000] = "";
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(open_files)) continue;
    snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
    if (readlink(link, target, sizeof target - 1) < 0) continue;
    char line[1400];
    snprintf(line, sizeof line, "fd %s %s\n", entry->d_name, target);
    strncat(list, line, sizeof list - strlen(list) - 1);
  }
  closedir(open_files);
  file = fopen(name, "w");
  fprintf(file, "pid %d\nsid %d\ncwd %s\nnonblocking %d\n%s", getpid(), getsid(0), cwd, !!(flags & O_NONBLOCK), list);
  fclose(file);
  close(open(path, O_WRONLY | O_CREAT, 0600));  // This file is the last one. If it exists, the record is complete.
}

static int number_of_records(void) {
  char path[5000];
  int number = 0;
  do snprintf(path, sizeof path, "%s/record.%d", folder, ++number); while (access(path, F_OK) == 0);
  return number - 1;
}

static void answer(int result) {
  char byte = (char)result;
  if (write(0, &byte, 1) != 1) _exit(9);
}

static void hang(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  for (;;) pause();
}

int main(void) {
  ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  if (length < 0) return 9;
  *strrchr(folder, '/') = 0;
  char path[5000], behaviour[64] = "";
  int first = 0, second = 0;
  snprintf(path, sizeof path, "%s/behaviour", folder);
  FILE *file = fopen(path, "r");
  if (!file || fscanf(file, "%63s %d %d", behaviour, &first, &second) < 1) return 9;
  fclose(file);

  if (!strcmp(behaviour, "deaf")) {
    answer(first);
    close(0);
    record("", 0);
    return 0;
  }
  if (!strcmp(behaviour, "orphan")) {
    pid_t parent = getpid();
    if (fork() != 0) hang();
    setsid();
    while (getppid() == parent) usleep(1000);
  }
  int memory = helper_receive_memory(0);
  if (!strcmp(behaviour, "unread")) {
    record("", 0);
    usleep(first * 1000), answer(second);
    return 0;
  }
  // Reads the whole request and erases it, as the helper does.
  static char request[HELPER_MEMORY_SIZE], zeros[HELPER_MEMORY_SIZE];
  uint32_t told = 0;
  if (pread(memory, request, sizeof request, 0) != sizeof request) return 9;
  if (pwrite(memory, zeros, sizeof zeros, 0) != sizeof zeros) return 9;
  close(memory);
  memcpy(&told, request, sizeof told);
  size_t size = told <= sizeof request - 4 ? 4 + told : sizeof request;
  record(request, size);

  if (!strcmp(behaviour, "answer")) answer(first);
  if (!strcmp(behaviour, "word")) {
    char word = 0;
    answer(read(0, &word, 1) == 1 && word == 1 ? first : second);
  }
  if (!strcmp(behaviour, "first")) answer(number_of_records() > 1 ? second : first);
  if (!strcmp(behaviour, "late")) usleep(first * 1000), answer(second);
  if (!strcmp(behaviour, "garbage") && write(0, "no result", 9) != 9) return 9;
  if (!strcmp(behaviour, "linger")) answer(first);
  if (!strcmp(behaviour, "signal")) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    raise(first);
  }
  if (!strcmp(behaviour, "hang") || !strcmp(behaviour, "linger")) hang();
  return 0;
}
