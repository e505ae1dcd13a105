/// The relevant PAM files of distributions, as the distributions ship them.
enum Distributions {
  static let ours = ["auth", "session", "password"]

  // MARK: - Debian 12

  static let debian: [String: String] = [
    "/etc/os-release": "NAME=\"Debian GNU/Linux\"\nID=debian\n",
    "/usr/sbin/pam-auth-update": "", "/usr/share/pam-configs/latchkey": "Name: Latchkey\n",
    "/var/lib/pam/auth": "Module: unix\n[success=end default=ignore]\tpam_unix.so nullok\n",
    "/etc/pam.d/common-auth": """
    # here are the per-package modules (the "Primary" block)
    auth\t[success=1 default=ignore]\tpam_unix.so nullok
    auth\trequisite\t\t\tpam_deny.so
    auth\trequired\t\t\tpam_permit.so
    auth\toptional\t\t\tpam_cap.so

    """,
    "/etc/pam.d/common-account": "account [success=1 new_authtok_reqd=done default=ignore] pam_unix.so\n",
    "/etc/pam.d/common-password": """
    password\t[success=1 default=ignore]\tpam_unix.so obscure yescrypt
    password\trequisite\t\t\tpam_deny.so
    password\trequired\t\t\tpam_permit.so

    """,
    "/etc/pam.d/common-session": """
    session\t[default=1]\t\t\tpam_permit.so
    session\trequisite\t\t\tpam_deny.so
    session\trequired\t\t\tpam_permit.so
    session\trequired\tpam_unix.so
    session\toptional\tpam_systemd.so

    """,
    "/etc/pam.d/common-session-noninteractive": """
    session\t[default=1]\t\t\tpam_permit.so
    session\trequisite\t\t\tpam_deny.so
    session\trequired\t\t\tpam_permit.so
    session\trequired\tpam_unix.so

    """,
    "/etc/pam.d/login": """
    auth       optional   pam_faildelay.so  delay=3000000
    auth       requisite  pam_nologin.so
    session [success=ok ignore=ignore module_unknown=ignore default=bad] pam_selinux.so close
    session    required     pam_loginuid.so
    @include common-auth
    auth       optional   pam_group.so
    session    required   pam_limits.so
    @include common-account
    @include common-session
    @include common-password

    """,
    "/etc/pam.d/sshd": """
    @include common-auth
    account    required     pam_nologin.so
    @include common-account
    session    required     pam_loginuid.so
    session    optional     pam_keyinit.so force revoke
    @include common-session
    session    optional     pam_motd.so noupdate
    @include common-password

    """,
    "/etc/pam.d/lightdm": """
    auth      requisite pam_nologin.so
    auth      sufficient pam_succeed_if.so user ingroup nopasswdlogin
    @include common-auth
    -auth  optional pam_gnome_keyring.so
    @include common-account
    session   required        pam_limits.so
    @include common-session
    -session optional        pam_gnome_keyring.so auto_start
    @include common-password

    """,
    "/etc/pam.d/lightdm-greeter": """
    auth      required pam_permit.so
    session   required pam_unix.so
    @include common-session

    """,
    "/etc/pam.d/i3lock": "auth include login\n",
    "/etc/pam.d/xscreensaver": "@include common-auth\n@include common-account\n",
    "/etc/pam.d/passwd": "@include common-password\n",
    "/etc/pam.d/su":
      "auth sufficient pam_rootok.so\n@include common-auth\n@include common-account\n@include common-session\n",
    "/etc/pam.d/cron": "@include common-auth\n@include common-account\n@include common-session-noninteractive\n",
    "/etc/pam.d/other":
      "@include common-auth\n@include common-account\n@include common-password\n@include common-session\n",
    "/usr/lib/pam.d/systemd-user": "@include common-account\n@include common-session-noninteractive\n",
  ]

  // MARK: - Ubuntu 24.04, with sssd

  static let ubuntu: [String: String] = debian.merging([
    "/etc/os-release": "ID=ubuntu\nID_LIKE=debian\n",
    "/etc/pam.d/common-auth": """
    auth\t[success=2 default=ignore]\tpam_unix.so nullok
    auth\t[success=1 default=ignore]\tpam_sss.so use_first_pass
    auth\trequisite\t\t\tpam_deny.so
    auth\trequired\t\t\tpam_permit.so
    auth\toptional\t\t\tpam_cap.so

    """,
    "/etc/pam.d/common-password": """
    password\trequisite\t\t\tpam_pwquality.so retry=3
    password\t[success=2 default=ignore]\tpam_unix.so obscure use_authtok try_first_pass yescrypt
    password\tsufficient\t\t\tpam_sss.so use_authtok
    password\trequisite\t\t\tpam_deny.so
    password\trequired\t\t\tpam_permit.so

    """,
    "/etc/pam.d/common-session": """
    session\t[default=1]\t\t\tpam_permit.so
    session\trequisite\t\t\tpam_deny.so
    session\trequired\t\t\tpam_permit.so
    session optional\t\t\tpam_umask.so
    session\trequired\tpam_unix.so
    session\toptional\t\t\tpam_sss.so
    session\toptional\tpam_systemd.so

    """,
    "/etc/pam.d/gdm-password": """
    #%PAM-1.0
    auth    requisite       pam_nologin.so
    auth\trequired\tpam_succeed_if.so user != root quiet_success
    @include common-auth
    auth    optional        pam_gnome_keyring.so
    @include common-account
    session [success=ok ignore=ignore module_unknown=ignore default=bad]        pam_selinux.so close
    session required        pam_loginuid.so
    session required        pam_env.so readenv=1 user_readenv=1 envfile=/etc/default/locale
    @include common-session
    session optional        pam_gnome_keyring.so auto_start
    @include common-password

    """,
    "/etc/pam.d/gdm-autologin": """
    auth    requisite       pam_nologin.so
    auth    optional        pam_gdm.so
    auth    optional        pam_gnome_keyring.so
    auth    required        pam_permit.so
    @include common-account
    @include common-session

    """,
    "/etc/pam.d/gdm-launch-environment": "auth required pam_permit.so\n@include common-session\n",
  ]) { $1 }

  // MARK: - Fedora 40, authselect's profile `local`

  private static let fedoraSystem = """
    # Generated by authselect
    auth        required                                     pam_env.so
    auth        required                                     pam_faildelay.so delay=2000000
    auth        sufficient                                   pam_fprintd.so
    auth        sufficient                                   pam_unix.so nullok
    auth        required                                     pam_deny.so
    account     required                                     pam_unix.so
    password    requisite                                    pam_pwquality.so
    password    sufficient                                   pam_unix.so yescrypt shadow nullok use_authtok
    password    required                                     pam_deny.so
    session     optional                                     pam_keyinit.so revoke
    session     required                                     pam_limits.so
    -session    optional                                     pam_systemd.so
    session     [success=1 default=ignore]                   pam_succeed_if.so service in crond quiet use_uid
    session     required                                     pam_unix.so

    """

  static let fedora: [String: String] = [
    "/etc/os-release": "ID=fedora\n",
    "/etc/authselect/authselect.conf": "local\nwith-silent-lastlog\nwith-fingerprint\n",
    "/etc/authselect/system-auth": fedoraSystem, "/etc/authselect/password-auth": fedoraSystem,
    "/etc/authselect/postlogin": """
    # Generated by authselect
    session     optional                   pam_umask.so silent
    session     [success=1 default=ignore] pam_succeed_if.so service !~ gdm* service !~ su* quiet
    session     [default=1]                pam_lastlog.so nowtmp silent
    session     optional                   pam_lastlog.so silent noupdate showfailed

    """,
    "/etc/pam.d/login": """
    #%PAM-1.0
    auth       substack     system-auth
    auth       include      postlogin
    account    required     pam_nologin.so
    account    include      system-auth
    password   include      system-auth
    session    required     pam_selinux.so close
    session    required     pam_loginuid.so
    session    required     pam_selinux.so open
    session    required     pam_namespace.so
    session    optional     pam_keyinit.so force revoke
    session    include      system-auth
    session    include      postlogin
    -session   optional     pam_ck_connector.so

    """,
    "/etc/pam.d/sshd": """
    auth       substack     password-auth
    auth       include      postlogin
    account    required     pam_sepermit.so
    account    include      password-auth
    password   include      password-auth
    session    required     pam_loginuid.so
    session    optional     pam_motd.so
    session    include      password-auth
    session    include      postlogin

    """,
    "/etc/pam.d/gdm-password": """
    auth     [success=done ignore=ignore default=bad] pam_selinux_permit.so
    auth        substack      password-auth
    auth        optional      pam_gnome_keyring.so
    auth        include       postlogin
    account     include       password-auth
    password    substack       password-auth
    -password   optional       pam_gnome_keyring.so use_authtok
    session     required      pam_loginuid.so
    session     include       password-auth
    session     optional      pam_gnome_keyring.so auto_start
    session     include       postlogin

    """,
    "/etc/pam.d/passwd": """
    auth       include\tsystem-auth
    account    include\tsystem-auth
    password   substack\tsystem-auth
    -password   optional\tpam_gnome_keyring.so use_authtok
    password   substack\tpostlogin

    """,
    "/etc/pam.d/swaylock": "auth include system-auth\n",
    "/etc/pam.d/crond": """
    account    required   pam_access.so
    account    include    system-auth
    session    required   pam_loginuid.so
    session    include    system-auth
    auth       include    system-auth

    """,
    "/etc/pam.d/vsftpd": "auth include password-auth\nsession include password-auth\n",
    "/etc/pam.d/su": "auth sufficient pam_rootok.so\nauth substack system-auth\nsession include system-auth\n",
  ]

  static let fedoraLinks = ["system-auth", "password-auth", "postlogin"]

  // MARK: - Arch

  static let arch: [String: String] = [
    "/etc/os-release": "ID=arch\n",
    "/etc/pam.d/system-auth": """
    #%PAM-1.0
    auth       required                    pam_faillock.so      preauth
    -auth      [success=2 default=ignore]  pam_systemd_home.so
    auth       [success=1 default=bad]     pam_unix.so          try_first_pass nullok
    auth       [default=die]               pam_faillock.so      authfail
    auth       optional                    pam_permit.so
    auth       required                    pam_env.so
    auth       required                    pam_faillock.so      authsucc
    -account   [success=1 default=ignore]  pam_systemd_home.so
    account    required                    pam_unix.so
    -password  [success=1 default=ignore]  pam_systemd_home.so
    password   required                    pam_unix.so          try_first_pass nullok shadow
    password   optional                    pam_permit.so
    -session   optional                    pam_systemd_home.so
    session    required                    pam_limits.so
    session    required                    pam_unix.so
    session    optional                    pam_permit.so

    """,
    "/etc/pam.d/system-login": """
    #%PAM-1.0
    auth       required   pam_shells.so
    auth       requisite  pam_nologin.so
    auth       include    system-auth
    account    include    system-auth
    password   include    system-auth
    session    optional   pam_loginuid.so
    session    optional   pam_keyinit.so       force revoke
    session    include    system-auth
    session    optional   pam_motd.so
    session    optional   pam_mail.so          dir=/var/spool/mail standard quiet
    session    optional   pam_umask.so
    -session   optional   pam_systemd.so
    session    required   pam_env.so

    """,
    "/etc/pam.d/system-local-login": allInclude("system-login"),
    "/etc/pam.d/system-remote-login": allInclude("system-login"),
    "/etc/pam.d/login": "auth requisite pam_nologin.so\n" + allInclude("system-local-login"),
    "/etc/pam.d/sshd": allInclude("system-remote-login"),
    "/etc/pam.d/gdm-password": """
    auth       include                     system-local-login
    auth       optional                    pam_gnome_keyring.so
    account    include                     system-local-login
    password   include                     system-local-login
    password   optional                    pam_gnome_keyring.so use_authtok
    session    include                     system-local-login
    session    optional                    pam_gnome_keyring.so auto_start

    """,
    "/etc/pam.d/passwd": "auth include system-auth\naccount include system-auth\npassword include system-auth\n",
    "/etc/pam.d/i3lock": "auth include login\n",
    "/etc/pam.d/hyprlock": "auth include login\n",
    "/etc/pam.d/xfce4-screensaver": "auth include system-auth\naccount include system-auth\n",
    "/etc/pam.d/crond": "account include system-auth\nsession required pam_limits.so\n",
    "/usr/lib/pam.d/systemd-user": "account include system-login\nsession required pam_loginuid.so\n",
  ]

  private static func allInclude(_ name: String) -> String {
    ["auth", "account", "password", "session"].map { "\($0) include \(name)\n" }.joined()
  }

  // MARK: - openSUSE Tumbleweed

  static let suse: [String: String] = [
    "/usr/lib/os-release": "ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n",
    "/etc/pam.d/common-auth-pc": """
    #%PAM-1.0
    auth\trequired\tpam_env.so
    auth\trequired\tpam_unix.so\ttry_first_pass

    """,
    "/etc/pam.d/common-password-pc": """
    password\trequisite\tpam_cracklib.so
    password\trequired\tpam_unix.so\tuse_authtok nullok shadow try_first_pass

    """,
    "/etc/pam.d/common-session-pc": """
    session\toptional\tpam_systemd.so
    session\trequired\tpam_limits.so
    session\trequired\tpam_unix.so\ttry_first_pass
    session\toptional\tpam_umask.so
    session\toptional\tpam_env.so

    """,
    "/etc/pam.d/postlogin-auth-pc": "#%PAM-1.0\n", "/etc/pam.d/postlogin-password-pc": "#%PAM-1.0\n",
    "/etc/pam.d/postlogin-session-pc": "#%PAM-1.0\nsession\toptional\tpam_lastlog2.so\n",
    "/usr/lib/pam.d/login": """
    #%PAM-1.0
    auth     requisite      pam_nologin.so
    auth     substack       common-auth
    auth     include        postlogin-auth
    password include        common-password
    password include        postlogin-password
    session  required       pam_loginuid.so
    session  include        common-session
    session  include        postlogin-session
    session  optional       pam_mail.so standard

    """,
    "/usr/lib/pam.d/sshd": """
    auth        requisite   pam_nologin.so
    auth        include     common-auth
    auth        include     postlogin-auth
    password    include     common-password
    session     required    pam_loginuid.so
    session     include     common-session
    session     include     postlogin-session
    """,
    "/usr/lib/pam.d/passwd": "auth include common-auth\npassword include common-password\n",
    "/usr/lib/pam.d/swaylock": "auth include common-auth\n",
    "/usr/lib/pam.d/crond": "session include common-session-nonlogin\n",
  ]

  static let suseLinks = [
    "common-auth", "common-password", "common-session", "postlogin-auth", "postlogin-password", "postlogin-session",
  ]
}
