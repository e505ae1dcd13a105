// Finds blocks of Argon2id's memory that reveal a derived key. A key of up to 64 bytes is the final hash of the last
// block (RFC 9106, H').
#include <sodium.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 1024, KEY = 32, STEP = 8 };

// Hashes every block of `bytes` that begins at a multiple of STEP. Writes pairs of an offset and the number of the key
// to `found`, at most `limit` pairs. Returns the number of pairs.
size_t blocks(const uint8_t *bytes, size_t size, const uint8_t *keys, size_t count, uint64_t *found, size_t limit) {
  if (sodium_init() < 0) return 0;
  const uint32_t *words = (const uint32_t *)bytes;
  const uint8_t length[4] = {KEY, 0, 0, 0};
  size_t written = 0, at = 0, checked = 0;
  while (at + BLOCK <= size) {
    // A block looks random, so only one block in 16 million has a word of zeros. Nearly all other memory has some.
    size_t word = at / 4 > checked ? at / 4 : checked;
    while (word < (at + BLOCK) / 4 && words[word] != 0) word++;
    checked = word;
    if (word < (at + BLOCK) / 4) {
      at = (4 * word + 4 + STEP - 1) / STEP * STEP;
      continue;
    }
    uint8_t key[KEY];
    crypto_generichash_blake2b_state state;
    crypto_generichash_blake2b_init(&state, 0, 0, KEY);
    crypto_generichash_blake2b_update(&state, length, sizeof length);
    crypto_generichash_blake2b_update(&state, bytes + at, BLOCK);
    crypto_generichash_blake2b_final(&state, key, KEY);
    for (size_t number = 0; number < count; number++) {
      if (memcmp(key, keys + number * KEY, KEY) != 0 || written == limit) continue;
      found[2 * written] = at;
      found[2 * written++ + 1] = number;
    }
    at += STEP;
  }
  return written;
}
