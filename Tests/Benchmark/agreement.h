/* The client's side of the algorithm dh-ietf1024-sha256-aes128-cbc-pkcs7, by libgcrypt as in libsecret. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#define PUBLIC_KEY_SIZE 128

typedef struct agreement agreement;

/* A fresh key pair. */
agreement *agreement_new(void);
void agreement_free(agreement *own);

/* OpenSession with the key pair. Gives back the session's path, the caller's to free; the service's public key is kept
 * for agreement_decrypt, so that the client's own arithmetic is not part of what is measured. */
char *open_encrypted(sd_bus *bus, agreement *own);

/* Ends the program unless the ciphertext is that of `expected`. */
void agreement_check(
    agreement *own, const void *iv, const void *ciphertext, size_t size, const uint8_t *expected, size_t expected_size);
