#pragma once
/* Without this every log line carries CODE_FILE: a path of the machine that built the program. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>
#include <systemd/sd-journal.h>
#include <systemd/sd-login.h>

/* Swift imports neither variadic functions nor macros with arguments. These functions replace them. */

static inline int latchkey_journal_print(int priority, const char *message) {
  return sd_journal_print(priority, "%s", message);
}

static inline void latchkey_vtable_start(sd_bus_vtable *entry) {
  *entry = (sd_bus_vtable)SD_BUS_VTABLE_START(SD_BUS_VTABLE_UNPRIVILEGED);
}

static inline void latchkey_vtable_end(sd_bus_vtable *entry) { *entry = (sd_bus_vtable)SD_BUS_VTABLE_END; }

/* names: the names of the input arguments and then of the output arguments. A NUL ends each name, and one more NUL
   ends the list. */
static inline void latchkey_vtable_method(
    sd_bus_vtable *entry, const char *member, const char *signature, const char *result, const char *names,
    sd_bus_message_handler_t handler, uint64_t flags) {
  *entry = (sd_bus_vtable)SD_BUS_METHOD(member, signature, result, handler, flags);
  entry->x.method.names = names;
}

static inline void latchkey_vtable_signal(
    sd_bus_vtable *entry, const char *member, const char *signature, const char *names, uint64_t flags) {
  *entry = (sd_bus_vtable)SD_BUS_SIGNAL(member, signature, flags);
  entry->x.signal.names = names;
}

static inline void latchkey_vtable_property(
    sd_bus_vtable *entry, const char *member, const char *signature, sd_bus_property_get_t get,
    sd_bus_property_set_t set, uint64_t flags) {
  if (set)
    *entry = (sd_bus_vtable)SD_BUS_WRITABLE_PROPERTY(member, signature, get, set, 0, flags);
  else
    *entry = (sd_bus_vtable)SD_BUS_PROPERTY(member, signature, get, 0, flags);
}
