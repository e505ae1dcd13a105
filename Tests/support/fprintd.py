"""A session's system bus with a stand-in for fprintd. The test chooses the enrolled fingers.

Tests/Desktop has the real fprintd, with libfprint's virtual reader. As a program, `fprintd.py STATE` owns the name on
the bus in DBUS_SYSTEM_BUS_ADDRESS. The program reads the file STATE for each call. The sizes of STATE.asked and
STATE.answered are the numbers of calls and answers.
"""

import json
import pathlib
import shutil
import sys

from gi.repository import Gio, GLib

# The session runs a copy of this file, without the package beside it.
if __name__ != "__main__":
    from support.systembus import SystemBus, ended, started

NAME = "net.reactivated.Fprint"
MANAGER = "/net/reactivated/Fprint/Manager"
DEVICE = "/net/reactivated/Fprint/Device/"
# A state may have one of these words instead of fingers. The first is fprintd's error for a user without prints. With
# the second, the stand-in does not answer.
NO_PRINTS = "NoEnrolledPrints"
SILENT = "silent"
INTERFACES = f"""<node>
  <interface name="{NAME}.Manager"><method name="GetDevices"><arg type="ao" direction="out"/></method></interface>
  <interface name="{NAME}.Device">
    <method name="ListEnrolledFingers"><arg type="s" direction="in"/><arg type="as" direction="out"/></method>
    <property name="name" type="s" access="read"/>
  </interface>
</node>"""


class Fprintd:
    """The bus and the stand-in. `set` chooses the readers. Without the stand-in, nothing answers."""

    def __init__(self, session):
        self.session = session
        self.state = session.root / "fprintd"
        self.set()
        program = session.root / "bin/fprintd.py"
        shutil.copy(__file__, program)
        self._bus = SystemBus.of(session)
        self._program = None
        self.start()

    def start(self):
        self._program = started(self.session.start, "/usr/bin/python3", self.session.root / "bin/fprintd.py", self.state)

    def stop(self):
        """Ends the stand-in."""
        if self._program:
            ended(self._program)
            self._program = None

    def close(self):
        """Ends the stand-in and the bus."""
        self.stop()
        if self._bus:
            self._bus.close()
            self._bus = None

    def set(self, readers=None):
        """The readers by name, each with its fingers. Instead of the fingers, the end of an error's name or SILENT."""
        fresh = self.state.with_suffix(".new")
        fresh.write_text(json.dumps(readers or {}))
        fresh.chmod(0o644)
        # Delayed answers are sent now.
        fresh.rename(self.state)

    @property
    def asked(self):
        """The number of calls for fingers."""
        return self._count("asked")

    @property
    def answered(self):
        """The number of answers."""
        return self._count("answered")

    def _count(self, what):
        file = self.state.with_suffix(f".{what}")
        return file.stat().st_size if file.exists() else 0


def serve(state):
    """The program."""
    loop = GLib.MainLoop()
    bus = Gio.bus_get_sync(Gio.BusType.SYSTEM, None)
    readers = lambda: json.loads(state.read_text())
    nodes = Gio.DBusNodeInfo.new_for_xml(INTERFACES)

    def manage(_bus, _sender, _path, _interface, _method, _parameters, call):
        call.return_value(GLib.Variant("(ao)", ([f"{DEVICE}{number}" for number in range(len(readers()))],)))

    def answer(number, call):
        fingers = list(readers().values())[number]
        if fingers == SILENT:
            return True
        if isinstance(fingers, str):
            call.return_dbus_error(f"{NAME}.Error.{fingers}", "")
        else:
            call.return_value(GLib.Variant("(as)", (fingers,)))
        bus.flush_sync(None)
        count("answered")
        return False

    def count(what):
        with open(f"{state}.{what}", "a") as file:
            file.write("?")

    def tell(_bus, _sender, path, _interface, _method, parameters, call):
        assert parameters.unpack() == ("",), "only of whoever asks"
        count("asked")
        number = int(path.removeprefix(DEVICE))
        if answer(number, call):
            GLib.timeout_add(10, answer, number, call)

    def name(_bus, _sender, path, _interface, _name):
        return GLib.Variant("s", list(readers())[int(path.removeprefix(DEVICE))])

    bus.register_object(MANAGER, nodes.interfaces[0], manage, None, None)
    for number in range(4):
        bus.register_object(f"{DEVICE}{number}", nodes.interfaces[1], tell, name, None)
    Gio.bus_own_name_on_connection(
        bus, NAME, Gio.BusNameOwnerFlags.NONE, lambda *_: print("ready", flush=True), lambda *_: loop.quit())
    loop.run()


if __name__ == "__main__":
    serve(pathlib.Path(sys.argv[1]))
