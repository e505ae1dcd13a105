import CLatchkeyHelper
import CLatchkeyPAMModule

/// The password between authenticate and open_session, in locked pages that the PAM handle owns.
///
/// libpam drops PAM_AUTHTOK when pam_authenticate returns, yet the vault may be created only once the whole stack has
/// accepted the password, and a home folder may be mounted only in the session. So a copy waits here.
///
/// A process that authenticates in a child (sshd with keyboard-interactive) loses it, as PAM data does not come back
/// from a child: the vault then stays sealed until the person is asked.
///
/// If an expired password is changed on the way, the new password replaces it, or it is noted as a former one. If no vault
/// could be created yet, as in a home folder that is mounted later, the former password stays beside the new one.
///
/// The token is kept with the name of its user. Programs that let one person act as another (doas) authenticate one user and
/// open a session of the other. The password of the first must neither open nor create the vault of the second.
enum Token {
  /// The longest token in bytes. The module ignores a longer token, which is not a password.
  static let limit = Int(HELPER_TOKEN_LIMIT)
  /// A length of 4 bytes and the token, then at `userOffset` the same of the user, then a byte, then at `beforeOffset` the same
  /// of the former token, in whole pages.
  private static let mappedSize = 28672
  private static let userOffset = 4 + limit
  private static let formerOffset = userOffset + 4 + Request.limit
  private static let beforeOffset = formerOffset + 4
  private static var key: Literal { "latchkey-token" }

  /// Copies the token and hands the copy to the PAM handle, which erases it at pam_end at the latest. False when there is no
  /// memory; nothing is left behind then. `token` has 1 to `limit` bytes. `before` has at most as many: the former password,
  /// which the vault may need to accept the new one.
  static func keep(_ token: Text, before: Text = .empty, of user: Text, in handle: OpaquePointer) -> Bool {
    guard let start = token.start, token.count <= limit, before.count <= limit, user.count <= Request.limit,
      let pages = LockedPages(size: mappedSize)
    else { return false }
    pages.base.storeBytes(of: UInt32(truncatingIfNeeded: token.count), as: UInt32.self)
    memcpy(pages.base + 4, start, token.count)
    pages.base.storeBytes(of: UInt32(truncatingIfNeeded: user.count), toByteOffset: userOffset, as: UInt32.self)
    if let name = user.start { memcpy(pages.base + userOffset + 4, name, user.count) }
    pages.base.storeBytes(of: UInt32(truncatingIfNeeded: before.count), toByteOffset: beforeOffset, as: UInt32.self)
    if let start = before.start { memcpy(pages.base + beforeOffset + 4, start, before.count) }
    let base = pages.surrender()
    // The cleanup runs when the data is replaced (by nil, too) and at pam_end, also in a forked child, where the pages are
    // the child's own. `-z nodelete` keeps its code mapped after libpam unloads the module.
    let kept = pam_set_data(handle, key.cString, base) { _, data, _ in
      guard let data else { return }
      Token.erase(data)
    }
    guard kept == PAM_SUCCESS else {
      erase(base)
      return false
    }
    return true
  }

  /// The kept token, valid until `forget`; empty when there is none, or it is another user's.
  static func kept(of user: Text, in handle: OpaquePointer) -> Text { text(at: 0, of: user, in: handle) }

  /// The former token, in the same way.
  static func keptBefore(of user: Text, in handle: OpaquePointer) -> Text {
    text(at: beforeOffset, of: user, in: handle)
  }

  private static func text(at offset: Int, of user: Text, in handle: OpaquePointer) -> Text {
    var data: UnsafeRawPointer?
    guard pam_get_data(handle, key.cString, &data) == PAM_SUCCESS, let data else { return .empty }
    guard Int(data.load(fromByteOffset: userOffset, as: UInt32.self)) == user.count, let name = user.start,
      memcmp(data + userOffset + 4, name, user.count) == 0
    else { return .empty }
    let count = Int(data.load(fromByteOffset: offset, as: UInt32.self))
    return Text(start: data + offset + 4, count: count <= limit ? count : 0)
  }

  /// Marks the kept token as the login's no more. It may still open a vault, but must create none.
  static func becomesFormer(in handle: OpaquePointer) {
    var data: UnsafeRawPointer?
    guard pam_get_data(handle, key.cString, &data) == PAM_SUCCESS, let data else { return }
    UnsafeMutableRawPointer(mutating: data).storeBytes(of: 1, toByteOffset: formerOffset, as: UInt8.self)
  }

  /// Whether the kept token is marked so.
  static func isFormer(in handle: OpaquePointer) -> Bool {
    var data: UnsafeRawPointer?
    guard pam_get_data(handle, key.cString, &data) == PAM_SUCCESS, let data else { return false }
    return data.load(fromByteOffset: formerOffset, as: UInt8.self) != 0
  }

  /// Erases and unmaps the kept token, if there is one.
  static func forget(in handle: OpaquePointer) {
    var data: UnsafeRawPointer?
    guard pam_get_data(handle, key.cString, &data) == PAM_SUCCESS, data != nil else { return }
    // An entry that exists is replaced in place, without any allocation: this cannot fail.
    _ = pam_set_data(handle, key.cString, nil, nil)
  }

  private static func erase(_ base: UnsafeMutableRawPointer) {
    _ = LockedPages(adopting: base, size: mappedSize)  // The deinit erases and unmaps it.
  }
}
