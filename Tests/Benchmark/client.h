/* A client of the Secret Service on sd-bus, for measurements. Every call is synchronous. A failed call ends the
 * program, because the time of an error is meaningless. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#define SECRETS "org.freedesktop.secrets"
#define SERVICE_PATH "/org/freedesktop/secrets"
#define SERVICE "org.freedesktop.Secret.Service"
#define COLLECTION "org.freedesktop.Secret.Collection"
#define ITEM "org.freedesktop.Secret.Item"

/* Ends the program with a message. */
void fail(const char *what, int error, const sd_bus_error *detail) __attribute__((noreturn));
/* CLOCK_MONOTONIC in nanoseconds. */
int64_t now(void);
/* A sample: one line "name nanoseconds" on the standard output. */
void sample(const char *name, int64_t nanoseconds);

/* Makes a connection to DBUS_SESSION_BUS_ADDRESS, and waits for Hello. */
sd_bus *connect_bus(void);
/* Calls org.freedesktop.DBus.Peer.Ping of the bus daemon. */
void ping_bus(sd_bus *bus);
/* The same for the owner of org.freedesktop.secrets, which is the minimal cost of any call. */
void ping_service(sd_bus *bus);

/* Calls OpenSession "plain". The caller frees the path. */
char *open_plain(sd_bus *bus);
void close_session(sd_bus *bus, const char *session);

/* The path of the default collection. The caller frees the path. */
char *default_collection(sd_bus *bus);

/* The item with this number in the series. The item's attributes, label and secret follow from series and number. */
typedef struct {
  const char *series;
  long number;
} item_name;

#define SECRET_SIZE 32
void secret_of(item_name name, int version, uint8_t secret[SECRET_SIZE]);

/* Prepares a call of CreateItem. */
sd_bus_message *creation(
    sd_bus *bus, const char *collection, const char *session, item_name name, int version, bool replace);
/* Calls CreateItem. The caller frees the item's path. */
char *create(sd_bus *bus, const char *collection, const char *session, item_name name, int version, bool replace);
/* Calls SearchItems for exactly this item. Returns the path of the first unlocked one, which the caller frees. */
char *search(sd_bus *bus, item_name name);
/* Calls SearchItems for every item of the series. Returns the number of unlocked items. */
long search_all(sd_bus *bus, const char *series);
/* Calls GetSecrets for one item. Returns the reply at its parameters, value and content type. */
sd_bus_message *get_secret(sd_bus *bus, const char *item, const char *session);
/* Calls SearchItems and GetSecrets in a plain session. The secret must be the right one. */
void lookup(sd_bus *bus, const char *session, item_name name, int version);
/* Calls Item.Delete. */
void delete_item(sd_bus *bus, const char *item);
