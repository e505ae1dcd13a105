// A library for latchkeyd that writes each new key of 32 bytes into a file. Each byte is XORed with 0x55, and the library
// keeps no copy of a key. So a test can look for a key that never leaves the machine's programs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

enum { KEY = 32 };

// latchkeyd finds this function in place of libsodium's.
void randombytes_buf(void *buffer, size_t size) {
  static void (*random)(void *, size_t);
  if (!random) random = (void (*)(void *, size_t))dlsym(RTLD_NEXT, "randombytes_buf");
  random(buffer, size);
  if (size != KEY) return;
  volatile unsigned char masked[KEY];
  for (size_t at = 0; at < KEY; at++) masked[at] = ((volatile unsigned char *)buffer)[at] ^ 0x55;
  int file = open("/tmp/masked-keys", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (write(file, (const void *)masked, KEY) != KEY) _exit(1);
  close(file);
}
