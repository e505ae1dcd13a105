#pragma once
#include <adwaita.h>
#include <glib-unix.h>

/* Swift imports neither variadic functions nor macros with arguments. These functions replace them. */

static inline GType latchkey_object_type(void) { return G_TYPE_OBJECT; }

static inline GType latchkey_list_model_type(void) { return G_TYPE_LIST_MODEL; }

static inline GtkWidget *latchkey_message_dialog(GtkWindow *parent, const char *heading, const char *body) {
  GtkWidget *dialog = adw_message_dialog_new(parent, NULL, NULL);
  adw_message_dialog_set_heading(ADW_MESSAGE_DIALOG(dialog), heading);
  adw_message_dialog_set_body(ADW_MESSAGE_DIALOG(dialog), body);
  return dialog;
}

static inline void latchkey_set_accessible_label(GtkWidget *widget, const char *label) {
  gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
}
