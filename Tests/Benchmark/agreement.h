/* The client's side of the algorithm dh-ietf1024-sha256-aes128-cbc-pkcs7, with libgcrypt as in libsecret. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#define PUBLIC_KEY_SIZE 128

typedef struct agreement agreement;

/* Makes a new key pair. */
agreement *agreement_new(void);
void agreement_free(agreement *own);

/* Calls OpenSession with the key pair. Returns the session's path, which the caller frees. Keeps the service's
 * public key for agreement_decrypt, so that the client's own arithmetic is not part of the measurement. */
char *open_encrypted(sd_bus *bus, agreement *own);

/* Ends the program unless the ciphertext is that of `expected`. */
void agreement_check(
    agreement *own, const void *iv, const void *ciphertext, size_t size, const uint8_t *expected, size_t expected_size);
