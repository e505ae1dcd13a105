// PAMModule: pam_latchkey.so, which libpam loads into login, sshd, display managers and lockers.
//
// The module hands the password of a login to `latchkey-derive`, and nothing else. The entry points are
// in EntryPoints.swift. ``Call`` is one call from there to the log line. ``Options`` are the arguments
// of the line in the service file. ``Token`` keeps the password between `authenticate` and
// `open_session`, in locked pages. ``Helper`` starts the program, shares the memory with the
// ``Request``, waits for one byte, and collects the process.
//
//     auth     optional  pam_latchkey.so
//     session  optional  pam_latchkey.so
//
// The module promises that nothing here can fail in its caller. A locker that dies leaves the screen
// unlocked, so nothing traps, allocates without a check, or throws. The login goes on in any case. All
// calls of a login together wait 3 seconds at most (``Budget``). The environment of the caller is never
// asked, and the helper gets a clean one. The password is in no core dump and in no swap, and is erased
// when it is no longer needed.
//
// It is Embedded Swift without a runtime, so no Swift library is loaded into sshd or gdm. It is never
// unloaded, because libpam calls back into it. It does not derive keys, read a vault or speak to the
// daemon. It does not refuse anybody: its result only chooses a log line, except on a line that asks
// for a passphrase. A line that asks for a finger (Call+Finger.swift) lets a person back in at a screen
// locker: a ``DeviceConnection`` asks the device key service, whose ``FingerReply`` becomes the result.
// pam/README.md says where its lines belong, and pam_latchkey(8) has the options.
