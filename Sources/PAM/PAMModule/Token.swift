import CLatchkeyHelper
import CLatchkeyPAMModule

/// The password between authenticate and open_session, in locked pages that the PAM handle owns.
///
/// libpam drops PAM_AUTHTOK when pam_authenticate returns. But the module may create the vault only after the whole stack has
/// accepted the password, and a home folder may be mounted only in the session. So a copy waits here.
///
/// If a process authenticates in a child (sshd with keyboard-interactive), the token is lost, because PAM data does not come back
/// from a child. The vault then stays sealed until a prompt asks the person.
///
/// If the person changes an expired password during the login, the new password replaces the token, or the token is marked as a
/// former password. If the vault cannot be reached yet, for example because the home folder is mounted later, the former password
/// is kept beside the new one.
///
/// The token is kept with the name of its user. Some programs (doas) authenticate one user and then open a session of another user.
/// The first user's password must neither unlock nor create the second user's vault.
enum Token {
  /// The longest token in bytes. The module ignores a longer token, which is not a password.
  static let limit = Int(HELPER_TOKEN_LIMIT)
  /// The size of the pages. They hold three texts, each after a length of 4 bytes: the token, the user's name at `userOffset`, and
  /// the former token at `beforeOffset`. The byte at `formerOffset` is the mark of a former token.
  private static let mappedSize = 28672
  private static let userOffset = 4 + limit
  private static let formerOffset = userOffset + 4 + Request.limit
  private static let beforeOffset = formerOffset + 4
  private static var key: Literal { "latchkey-token" }

  /// Copies the token and hands the copy to the PAM handle, which erases it at pam_end at the latest. Returns false if there is no
  /// memory, and then keeps nothing. `token` has 1 to `limit` bytes. `before` is the former password, which the vault may need to
  /// accept the new one; it has at most `limit` bytes.
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
    // libpam calls this cleanup when the data is replaced, even by nil, and at pam_end. A forked child has its own copy of the
    // pages and cleans up too. The linker's option `-z nodelete` keeps the code in memory after libpam unloads the module.
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

  /// The kept token, valid until `forget`; empty if there is none, or if it belongs to another user.
  static func kept(of user: Text, in handle: OpaquePointer) -> Text { text(at: 0, of: user, in: handle) }

  /// The former token, under the same conditions.
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

  /// Marks the kept token as a former password. It may still unlock a vault, but must not create one.
  static func becomesFormer(in handle: OpaquePointer) {
    var data: UnsafeRawPointer?
    guard pam_get_data(handle, key.cString, &data) == PAM_SUCCESS, let data else { return }
    UnsafeMutableRawPointer(mutating: data).storeBytes(of: 1, toByteOffset: formerOffset, as: UInt8.self)
  }

  /// Whether the kept token is marked as a former password.
  static func isFormer(in handle: OpaquePointer) -> Bool {
    var data: UnsafeRawPointer?
    guard pam_get_data(handle, key.cString, &data) == PAM_SUCCESS, let data else { return false }
    return data.load(fromByteOffset: formerOffset, as: UInt8.self) != 0
  }

  /// Erases and unmaps the kept token, if there is one.
  static func forget(in handle: OpaquePointer) {
    var data: UnsafeRawPointer?
    guard pam_get_data(handle, key.cString, &data) == PAM_SUCCESS, data != nil else { return }
    // libpam replaces an existing entry in place, without allocating memory, so this cannot fail.
    _ = pam_set_data(handle, key.cString, nil, nil)
  }

  private static func erase(_ base: UnsafeMutableRawPointer) {
    _ = LockedPages(adopting: base, size: mappedSize)  // Its deinit erases and unmaps the pages.
  }
}
