// latchkey-derive: the only program that ever holds a password. pam_latchkey.so starts it with a request on descriptor 0
// and reads one byte there. It logs nothing; the module knows what each byte means.
import Glibc
import Posix
import Sodium

/// The module waits 3 s in all; whatever hangs here, hangs alone.
private let timeLimit: UInt32 = 3

private func work(_ channel: borrowing FileDescriptor) -> DeriveResult {
  alarm(timeLimit)
  do {
    try Process.forbidInspection()
    try Process.dieWithParent()
    try Sodium.initialize()
  } catch { return .internalError }
  guard chdir("/") == 0 else { return .internalError }
  umask(0o077)
  guard let request = DeriveRequest.receive(from: channel) else { return .badRequest }
  guard let account = Account(name: request.user) else { return .badRequest }
  do {
    try Process.become(account)
    // Changing the user takes both back.
    try Process.forbidInspection()
    try Process.dieWithParent()
  } catch { return .internalError }
  return Derivation(request, account: account).run()
}

private let channel = FileDescriptor(owning: STDIN_FILENO)
private let result = work(channel)
withUnsafePointer(to: result.rawValue) { _ = send(channel.number, $0, 1, Int32(MSG_NOSIGNAL)) }
