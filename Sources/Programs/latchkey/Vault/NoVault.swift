import Glibc
import LatchkeyDoctor
import LatchkeyGettext
import LatchkeyPosix

/// Tells a person without a connection to a vault why none runs in this session, and how to start it.
enum NoVault {
  /// The way to start the vault.
  ///
  /// A user manager that ran before the installation does not start the socket. The old manager stays with any process of a former
  /// session, so another login may not help.
  static var start: String {
    translated(
      """
      Start it with 'systemctl --user daemon-reload && systemctl --user start latchkeyd.socket', then run 'latchkey \
      unlock'. A login starts it too, once no process of your former sessions runs any more.
      """)
  }

  /// Says that systemd may not start the vault, as after 'latchkey switch --back'; nil if it may.
  static var masked: String? {
    // An administrator's mask comes first: while it exists, the person's own command has no effect.
    if let masked = maskedForAll { return masked }
    guard let home = Account(uid: getuid())?.home,
      let path = UnitFiles(root: SystemRoot(), home: home).mask("latchkeyd.socket")
    else { return nil }
    guard OwnSwitch(root: SystemRoot(), home: home).isHandedBack else {
      return translated(
        """
        no vault is running: latchkeyd.socket is masked by \(path).
        To use Latchkey again, run '\(OwnSwitch.unmask)'.
        """)
    }
    return translated(
      """
      no vault is running: latchkeyd.socket is masked, as 'latchkey switch --back' leaves it.
      To use Latchkey again, run 'latchkey switch --to latchkey'.
      """)
  }

  /// How to start the vault after an administrator turned Latchkey off for everybody.
  static var maskedForAll: String? {
    let machine = MachineSwitch(root: SystemRoot())
    return machine.mask.map { path in
      translated(
        """
        no vault is running: your administrator turned Latchkey off for all users (\(path) masks latchkeyd.socket).
        To turn it on again, an administrator runs '\(machine.unmask)'.
        If the PAM module was taken out of the login too, run 'sudo pam-auth-update --enable latchkey' first.
        """)
    }
  }
}
