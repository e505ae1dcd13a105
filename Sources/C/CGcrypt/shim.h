#pragma once
#include <gcrypt.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// gcry_control() takes a variable number of arguments, which Swift cannot call.

static inline int latchkey_gcry_initialized(void) {
  return gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P) != 0;
}

static inline void latchkey_gcry_suspend_secmem_warning(void) {
  gcry_control(GCRYCTL_SUSPEND_SECMEM_WARN);
}

// Secret memory that libgcrypt does not lock itself: it would lock all of it at once, used or not, and so keep it in RAM.
static inline void latchkey_gcry_init_secmem(unsigned int size) {
  gcry_control(GCRYCTL_DISABLE_LOCKED_SECMEM);
  gcry_control(GCRYCTL_INIT_SECMEM, size, 0);
}

// Locks that memory, each page as soon as it is used. libgcrypt does not tell where the memory is. It only answers whether an
// address is secure. The first allocation lies in the first page.
static inline int latchkey_gcry_lock_secmem(void *first, size_t size) {
  char *begin = (char *)((unsigned long)first & ~((unsigned long)sysconf(_SC_PAGESIZE) - 1));
  if (!gcry_is_secure(begin) || !gcry_is_secure(begin + size - 1)) return -1;
  // MLOCK_ONFAULT. <sys/mman.h> defines it only with _GNU_SOURCE.
  if (syscall(SYS_mlock2, begin, size, 1) == 0) return 0;
  return mlock(begin, size);
}

static inline gcry_error_t latchkey_gcry_finish_initialization(void) {
  return gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
}

// Erases all of the secret memory, and gives it back to the kernel. It takes no lock and allocates nothing: GnuPG calls it in
// its handlers of signals. A library that was not started holds no secrets. Asking it would start it, and that reads files.
static inline void latchkey_gcry_end_secmem(void) {
  if (latchkey_gcry_initialized()) gcry_control(GCRYCTL_TERM_SECMEM);
}

// The compiler does not remove this, whatever happens to the memory next.
static inline void latchkey_gcry_erase(void *bytes, size_t count) {
  explicit_bzero(bytes, count);
}
