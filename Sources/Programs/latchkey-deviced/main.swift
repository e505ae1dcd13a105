// latchkey-deviced: the device key service of the machine.
//
// This is a system service. Its socket starts it, and it ends after an idle minute. It runs as root with hardly a privilege.
// DeviceStore keeps its state on the disk. This program decides who may make which request, and how often: `DeviceServer` has the
// socket, and `DevicePeer` is one connection.
//
//     latchkey-deviced --state /var/lib/latchkey
//
// Every user may connect. The kernel names a peer's user, and each user reaches only their own keys. Root may announce a login of a
// user who gave no password. `DeviceTurns` and `TimeShare` give each user a fair part of the service's time, and `Accounts` looks
// user numbers up without waiting.
//
// The program promises that no user can hold up another user, by connections, by requests, or by keeping
// a TPM busy. The machine's secret never leaves the process, and no answer has a device key in it. A
// user number without an account gets no state on the disk. Garbage ends its own connection and no
// other.
//
// `Holds` keeps covering keys, which a finger releases. It has fprintd verify the finger. So this program talks to D-Bus only while
// it holds a key, and it never waits for the bus.
//
// It does not know vaults or classes: it wraps and unwraps shares, and remembers the numbers of a vault's files. Its only
// configuration file lets an administrator forbid fingers. It does not protect against root. Root can read its state unless a TPM
// seals the secret, and can even then ask the TPM. FORMAT.md has its files, and docs/developer/protocols.md its packets.

import Glibc
import LatchkeyDeviceStore
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// The socket that the service manager passed, or a new socket that every user can reach.
private func deviceSocket(_ options: Options) throws -> LocalSocket {
  if let passed = try ServiceManager.listenDescriptors().first {
    return try LocalSocket(owning: FileDescriptor(owning: passed.fd))
  }
  let socket: LocalSocket
  do throws(PosixError) { socket = try LocalSocket.listen(at: options.socket, backlog: 1024) } catch {
    guard error.code == EADDRINUSE else { throw error }
    var file = stat()
    let isOther = lstat(options.socket, &file) == 0 && file.st_mode & S_IFMT != S_IFSOCK
    throw isOther ? StartFailure.isOtherFile(path: options.socket) : .isServed(path: options.socket)
  }
  guard chmod(options.socket, 0o666) == 0 else { throw PosixError("chmod") }
  return socket
}

/// Why this service cannot start.
private enum StartFailure: Error, CustomStringConvertible {
  /// Another service has the socket or the state, or the service manager waits to start one.
  case isServed(path: String)
  /// A file is in the place of the socket.
  case isOtherFile(path: String)

  var description: String {
    switch self {
    case .isServed(let path):
      "another latchkey-deviced runs, or the service manager starts one: \(path) is in use. Only one can serve a machine. To run "
        + "latchkey-deviced here instead, end the other one first: systemctl stop latchkey-deviced.socket latchkey-deviced.service"
    case .isOtherFile(let path): "\(path) is no socket. Move that file away, and start latchkey-deviced again"
    }
  }
}

/// Opens the state, unless another running service has locked it.
private func deviceStore(_ options: Options, _ seals: [any DeviceSeal], _ accounts: Accounts) throws -> DeviceStore {
  do throws(PosixError) {
    return try DeviceStore(path: options.state, seals: seals, hasAccount: { accounts.contains($0) }) {
      Journal.log(.notice, $0)
    }
  } catch {
    throw error.code == EWOULDBLOCK ? StartFailure.isServed(path: options.state) : error
  }
}

private func serve(_ options: Options) throws -> Int32 {
  try Process.forbidInspection()
  Process.overwriteFreedMemory()
  Process.ignoreBrokenPipes()
  umask(0o077)
  // tpm2-tss would write its own lines into the journal. Our lines already report failures.
  setenv("TSS2_LOG", "all+none", 1)
  try Sodium.initialize()
  Sodium.eraseWhenEnded()
  let loop = try EventLoop()
  var seals: [any DeviceSeal] = [HostSeal()]
  let chip = options.tcti.map { TPMSeal(tcti: $0, timeout: options.timeout) }
  if let chip { seals.insert(chip, at: 0) }
  let accounts = Accounts()
  let store = try deviceStore(options, seals, accounts)
  let holds = Holds(
    loop: loop, accounts: accounts, chip: chip, prints: options.prints, policy: FingerPolicy(file: options.fingers))
  let server = try DeviceServer(
    try deviceSocket(options), loop: loop, store: store, accounts: accounts, holds: holds, idle: options.idle)
  let signals = try [SIGTERM, SIGINT].map { try loop.addSignal($0) { loop.exit() } }
  ServiceManager.notify("READY=1")
  return try withExtendedLifetime((server, signals)) { try loop.run() }
}

ProgramStart.run("latchkey-deviced", usage: Options.usage) { try serve(try Options(CommandLine.arguments)) }
