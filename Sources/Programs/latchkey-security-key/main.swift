// latchkey-security-key: the only program that speaks to security keys.
//
// `latchkey` or `latchkey-prompt` starts it for one question about a vault: which key is connected, a new credential, or the
// key's answer to the vault's challenge. The question lies in shared memory that is standard input, and
// the answer goes to the same place. One byte on standard output says that the key waits for a touch.
//
//     main -> SecurityKeyQuestion -> Work -> FIDODevice -> SecurityKeyAnswer
//
// It is a program of its own because libfido2, libcbor and OpenSSL parse bytes of a device that
// anybody may have plugged in. They see one PIN and one answer, in a process that lives as long as a
// touch takes. It has no key of the vault, reads no file of the user's, and speaks to nobody else.
//
// The program promises that PIN and answer are in locked memory, in no core dump, and erased at its
// end, also if a signal ends it. It can start no other program and gain no right. It sends a PIN to
// a key only if that key is the only connected one, because a wrong PIN counts. Before the program
// asks for a touch, it has tried PIN and credential, so a person never touches the key in vain. It
// ends three minutes after its start at the latest.
//
// The program does not know whether an answer is right: `latchkey-derive` tries the answer on the keybag.
//
// The program shows nothing and asks nobody. The caller has the words.

import Glibc
import LatchkeyFIDO
import LatchkeyPosix
import LatchkeySecurityKeys
import LatchkeySodium

/// How long the program may live, in seconds.
private let lifeTime = 180

/// Secures the process before the process has a secret.
private func begin() throws {
  try Process.forbidInspection()
  try Process.endWithParent()
  try Process.forbidMore(seconds: 60, fileSize: UInt64(SharedMemory.size))
  Process.overwriteFreedMemory()
  Process.ignoreBrokenPipes()
  umask(0o077)
  // The environment names files for OpenSSL to load.
  clearenv()
  try Sodium.initialize()
  signal(SIGALRM, SIG_DFL)
  Sodium.eraseWhenEnded()
  var limit = itimerval(it_interval: timeval(), it_value: timeval(tv_sec: lifeTime, tv_usec: 0))
  guard setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &limit, nil) == 0 else { throw PosixError("setitimer") }
  FIDO.begin()
}

guard var memory = SharedMemory(standardInput: ()) else {
  // A person has started this program.
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
