// latchkey-ssh-agent: the ssh agent. Here are its arguments and wiring; SSHAgent.swift has the rest.
import Glibc
import LatchkeyGcrypt
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// The socket that the service manager passed, or one of our own; nil without either.
private func listener(_ options: Options) throws -> FileDescriptor? {
  if let path = options.socket { return try FileDescriptor.listen(stream: path) }
  guard let passed = try ServiceManager.listenDescriptors().first else { return nil }
  let flags = fcntl(passed.fd, F_GETFL)
  _ = fcntl(passed.fd, F_SETFL, flags | O_NONBLOCK)
  return FileDescriptor(owning: passed.fd)
}

private func serve(_ options: Options) throws -> Int32 {
  try Process.forbidInspection()
  Process.overwriteFreedMemory()
  Process.ignoreBrokenPipes()
  umask(0o077)
  try Sodium.initialize()
  try Gcrypt.initialize()
  Sodium.eraseWhenEnded(and: Gcrypt.eraseAll)
  if options.asks { return QuestionProgram.run() }
  guard let socket = try listener(options) else {
    print(Options.usage)
    return 64
  }
  Language.begin()
  let loop = try EventLoop()
  let agent = try SSHAgent(
    listener: socket, loop: loop, program: options.promptProgram ?? Process.folder + "/latchkey-ssh-agent",
    arguments: options.promptProgram == nil ? ["--ask"] : [])
  let signals = try [SIGTERM, SIGINT, SIGHUP].map { try loop.addSignal($0) { loop.exit() } }
  ServiceManager.notify("READY=1")
  let status = try withExtendedLifetime((agent, signals)) { try loop.run() }
  if let path = options.socket { unlink(path) }
  return status
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
  Journal.log(.error, "latchkey-ssh-agent cannot start: \(error)")
  exit(1)
}
