// latchkey-derive: the only program that ever holds a password. pam_latchkey.so starts it with a request on descriptor 0
// and reads one byte there. It logs nothing; the module knows what each byte means.
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
  // From here on the channel is the supervisor's.
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
    // The change of the user has reset this.
    try Process.forbidInspection()
    // The system may have the new password already. So it must open the vault, even if the program that changed it ends.
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
