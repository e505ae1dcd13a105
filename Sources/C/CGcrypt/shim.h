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

// Makes secret memory that libgcrypt does not lock itself. libgcrypt would lock all pages at once, and so keep unused pages in RAM
// too.
static inline void latchkey_gcry_init_secmem(unsigned int size) {
  gcry_control(GCRYCTL_DISABLE_LOCKED_SECMEM);
  gcry_control(GCRYCTL_INIT_SECMEM, size, 0);
}

// Locks the secret memory, each page at its first use. libgcrypt does not tell the address of its secret memory, but it answers
// whether an address is in it. The first allocation is in the first page.
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

// Erases all of the secret memory, and gives it back to the kernel. libgcrypt's call takes no lock and allocates nothing, so it may
// run in a signal handler, as in GnuPG. If libgcrypt was not started, it holds no secrets. Calling it then would start it, and that
// reads files.
static inline void latchkey_gcry_end_secmem(void) {
  if (latchkey_gcry_initialized()) gcry_control(GCRYCTL_TERM_SECMEM);
}

// Erases memory. The compiler does not remove this call, even if nobody reads the memory again.
static inline void latchkey_gcry_erase(void *bytes, size_t count) {
  explicit_bzero(bytes, count);
}

// Keys and signatures as S-expressions. Swift cannot call gcry_sexp_build(), which takes a variable number of arguments. Numbers
// are unsigned and big-endian. If a number is in secure memory, so is the expression.
typedef struct { const void *bytes; int count; } latchkey_number;

static inline gcry_error_t latchkey_gcry_rsa_private(
    gcry_sexp_t *out, latchkey_number n, latchkey_number e, latchkey_number d, latchkey_number p, latchkey_number q,
    latchkey_number u) {
  return gcry_sexp_build(
      out, 0, "(private-key (rsa (n %b) (e %b) (d %b) (p %b) (q %b) (u %b)))", n.count, n.bytes, e.count, e.bytes, d.count,
      d.bytes, p.count, p.bytes, q.count, q.bytes, u.count, u.bytes);
}

static inline gcry_error_t latchkey_gcry_rsa_public(gcry_sexp_t *out, latchkey_number n, latchkey_number e) {
  return gcry_sexp_build(out, 0, "(public-key (rsa (n %b) (e %b)))", n.count, n.bytes, e.count, e.bytes);
}

static inline gcry_error_t latchkey_gcry_ecdsa_private(
    gcry_sexp_t *out, const char *curve, latchkey_number q, latchkey_number d) {
  return gcry_sexp_build(out, 0, "(private-key (ecc (curve %s) (q %b) (d %b)))", curve, q.count, q.bytes, d.count, d.bytes);
}

static inline gcry_error_t latchkey_gcry_ecdsa_public(gcry_sexp_t *out, const char *curve, latchkey_number q) {
  return gcry_sexp_build(out, 0, "(public-key (ecc (curve %s) (q %b)))", curve, q.count, q.bytes);
}

// A digest to be signed. RSA uses PKCS #1 version 1.5. ECDSA uses a nonce that is derived from key and digest (RFC 6979).
static inline gcry_error_t latchkey_gcry_rsa_digest(gcry_sexp_t *out, const char *hash, latchkey_number digest) {
  return gcry_sexp_build(out, 0, "(data (flags pkcs1) (hash %s %b))", hash, digest.count, digest.bytes);
}

static inline gcry_error_t latchkey_gcry_ecdsa_digest(gcry_sexp_t *out, const char *hash, latchkey_number digest) {
  return gcry_sexp_build(out, 0, "(data (flags rfc6979) (hash %s %b))", hash, digest.count, digest.bytes);
}

static inline gcry_error_t latchkey_gcry_rsa_signature(gcry_sexp_t *out, latchkey_number s) {
  return gcry_sexp_build(out, 0, "(sig-val (rsa (s %b)))", s.count, s.bytes);
}

static inline gcry_error_t latchkey_gcry_ecdsa_signature(gcry_sexp_t *out, latchkey_number r, latchkey_number s) {
  return gcry_sexp_build(out, 0, "(sig-val (ecdsa (r %b) (s %b)))", r.count, r.bytes, s.count, s.bytes);
}

// New keys. libgcrypt puts their secret numbers into secure memory.
static inline gcry_error_t latchkey_gcry_generate_rsa(gcry_sexp_t *out, int bits) {
  gcry_sexp_t wanted = NULL;
  gcry_error_t error = gcry_sexp_build(&wanted, 0, "(genkey (rsa (nbits %d)))", bits);
  if (!error) error = gcry_pk_genkey(out, wanted);
  gcry_sexp_release(wanted);
  return error;
}

static inline gcry_error_t latchkey_gcry_generate_ecdsa(gcry_sexp_t *out, const char *curve) {
  gcry_sexp_t wanted = NULL;
  gcry_error_t error = gcry_sexp_build(&wanted, 0, "(genkey (ecc (curve %s)))", curve);
  if (!error) error = gcry_pk_genkey(out, wanted);
  gcry_sexp_release(wanted);
  return error;
}
