/* A client of the Secret Service on sd-bus, for measuring: every call is synchronous and ends the program where it
 * fails, as a measurement of errors says nothing. */
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

/* A connection of its own to DBUS_SESSION_BUS_ADDRESS, after Hello. */
sd_bus *connect_bus(void);
/* org.freedesktop.DBus.Peer.Ping to the bus daemon itself. */
void ping_bus(sd_bus *bus);
/* The same to whoever owns org.freedesktop.secrets: what any call costs at least. */
void ping_service(sd_bus *bus);

/* OpenSession "plain"; the path is the caller's to free. */
char *open_plain(sd_bus *bus);
void close_session(sd_bus *bus, const char *session);

/* The default collection's path, the caller's to free. */
char *default_collection(sd_bus *bus);

/* The item numbered `number` of the series `series`: its attributes, label and secret follow from both. */
typedef struct {
  const char *series;
  long number;
} item_name;

#define SECRET_SIZE 32
void secret_of(item_name name, int version, uint8_t secret[SECRET_SIZE]);

/* CreateItem, ready to be sent. */
sd_bus_message *creation(
    sd_bus *bus, const char *collection, const char *session, item_name name, int version, bool replace);
/* CreateItem; the item's path is the caller's to free. */
char *create(sd_bus *bus, const char *collection, const char *session, item_name name, int version, bool replace);
/* SearchItems for exactly this item; the path of the first unlocked one is the caller's to free. */
char *search(sd_bus *bus, item_name name);
/* SearchItems for every item of the series: how many unlocked ones there are. */
long search_all(sd_bus *bus, const char *series);
/* GetSecrets of one item. Gives back the reply, entered up to parameters, value, content type. */
sd_bus_message *get_secret(sd_bus *bus, const char *item, const char *session);
/* SearchItems and GetSecrets in a plain session; the secret must be the right one. */
void lookup(sd_bus *bus, const char *session, item_name name, int version);
/* Item.Delete. */
void delete_item(sd_bus *bus, const char *item);
