import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeyText

/// The access log: who read items that require more than an unlocked session.
final class WhoAskedPage: CommandPage {
  private let entries = Group()

  init(_ copying: Copying, _ window: @escaping () -> Window?) {
    super.init(
      PageName.whoAsked.title,
      translated("Each time that a program asked for an item that requires more than an unlocked session."), copying,
      window)
    content.append(entries)
  }

  override func load() {
    run(["log", "--json", "-n", "200"]) { [unowned self] outcome in
      entries.removeAll()
      guard let log = outcome.json else { return complain(outcome) }
      for entry in log.list.reversed() {
        let label = entry["label"].name
        let facts = [Moment.text(entry["time"].number), Self.outcome(entry["outcome"].string), entry["program"].name]
        entries.append(
          Row(
            label.isEmpty ? translated("(label not kept)") : label,
            facts.filter { !$0.isEmpty }.joined(separator: " · ")))
      }
      if entries.isEmpty { entries.append(Row(translated("Nobody asked yet"))) }
    }
  }

  private static func outcome(_ word: String) -> String {
    switch word {
    case "granted": translated("allowed")
    case "used": translated("used")
    case "refused": translated("refused: wrong answers")
    case "dismissed": translated("refused by you")
    case "unavailable": translated("refused: nobody could be asked")
    case "locked": translated("refused: the vault was locked meanwhile")
    case "expired": translated("refused: nobody answered in time")
    case "withdrawn": translated("withdrawn: the answer was no longer needed")
    default: ShownText.name(word)
    }
  }
}
