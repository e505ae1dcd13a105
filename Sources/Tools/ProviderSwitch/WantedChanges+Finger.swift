import LatchkeyDoctor
import LatchkeyGettext

/// The changes for a finger at the lock screen: one PAM line in front of pam_fprintd.so, in the files of the lockers that ask for
/// a finger.
extension WantedChanges {
  /// Adds the line where it is missing. Only a locker's own file is ever changed.
  mutating func addFingerLines() {
    for line in FingerLine.all(in: root) {
      switch line.place {
      case .none, .there: continue
      case .screenOnly:
        note(
          translated(
            """
            \(line.service) is left as it is: that screen locker runs as the person, so a finger there unlocks the \
            screen only.
            """))
      case .unclear(let path): note(Self.advice(line.service, path))
      case .missing(let path):
        guard case .text(let text) = root.content(path), let after = FingerLine.adding(to: text) else {
          note(Self.advice(line.service, path))
          continue
        }
        // Files of packages are not changed. libpam prefers the administrator's.
        addLine(FingerLine.text, to: "/etc/pam.d/\(line.service)", after, Purpose.fingerLine.filled(line.service))
      }
    }
  }

  private static func advice(_ service: String, _ path: String) -> String {
    translated(
      """
      \(service) is left as it is: the lines of \(path) decide how pam_latchkey.so can be put in front of pam_fprintd.so. \
      pam_latchkey(8) shows the line.
      """)
  }
}
