import ArgumentParser
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPosix

/// `latchkey lock`
struct LockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock", abstract: translated("Erase the keys of WhenUnlocked secrets from memory, now."),
    discussion: translated(
      """
      Your password brings them back: at the screen locker, or by 'latchkey unlock'. For a screen locker that does not \
      announce itself, put this command in front of it: latchkey lock; swaylock
      """))

  @OptionGroup var place: DaemonPlace

  func run() throws {
    try Failure.telling {
      do {
        try place.connect().ask(LockVault(), until: Process.now + StatusCommand.answerLimit)
      } catch ControlError.declined(let why) {
        throw Failure.declined(why.told + ".")
      }
    }
  }
}
