import ArgumentParser
import LatchkeyControl
import LatchkeyGettext
import LatchkeyHistoryControl
import LatchkeyPosix

/// `latchkey history make`
struct HistoryMakeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "make", abstract: translated("Make a generation of the vault now, before you change much."),
    discussion: translated(
      """
      The vault must be unlocked. If nothing changed since the newest generation, no other one is made. Only the last \
      generation of each hour is kept.
      """))

  @OptionGroup var place: DaemonPlace
  @Flag(help: .translated("As JSON, with the same keys in every version.")) var json = false

  private struct Report: Encodable {
    let number: UInt32
    let new: Bool
  }

  func run() throws {
    let made = try Failure.history {
      try place.connect().ask(MakeGeneration(), until: LatchkeyPosix.Process.now + HistoryLimits.writing)
    }
    if json { return print(try JSONText.of(Report(number: made.number, new: made.isNew))) }
    print(
      made.isNew
        ? translated("Made generation \(made.number).")
        : translated("Nothing changed since generation \(made.number), so no other generation was made."))
  }
}

extension DaemonPlace {
  /// Makes a generation after many items were stored, so that an item that is deleted within the next hour can be restored. If
  /// generations are off, or the vault cannot make one, the items are still in the vault.
  ///
  /// Only the last generation of each hour stays. If the newest generation of this hour has items, some may have been deleted or
  /// replaced since, so it must not be replaced here.
  func makeGeneration() {
    guard let client = try? connect(),
      let page = try? client.ask(
        ListGenerations(below: 0), until: LatchkeyPosix.Process.now + HistoryLimits.answer)
    else { return }
    if let newest = page.lines.first, newest.time / 3600 == LatchkeyPosix.Process.time / 3600,
      newest.items > 0 || newest.problem != nil
    {
      return
    }
    _ = try? client.ask(MakeGeneration(), until: LatchkeyPosix.Process.now + HistoryLimits.writing)
  }
}
