import LatchkeyPosix

/// Who gets a vault at a first login. The module does not even start the helper for most of the services below; the rule
/// is here as well, beside what it protects.
enum FoundingPolicy {
  /// In these a password is no login: it may be another person's, or nobody's.
  static let excludedServices: Set = [
    "su", "su-l", "sudo", "sudo-i", "runuser", "runuser-l", "pkexec", "polkit-1", "cron", "crond", "atd",
    "systemd-user", "passwd", "chpasswd", "doas", "ksu", "systemd-run0", "chfn", "chsh",
  ]

  /// System accounts get no vault either: nobody logs in as them with a password that should last.
  static func allows(_ account: Account, service: String) -> Bool {
    account.uid >= Account.firstPersonUID && !excludedServices.contains(service)
  }
}
