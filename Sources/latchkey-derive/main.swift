// latchkey-derive: the only program that ever holds a password. pam_latchkey.so starts it with a request on descriptor 0
// and reads one byte there. It logs nothing; the module knows what each byte means.
import Glibc
import Posix
import Sodium

/// The module waits 3 s in all; whatever hangs here, hangs alone and ends before that. What a person has just been asked
/// for, and a command line, may take longer.
private func limitTime(seconds: Int = DeriveRequest.loginLimit) -> Bool {
  signal(SIGALRM, SIG_DFL)
  var limit = itimerval(it_interval: timeval(), it_value: timeval(tv_sec: seconds, tv_usec: 800_000))
  return setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &limit, nil) == 0
}

private func work(_ channel: borrowing FileDescriptor) -> DeriveResult {
  guard limitTime(seconds: DeriveRequest.commandLimit + 1) else { return .internalError }
  let begun = Process.now
  do {
    try Process.forbidInspection()
    try Process.dieWithParent()
    try Process.goOnInChild()
    guard limitTime() else { return .internalError }
    try Sodium.initialize()
  } catch { return .internalError }
  guard chdir("/") == 0 else { return .internalError }
  umask(0o077)
  guard let request = DeriveRequest.receive(from: channel) else { return .badRequest }
  if request.limit > DeriveRequest.loginLimit { guard limitTime(seconds: request.limit) else { return .internalError } }
  guard let account = Account(name: request.user) else { return .internalError }
  // Another name of root's number is no reason to touch root's vault.
  guard account.uid != 0 || request.user == "root" else { return .noVault }
  // While this is still root, who alone may read it.
  let password =
    request.operation.asksForLogin
    ? LoginPassword(of: account, in: request.shadow.isEmpty ? LoginPassword.shadow : request.shadow) : .unknown
  // So is this: from here on the connection is that of this login, and root is not needed for it any more.
  let admission = SessionAdmission(request, account: account, login: password)
  do {
    try Process.become(account)
    // Changing the user takes both back.
    try Process.forbidInspection()
    // The system may have the new password already: it is to open the vault, whatever becomes of who changed it.
    if request.operation == .changePassword { try Process.outliveParent() } else { try Process.dieWithParent() }
  } catch { return .internalError }
  return Derivation(request, account: account, login: password, admission: admission, begun: begun).run()
}

private let channel = FileDescriptor(owning: STDIN_FILENO)
guard let kind = try? channel.status().st_mode & S_IFMT, kind == S_IFSOCK else {
  // Started by a person, who would type a password where it is shown.
  exit(64)
}
private let result = work(channel)
withUnsafePointer(to: result.rawValue) { _ = send(channel.number, $0, 1, Int32(MSG_NOSIGNAL)) }
