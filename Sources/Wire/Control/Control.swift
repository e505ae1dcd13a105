// Control: the messages of latchkeyd's control socket.
//
// The socket is in the user's runtime folder. `latchkey-derive` brings keys over it, `latchkey-prompt`
// takes a prompt, and `latchkey` asks for what D-Bus has no words for, such as the status. A message is
// one type (``ControlMessage``): its number, its fields, its answer. A message that brings keys is a
// ``KeyMessage``.
//
//     let client = try ControlClient(runtime: runtime, uid: uid)
//     let status = try client.ask(GetStatus(), until: deadline)
//
// ``ControlClient`` is the end of whoever asks. ``ControlConnection`` is the daemon's end, and
// ``ArrivedPacket`` a packet there. ``ControlTable`` in the daemon has the row that serves each
// message. A new message has three places: the type, that row, and the call.
//
// The module promises that keys cross the socket sealed to a ``OneTimeKey`` of the receiver, because
// the kernel frees the buffers of sockets without clearing them. Packets are read into locked memory.
// Both ends compare the user of the other one with their own. A packet that is too long, cut or of
// unknown form ends its connection and nothing else. Another version is told by numbers that stay the
// same in all versions.
//
// It does not decide anything. Whether keys are wanted and whether a message is refused is the daemon's business. It has no
// messages for backups, generations and the log. Those are in BackupControl, HistoryControl and LogControl, which programs that
// handle passwords do not link. docs/developer/protocols.md has the bytes.
