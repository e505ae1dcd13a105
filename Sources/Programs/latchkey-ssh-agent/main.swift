// latchkey-ssh-agent: the ssh agent whose keys are items of the vault.
//
// ssh, git and others connect to its socket, which the user's service manager passes. `SSHAgent`
// answers their requests, and `AgentConnection` is one client. `AgentVault` is the way to the vault,
// which is the way of every client.
//
//     SSH_AUTH_SOCK=$XDG_RUNTIME_DIR/latchkey/ssh ssh host
//
// Keys that `latchkey ssh` stored are items. Keys of `ssh-add` are in the session's collection, and
// `SessionSeal` seals them once more under a key that is an item of the vault. So a lock takes both
// away. A `Question` asks whether a key may sign, by a process of its own, which is the same program
// with `--ask`.
//
// The program promises that it keeps no private key. It reads a private key for each signature and erases it
// afterwards, so the vault alone decides which keys can sign now. Constraints of a key are kept: lifetime,
// confirmation, destinations. The person reads what the signed bytes say, and the host's name as the list of known
// hosts has it.
//
// It does not trust the name of the program that asks (`Asker`): that is a hint. It does not speak ssh,
// and forwards nothing. `ssh-add -x` locks only the agent, by a passphrase of its own (`AgentLock`),
// and not the vault.
//
// The key of a security key signs in its device. `SecurityKeySigning` starts OpenSSH's ssh-sk-helper, which
// speaks to the device, and a `TouchNotice` tells the person to touch it. The agent makes no such keys.

import Glibc
import LatchkeyGcrypt
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySSHProtocol
import LatchkeySodium
import LatchkeySystemd

/// The socket that the service manager passed, or our own socket; nil without either.
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
  if let question = options.passphraseQuestion { return PassphraseProgram.run(question) }
  if options.asks { return QuestionProgram.run() }
  guard let socket = try listener(options) else {
    print(Options.usage)
    return 64
  }
  Language.begin()
  let loop = try EventLoop()
  let agent = try SSHAgent(
    listener: socket, loop: loop, program: options.promptProgram ?? Process.folder + "/latchkey-ssh-agent",
    arguments: options.promptProgram == nil ? ["--ask"] : [], providers: ProviderList(options.providers))
  let signals = try [SIGTERM, SIGINT, SIGHUP].map { try loop.addSignal($0) { loop.exit() } }
  ServiceManager.notify("READY=1")
  let status = try withExtendedLifetime((agent, signals)) { try loop.run() }
  if let path = options.socket { unlink(path) }
  return status
}

ProgramStart.run("latchkey-ssh-agent", usage: Options.usage) { try serve(try Options(CommandLine.arguments)) }
