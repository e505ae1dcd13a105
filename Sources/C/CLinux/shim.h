// glibc functions that Swift's Glibc module leaves out, because they are variadic or need _GNU_SOURCE. Defining _GNU_SOURCE would
// change the layout of types that the Glibc module has already defined, so this file declares the functions itself.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

int renameat2(int, const char *, int, const char *, unsigned int);
int setresuid(uid_t, uid_t, uid_t);
int setresgid(gid_t, gid_t, gid_t);
int getresuid(uid_t *, uid_t *, uid_t *);

int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int);
int execvpe(const char *, char *const[], char *const[]);
int accept4(int, struct sockaddr *, socklen_t *, int);
int sync_file_range(int, __off64_t, __off64_t, unsigned int);

/// Begins to write a file to the disk, and does not wait for the end (SYNC_FILE_RANGE_WRITE).
static inline int linux_begin_writing(int file) { return sync_file_range(file, 0, 0, 2); }

/// Makes a file for writing in a folder, without a name; linkat(2) can name it later. Returns a close-on-exec descriptor, or -1
/// with errno.
static inline int linux_open_unnamed(int folder, mode_t mode) {
  return openat(folder, ".", __O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
}

/// Accepts the next connection. Returns its descriptor, close-on-exec and not blocking, or -1 with errno.
static inline int linux_accept(int socket) { return accept4(socket, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK); }

static inline int linux_set_dumpable(int value) { return prctl(PR_SET_DUMPABLE, value, 0, 0, 0); }
static inline int linux_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }
static inline int linux_forbid_new_rights(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
static inline int linux_set_death_signal(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0); }

/// Makes malloc overwrite freed memory with bytes of this value. Returns 1 if malloc took the setting.
static inline int linux_overwrite_freed(int value) { return mallopt(M_PERTURB, value); }

/// RLIMIT_NPROC, which Swift does not import.
static const int linux_limit_of_processes = 6;

/// Lowers the soft and the hard limit (RLIMIT_AS, RLIMIT_CPU) of another process. If a limit is already lower, it stays. Returns 0,
/// or -1 with errno.
static inline int linux_lower_limit(pid_t process, int resource, unsigned long long limit) {
  struct { unsigned long long soft, hard; } values;
  if (syscall(SYS_prlimit64, process, resource, 0, &values) != 0) return -1;
  if (values.soft > limit) values.soft = limit;
  if (values.hard > limit) values.hard = limit;
  return (int)syscall(SYS_prlimit64, process, resource, &values, 0);
}

/// Returns a close-on-exec descriptor that becomes readable when the process ends, or -1 with errno.
static inline int linux_pidfd_open(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

/// Returns a descriptor that is readable while one of these blocked signals is pending, or -1 with errno.
static inline int linux_signals(const sigset_t *signals) { return signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK); }

/// Makes the kernel send this process a signal when data come on a socket, or when its other end closes. The signal 0 turns that
/// off. Returns 0, or -1.
static inline int linux_signal_input(int socket, int signal) {
  enum { set_signal = 10 /* F_SETSIG */, async = 020000 /* O_ASYNC */ };
  int flags = fcntl(socket, F_GETFL);
  if (flags < 0 || fcntl(socket, F_SETOWN, getpid()) < 0 || fcntl(socket, set_signal, signal) < 0) return -1;
  return fcntl(socket, F_SETFL, signal != 0 ? flags | async : flags & ~async);
}

/// Reads SO_PEERCRED of a connected local socket. Returns 0, or -1 with errno.
static inline int linux_peer(int socket, pid_t *pid, uid_t *uid) {
  struct { pid_t pid; uid_t uid; gid_t gid; } peer;
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  *pid = peer.pid;
  *uid = peer.uid;
  return 0;
}

/// O_PATH.
static const int linux_open_path = 010000000;

/// Opens `name` in a folder, if the kernel has it cached, without leaving the folder and without following a link. Returns a
/// descriptor, or -1 with errno: EAGAIN means that the kernel would have to ask a file system.
static inline int linux_open_cached(int folder, const char *name, int flags) {
  struct open_how how = {
    .flags = flags, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED};
  return (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
}

/// Opens `path` in a folder without leaving its file system and without following a link. Returns a descriptor, or -1 with errno.
static inline int linux_open_local(int folder, const char *path, int flags) {
  struct open_how how = {
    .flags = flags, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
  return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

/// Opens `path` as if `folder` were the root folder. This holds for links in the path too. Returns a descriptor, or -1 with errno.
static inline int linux_open_in_root(int folder, const char *path, int flags) {
  struct open_how how = {.flags = flags, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
  return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

/// Sends a signal to the process of a pidfd. Returns 0, or -1 with errno.
static inline int linux_pidfd_send_signal(int pidfd, int signal) { return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, 0, 0); }

/// Whether the process of a pidfd is still alive.
static inline int linux_is_alive(int pidfd) { return syscall(SYS_pidfd_send_signal, pidfd, 0, 0, 0) == 0 || errno == EPERM; }

/// The system calls mmap(2) and munmap(2), for functions that replace libc's. They set errno.
static inline void *linux_map(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}
static inline int linux_unmap(void *address, size_t size) { return (int)syscall(SYS_munmap, address, size); }

/// MAP_LOCKED and MADV_DONTDUMP, which need _GNU_SOURCE.
static const int linux_map_locked = 0x2000;
static const int linux_not_in_dumps = 16;

/// Makes a file in memory that has no name in any folder and that only its owner can open. Returns a close-on-exec descriptor, or
/// -1 with errno.
static inline int linux_memory_file(const char *name) {
  int file = (int)syscall(SYS_memfd_create, name, 1 /* MFD_CLOEXEC */);
  if (file >= 0 && fchmod(file, 0600) != 0) {
    close(file);
    return -1;
  }
  return file;
}
