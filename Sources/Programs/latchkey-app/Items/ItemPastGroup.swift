import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeyText

/// The former states of one item, and the way back to each.
final class ItemPastGroup {
  let widget = Group(
    translated("Earlier"),
    translated("The vault keeps copies of itself, one for each hour, day and week in which something changed."))

  private let window: () -> Window?
  private let look = Button(translated("_Look"))
  private lazy var bringing = BringBack(window) { [unowned self] words, isEarnest, then in
    run(words, isEarnest, then)
  }
  private var item: ShownItem?
  private var command: ChildCommand?
  // Grows with each search and each item, so that the group can drop the result of an older search.
  private var turn = 0
  // Whether a command is bringing items back. The command goes on if the person leaves the page.
  private var isEarnest = false

  /// How many generations are compared with the present item.
  private static let limit = 8

  init(_ window: @escaping () -> Window?) {
    self.window = window
    look.onPress { [unowned self] in search() }
  }

  func show(_ item: ShownItem) {
    leave()
    self.item = item
    clear(translated("Copies That Differ From the Present"))
  }

  func leave() {
    turn += 1
    if !isEarnest { command?.stop() }
    command = nil
    item = nil
    look.isEnabled = true
  }

  private func clear(_ text: String) {
    widget.removeAll()
    widget.append(Row(text).adding(look))
  }

  /// Runs a command that brings items back, or rehearses that. The group's buttons are disabled while a command changes something.
  private func run(
    _ words: [String], _ isEarnest: Bool, _ then: @escaping (ChildCommand.Outcome) -> Void
  ) {
    guard !self.isEarnest else { return }
    self.isEarnest = isEarnest
    widget.isEnabled = !isEarnest
    command?.stop()
    turn += 1
    look.isEnabled = true
    let mine = turn
    command = ChildCommand(words) { [weak self] outcome in
      guard let self, isEarnest || mine == turn else { return }
      if isEarnest {
        self.isEarnest = false
        widget.isEnabled = true
      }
      then(outcome)
    }
  }

  private func search() {
    look.isEnabled = false
    turn += 1
    let mine = turn
    command = ChildCommand(["history", "--json"]) { [weak self] outcome in
      guard let self, mine == turn else { return }
      let all = outcome.json?["generations"].list ?? []
      guard !all.isEmpty else {
        return end(outcome.message.isEmpty ? translated("There is no copy yet.") : outcome.message)
      }
      clear(translated("Copies That Differ From the Present"))
      compare(all.prefix(Self.limit).filter { $0["problem"] == .null }, found: 0)
    }
  }

  private func compare(_ rest: [JSONValue], found: Int) {
    guard let first = rest.first, let place = item?.place else {
      return end(found == 0 ? translated("In the newest copies it is the same.") : nil)
    }
    let number = first["number"].string
    let mine = turn
    command = ChildCommand(["history", "diff", "--json", number]) { [weak self] outcome in
      guard let self, mine == turn else { return }
      let isOther = (outcome.json?["items"].list ?? []).contains {
        $0["path"].string == place && $0["change"].string == "changed"
      }
      if isOther { offer(first, place) }
      compare(Array(rest.dropFirst()), found: found + (isOther ? 1 : 0))
    }
  }

  private func offer(_ generation: JSONValue, _ place: String) {
    let (number, moment) = (generation["number"].string, Moment.text(generation["time"].number))
    let button = Button(translated("_Bring Back…")) { [unowned self] in
      bringing.begin(generation: number, moment: moment, items: [place], takesTheirs: true) {}
    }
    widget.append(Row(translated("It was different at \(moment)")).adding(button))
  }

  private func end(_ text: String?) {
    command = nil
    look.isEnabled = true
    if let text { clear(text) }
  }
}
