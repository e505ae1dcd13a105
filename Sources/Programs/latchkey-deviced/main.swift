import Glibc
// latchkey-deviced: the device key service. Arguments and wiring; see DeviceStore and DeviceServer.
import LatchkeyDeviceStore
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// The socket that the service manager passed, or one of our own that every user reaches.
private func deviceSocket(_ options: Options) throws -> LocalSocket {
  if let passed = try ServiceManager.listenDescriptors().first {
    return try LocalSocket(owning: FileDescriptor(owning: passed.fd))
  }
  let socket = try LocalSocket.listen(at: options.socket, backlog: 1024)
  guard chmod(options.socket, 0o666) == 0 else { throw PosixError("chmod") }
  return socket
}

private func serve(_ options: Options) throws -> Int32 {
  try Process.forbidInspection()
  Process.overwriteFreedMemory()
  Process.ignoreBrokenPipes()
  umask(0o077)
  // tpm2-tss would write lines of its own; our lines report failures.
  setenv("TSS2_LOG", "all+none", 1)
  try Sodium.initialize()
  Sodium.eraseWhenEnded()
  let loop = try EventLoop()
  var seals: [any DeviceSeal] = [HostSeal()]
  if let tcti = options.tcti { seals.insert(TPMSeal(tcti: tcti, timeout: options.timeout), at: 0) }
  let accounts = Accounts()
  let store = try DeviceStore(path: options.state, seals: seals, hasAccount: { accounts.contains($0) }) {
    Journal.log(.notice, $0)
  }
  let server = try DeviceServer(
    try deviceSocket(options), loop: loop, store: store, accounts: accounts, idle: options.idle)
  let signals = try [SIGTERM, SIGINT].map { try loop.addSignal($0) { loop.exit() } }
  ServiceManager.notify("READY=1")
  return try withExtendedLifetime((server, signals)) { try loop.run() }
}

do {
  exit(try serve(try Options(CommandLine.arguments)))
} catch Options.Failure.help {
  print(Options.usage)
  exit(0)
} catch Options.Failure.usage {
  print(Options.usage)
  exit(64)
} catch {
  Journal.log(.error, "latchkey-deviced cannot start: \(error)")
  exit(1)
}
