/* A security key library for OpenSSH, which passes all calls to OpenSSH's own library for tests. OpenSSH's library
 * knows neither PIN nor touch, so this library adds both. If the file PIN exists, a signature needs the PIN in it.
 * If TOUCH.needed exists, a signature waits until the file TOUCH exists. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int sign_function(uint32_t, const uint8_t *, size_t, const char *, const uint8_t *, size_t, uint8_t, const char *, void *, void *);
typedef int enroll_function(uint32_t, const uint8_t *, size_t, const char *, uint8_t, const char *, void *, void *);

static void *other(const char *name) {
  static void *library;
  if (!library) library = dlopen(DUMMY, RTLD_NOW | RTLD_LOCAL);
  return library ? dlsym(library, name) : NULL;
}

uint32_t sk_api_version(void) {
  uint32_t (*version)(void) = (uint32_t (*)(void))other("sk_api_version");
  return version ? version() : 0;
}

int sk_enroll(uint32_t algorithm, const uint8_t *challenge, size_t length, const char *application, uint8_t flags, const char *pin,
              void *options, void *response) {
  enroll_function *enroll = (enroll_function *)other("sk_enroll");
  return enroll ? enroll(algorithm, challenge, length, application, flags, pin, options, response) : -1;
}

int sk_sign(uint32_t algorithm, const uint8_t *data, size_t length, const char *application, const uint8_t *handle, size_t handle_length,
            uint8_t flags, const char *pin, void *options, void *response) {
  char wanted[64] = "";
  FILE *file = fopen(PIN, "r");
  if (file) {
    if (!fgets(wanted, sizeof wanted, file)) wanted[0] = 0;
    fclose(file);
    if (!pin || strcmp(pin, wanted) != 0) return -3; /* SSH_SK_ERR_PIN_REQUIRED */
  }
  if (access(TOUCH ".needed", F_OK) == 0) {
    if ((file = fopen(WAITS, "w"))) fclose(file);
    while (access(TOUCH, F_OK) != 0) usleep(10000);
    unlink(WAITS);
  }
  sign_function *sign = (sign_function *)other("sk_sign");
  return sign ? sign(algorithm, data, length, application, handle, handle_length, flags, pin, options, response) : -1;
}

int sk_load_resident_keys(const char *pin, void *options, void *keys, size_t *count) {
  (void)pin, (void)options, (void)keys, (void)count;
  return -2;
}
