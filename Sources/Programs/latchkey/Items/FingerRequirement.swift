import LatchkeyDoctor
import LatchkeyFingerReaders
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeySystemd

/// Whether anybody can be asked for a finger here.
enum FingerRequirement {
  /// Warns on standard error about an item that nobody can read, because it requires a finger.
  ///
  /// - Parameter require: the item's requirements; nil if they are not changed.
  static func warn(_ require: String?) {
    guard let require, let problem = problem(for: require) else { return }
    let text = translated("Warning: nobody can read the item now. \(problem)")
    StandardStream.error.show("latchkey: \(TerminalText.printable(text))\n")
  }

  /// The reason why nobody can read an item with these requirements, and the remedy; nil if somebody can, or if the command does
  /// not know.
  static func problem(for require: String) -> String? {
    guard let control = try? AccessControl(text: require), !control.conditions.isEmpty,
      !SystemRoot().hasOwnFingerService
    else { return nil }
    let fingers = control.conditions.intersection([.biometryAny, .biometryCurrentSet])
    // With 'or', another condition is enough.
    guard control.combination == .all ? !fingers.isEmpty : fingers == control.conditions else { return nil }
    switch enrolled() {
    case .failure(.noService):
      guard let command = SystemRoot().fingerPackages else {
        return translated("fprintd is not installed, so nobody can be asked for a finger.")
      }
      return translated("fprintd is not installed, so nobody can be asked for a finger: \(command)")
    case .failure(.noReader): return translated("There is no fingerprint reader: connect one.")
    case .success(let readers) where readers.allSatisfy(\.fingers.isEmpty):
      return translated("No finger is enrolled: run 'fprintd-enroll'.")
    case .success, .failure, nil: return nil
    }
  }

  private static func enrolled() -> Result<[EnrolledFingers.Reader], EnrolledFingers.Unknown>? {
    guard let loop = try? EventLoop() else { return nil }
    let question = EnrolledFingers(loop: loop)
    var outcome: Result<[EnrolledFingers.Reader], EnrolledFingers.Unknown>?
    question.ask { outcome = $0 }
    while outcome == nil {
      guard (try? loop.runOnce()) != nil else { return nil }
    }
    return outcome
  }
}
