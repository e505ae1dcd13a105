#include "agreement.h"

#include <errno.h>
#include <gcrypt.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

struct agreement {
  gcry_mpi_t prime, exponent;
  uint8_t public_key[PUBLIC_KEY_SIZE];
  uint8_t peer[PUBLIC_KEY_SIZE];
};

/* RFC 2409, 6.2. */
static const char PRIME[] =
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B"
    "302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE6"
    "49286651ECE65381FFFFFFFFFFFFFFFF";

/* Prints the number in big-endian order, with zeros on the left. */
static void print(gcry_mpi_t number, uint8_t out[PUBLIC_KEY_SIZE]) {
  size_t size = (gcry_mpi_get_nbits(number) + 7) / 8;
  memset(out, 0, PUBLIC_KEY_SIZE);
  if (gcry_mpi_print(GCRYMPI_FMT_USG, out + PUBLIC_KEY_SIZE - size, size, NULL, number) != 0)
    fail("libgcrypt", EINVAL, NULL);
}

agreement *agreement_new(void) {
  if (!gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P)) {
    gcry_check_version(NULL);
    gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
    gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
  }
  agreement *own = calloc(1, sizeof *own);
  gcry_mpi_scan(&own->prime, GCRYMPI_FMT_HEX, PRIME, 0, NULL);
  own->exponent = gcry_mpi_new(256);
  gcry_mpi_randomize(own->exponent, 256, GCRY_STRONG_RANDOM);
  gcry_mpi_t base = gcry_mpi_set_ui(NULL, 2), power = gcry_mpi_new(1024);
  gcry_mpi_powm(power, base, own->exponent, own->prime);
  print(power, own->public_key);
  gcry_mpi_release(base);
  gcry_mpi_release(power);
  return own;
}

void agreement_free(agreement *own) {
  gcry_mpi_release(own->prime);
  gcry_mpi_release(own->exponent);
  free(own);
}

char *open_encrypted(sd_bus *bus, agreement *own) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  sd_bus_message *call = NULL, *reply = NULL;
  int result = sd_bus_message_new_method_call(bus, &call, SECRETS, SERVICE_PATH, SERVICE, "OpenSession");
  if (result >= 0) result = sd_bus_message_append(call, "s", "dh-ietf1024-sha256-aes128-cbc-pkcs7");
  if (result >= 0) result = sd_bus_message_open_container(call, 'v', "ay");
  if (result >= 0) result = sd_bus_message_append_array(call, 'y', own->public_key, PUBLIC_KEY_SIZE);
  if (result >= 0) result = sd_bus_message_close_container(call);
  if (result >= 0) result = sd_bus_call(bus, call, 0, &error, &reply);
  const void *key = NULL;
  size_t size = 0;
  const char *path = NULL;
  if (result >= 0) result = sd_bus_message_enter_container(reply, 'v', "ay");
  if (result >= 0) result = sd_bus_message_read_array(reply, 'y', &key, &size);
  if (result >= 0) result = sd_bus_message_exit_container(reply);
  if (result >= 0) result = sd_bus_message_read(reply, "o", &path);
  if (result < 0 || size > PUBLIC_KEY_SIZE) fail("OpenSession", result < 0 ? result : EBADMSG, &error);
  memset(own->peer, 0, PUBLIC_KEY_SIZE);
  memcpy(own->peer + PUBLIC_KEY_SIZE - size, key, size);
  char *copy = strdup(path);
  sd_bus_message_unref(call);
  sd_bus_message_unref(reply);
  return copy;
}

static void hmac(const void *key, size_t key_size, const void *data, size_t size, uint8_t out[32]) {
  gcry_md_hd_t hash;
  gcry_md_open(&hash, GCRY_MD_SHA256, GCRY_MD_FLAG_HMAC);
  gcry_md_setkey(hash, key, key_size);
  gcry_md_write(hash, data, size);
  memcpy(out, gcry_md_read(hash, GCRY_MD_SHA256), 32);
  gcry_md_close(hash);
}

void agreement_check(
    agreement *own, const void *iv, const void *ciphertext, size_t size, const uint8_t *expected, size_t expected_size) {
  gcry_mpi_t peer, shared = gcry_mpi_new(1024);
  gcry_mpi_scan(&peer, GCRYMPI_FMT_USG, own->peer, PUBLIC_KEY_SIZE, NULL);
  gcry_mpi_powm(shared, peer, own->exponent, own->prime);
  uint8_t secret[PUBLIC_KEY_SIZE], salt[32] = {0}, key[32], one = 1, plain[256];
  print(shared, secret);
  gcry_mpi_release(peer);
  gcry_mpi_release(shared);
  hmac(salt, sizeof salt, secret, sizeof secret, key);
  hmac(key, sizeof key, &one, 1, key);
  gcry_cipher_hd_t cipher;
  gcry_cipher_open(&cipher, GCRY_CIPHER_AES128, GCRY_CIPHER_MODE_CBC, 0);
  gcry_cipher_setkey(cipher, key, 16);
  gcry_cipher_setiv(cipher, iv, 16);
  if (size > sizeof plain || gcry_cipher_decrypt(cipher, plain, sizeof plain, ciphertext, size) != 0)
    fail("the secret cannot be decrypted", EBADMSG, NULL);
  gcry_cipher_close(cipher);
  if (size <= expected_size || memcmp(plain, expected, expected_size) != 0)
    fail("the secret is another one", EBADMSG, NULL);
}
