// How a request comes to latchkey-derive.
//
// A request has a password in it, and the kernel frees the buffers of a socket without clearing them. So a request must not go
// through a socket. Caller and helper share memory instead: a file without a name (memfd_create). The caller writes its request
// there, and the helper reads and overwrites the request at once. This needs no encryption, so login programs need no crypto
// library.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// The size of the shared memory: whole pages, with room for a length and the largest request.
#define HELPER_MEMORY_SIZE 20480
// The first packet of a caller, with the descriptor of the memory that has its request.
#define HELPER_REQUEST 2

int memfd_create(const char *, unsigned int);  // The header defines it only with _GNU_SOURCE, which the programs cannot set.

/// Gives a file its size and its pages. Returns 0, or an error number. This function must raise no signal, because it runs in login
/// programs. A file above the caller's RLIMIT_FSIZE would raise SIGXFSZ. A page that the kernel allocates only at the first write
/// could raise SIGBUS.
static inline int helper_allocate(int file) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return errno;
  if (limit.rlim_cur < HELPER_MEMORY_SIZE) return EFBIG;
  int error;
  do {
    error = posix_fallocate(file, 0, HELPER_MEMORY_SIZE);
  } while (error == EINTR);
  return error;
}

/// A new file of HELPER_MEMORY_SIZE zero bytes, close-on-exec. Returns its descriptor, or -1 with errno.
static inline int helper_make_memory(void) {
  enum { close_on_exec = 1, never_executable = 8 };  // Kernels before 6.3 do not know the second flag.
  static const char name[] = "latchkey-request";
  int file = memfd_create(name, close_on_exec | never_executable);
  if (file < 0 && errno == EINVAL) file = memfd_create(name, close_on_exec);
  if (file < 0) return -1;
  int error = helper_allocate(file);
  if (error == 0) return file;
  close(file);
  errno = error;
  return -1;
}

/// Maps the file's bytes into memory. They are in no core dump, and are not swapped if the limit of locked memory allows it.
/// Returns NULL with errno on failure.
static inline void *helper_map_memory(int file) {
  void *base = mmap(NULL, HELPER_MEMORY_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) return NULL;
  (void)mlock(base, HELPER_MEMORY_SIZE);
  (void)madvise(base, HELPER_MEMORY_SIZE, 16 /* MADV_DONTDUMP */);
  return base;
}

/// Room for one descriptor, in the layout that the kernel requires.
typedef union helper_control {
  char bytes[CMSG_SPACE(sizeof(int))];
  struct cmsghdr head;
} helper_control;

/// Sends the file to the helper, without waiting. Returns 0, or -1 with errno.
static inline int helper_send_memory(int socket, int file) {
  uint8_t byte = HELPER_REQUEST;
  helper_control control;
  memset(&control, 0, sizeof control);
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  control.head.cmsg_level = SOL_SOCKET;
  control.head.cmsg_type = SCM_RIGHTS;
  control.head.cmsg_len = CMSG_LEN(sizeof file);
  memcpy(CMSG_DATA(&control.head), &file, sizeof file);
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == 1 ? 0 : -1;
}

/// Waits for the file. Returns its descriptor, close-on-exec; or -1 if something else or nothing came.
static inline int helper_receive_memory(int socket) {
  uint8_t byte = 0;
  int file = -1;
  helper_control control;
  memset(&control, 0, sizeof control);
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {
    .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t count;
  do {
    count = recvmsg(socket, &message, 0x40000000 /* MSG_CMSG_CLOEXEC */);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return -1;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
      head->cmsg_len != CMSG_LEN(sizeof file))
    return -1;
  memcpy(&file, CMSG_DATA(head), sizeof file);
  if (count == 1 && byte == HELPER_REQUEST) return file;
  close(file);
  return -1;
}
