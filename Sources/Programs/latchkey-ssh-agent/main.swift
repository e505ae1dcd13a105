// latchkey-ssh-agent: the ssh agent whose keys are items of the vault.
//
// ssh, git and others connect to its socket, which the user's service manager passes. `SSHAgent` answers their requests, and
// `AgentConnection` is one client. `AgentVault` is the connection to the vault, the same as any client's.
//
//     SSH_AUTH_SOCK=$XDG_RUNTIME_DIR/latchkey/ssh ssh host
//
// Keys that `latchkey ssh` stored are items of the vault. Keys that `ssh-add` brought are in the session's collection.
// `SessionSeal` encrypts them with a key that is itself an item of the vault, so a lock makes both kinds unreadable. A `Question`
// asks the person whether a key may sign. A separate process asks it: this program with `--ask`.
//
// The program promises that it keeps no private key. It reads the key for each signature and erases it afterwards, so only the
// vault decides which keys can sign now. It obeys a key's constraints: lifetime, confirmation, destinations. A question shows the
// meaning of the signed bytes, and the host's name from the list of known hosts.
//
// It does not trust the name of the requesting program (`Asker`), which is only a hint. It does not speak the ssh protocol, and
// forwards nothing. `ssh-add -x` locks only the agent with its own passphrase (`AgentLock`), and not the vault.
//
// A security key signs in its device. `SecurityKeySigning` starts OpenSSH's ssh-sk-helper, which speaks to the device, and a
// `TouchNotice` tells the person to touch it. The agent does not create keys in a security key.

import Glibc
import LatchkeyGcrypt
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySSHProtocol
import LatchkeySodium
import LatchkeySystemd

/// The socket from the options or from the service manager; nil if there is neither.
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
