// Systemd: a typed layer over libsystemd. It has the event loop, D-Bus, the journal and logind.
//
// ``EventLoop`` is one sd-event loop. A program has one, on one thread. A registration is an object
// (``EventSource``, ``BusSlot``). Dropping that object ends the registration, even from within its own
// handler. ``Bus`` is a connection to a message bus. ``Message`` reads, ``MessageWriter`` appends,
// ``MethodCall`` is answered once, and ``ObjectInterface`` describes an interface as data.
//
//     let loop = try EventLoop()
//     let bus = try Bus(.session, loop: loop) { loop.exit() }
//     return try loop.run()
//
// ``Journal`` writes log lines with their priority. ``ServiceManager`` passes sockets and readiness.
// ``LoginSession`` and ``LoginMonitor`` read logind's files.
//
// The module promises that nothing waits for a bus: connecting, calls and matches are asynchronous. A
// turn of the loop that takes longer than a moment is interrupted by ``Alarm``, so that a wait in the
// kernel cannot hold up a lock. Messages with secrets can be marked, and sd-bus then erases them when
// they are freed. A message of another type than expected is an error and never a trap.
//
// It does not decide which callers are allowed. sd-bus trusts the connection, so every handler looks at its caller. It believes
// nothing of a bus name but its owner. It does not hide that logind's files can be older than its signals.
