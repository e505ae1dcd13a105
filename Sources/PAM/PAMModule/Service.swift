import CLatchkeyPAMModule

/// The PAM service by whose name libpam was started.
struct Service {
  let name: UnsafePointer<CChar>

  /// Services that this module leaves alone in every entry point, whatever stack it was put into.
  ///
  /// The first row runs without a person, `systemd-user` even inside another service's open_session while that user's
  /// manager is still being started. The second changes from one user to another within a session that has its own
  /// login, or only asks for a right: neither begins a session nor may it lift a lock.
  var isIgnored: Bool {
    isNamed("systemd-user") || isNamed("cron") || isNamed("crond") || isNamed("atd")
      || isNamed("su") || isNamed("su-l") || isNamed("sudo") || isNamed("sudo-i") || isNamed("polkit-1")
      || isNamed("runuser") || isNamed("runuser-l") || isNamed("pkexec") || isNamed("passwd") || isNamed("chpasswd")
      || isNamed("doas") || isNamed("ksu") || isNamed("systemd-run0") || isNamed("chfn") || isNamed("chsh")
  }

  /// The service by which a prompt asks for the login password: the only one whose authentication answers a prompt.
  var isUnlock: Bool { isNamed("latchkey-unlock") }

  /// The services of prompts for a passphrase. No other one asks for any, whatever its line says: a greeter or a locker would
  /// ask for it as for the login password.
  var mayAskPassphrase: Bool { isNamed("latchkey-collection") || isNamed("latchkey-item") }

  private func isNamed(_ other: Literal) -> Bool { strcmp(name, other.cString) == 0 }
}
