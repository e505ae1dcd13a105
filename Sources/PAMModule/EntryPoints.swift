import CPAMModule

// What libpam calls. Every one of them returns PAM_IGNORE, always: this module neither lets anybody in nor keeps
// anybody out, wherever in a stack it stands.

/// The argument vector of a module's line, as libpam hands it over.
public typealias Arguments = UnsafeMutablePointer<UnsafePointer<CChar>?>

/// Hands the token to the helper, and keeps it for the session.
@c(pam_sm_authenticate)
public func authenticate(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  // A locker may authenticate again and again on one handle: an earlier token does not outlive the next attempt.
  if let handle { Token.forget(in: handle) }
  Call(handle: handle, count: count, arguments: arguments)?.authenticate()
  return PAM_IGNORE
}

/// Tells the helper that a session opened; the token is gone afterwards, whatever happened.
@c(pam_sm_open_session)
public func openSession(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  Call(handle: handle, count: count, arguments: arguments)?.openSession()
  if let handle { Token.forget(in: handle) }
  return PAM_IGNORE
}

/// Tells the helper that a session ended.
@c(pam_sm_close_session)
public func closeSession(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  Call(handle: handle, count: count, arguments: arguments)?.closeSession()
  return PAM_IGNORE
}

/// Nothing to do: there are no credentials of the process to set.
@c(pam_sm_setcred)
public func setCredentials(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  PAM_IGNORE
}

/// Nothing to do: whether an account may log in is not this module's business.
@c(pam_sm_acct_mgmt)
public func manageAccount(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  PAM_IGNORE
}

/// Nothing to do yet: the vault follows a new password at the next login.
@c(pam_sm_chauthtok)
public func changeToken(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  PAM_IGNORE
}
