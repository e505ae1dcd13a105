import CLatchkeyHelper
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix

/// One run of the helper, as the user: the request, and the means to serve it.
final class Run {
  let request: DeriveRequest
  let account: Account
  /// Whether the login has a password, as far as this program can know it.
  let login: LoginPassword
  /// Whether the device key may open a part of the vault at this login, in which nobody gave a password.
  let admission: SessionAdmission
  /// Lets the caller continue without the result.
  let letCallerGo: () -> Void
  let daemon: DaemonLink
  let keybags: KeybagPlace
  /// The deadline of all answers together, before the supervisor ends the process.
  let end: Int

  /// - Parameters:
  ///   - begun: when the process began, on the clock of `Process.sinceBoot`.
  ///   - letCallerGo: lets the caller continue without the result.
  init(
    _ request: consuming DeriveRequest, account: Account, login: LoginPassword, admission: consuming SessionAdmission,
    begun: Int, letCallerGo: @escaping () -> Void
  ) {
    self.letCallerGo = letCallerGo
    self.login = login
    self.admission = admission
    self.account = account
    end = Process.now + begun + Supervisor.limit - 5000 - Process.sinceBoot
    daemon = DaemonLink(request, uid: account.uid, end: end)
    keybags = KeybagPlace(home: request.home.isEmpty ? account.home : request.home, uid: account.uid, daemon: daemon)
    self.request = request
  }

  func perform() -> DeriveResult {
    do {
      do { return try performOnce() } catch ControlError.givesWay {
        // The daemon is replaced once at most. If the installed daemon has another version too, its end gains nothing.
        if let result = try DaemonReplacement(run: self).perform() { return result }
        return try performOnce()
      }
    } catch { return DeriveResult(error) }
  }

  /// Runs the requested operation. Each operation that does more than change a protector has its own type.
  private func performOnce() throws -> DeriveResult {
    switch request.operation {
    case .authenticate: try Authentication(run: self).perform()
    case .openSession: try SessionOpening(run: self).perform()
    case .createVault: try VaultCreation(run: self).perform()
    case .closeSession: try SessionClosing(run: self).perform()
    case .passphrase: try PromptPassphrase(run: self).perform()
    case .rotate: try KeyRotation(run: self).perform()
    case .createRecoveryCode: try RecoveryCodeCreation(run: self).perform()
    case .checkRecoveryCode: try RecoveryCodeCheck(run: self).perform()
    case .recover: try Recovery(run: self).perform()
    case .removeRecoveryCode: try ProtectorChange(run: self).removeRecoveryCode()
    case .removePassword: try PasswordRemoval(run: self).perform()
    case .changePassword: try PasswordChange(run: self).perform()
    case .rewrap: try PasswordRepair(run: self).perform()
    case .addSession: try ProtectorChange(run: self).addSession()
    case .removeSession: try ProtectorChange(run: self).removeSession()
    case .addSecurityKey: try ProtectorChange(run: self).addSecurityKey()
    case .openBySecurityKey: try SecurityKeyOpening(run: self).perform()
    case .removeSecurityKey: try ProtectorChange(run: self).removeSecurityKey()
    case .renameSecurityKey: try ProtectorChange(run: self).renameSecurityKey()
    case .addFinger: try ProtectorChange(run: self).addFinger(mayBeInMemory: false)
    case .addFingerInMemory: try ProtectorChange(run: self).addFinger(mayBeInMemory: true)
    case .removeFinger: try ProtectorChange(run: self).removeFinger()
    }
  }

  /// Whether the password of this login may open the vault from now on, or create one. System accounts get no vault, because nobody
  /// logs in to them with a permanent password. The module does not even start the helper for most of the excluded services. The
  /// helper repeats the rule beside the code that it protects.
  var mayTrustToken: Bool {
    request.mayCreate && account.uid >= Account.firstPersonUID && !helper_excludes_service(request.service)
  }
}
