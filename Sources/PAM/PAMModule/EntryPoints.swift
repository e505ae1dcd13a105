import CLatchkeyPAMModule

// The functions that libpam calls. Without the options `passphrase` and `finger` all of them always return PAM_IGNORE. So the
// module lets nobody in and keeps nobody out, wherever it is in a stack.
//
// With `finger`, authenticate lets a person back in at a screen locker, after the device key service verified a finger and gave the
// vault its key. It returns PAM_IGNORE if a finger cannot unlock the vault. The other functions do nothing.
//
// With `passphrase`, authenticate asks for a passphrase, and its result says whether the collection is unlocked. It then never
// returns PAM_IGNORE, even after an error. The other functions do nothing.

/// The argument vector of a module's line, as libpam hands it over.
public typealias Arguments = UnsafeMutablePointer<UnsafePointer<CChar>?>

/// Hands the token to the helper, and keeps it for the session. On a line for a passphrase or a finger, it asks for that instead.
/// In `latchkey-unlock`, it may ask for the former password if the token does not unlock the vault.
@c(pam_sm_authenticate)
public func authenticate(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  // A locker may authenticate several times on one handle, and an earlier token must not outlive the next attempt.
  if let handle { Token.forget(in: handle) }
  let call = Call(handle: handle, count: count, arguments: arguments)
  if Options.asksPassphrase(count: count, arguments: arguments) { return call?.passphrase() ?? PAM_AUTHINFO_UNAVAIL }
  if Options.asksFinger(count: count, arguments: arguments) { return call?.finger() ?? PAM_IGNORE }
  call?.authenticate()
  return PAM_IGNORE
}

/// Tells the helper that a session opened; afterwards it erases the token in any case.
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

/// Creates the vault, if the PAM service is `latchkey-unlock`. With this call the application of that service says that the whole
/// stack has accepted the password and that there is no vault. In other services this does nothing.
///
/// On a line for a passphrase or a finger, this returns success. If it returned PAM_IGNORE, libpam would count no answer at all,
/// and pam_setcred would fail for a stack with only this line. After a refusal by authenticate, libpam fails pam_setcred in any
/// case.
@c(pam_sm_setcred)
public func setCredentials(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  if Options.answers(count: count, arguments: arguments) { return PAM_SUCCESS }
  if UInt32(bitPattern: flags) & PAM_ESTABLISH_CRED != 0 {
    Call(handle: handle, count: count, arguments: arguments)?.createVault()
  }
  return PAM_IGNORE
}

/// Does nothing, because this module does not decide whether an account may log in.
@c(pam_sm_acct_mgmt)
public func manageAccount(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  PAM_IGNORE
}

/// Adds the new password to the vault, or tells the helper that the login password was removed.
@c(pam_sm_chauthtok)
public func changeToken(_ handle: OpaquePointer?, _ flags: Int32, _ count: Int32, _ arguments: Arguments?) -> Int32 {
  // libpam calls this twice. The first call only asks whether the change is possible.
  if flags & PAM_UPDATE_AUTHTOK != 0, !Options.answers(count: count, arguments: arguments) {
    Call(handle: handle, count: count, arguments: arguments, isForToken: true)?.changeToken()
  }
  return PAM_IGNORE
}
