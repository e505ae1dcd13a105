// latchkey-derive: the only program that makes keys of passwords.
//
// pam_latchkey.so or `latchkey` starts it for one request. The request is in shared memory whose
// descriptor comes through descriptor 0, and one byte goes back. `Run` names the operations, and each
// is a type of its own: `SessionOpening` for a login, `PasswordChange`, `KeyRotation`, `Recovery` and
// more.
//
//     main -> Supervisor -> DeriveRequest -> Run -> SessionOpening -> DaemonLink
//
// `Supervisor` lets a slow worker go on after the login. The worker reads the request, becomes the
// user, and opens or creates the keybag. `DaemonLink` then brings the tier keys to the user's daemon,
// sealed.
//
// The program promises that the password is in locked memory, in no core dump, and erased at its end, also if a
// signal ends it. As root it reads no file of the user's. It announces itself to the daemon before its work on
// the password, so a lock during that work wins. A keybag changes in one step, or not at all. A vault is
// created only after the whole stack accepted the password. Its end comes soon: a few minutes at most, whatever
// hangs.
//
// It does not decide whether the daemon may use the keys. It does not log while the caller waits: the module knows the meaning of
// each byte. `LateResult` logs a result without a waiting caller. It reads no vault.db and asks no person. It knows no language but
// English. Its operations are here and on no floor below, so that no other program can link them.

import Glibc
import LatchkeyPosix
import LatchkeySodium

/// If the supervisor does not end the worker in time, the worker ends by itself.
private func limitTime() -> Bool {
  var limit = itimerval(it_interval: timeval(), it_value: timeval(tv_sec: Supervisor.limit / 1000 + 5, tv_usec: 0))
  return setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &limit, nil) == 0
}

private func start(_ channel: borrowing FileDescriptor) throws -> Supervisor.Outlet {
  try Process.forbidInspection()
  try Process.dieWithParent()
  return try Supervisor.start(channel)
}

private func work(
  _ channel: borrowing FileDescriptor, _ outlet: borrowing Supervisor.Outlet, begun: Int
) -> DeriveResult {
  // Called once, before there is a request. From then on a handler erases the content of the request.
  signal(SIGALRM, SIG_DFL)
  guard limitTime() else { return .internalError }
  do { try Sodium.initialize() } catch { return .internalError }
  guard chdir("/") == 0 else { return .internalError }
  umask(0o077)
  guard let request = DeriveRequest.receive(from: channel) else { return .badRequest }
  outlet.tellRequestRead()
  // From here on the channel belongs to the supervisor.
  guard let nothing = try? FileDescriptor.open("/dev/null", flags: O_RDONLY), dup2(nothing.number, channel.number) >= 0
  else { return .internalError }
  guard let account = Account(name: request.user) else { return .internalError }
  // An account with root's number and another name must not reach root's vault.
  guard account.uid != 0 || request.user == "root" else { return .noVault }
  // The shadow file is read while this process is still root.
  let password =
    request.operation.asksForLogin
    ? LoginPassword(of: account, in: request.shadow.isEmpty ? LoginPassword.shadow : request.shadow) : .unknown
  // The admission needs root, too. From here on its connection belongs to this login.
  let admission = SessionAdmission(request, account: account, login: password)
  do {
    try Process.become(account)
    // The kernel allowed inspection again when the user changed.
    try Process.forbidInspection()
    // The system may have the new password already. So the password must open the vault, even if the program that changed it ends.
    if request.operation == .changePassword { outlet.tellOutlives() }
    try Process.endWithParent()
  } catch { return .internalError }
  // The supervisor may have ended before the call.
  guard outlet.isSupervised else { return .internalError }
  return Run(
    request, account: account, login: password, admission: admission, begun: begun, letCallerGo: outlet.callerRelease
  ).perform()
}

/// The start time, taken before any slow step.
private let begun = Process.sinceBoot
private let channel = FileDescriptor(owning: STDIN_FILENO)
guard let kind = try? channel.status().st_mode & S_IFMT, kind == S_IFSOCK else {
  // A person has started this program, and would type a password visibly.
  exit(64)
}
guard let outlet = try? start(channel) else { exit(70) }
outlet.tell(work(channel, outlet, begun: begun))
