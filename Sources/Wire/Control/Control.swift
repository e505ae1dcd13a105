// Control: the messages of latchkeyd's control socket.
//
// The socket is in the user's runtime folder. `latchkey-derive` brings keys over it, `latchkey-prompt` takes a prompt, and
// `latchkey` makes requests that D-Bus does not define, such as for the status. A message is one type (``ControlMessage``), which
// has its number, its fields and its answer. A message that brings keys is a ``KeyMessage``.
//
//     let client = try ControlClient(runtime: runtime, uid: uid)
//     let status = try client.ask(GetStatus(), until: deadline)
//
// ``ControlClient`` is the client's end. ``ControlConnection`` is the daemon's end, and ``ArrivedPacket`` is a packet there.
// ``ControlTable`` in the daemon has a row for each message, which serves it. A new message needs three things: its type, its row
// and its call.
//
// The module promises that keys cross the socket only encrypted to a ``OneTimeKey`` of the receiver, because the kernel frees the
// buffers of sockets without clearing them. Packets are read into locked memory. Each end compares the user of the other end with
// its own. A packet that is too long, cut or malformed ends only its own connection. Programs of different versions recognise each
// other by numbers that stay the same in all versions.
//
// It does not decide anything. The daemon decides whether it wants keys and whether it refuses a message. The messages for backups,
// generations and the log are in BackupControl, HistoryControl and LogControl, which programs that handle passwords do not link.
// docs/developer/protocols.md has the bytes.
