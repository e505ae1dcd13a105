"""A system prompter that confirms every question, and answers every request for a password with its argument.

The prompter uses gcr's own code without windows. The prompter ends when the bus ends.
"""

import sys

import gi

gi.require_version("Gcr", "3")
from gi.repository import Gcr, Gio, GLib, GObject  # noqa: E402


class Prompt(GObject.Object, Gcr.Prompt):
    """One conversation with a client."""

    __gtype_name__ = "AnsweringPrompt"
    title = GObject.Property(type=str, default="")
    message = GObject.Property(type=str, default="")
    description = GObject.Property(type=str, default="")
    warning = GObject.Property(type=str, default="")
    choice_label = GObject.Property(type=str, default="")
    choice_chosen = GObject.Property(type=bool, default=False)
    password_new = GObject.Property(type=bool, default=False)
    password_strength = GObject.Property(type=int, default=0)
    caller_window = GObject.Property(type=str, default="")
    continue_label = GObject.Property(type=str, default="")
    cancel_label = GObject.Property(type=str, default="")

    def do_prompt_password_async(self, cancellable, callback, *data):
        self._answer(cancellable, callback, data)

    def do_prompt_password_finish(self, result):
        return sys.argv[1]

    def do_prompt_confirm_async(self, cancellable, callback, *data):
        self._answer(cancellable, callback, data)

    def do_prompt_confirm_finish(self, result):
        return Gcr.PromptReply.CONTINUE

    def do_prompt_close(self):
        pass

    def _answer(self, cancellable, callback, data):
        task = Gio.Task.new(self, cancellable, None)
        GLib.idle_add(lambda: callback(self, task) and False)


bus = Gio.bus_get_sync(Gio.BusType.SESSION)
loop = GLib.MainLoop()
bus.connect("closed", lambda *_: loop.quit())
prompter = Gcr.SystemPrompter.new(Gcr.SystemPrompterMode.MULTIPLE, Prompt)
prompter.register(bus)
Gio.bus_own_name_on_connection(
    bus, "org.gnome.keyring.SystemPrompter", Gio.BusNameOwnerFlags.NONE, lambda *_: print("ready", flush=True), None)
loop.run()
