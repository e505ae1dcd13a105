import CLatchkeyPAMModule

// The functions that libpam calls. Without the options `passphrase` and `finger` every one of them returns PAM_IGNORE, always:
// the module neither lets anybody in nor keeps anybody out, wherever in a stack it stands.
//
// With `finger`, authenticate lets a person back in at a screen locker, after the device key service verified a finger and gave
// the vault its key. It returns PAM_IGNORE wherever that cannot be done. The others do nothing.
//
// With `passphrase`, authenticate asks, and answers whether the collection opened; it never returns PAM_IGNORE then, even after an
// error. The others do nothing.

/// The argument vector of a module's line, as libpam hands it over.
public typealias Arguments = UnsafeMutablePointer<UnsafePointer<CChar>?>

/// Hands the token to the helper, and keeps it for the session; or asks for a passphrase or a finger. In `latchkey-unlock`, where the
/// token opens nothing, it may ask for a former password.
@c(pam_sm_authenticate)
public func authenticate(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  // A locker may authenticate again and again on one handle: an earlier token must not outlive the next attempt.
  if let handle { Token.forget(in: handle) }
  let call = Call(handle: handle, count: count, arguments: arguments)
  if Options.asksPassphrase(count: count, arguments: arguments) { return call?.passphrase() ?? PAM_AUTHINFO_UNAVAIL }
  if Options.asksFinger(count: count, arguments: arguments) { return call?.finger() ?? PAM_IGNORE }
  call?.authenticate()
  return PAM_IGNORE
}

/// Tells the helper that a session opened; the token is gone afterwards in any case.
@c(pam_sm_open_session)
public func openSession(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  if !Options.answers(count: count, arguments: arguments) {
    Call(handle: handle, count: count, arguments: arguments)?.openSession()
  }
  if let handle { Token.forget(in: handle) }
  return PAM_IGNORE
}

/// Tells the helper that a session ended.
@c(pam_sm_close_session)
public func closeSession(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  if !Options.answers(count: count, arguments: arguments) {
    Call(handle: handle, count: count, arguments: arguments)?.closeSession()
  }
  return PAM_IGNORE
}

/// Creates the vault in `latchkey-unlock`. By this call its application says that the whole stack accepted the password, and
/// that there is no vault. Other services have nothing to do here.
///
/// A line that asks for a passphrase or a finger answers success. If a line's authenticate answered and its setcred is ignored, libpam counts that as no
/// answer, and pam_setcred of a stack with only this line would fail. A line whose authenticate refused fails all the same.
@c(pam_sm_setcred)
public func setCredentials(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  if Options.answers(count: count, arguments: arguments) { return PAM_SUCCESS }
  if UInt32(bitPattern: flags) & PAM_ESTABLISH_CRED != 0 {
    Call(handle: handle, count: count, arguments: arguments)?.createVault()
  }
  return PAM_IGNORE
}

/// Nothing to do: whether an account may log in is not this module's business.
@c(pam_sm_acct_mgmt)
public func manageAccount(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  PAM_IGNORE
}

/// Lets the vault open with the new password as well, or tells the helper that the password was removed.
@c(pam_sm_chauthtok)
public func changeToken(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  // libpam calls twice. The first call only asks whether the change could be made.
  if flags & PAM_UPDATE_AUTHTOK != 0, !Options.answers(count: count, arguments: arguments) {
    Call(handle: handle, count: count, arguments: arguments, isForToken: true)?.changeToken()
  }
  return PAM_IGNORE
}
