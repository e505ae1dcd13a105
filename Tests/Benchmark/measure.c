/* Measures the owner of org.freedesktop.secrets on the bus at DBUS_SESSION_BUS_ADDRESS. Prints one line for each sample:
 * its name and nanoseconds (or a count). Between the operations the client pings the bus daemon, so that both are measured
 * under the same load.
 *
 *   measure fill FROM TO SECONDS             CreateItem for items FROM...TO-1, many calls at once; prints `count`
 *   measure lookup REPETITIONS ITEMS         SearchItems and GetSecrets
 *   measure write REPETITIONS FLOOR [WAL]    CreateItem, the same again with replace, Item.Delete; also one commit of
 *                                            SQLite in the file FLOOR, of as many pages as the file WAL grows by
 *   measure session REPETITIONS              OpenSession, plain and encrypted
 *   measure whole REPETITIONS ITEMS          connect, OpenSession (encrypted), SearchItems, GetSecrets
 *   measure matches REPETITIONS ITEMS        SearchItems for an attribute that all items have
 *   measure clients CLIENTS SECONDS ITEMS    lookups of this many clients at once; prints `client` for each
 *   measure writers CLIENTS SECONDS          stores of this many clients at once; prints `client` for each
 *   measure start REPETITIONS COMMAND...     from the start of the command until it owns the name; then ends it
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agreement.h"
#include "client.h"
#include "floor.h"

static const int WARM_UP = 5;
static const char *const SERIES = "benchmark";

static void timed_ping(sd_bus *bus, bool counts) {
  int64_t start = now();
  ping_bus(bus);
  if (counts) sample("ping", now() - start);
}

/* fill */

static int under_way;

static int created(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
  const sd_bus_error *failure = sd_bus_message_get_error(reply);
  if (failure) fail("CreateItem", EIO, failure);
  (*(long *)userdata)++;
  under_way--;
  return 0;
}

static void wait_for(sd_bus *bus) {
  int result = sd_bus_process(bus, NULL);
  if (result == 0) result = sd_bus_wait(bus, UINT64_MAX);
  if (result < 0) fail("wait for the bus", result, NULL);
}

static void fill(long from, long to, long seconds) {
  sd_bus *bus = connect_bus();
  char *session = open_plain(bus), *collection = default_collection(bus);
  int64_t end = now() + seconds * INT64_C(1000000000);
  long count = 0;
  for (long number = from; number < to && now() < end; number++) {
    sd_bus_message *call = creation(bus, collection, session, (item_name){SERIES, number}, 0, false);
    int result = sd_bus_call_async(bus, NULL, call, created, &count, UINT64_C(600000000));
    if (result < 0) fail("CreateItem", result, NULL);
    sd_bus_message_unref(call);
    under_way++;
    while (under_way >= 32) wait_for(bus);
  }
  while (under_way > 0) wait_for(bus);
  sample("count", count);
}

/* one client */

static void measure_lookup(int repetitions, long items) {
  sd_bus *bus = connect_bus();
  char *session = open_plain(bus);
  for (int turn = -WARM_UP; turn < repetitions; turn++) {
    timed_ping(bus, turn >= 0);
    int64_t start = now();
    ping_service(bus);
    int64_t middle = now();
    lookup(bus, session, (item_name){SERIES, random() % items}, 0);
    if (turn < 0) continue;
    sample("call", middle - start);
    sample("lookup", now() - middle);
  }
}

static long size_of(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 ? status.st_size : 0;
}

static void measure_write(int repetitions, const char *floor, const char *log) {
  enum { PAGE = 4096 + 24 };
  sd_bus *bus = connect_bus();
  char *session = open_plain(bus), *collection = default_collection(bus);
  floor_open(floor);
  int pages = 4;
  char series[32];
  snprintf(series, sizeof series, "write-%d", (int)getpid());
  for (int turn = -WARM_UP; turn < repetitions; turn++) {
    item_name name = {series, turn + WARM_UP};
    timed_ping(bus, turn >= 0);
    long before = log ? size_of(log) : 0;
    int64_t start = now();
    char *item = create(bus, collection, session, name, 0, false);
    int64_t stored = now();
    long grown = log ? size_of(log) - before : 0;
    if (turn >= 0) sample("store", stored - start);
    // If SQLite has restarted the log meanwhile, the size has not grown.
    if (grown > 0) pages = (grown + PAGE - 1) / PAGE;
    if (turn >= 0) sample("pages", pages);
    start = now();
    floor_commit(pages);
    if (turn >= 0) sample("commit", now() - start);
    timed_ping(bus, turn >= 0);
    start = now();
    free(create(bus, collection, session, name, 1, true));
    int64_t replaced = now();
    lookup(bus, session, name, 1);
    int64_t found = now();
    delete_item(bus, item);
    int64_t deleted = now();
    free(item);
    if (turn < 0) continue;
    sample("replace", replaced - start);
    sample("delete", deleted - found);
  }
  floor_close();
}

static void measure_session(int repetitions) {
  sd_bus *bus = connect_bus();
  for (int turn = -WARM_UP; turn < repetitions; turn++) {
    timed_ping(bus, turn >= 0);
    int64_t start = now();
    char *plain = open_plain(bus);
    int64_t end = now();
    if (turn >= 0) sample("plain", end - start);
    agreement *own = agreement_new();
    timed_ping(bus, turn >= 0);
    start = now();
    char *encrypted = open_encrypted(bus, own);
    end = now();
    if (turn >= 0) sample("encrypted", end - start);
    agreement_free(own);
    close_session(bus, plain);
    close_session(bus, encrypted);
    free(plain);
    free(encrypted);
  }
}

static void measure_whole(int repetitions, long items) {
  sd_bus *steady = connect_bus();
  for (int turn = -WARM_UP; turn < repetitions; turn++) {
    timed_ping(steady, turn >= 0);
    agreement *own = agreement_new();
    item_name name = {SERIES, random() % items};
    int64_t start = now();
    sd_bus *bus = connect_bus();
    char *session = open_encrypted(bus, own);
    char *item = search(bus, name);
    sd_bus_message *reply = get_secret(bus, item, session);
    const void *iv, *value;
    size_t iv_size, size;
    if (sd_bus_message_read_array(reply, 'y', &iv, &iv_size) < 0 || iv_size != 16 ||
        sd_bus_message_read_array(reply, 'y', &value, &size) < 0)
      fail("GetSecrets", EBADMSG, NULL);
    int64_t end = now();
    uint8_t expected[SECRET_SIZE];
    secret_of(name, 0, expected);
    agreement_check(own, iv, value, size, expected, sizeof expected);
    sd_bus_message_unref(reply);
    sd_bus_flush_close_unref(bus);
    agreement_free(own);
    free(session);
    free(item);
    if (turn >= 0) sample("whole", end - start);
  }
}

/* many matches */

static void measure_matches(int repetitions, long items) {
  sd_bus *bus = connect_bus();
  for (int turn = -2; turn < repetitions; turn++) {
    timed_ping(bus, turn >= 0);
    int64_t start = now();
    long found = search_all(bus, SERIES);
    int64_t end = now();
    if (found != items) fail("SearchItems finds not every item", EBADMSG, NULL);
    if (turn >= 0) sample("matches", end - start);
  }
}

/* several clients */

/* Does lookups, or stores if `items` is 0, from `start` to `end`. */
static long work(long items, int64_t start, int64_t end) {
  sd_bus *bus = connect_bus();
  char *session = open_plain(bus), *collection = default_collection(bus);
  char series[32];
  snprintf(series, sizeof series, "writer-%d", (int)getpid());
  srandom(getpid());
  while (now() < start) usleep(1000);
  long count = 0;
  for (; now() < end; count++) {
    if (items > 0) {
      lookup(bus, session, (item_name){SERIES, random() % items}, 0);
    } else {
      // The same item again and again, so that the number of items stays the same.
      free(create(bus, collection, session, (item_name){series, 0}, count, true));
    }
  }
  if (items == 0) {
    char *item = search(bus, (item_name){series, 0});
    delete_item(bus, item);
  }
  return count;
}

static void measure_clients(int clients, long seconds, long items) {
  int64_t start = now() + 300000000, end = start + seconds * INT64_C(1000000000);
  int results[2];
  if (pipe(results) < 0) fail("pipe", errno, NULL);
  for (int client = 0; client < clients; client++) {
    pid_t child = fork();
    if (child < 0) fail("fork", errno, NULL);
    if (child == 0) {
      long count = work(items, start, end);
      if (write(results[1], &count, sizeof count) != sizeof count) _exit(1);
      _exit(0);
    }
  }
  close(results[1]);
  int arrived = 0;
  for (long count; read(results[0], &count, sizeof count) == sizeof count; arrived++) sample("client", count);
  while (wait(NULL) > 0) {}
  if (arrived != clients) fail("a client ended early", EPIPE, NULL);
}

/* start */

static bool has_owner(sd_bus *bus) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  int result = sd_bus_call_method(
      bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner", &error, NULL, "s",
      SECRETS);
  sd_bus_error_free(&error);
  return result >= 0;
}

static bool is_owned;

static int owner_changed(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
  const char *name, *old, *new;
  if (sd_bus_message_read(signal, "sss", &name, &old, &new) >= 0) is_owned = *new != 0;
  return 0;
}

static void measure_start(int repetitions, char *command[]) {
  sd_bus *bus = connect_bus();
  for (int turn = 0; has_owner(bus); turn++) {
    if (turn == 1000) fail("another program owns " SECRETS, EBUSY, NULL);
    usleep(10000);
  }
  int result = sd_bus_match_signal(
      bus, NULL, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged",
      owner_changed, NULL);
  if (result < 0) fail("watch the name", result, NULL);
  for (int turn = -2; turn < repetitions; turn++) {
    for (int i = 0; i < 5; i++) timed_ping(bus, turn >= 0);
    int64_t start = now();
    pid_t child = fork();
    if (child < 0) fail("fork", errno, NULL);
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      execv(command[0], command);
      fail(command[0], errno, NULL);
    }
    while (!is_owned) {
      if (now() - start > INT64_C(60000000000)) fail("the name is not taken", ETIMEDOUT, NULL);
      wait_for(bus);
    }
    if (turn >= 0) sample("start", now() - start);
    kill(child, SIGTERM);
    waitpid(child, NULL, 0);
    while (is_owned) wait_for(bus);
  }
}

int main(int argc, char *argv[]) {
  // With a fixed seed, two runs use the same items.
  srandom(1);
  const char *operation = argc > 2 ? argv[1] : "";
  if (strcmp(operation, "fill") == 0 && argc == 5) fill(atol(argv[2]), atol(argv[3]), atol(argv[4]));
  else if (strcmp(operation, "lookup") == 0 && argc == 4) measure_lookup(atoi(argv[2]), atol(argv[3]));
  else if (strcmp(operation, "write") == 0 && (argc == 4 || argc == 5)) measure_write(atoi(argv[2]), argv[3], argv[4]);
  else if (strcmp(operation, "session") == 0 && argc == 3) measure_session(atoi(argv[2]));
  else if (strcmp(operation, "whole") == 0 && argc == 4) measure_whole(atoi(argv[2]), atol(argv[3]));
  else if (strcmp(operation, "matches") == 0 && argc == 4) measure_matches(atoi(argv[2]), atol(argv[3]));
  else if (strcmp(operation, "clients") == 0 && argc == 5)
    measure_clients(atoi(argv[2]), atol(argv[3]), atol(argv[4]));
  else if (strcmp(operation, "writers") == 0 && argc == 4) measure_clients(atoi(argv[2]), atol(argv[3]), 0);
  else if (strcmp(operation, "start") == 0 && argc > 3) measure_start(atoi(argv[2]), argv + 3);
  else {
    fprintf(stderr, "usage: see the head of measure.c\n");
    return 64;
  }
  return 0;
}
