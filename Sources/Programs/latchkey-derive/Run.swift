import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix

/// One operation of the helper. Each has a type of its own.
protocol Operation {
  init(_ run: Run)

  /// Does the work.
  func perform() throws -> DeriveResult
}

/// One run of the helper, as the user: the request, and the means to serve it.
final class Run {
  let request: DeriveRequest
  let account: Account
  /// Whether the login has a password, as far as it is known.
  let login: LoginPassword
  /// Whether the device key may open a part of the vault at this login, in which nobody gave a password.
  let admission: SessionAdmission
  /// Has the caller go on without the result.
  let letCallerGo: () -> Void
  let daemon: DaemonLink
  let keybags: KeybagPlace
  /// The deadline of all answers together, before the supervisor ends the process.
  let end: Int

  /// - Parameters:
  ///   - begun: when the process began, on the clock of `Process.sinceBoot`.
  ///   - letCallerGo: has the caller go on without the result.
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
      do { return try operation.init(self).perform() } catch ControlError.givesWay {
        // The daemon is replaced once at most. If the installed daemon is of another version as well, ending it gains nothing.
        if let result = try DaemonReplacement(self).perform() { return result }
        return try operation.init(self).perform()
      }
    } catch { return DeriveResult(error) }
  }

  private var operation: any Operation.Type {
    switch request.operation {
    case .authenticate: Authentication.self
    case .openSession: SessionOpening.self
    case .createVault: VaultCreation.self
    case .closeSession: SessionClosing.self
    case .passphrase: PromptPassphrase.self
    case .rotate: KeyRotation.self
    case .createRecoveryCode: RecoveryCodeCreation.self
    case .checkRecoveryCode: RecoveryCodeCheck.self
    case .recover: Recovery.self
    case .removeRecoveryCode: RecoveryCodeRemoval.self
    case .removePassword: PasswordRemoval.self
    case .changePassword: PasswordChange.self
    case .rewrap: PasswordRepair.self
    case .addSession: SessionProtectorAddition.self
    case .removeSession: SessionProtectorRemoval.self
    case .addSecurityKey: SecurityKeyAddition.self
    case .openBySecurityKey: SecurityKeyOpening.self
    case .removeSecurityKey: SecurityKeyRemoval.self
    case .renameSecurityKey: SecurityKeyRenaming.self
    case .addFinger, .addFingerInMemory: FingerProtectorAddition.self
    case .removeFinger: FingerProtectorRemoval.self
    }
  }

  /// Whether the password of this login may open the vault from now on.
  var mayTrustToken: Bool { request.mayCreate && CreationPolicy.allows(account, service: request.service) }
}
