#pragma once
#include <gcrypt.h>
#include <string.h>

// gcry_control() takes a variable number of arguments, which Swift cannot call.

static inline int latchkey_gcry_initialized(void) {
  return gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P) != 0;
}

static inline void latchkey_gcry_suspend_secmem_warning(void) {
  gcry_control(GCRYCTL_SUSPEND_SECMEM_WARN);
}

static inline gcry_error_t latchkey_gcry_init_secmem(unsigned int size) {
  return gcry_control(GCRYCTL_INIT_SECMEM, size, 0);
}

static inline gcry_error_t latchkey_gcry_finish_initialization(void) {
  return gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
}

// Not taken out by the compiler, whatever happens to the memory next.
static inline void latchkey_gcry_erase(void *bytes, size_t count) {
  explicit_bzero(bytes, count);
}
