#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void fail(const char *what, int error, const sd_bus_error *detail) {
  const char *text = detail && detail->message ? detail->message : strerror(error < 0 ? -error : error);
  fprintf(stderr, "measure: %s: %s\n", what, text);
  exit(1);
}

int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

void sample(const char *name, int64_t nanoseconds) { printf("%s %lld\n", name, (long long)nanoseconds); }

static void check(int result, const char *what) {
  if (result < 0) fail(what, result, NULL);
}

/* Sends a call and waits for its answer. */
static sd_bus_message *answer(sd_bus *bus, sd_bus_message *call, const char *what) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  sd_bus_message *reply = NULL;
  int result = sd_bus_call(bus, call, UINT64_C(120000000), &error, &reply);
  if (result < 0) fail(what, result, &error);
  sd_bus_message_unref(call);
  return reply;
}

static sd_bus_message *method(sd_bus *bus, const char *path, const char *interface, const char *member) {
  sd_bus_message *call = NULL;
  check(sd_bus_message_new_method_call(bus, &call, SECRETS, path, interface, member), member);
  return call;
}

sd_bus *connect_bus(void) {
  sd_bus *bus = NULL;
  check(sd_bus_open_user(&bus), "connect to the bus");
  const char *name;
  // This call waits for the answer to Hello.
  check(sd_bus_get_unique_name(bus, &name), "say Hello to the bus");
  return bus;
}

static void ping(sd_bus *bus, const char *destination, const char *path) {
  sd_bus_message *call = NULL;
  check(
      sd_bus_message_new_method_call(bus, &call, destination, path, "org.freedesktop.DBus.Peer", "Ping"), "Ping");
  sd_bus_message_unref(answer(bus, call, "Ping"));
}

void ping_bus(sd_bus *bus) { ping(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus"); }

void ping_service(sd_bus *bus) { ping(bus, SECRETS, SERVICE_PATH); }

char *open_plain(sd_bus *bus) {
  sd_bus_message *call = method(bus, SERVICE_PATH, SERVICE, "OpenSession");
  check(sd_bus_message_append(call, "sv", "plain", "s", ""), "OpenSession");
  sd_bus_message *reply = answer(bus, call, "OpenSession");
  const char *path;
  check(sd_bus_message_skip(reply, "v"), "OpenSession");
  check(sd_bus_message_read(reply, "o", &path), "OpenSession");
  char *copy = strdup(path);
  sd_bus_message_unref(reply);
  return copy;
}

void close_session(sd_bus *bus, const char *session) {
  sd_bus_message_unref(answer(bus, method(bus, session, "org.freedesktop.Secret.Session", "Close"), "Close"));
}

char *default_collection(sd_bus *bus) {
  sd_bus_message *call = method(bus, SERVICE_PATH, SERVICE, "ReadAlias");
  check(sd_bus_message_append(call, "s", "default"), "ReadAlias");
  sd_bus_message *reply = answer(bus, call, "ReadAlias");
  const char *path;
  check(sd_bus_message_read(reply, "o", &path), "ReadAlias");
  if (strcmp(path, "/") == 0) fail("there is no default collection", ENOENT, NULL);
  char *copy = strdup(path);
  sd_bus_message_unref(reply);
  return copy;
}

/* libsecret stores the schema's name beside the schema's attributes. */
static void append_attributes(sd_bus_message *call, item_name name) {
  char account[32];
  snprintf(account, sizeof account, "%ld", name.number);
  check(
      sd_bus_message_append(
          call, "a{ss}", 3, "xdg:schema", "org.latchkey.Benchmark", "service", name.series, "account", account),
      "attributes");
}

void secret_of(item_name name, int version, uint8_t secret[SECRET_SIZE]) {
  memset(secret, '.', SECRET_SIZE);
  char text[SECRET_SIZE + 1];
  int length = snprintf(text, sizeof text, "%s %ld %d", name.series, name.number, version);
  memcpy(secret, text, length < SECRET_SIZE ? length : SECRET_SIZE);
}

sd_bus_message *creation(
    sd_bus *bus, const char *collection, const char *session, item_name name, int version, bool replace) {
  sd_bus_message *call = method(bus, collection, COLLECTION, "CreateItem");
  char label[64];
  snprintf(label, sizeof label, "Benchmark %s %ld", name.series, name.number);
  uint8_t secret[SECRET_SIZE];
  secret_of(name, version, secret);
  check(sd_bus_message_open_container(call, 'a', "{sv}"), "CreateItem");
  check(sd_bus_message_append(call, "{sv}", ITEM ".Label", "s", label), "CreateItem");
  check(sd_bus_message_open_container(call, 'e', "sv"), "CreateItem");
  check(sd_bus_message_append(call, "s", ITEM ".Attributes"), "CreateItem");
  check(sd_bus_message_open_container(call, 'v', "a{ss}"), "CreateItem");
  append_attributes(call, name);
  for (int i = 0; i < 3; i++) check(sd_bus_message_close_container(call), "CreateItem");
  check(sd_bus_message_open_container(call, 'r', "oayays"), "CreateItem");
  check(sd_bus_message_append(call, "o", session), "CreateItem");
  check(sd_bus_message_append_array(call, 'y', "", 0), "CreateItem");
  check(sd_bus_message_append_array(call, 'y', secret, sizeof secret), "CreateItem");
  check(sd_bus_message_append(call, "s", "text/plain"), "CreateItem");
  check(sd_bus_message_close_container(call), "CreateItem");
  check(sd_bus_message_append(call, "b", replace), "CreateItem");
  return call;
}

char *create(sd_bus *bus, const char *collection, const char *session, item_name name, int version, bool replace) {
  sd_bus_message *reply = answer(bus, creation(bus, collection, session, name, version, replace), "CreateItem");
  const char *item, *prompt;
  check(sd_bus_message_read(reply, "oo", &item, &prompt), "CreateItem");
  if (strcmp(prompt, "/") != 0) fail("CreateItem wants a prompt", EACCES, NULL);
  char *copy = strdup(item);
  sd_bus_message_unref(reply);
  return copy;
}

char *search(sd_bus *bus, item_name name) {
  sd_bus_message *call = method(bus, SERVICE_PATH, SERVICE, "SearchItems");
  append_attributes(call, name);
  sd_bus_message *reply = answer(bus, call, "SearchItems");
  const char *path = NULL;
  check(sd_bus_message_enter_container(reply, 'a', "o"), "SearchItems");
  if (sd_bus_message_read(reply, "o", &path) <= 0) fail("SearchItems finds nothing that is unlocked", ENOENT, NULL);
  char *copy = strdup(path);
  sd_bus_message_unref(reply);
  return copy;
}

long search_all(sd_bus *bus, const char *series) {
  sd_bus_message *call = method(bus, SERVICE_PATH, SERVICE, "SearchItems");
  check(
      sd_bus_message_append(call, "a{ss}", 2, "xdg:schema", "org.latchkey.Benchmark", "service", series), "SearchItems");
  sd_bus_message *reply = answer(bus, call, "SearchItems");
  long count = 0;
  check(sd_bus_message_enter_container(reply, 'a', "o"), "SearchItems");
  for (const char *path; sd_bus_message_read(reply, "o", &path) > 0;) count++;
  sd_bus_message_unref(reply);
  return count;
}

sd_bus_message *get_secret(sd_bus *bus, const char *item, const char *session) {
  sd_bus_message *call = method(bus, SERVICE_PATH, SERVICE, "GetSecrets");
  check(sd_bus_message_append(call, "aoo", 1, item, session), "GetSecrets");
  sd_bus_message *reply = answer(bus, call, "GetSecrets");
  check(sd_bus_message_enter_container(reply, 'a', "{o(oayays)}"), "GetSecrets");
  if (sd_bus_message_enter_container(reply, 'e', "o(oayays)") <= 0) fail("GetSecrets gives none", ENOENT, NULL);
  check(sd_bus_message_skip(reply, "o"), "GetSecrets");
  check(sd_bus_message_enter_container(reply, 'r', "oayays"), "GetSecrets");
  check(sd_bus_message_skip(reply, "o"), "GetSecrets");
  return reply;
}

void lookup(sd_bus *bus, const char *session, item_name name, int version) {
  char *item = search(bus, name);
  sd_bus_message *reply = get_secret(bus, item, session);
  const void *value;
  size_t size;
  uint8_t expected[SECRET_SIZE];
  secret_of(name, version, expected);
  check(sd_bus_message_skip(reply, "ay"), "GetSecrets");
  check(sd_bus_message_read_array(reply, 'y', &value, &size), "GetSecrets");
  if (size != SECRET_SIZE || memcmp(value, expected, size) != 0) fail("the secret is another one", EBADMSG, NULL);
  sd_bus_message_unref(reply);
  free(item);
}

void delete_item(sd_bus *bus, const char *item) {
  sd_bus_message_unref(answer(bus, method(bus, item, ITEM, "Delete"), "Delete"));
}
