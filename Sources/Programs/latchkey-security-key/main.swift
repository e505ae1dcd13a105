// latchkey-security-key: the only program that speaks to security keys.
//
// `latchkey` or `latchkey-prompt` starts it for one question about a vault: to list connected keys, to make a new credential, or to
// answer the vault's challenge. Standard input is shared memory with the question, and the program writes its answer there. One
// byte on standard output says that the key waits for a touch.
//
//     main -> SecurityKeyQuestion -> Work -> FIDODevice -> SecurityKeyAnswer
//
// It is a separate program because libfido2, libcbor and OpenSSL parse bytes from a device that anybody may have plugged in. These
// libraries see only one PIN and one answer, in a process that lives as long as a touch takes. The process has no key of the vault,
// reads no file of the user, and speaks to no other program.
//
// The program promises that PIN and answer are in locked memory, in no core dump, and that it erases them at its end, even if a
// signal ends it. It can start no other program and gain no privilege. It sends a PIN only if exactly one key is connected, because
// a wrong PIN counts against the key. It tries PIN and credential before it asks for a touch, so that a person never touches the
// key in vain. It ends three minutes after its start at the latest.
//
// The program does not know whether an answer is right: `latchkey-derive` tries the answer on the keybag.
//
// The program shows nothing and asks nobody. Its caller talks to the person.

import Glibc
import LatchkeyFIDO
import LatchkeyPosix
import LatchkeySecurityKeys
import LatchkeySodium

/// The seconds after which the program ends at the latest.
private let lifeTime = 180

/// Secures the process before the process has a secret.
private func begin() throws {
  try Process.forbidInspection()
  try Process.endWithParent()
  try Process.forbidMore(seconds: 60, fileSize: UInt64(SharedMemory.size))
  Process.overwriteFreedMemory()
  Process.ignoreBrokenPipes()
  umask(0o077)
  // The environment could name files for OpenSSL to load.
  clearenv()
  try Sodium.initialize()
  signal(SIGALRM, SIG_DFL)
  Sodium.eraseWhenEnded()
  var limit = itimerval(it_interval: timeval(), it_value: timeval(tv_sec: lifeTime, tv_usec: 0))
  guard setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &limit, nil) == 0 else { throw PosixError("setitimer") }
  FIDO.begin()
}

guard var memory = SharedMemory(standardInput: ()) else {
  // Standard input has no question, so a person has started this program.
  try? FileDescriptor(owning: dup(STDERR_FILENO)).writeAll(
    Array("latchkey-security-key is started by 'latchkey protector add security-key' and 'latchkey unlock'.".utf8).span
      .bytes)
  exit(64)
}
do {
  try begin()
  guard let question = SecurityKeyQuestion(taking: &memory) else { exit(65) }
  let answer = try Work(question).perform()
  try answer.put(into: &memory)
} catch {
  exit(70)
}
