import LatchkeyControl
import LatchkeyGettext
import LatchkeyPosix
import LatchkeyPrompters
import LatchkeyReasons
import LatchkeySystemd

/// Unlocks the vault by a finger, in the place of the login password, after a password has unlocked it before. latchkeyd has the device
/// key service verify the finger: this program only shows that the reader waits.
final class FingerWay: OtherWay {
  private let options: Options
  private let deadline: PromptDeadline
  private let whenUnlocked: () -> Void
  /// Whether the caller's terminal is at another machine than the reader.
  private let isAway: Bool

  /// How long the daemon may take to answer after the touch, in milliseconds.
  private static let answerLimit = 2000

  /// Nil if no finger unlocks the vault now.
  ///
  /// - Parameters:
  ///   - request: the prompt.
  ///   - status: the daemon's report.
  ///   - whenUnlocked: called at once when the vault is unlocked. A PAM stack waits for an answer then.
  init?(
    _ request: PromptRequest, _ options: Options, _ status: Status, _ deadline: PromptDeadline,
    whenUnlocked: @escaping () -> Void
  ) {
    guard status.state == .locked, status.finger.isHeld else { return nil }
    isAway = request.isAway
    (self.options, self.deadline, self.whenUnlocked) = (options, deadline, whenUnlocked)
  }

  func offer(at place: PromptPlace) -> String? {
    isOffered(at: place) ? translated("Leave the field empty to use your finger.") : nil
  }

  /// Whether the person at that place can touch the reader. A window is on a desktop of this machine.
  func isOffered(at place: PromptPlace) -> Bool { place == .window || !isAway }

  func unlock(by prompter: any Prompter, for detail: String) -> OtherWayEnd {
    do { return try touched(prompter) } catch ControlError.declined(let reason) {
      return .failed(translated("The finger did not unlock the vault: \(reason.phrase.translated)."))
    } catch {
      Journal.log(.warning, "a finger did not unlock the vault: \(error)")
      return .failed(translated("The finger did not unlock the vault. The system log says why."))
    }
  }

  private func touched(_ prompter: any Prompter) throws -> OtherWayEnd {
    // The prompt's own connection says nothing but that the prompt is over.
    let daemon = try ControlClient(runtime: options.runtime, uid: options.account.uid)
    try daemon.begin(TouchReader(prompt: options.number))
    var isAnswered = false
    let source = try deadline.loop.addIO(fd: daemon.number, events: .readable) { _ in isAnswered = true }
    defer { source.cancel() }
    let text = PromptText(
      title: translated("Unlock Latchkey"), message: translated("Touch the fingerprint reader."), label: "", button: "")
    // A touch ends the prompt too, which may be heard of first.
    guard prompter.wait(text, until: { isAnswered }) || (deadline.isOver && !deadline.isExpired) else {
      return .dismissed
    }
    do throws(ControlError) {
      let _: Done = try daemon.answer(to: TouchReader.self, until: Process.now + Self.answerLimit)
    } catch {
      guard !deadline.isOver else { return .dismissed }
      throw error
    }
    whenUnlocked()
    return .unlocked
  }
}
