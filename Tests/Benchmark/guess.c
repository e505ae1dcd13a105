/* Measures the time to try one password against a stolen vault of Latchkey, and against the files of other programs. A try
 * is the derivation of the key and the shortest check of the key. Prints one line for each sample: its name and
 * nanoseconds of processor time. The programs take turns.
 *
 *   guess REPETITIONS PASSES MEMORY     Argon2id's parameters in the keybag, MEMORY in bytes
 *
 * gnome-keyring: SHA-256, 4096 times at most, AES-128 and MD5 (gnome-keyring 42). KWallet: PBKDF2 with SHA-512, 50,000 times,
 * and Blowfish (kwallet-pam). libsecret's file, which oo7 uses: PBKDF2 with SHA-256, 100,000 times, and HMAC.
 */
#include <gcrypt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char password[] = "correct horse battery staple";
static unsigned char salt[56], data[64], key[64];

static void must(const char *what, int failed) {
  if (!failed) return;
  fprintf(stderr, "guess: %s failed\n", what);
  exit(1);
}

static void decrypt(int algorithm, int mode, size_t key_size, const unsigned char *iv, size_t iv_size) {
  unsigned char plain[sizeof data];
  gcry_cipher_hd_t cipher;
  must("cipher", gcry_cipher_open(&cipher, algorithm, mode, 0) != 0);
  must("key", gcry_cipher_setkey(cipher, key, key_size) != 0);
  must("iv", gcry_cipher_setiv(cipher, iv, iv_size) != 0);
  must("decrypt", gcry_cipher_decrypt(cipher, plain, sizeof plain, data, sizeof data) != 0);
  gcry_cipher_close(cipher);
  gcry_md_hash_buffer(GCRY_MD_MD5, key, plain, sizeof plain);
}

static void latchkey(unsigned long passes, size_t memory) {
  must("Argon2id", crypto_pwhash(key, 32, password, strlen(password), salt, passes, memory, crypto_pwhash_ALG_ARGON2ID13));
  must("commitment", crypto_generichash(key, 32, data, sizeof data, key, 32));
}

static void gnome_keyring(void) {
  unsigned char digest[32], first[sizeof password - 1 + 8];
  memcpy(first, password, sizeof password - 1);
  memcpy(first + sizeof password - 1, salt, 8);
  gcry_md_hash_buffer(GCRY_MD_SHA256, digest, first, sizeof first);
  for (int i = 1; i < 4096; i++) gcry_md_hash_buffer(GCRY_MD_SHA256, digest, digest, sizeof digest);
  memcpy(key, digest, sizeof digest);
  decrypt(GCRY_CIPHER_AES128, GCRY_CIPHER_MODE_CBC, 16, digest + 16, 16);
}

static void pbkdf2(int digest, unsigned long iterations, size_t size, size_t salt_size) {
  must("PBKDF2", gcry_kdf_derive(password, strlen(password), GCRY_KDF_PBKDF2, digest, salt, salt_size, iterations, size, key) != 0);
}

static void kwallet(void) {
  static const unsigned char iv[8];
  pbkdf2(GCRY_MD_SHA512, 50000, 56, 56);
  decrypt(GCRY_CIPHER_BLOWFISH, GCRY_CIPHER_MODE_CBC, 56, iv, sizeof iv);
}

static void libsecret(void) {
  unsigned char tag[32];
  gcry_md_hd_t hash;
  pbkdf2(GCRY_MD_SHA256, 100000, 16, 32);
  must("HMAC", gcry_md_open(&hash, GCRY_MD_SHA256, GCRY_MD_FLAG_HMAC) != 0);
  gcry_md_setkey(hash, key, 16);
  gcry_md_write(hash, data, sizeof data);
  memcpy(tag, gcry_md_read(hash, GCRY_MD_SHA256), sizeof tag);
  gcry_md_close(hash);
}

static long long spent(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

#define SAMPLE(name, call)                          \
  do {                                              \
    long long start = spent();                      \
    call;                                           \
    printf("%s %lld\n", name, spent() - start);     \
  } while (0)

int main(int count, char **arguments) {
  if (count != 4 || sodium_init() < 0 || !gcry_check_version(NULL)) return 64;
  gcry_control(GCRYCTL_DISABLE_SECMEM);
  gcry_control(GCRYCTL_INITIALIZATION_FINISHED);
  gnome_keyring();
  for (int turn = atoi(arguments[1]); turn > 0; turn--) {
    SAMPLE("latchkey", latchkey(strtoul(arguments[2], NULL, 10), strtoul(arguments[3], NULL, 10)));
    SAMPLE("gnome-keyring", gnome_keyring());
    SAMPLE("kwallet", kwallet());
    SAMPLE("libsecret", libsecret());
  }
}
