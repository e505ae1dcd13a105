import CLatchkeyHelper

/// The purpose of a PAM service.
enum PAMService: Equatable {
  /// A person logs in by this service, with a password.
  case login
  /// The service asks for the password of somebody who is logged in.
  case locker
  /// A person is logged in without a password.
  case passwordless
  /// The service changes a password.
  case change
  /// The service looks like a login, and is not known.
  case likeLogin
  /// The service is not a login, so it must not have the module.
  case nobody
  /// The service does not matter.
  case other

  private static let logins: Set<String> = [
    "login", "remote", "sshd", "gdm", "gdm-password", "gdm3", "lightdm", "sddm", "greetd", "lxdm", "xdm", "kdm", "slim",
    "ly",
    "plasmalogin", "emptty", "lemurs", "cosmic-greeter", "wdm", "cockpit", "xrdp-sesman",
  ]
  private static let lockers: Set<String> = [
    "i3lock", "swaylock", "xscreensaver", "mate-screensaver", "cinnamon-screensaver", "gnome-screensaver",
    "xsecurelock",
    "vlock", "physlock", "kde", "kscreenlocker", "light-locker", "xfce4-screensaver", "hyprlock", "waylock", "gtklock",
    "slock", "xlock", "xlockmore", "schlock", "swaylock-plugin", "quickshell", "ukui-screensaver-qt",
  ]
  private static let passwordlessOnes: Set<String> = [
    "gdm-autologin", "gdm-fingerprint", "lightdm-autologin", "sddm-autologin", "plasmalogin-autologin",
    "nodm",
  ]
  private static let nobodys: Set<String> = [
    "cron", "crond", "atd", "systemd-user", "gdm-launch-environment", "lightdm-greeter", "sddm-greeter",
    "greetd-greeter",
    "plasmalogin-greeter",
  ]
  private static let others: Set<String> = [
    "other", "newusers", "vsftpd", "proftpd", "pure-ftpd", "ppp", "samba", "cups", "dovecot", "screen",
    "tmux", "config-util", "squid", "imap", "pop3", "smtp", "sshd-keygen", "vmtoolsd", "groupmems", "setup",
    "subscription-manager", "kde-fingerprint", "kde-smartcard", "usermod", "useradd", "groupadd", "chage", "shadow",
  ]

  init(_ name: String, in root: SystemRoot) {
    if Self.logins.contains(name) {
      self = .login
    } else if Self.lockers.contains(name) {
      self = .locker
    } else if Self.passwordlessOnes.contains(name) || name.hasPrefix("gdm-smartcard") {
      self = .passwordless
    } else if name == "passwd" {
      self = .change
    } else if Self.nobodys.contains(name) {
      self = .nobody
    } else if Self.others.contains(name) || helper_excludes_service(name) || name.hasPrefix("common-")
      || name.hasPrefix("postlogin")
      || name.hasPrefix("system-") || name.hasPrefix("latchkey-") || name.hasPrefix("smtp") || name.hasSuffix("-auth")
    {
      self = .other
    } else if let auth = try? PAMStack(name, .auth, in: root), auth.entries.contains(where: { $0.isAsker }),
      let session = try? PAMStack(name, .session, in: root),
      session.entries.contains(where: { $0.module == "pam_systemd.so" })
    {
      self = .likeLogin
    } else {
      self = .other
    }
  }
}

extension PAMStack.Entry {
  var isAsker: Bool { PAMTrial.askers.contains(module) }
  /// Whether the line has our module take the password. A line that asks for a finger does nothing else.
  var isOurs: Bool { module == FingerLine.ours && !options.contains(FingerLine.option) }
  /// The line by which a screen locker unlocks the vault by a finger.
  var asksFinger: Bool { module == FingerLine.ours && options.contains(FingerLine.option) }
  /// Mounts or makes the home folder, in `session`.
  var bringsHome: Bool {
    [
      "pam_mount.so", "pam_mkhomedir.so", "pam_oddjob_mkhomedir.so", "pam_ecryptfs.so", "pam_fscrypt.so",
      "pam_systemd_home.so",
    ].contains(module)
  }
}
