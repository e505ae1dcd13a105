import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeyText

/// The changes since a former state of the vault, and the way back.
final class YesterdayPage: CommandPage {
  private let chooser = Group()
  private let groups: [(change: String, group: Group)] = [
    ("deleted", Group(translated("Deleted Since"))), ("changed", Group(translated("Changed Since"))),
    ("new", Group(translated("New Since"))),
  ]
  private lazy var bringing = BringBack(window) { [unowned self] words, isEarnest, then in
    run(words, isEarnest: isEarnest, then: then)
  }
  private var generations: [JSONValue] = []
  private var chosen = 0
  private var summary: Row?

  init(_ copying: Copying, _ window: @escaping () -> Window?) {
    super.init(
      PageName.yesterday.title,
      translated(
        "The vault keeps copies of itself. Choose one to see what changed since, and bring back what you miss."),
      copying, window)
    content.append(chooser)
    for one in groups {
      content.append(one.group)
      one.group.isVisible = false
    }
  }

  override func load() {
    run(["history", "--json"]) { [unowned self] outcome in
      guard let report = outcome.json else { return complain(outcome) }
      generations = report["generations"].list.filter { $0["problem"] == .null }
      chosen = min(chosen, max(generations.count - 1, 0))
      fill(isOn: report["on"].isTrue)
      if !generations.isEmpty { compare() }
    }
  }

  private func fill(isOn: Bool) {
    chooser.removeAll()
    for one in groups { one.group.isVisible = false }
    guard !generations.isEmpty else {
      return chooser.append(
        Row(
          translated("There is no copy yet."),
          isOn ? translated("One is made within an hour of a change.") : translated("Copies are turned off.")))
    }
    let choice = Choice(
      generations.map { one in
        let (moment, count) = (Moment.text(one["time"].number), one["items"].number)
        return translated(count, one: "\(moment), 1 item", other: "\(moment), \(count) items")
      }, name: translated("Copy of the Vault"))
    choice.chosen = chosen
    choice.onChange { [unowned self, weak choice] in
      guard let choice else { return }
      chosen = choice.chosen
      compare()
    }
    let row = Row(translated("Copy of the Vault")).adding(choice)
    summary = row
    chooser.append(row)
  }

  private func compare() {
    let generation = generations[chosen]
    run(["history", "diff", "--json", generation["number"].string]) { [unowned self] outcome in
      guard let report = outcome.json else { return complain(outcome) }
      let items = report["items"].list
      for (change, group) in groups { fill(group, items.filter { $0["change"].string == change }, change, generation) }
      let same = report["same"].number
      let others = report["items"].list.isEmpty
      summary?.setText(
        others
          ? translated(same, one: "The one item is the same as then.", other: "All \(same) items are the same as then.")
          : translated(same, one: "1 item is the same as then.", other: "\(same) items are the same as then."))
    }
  }

  private func fill(_ group: Group, _ items: [JSONValue], _ change: String, _ generation: JSONValue) {
    group.removeAll()
    group.isVisible = !items.isEmpty
    let possible = items.filter { $0["reason"] == .null }
    if possible.count > 1, change == "deleted" {
      group.append(Row(translated("All of Them")).adding(button(possible, change, generation)))
    }
    for item in items.prefix(200) {
      let label = item["label"].name
      let row = Row(
        label.isEmpty ? translated("(no label, or it cannot be read now)") : label, item["collection"].name)
      if change != "new", item["reason"] == .null { row.adding(button([item], change, generation)) }
      if item["reason"] != .null { row.setText(item["reason"].sentence) }
      group.append(row)
    }
    if items.count > 200 { group.append(Row(translated("\(items.count - 200) more are not listed here."))) }
  }

  private func button(_ items: [JSONValue], _ change: String, _ generation: JSONValue) -> Button {
    Button(translated("_Bring Back…")) { [unowned self] in
      bringing.begin(
        generation: generation["number"].string, moment: Moment.text(generation["time"].number),
        items: items.map { $0["path"].string }, takesTheirs: change == "changed"
      ) { [weak self] in self?.load() }
    }
  }
}
