#ifndef LATCHKEY_GETTEXT_SHIM_H
#define LATCHKEY_GETTEXT_SHIM_H

#include <libintl.h>
#include <locale.h>

#define LATCHKEY_DOMAIN "latchkey"

// Counts changes of the locale. gettext drops its cached translations when this number grows (gettext manual, "Being a gettext
// grok"). It does not notice a changed LANGUAGE by itself.
extern int _nl_msg_cat_cntr;

// A locale with the language of `name`; everything else in it is "C". Null if the system has no locale of this name.
static inline locale_t gettext_language(const char *name) {
  return newlocale(LC_MESSAGES_MASK, name, (locale_t)0);
}

// Sets the folder of the catalogues. Texts are UTF-8 in every locale.
static inline int gettext_open(const char *folder) {
  _nl_msg_cat_cntr++;
  return bindtextdomain(LATCHKEY_DOMAIN, folder) && bind_textdomain_codeset(LATCHKEY_DOMAIN, "UTF-8") ? 0 : -1;
}

// The translation of a text, or the text itself if it has none. The language is set during this call only, so the system's own
// error texts, which also go into logs, stay English.
static inline const char *gettext_find(locale_t language, const char *text) {
  locale_t before = uselocale(language);
  const char *found = dgettext(LATCHKEY_DOMAIN, text);
  uselocale(before);
  return found;
}

// The same as gettext_find, for a text that depends on a number.
static inline const char *gettext_find_plural(
    locale_t language, const char *one, const char *other, unsigned long count) {
  locale_t before = uselocale(language);
  const char *found = dngettext(LATCHKEY_DOMAIN, one, other, count);
  uselocale(before);
  return found;
}

#endif
