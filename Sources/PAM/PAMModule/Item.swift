import CLatchkeyPAMModule

/// The items that the application and earlier modules gave libpam.
///
/// This uses only `pam_get_item`, which never asks the person, unlike `pam_get_authtok` and `pam_get_user`.
enum Item {
  case service, user, terminal, remoteHost, token, oldToken

  private var number: Int32 {
    switch self {
    case .service: PAM_SERVICE
    case .user: PAM_USER
    case .terminal: PAM_TTY
    case .remoteHost: PAM_RHOST
    case .token: PAM_AUTHTOK
    case .oldToken: PAM_OLDAUTHTOK
    }
  }

  /// libpam's own string, or nil. It is valid until somebody sets the item again.
  func string(of handle: OpaquePointer) -> UnsafePointer<CChar>? {
    var value: UnsafeRawPointer?
    guard pam_get_item(handle, number, &value) == PAM_SUCCESS else { return nil }
    return value?.assumingMemoryBound(to: CChar.self)
  }

  /// The item's text; empty if the item is not set.
  func text(of handle: OpaquePointer, limit: Int = Request.limit) -> Text {
    Text(string(of: handle), limit: limit)
  }
}
