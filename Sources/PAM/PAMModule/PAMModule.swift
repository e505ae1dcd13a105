// PAMModule: pam_latchkey.so, which libpam loads into login, sshd, display managers and lockers.
//
// The module hands the password of a login to `latchkey-derive`, and does nothing else. The entry points are in EntryPoints.swift.
// ``Call`` is one call of libpam, from its entry point to its log line. ``Options`` are the arguments of the line in the service
// file. ``Token`` keeps the password between `authenticate` and `open_session`, in locked pages. ``Helper`` starts the program,
// shares the memory with the ``Request``, waits for one byte, and collects the process.
//
//     auth     optional  pam_latchkey.so
//     session  optional  pam_latchkey.so
//
// The module promises that it never makes its caller fail. A locker that crashes leaves the screen unlocked. So nothing here traps,
// allocates without a check, or throws. The login goes on in any case. All calls of a login together wait at most 3 seconds
// (``Budget``). The module never reads the caller's environment, and gives the helper a clean one. The password is in no core dump
// and in no swap, and is erased when it is no longer needed.
//
// It is Embedded Swift without a runtime, so no Swift library is loaded into sshd or gdm. libpam never unloads it, because libpam
// calls its cleanup function later. It does not derive keys, read a vault or speak to the daemon. It refuses nobody: the helper's
// answer only chooses a log line, except on a line that asks for a passphrase. A line that asks for a finger (Call+Finger.swift)
// lets a person back in at a screen locker: a ``DeviceConnection`` asks the device key service, and its ``FingerReply`` becomes the
// result. pam/README.md says where the module's lines belong, and pam_latchkey(8) has the options.
