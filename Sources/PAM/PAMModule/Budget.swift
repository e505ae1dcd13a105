import CLatchkeyPAMModule

/// The time that one PAM handle may spend waiting for the helper: one limit for all calls of a login and another for a logout, even
/// if the module is in a stack several times.
///
/// The PAM handle keeps the remaining time as the value of a pointer. So there is no memory to allocate or to clean up. The value
/// is one more than the time, because NULL means "nothing kept".
struct Budget {
  /// Milliseconds for the derivation after a person typed an answer at a prompt. On a slow or busy machine Argon2id takes a minute,
  /// and the helper may have to try several passwords.
  static let prompt: Int64 = 90_000
  /// Milliseconds for a change of the password: the helper tries several passwords, and each takes some time.
  static let change: Int64 = 6000
  /// The time that authenticate leaves for open_session, in milliseconds, because open_session must at least start a helper.
  static let reserve: Int64 = 700

  /// The whole budget, in milliseconds.
  private let total: Int64
  private let key: Literal

  /// The budget of authenticate and open_session together.
  static var login: Budget { Budget(total: 3000, key: "latchkey-budget") }
  /// The budget of close_session, for which no login waits.
  static var logout: Budget { Budget(total: 1000, key: "latchkey-budget-logout") }

  /// Takes the whole remaining time, in milliseconds. The handle has no time left until `giveBack`.
  ///
  /// The budget is taken before it is spent, because libpam may fail to allocate memory for a new name. The result is then nil, and
  /// the call spends no time. Otherwise each call could spend a full budget.
  func take(from handle: OpaquePointer) -> Int64? {
    var data: UnsafeRawPointer?
    var left = total
    if pam_get_data(handle, key.cString, &data) == PAM_SUCCESS, let data {
      left = Int64(Int(bitPattern: data)) &- 1
    }
    return keep(0, in: handle) ? (left < total ? left : total) : nil
  }

  /// Puts back the time that was not used. The name already exists, so this cannot fail.
  func giveBack(_ milliseconds: Int64, to handle: OpaquePointer) {
    _ = keep(milliseconds, in: handle)
  }

  /// Restores the whole budget if some of it was taken.
  func renew(in handle: OpaquePointer) {
    var data: UnsafeRawPointer?
    if pam_get_data(handle, key.cString, &data) == PAM_SUCCESS, data != nil { _ = keep(total, in: handle) }
  }

  private func keep(_ milliseconds: Int64, in handle: OpaquePointer) -> Bool {
    let pattern = UnsafeMutableRawPointer(bitPattern: Int(truncatingIfNeeded: milliseconds) &+ 1)
    return pam_set_data(handle, key.cString, pattern, nil) == PAM_SUCCESS
  }
}
