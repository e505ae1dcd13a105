/* Measures libsecret's synchronous functions in the same way as Keychain/KeychainBenchmark.swift measures SecItem's: the
 * same calls, one line for each sample, and the same kind of pings in between, so that both are measured under the same load.
 *
 *   libsecret fill ITEMS
 *   libsecret measure REPETITIONS ITEMS
 */
#define SECRET_API_SUBJECT_TO_CHANGE
#include <libsecret/secret.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>

static const int WARM_UP = 5;
static const SecretSchema SCHEMA = {
  "org.latchkey.Benchmark",
  SECRET_SCHEMA_NONE,
  {{"service", SECRET_SCHEMA_ATTRIBUTE_STRING}, {"account", SECRET_SCHEMA_ATTRIBUTE_STRING}, {NULL, 0}},
};

static void fail(const char *what, const GError *error) {
  fprintf(stderr, "libsecret: %s: %s\n", what, error ? error->message : "");
  exit(1);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void store(const char *account, const char *value) {
  GError *error = NULL;
  char label[64], padded[33];
  snprintf(label, sizeof label, "benchmark for %s", account);
  memset(padded, '.', sizeof padded - 1);
  padded[sizeof padded - 1] = 0;
  memcpy(padded, value, strlen(value));
  if (!secret_password_store_sync(
          &SCHEMA, SECRET_COLLECTION_DEFAULT, label, padded, NULL, &error, "service", "benchmark", "account", account, NULL))
    fail("store", error);
}

static void lookup(const char *account) {
  GError *error = NULL;
  char *found = secret_password_lookup_sync(&SCHEMA, NULL, &error, "service", "benchmark", "account", account, NULL);
  if (!found || strlen(found) != 32) fail("lookup", error);
  secret_password_free(found);
}

static void clear(const char *account) {
  GError *error = NULL;
  if (!secret_password_clear_sync(&SCHEMA, NULL, &error, "service", "benchmark", "account", account, NULL))
    fail("clear", error);
}

static void ping(sd_bus *bus) {
  sd_bus_message *call = NULL, *answer = NULL;
  if (sd_bus_message_new_method_call(
          bus, &call, "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.DBus.Peer", "Ping") < 0
      || sd_bus_call(bus, call, 0, NULL, &answer) < 0)
    fail("no answer to a ping", NULL);
  sd_bus_message_unref(call);
  sd_bus_message_unref(answer);
}

static const char *kept(long number) {
  static char account[32];
  snprintf(account, sizeof account, "libsecret %ld", number);
  return account;
}

static void copy_step(long items) { lookup(kept(random() % items)); }
static void add_step(long items) { (void)items, store("new", "one value"); }
static void update_step(long items) { (void)items, store("new", "another value"); }
static void delete_step(long items) { (void)items, clear("new"); }

static void measure(long repetitions, long items) {
  static const struct {
    const char *name;
    void (*call)(long);
  } steps[] = {{"copy", copy_step}, {"add", add_step}, {"update", update_step}, {"delete", delete_step}};
  sd_bus *bus;
  if (sd_bus_open_user(&bus) < 0) fail("no session bus", NULL);
  for (long turn = -WARM_UP; turn < repetitions; turn++)
    for (size_t index = 0; index < sizeof steps / sizeof *steps; index++) {
      int64_t start = now();
      ping(bus);
      int64_t middle = now();
      steps[index].call(items);
      int64_t end = now();
      if (turn >= 0) printf("ping %ld\n%s %ld\n", (long)(middle - start), steps[index].name, (long)(end - middle));
    }
  sd_bus_flush_close_unref(bus);
}

int main(int count, char **words) {
  GError *error = NULL;
  /* The program keeps the service, so that all calls share one connection and one encrypted session. */
  SecretService *service = secret_service_get_sync(SECRET_SERVICE_OPEN_SESSION, NULL, &error);
  if (!service) fail("no service", error);
  if (strcmp(secret_service_get_session_algorithms(service), "dh-ietf1024-sha256-aes128-cbc-pkcs7") != 0)
    fail("its session is not encrypted", NULL);
  if (count == 3 && strcmp(words[1], "fill") == 0) {
    for (long number = 0; number < atol(words[2]); number++) store(kept(number), "benchmark");
  } else if (count == 4 && strcmp(words[1], "measure") == 0) {
    measure(atol(words[2]), atol(words[3]));
  } else {
    fail("usage: libsecret fill ITEMS | measure REPETITIONS ITEMS", NULL);
  }
  g_object_unref(service);
  return 0;
}
