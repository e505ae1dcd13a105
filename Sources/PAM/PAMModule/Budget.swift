import CLatchkeyPAMModule

/// The time that one PAM handle may spend waiting for the helper: all calls of a login together, or of a logout, however
/// often the module stands in a stack.
///
/// The PAM handle keeps the rest of the time as the pointer itself (plus one, as NULL means "nothing kept"): no memory to
/// allocate, nothing to clean up.
struct Budget {
  /// Milliseconds for the derivation after a person typed an answer at a prompt. On a slow or busy machine Argon2id takes a
  /// minute, and there may be several passwords to try.
  static let prompt: Int64 = 90_000
  /// Milliseconds for a change of the password: each password that is tried costs its time.
  static let change: Int64 = 6000
  /// The time of a login that authenticate leaves over, in milliseconds: open_session must at least start a helper.
  static let reserve: Int64 = 700

  /// Milliseconds.
  private let total: Int64
  private let key: Literal

  /// The time of authenticate and open_session together.
  static var login: Budget { Budget(total: 3000, key: "latchkey-budget") }
  /// For close_session, which no login waits for.
  static var logout: Budget { Budget(total: 1000, key: "latchkey-budget-logout") }

  /// Takes all that is left, in milliseconds. Until `giveBack`, the handle has nothing.
  ///
  /// The budget is taken before it is spent, because libpam allocates memory for a new name. If that fails, the result is nil,
  /// and no time is spent at all, rather than a full budget at each call.
  func take(from handle: OpaquePointer) -> Int64? {
    var data: UnsafeRawPointer?
    var left = total
    if pam_get_data(handle, key.cString, &data) == PAM_SUCCESS, let data {
      left = Int64(Int(bitPattern: data)) &- 1
    }
    return keep(0, in: handle) ? (left < total ? left : total) : nil
  }

  /// Puts back the time that was not used. The name exists by now, so this cannot fail.
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
