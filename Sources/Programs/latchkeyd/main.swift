// latchkeyd: the vault of one user.
//
// One runs for each user, from the first login to the end of the last session. It owns
// `org.freedesktop.secrets` on the session bus and listens on the control socket. This file is
// arguments and wiring. The module Daemon has the decisions, and Sources/Daemon/README.md says what its
// neighbours do.
//
//     latchkeyd --help
//
// Before the first password comes, the vault is sealed: the daemon holds no keys and has opened no item. It already serves the bus,
// because programs of the session ask early.
//
// The program promises that no other process of the user can read its memory, as far as the kernel
// forbids that, and that nothing of it reaches a core dump. Freed memory is overwritten. Signals that
// end it erase its secrets first. It links neither Foundation nor a part of PAM, and starts nothing
// that needs privileges.
//
// It never sees a password. It shows no window, and starts `latchkey-prompt` for windows. It does not end when it is
// idle, because clients keep its objects and keys exist nowhere else. After an upgrade it gives way to the installed
// version as soon as this loses no key. It keeps no configuration beside the user's two files, which the vault and
// ClassRules read.

import Glibc
import LatchkeyClassRules
import LatchkeyControl
import LatchkeyDaemon
import LatchkeyDeviceService
import LatchkeyGcrypt
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// The application id that makes the machine's identity, which is mixed into the device key, differ from that of other programs
/// (machine-id(5)).
private let applicationID: [UInt8] = [
  0x2e, 0x7c, 0x61, 0x90, 0x4f, 0x0d, 0x4b, 0x3f, 0x9a, 0x58, 0xd1, 0x33, 0x6c, 0xe8, 0x17, 0xb4,
]

/// The socket that the service manager passed, or our own socket.
private func controlSocket(_ passed: ServiceManager.ListenDescriptor?, _ options: Options) throws -> LocalSocket {
  if let passed {
    return try LocalSocket(owning: FileDescriptor(owning: passed.fd))
  }
  return try ControlSocket.listen(runtime: options.runtime, owner: options.account.uid)
}

extension ControlSocket.Failure: CustomStringConvertible {
  /// The reason why the daemon has no control socket, and the remedy, for a person.
  public var description: String {
    switch self {
    case .isServed(let path):
      "another latchkeyd of this user runs, or its service manager starts one: \(path) is in use. Only one can serve a vault, on "
        + "one session bus. Start your programs on that bus, as in the desktop's own terminal. To run latchkeyd here instead, end "
        + "the other one first: systemctl --user stop latchkeyd.socket latchkeyd.service"
    case .isOtherFile(let path): "\(path) is no socket. Move that file away, and start latchkeyd again"
    case .system(let error): "\(error)"
    }
  }
}

private func serve(_ options: Options) throws -> Int32 {
  // The first opening of a device key may take a minute.
  let begun = Process.microsecondsSinceBoot
  // This comes before taking the descriptors, because that removes this variable as well.
  let isManaged = getenv("NOTIFY_SOCKET") != nil || getenv("LISTEN_FDS") != nil
  try Process.forbidInspection()
  Process.overwriteFreedMemory()
  Process.ignoreBrokenPipes()
  umask(0o077)
  try Sodium.initialize()
  try Gcrypt.initialize()
  Sodium.eraseWhenEnded(and: Gcrypt.eraseAll)
  let loop = try EventLoop()
  let limit = TurnLimit(turn: { loop.turn }, others: loop.descriptor)
  let vault = Vault(
    home: options.home, owner: options.account.uid, machine: MachineID.appSpecific(applicationID)
  ) { () throws(DeviceKeyError) in try ServiceDeviceKey.find(at: options.deviceSocket, within: limit) }
  let rules = ClassRules(
    user: RulesFile.userPath(home: options.home), shipped: options.rules, owner: options.account.uid
  ) { Journal.log(.warning, $0.text) }
  let passed = try ServiceManager.listenDescriptors()
  let daemon = Daemon(
    loop: loop, vault: vault, rules: rules, owner: options.account.uid, home: options.home,
    devicePath: options.deviceSocket, deviceLimit: limit, promptProgram: options.promptProgram, bus: .session,
    passed: passed, endsWithBus: !isManaged)
  let signals = try [SIGTERM, SIGINT, SIGHUP].map { try loop.addSignal($0) { daemon.stop() } }
  try daemon.start(serving: try controlSocket(Daemon.controlSocket(in: passed), options), begun: begun)
  ServiceManager.notify("READY=1")
  let status = try withExtendedLifetime(signals) { try loop.run() }
  daemon.end()
  return status
}

ProgramStart.run("latchkeyd", usage: Options.usage) { try serve(try Options(CommandLine.arguments)) }
