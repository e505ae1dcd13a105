// workingmemory PASSES BYTES <INPUT: prints the content of Argon2id's memory at the moment when libsodium returns the
// memory to the kernel. The input is a salt of 16 bytes, then the password.
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t expected;

// libsodium calls this function instead of libc's.
int munmap(void *mapping, size_t size) {
  if (expected > 0 && size >= expected) {
    size_t written = fwrite(mapping, 1, expected, stdout);
    if (written != expected || fflush(stdout) != 0) _exit(2);
  }
  return (int)syscall(SYS_munmap, mapping, size);
}

int main(int count, char **words) {
  unsigned char input[crypto_pwhash_SALTBYTES + 4096], key[32];
  if (count != 3 || sodium_init() < 0) return 1;
  size_t size = fread(input, 1, sizeof input, stdin);
  if (size < crypto_pwhash_SALTBYTES) return 1;
  size_t memory = strtoull(words[2], NULL, 10);
  expected = memory;
  return crypto_pwhash(key, sizeof key, (char *)input + crypto_pwhash_SALTBYTES, size - crypto_pwhash_SALTBYTES, input,
                       strtoull(words[1], NULL, 10), memory, crypto_pwhash_ALG_ARGON2ID13);
}
