import LatchkeyAdwaita
import LatchkeyGettext
import LatchkeyItemProtection
import LatchkeySecretClient
import LatchkeySodium

/// The page of one item: its label and attributes, its secret if the person asks for it, and its former states.
final class ItemPage: Page {
  let title = translated("Item")
  var widget: Widget { area }

  private let box = Box(.column, spacing: 18)
  private let area: ScrolledArea
  private let label = Label(wraps: true).styled("title-2")
  private let message = Label(wraps: true).styled("warning")
  private let secretGroup = Group()
  private let secretRow = Row(translated("Secret"), translated("hidden"))
  private let showButton = Button(symbol: "view-reveal-symbolic", name: translated("Show Secret"))
  private let copyButton = Button(symbol: "edit-copy-symbolic", name: translated("Copy Secret"))
  private let accessGroup = Group()
  private let attributeGroup = Group(
    translated("Attributes"),
    translated("Programs find the item by these. They are not secret to programs of your session."))
  private let past: ItemPastGroup
  private let deleteButton = Button(translated("_Delete…")).styled("destructive-action")
  private var field: SecretField?
  private var fieldRow: Widget?
  private var item: ShownItem?
  private var state = ""
  // Counts locks: an answer with a secret is dropped if a lock came after the question.
  private var locks = 0
  // Whether a secret is asked for.
  private var isAsking = false
  private let reader: VaultThread
  private let asker: VaultThread
  private let window: () -> Window?
  private let copying: Copying
  /// Called when the item does not exist any more.
  var onGone: () -> Void = {}

  init(_ reader: VaultThread, _ asker: VaultThread, _ copying: Copying, _ window: @escaping () -> Window?) {
    (self.reader, self.asker, self.copying, self.window) = (reader, asker, copying, window)
    past = ItemPastGroup(window)
    area = ScrolledArea(Clamp(box.margins(18, 12)))
    secretRow.adding(showButton).adding(copyButton)
    secretGroup.append(secretRow)
    for part in [label, message, secretGroup, accessGroup, attributeGroup, past.widget, deleteButton] as [Widget] {
      box.append(part)
    }
    message.isVisible = false
    showButton.onPress { [unowned self] in if field == nil { read { [unowned self] in show($0) } } else { hide() } }
    copyButton.onPress { [unowned self] in read { [unowned self] in copy($0) } }
    deleteButton.onPress { [unowned self] in askToDelete() }
    area.onHide { [unowned self] in hide() }
  }

  /// Why an item cannot be read now; nil if it can be.
  static func whyLocked(_ item: ShownItem, _ state: String) -> String? {
    guard item.isLocked else { return nil }
    if state == "sealed" { return translated("sealed") }
    if state == "locked", item.accessibility?.tier == .unlocked { return translated("locked with the session") }
    guard item.require.isEmpty else { return translated("asks for \(Requirement.words(item.require))") }
    return translated("locked")
  }

  func show(_ item: ShownItem) {
    hide()
    self.item = item
    past.show(item)
    fill(item)
  }

  func appear() {}

  func reload() { refresh() }

  func leave() {
    hide()
    past.leave()
  }

  func vaultChanged(_ state: String) {
    self.state = state
    if state != "unlocked" {
      locks += 1
      hide()
    }
    refresh()
  }

  /// Reads the item again.
  func refresh() {
    guard let path = item?.path else { return }
    reader.perform({ link throws(Problem) in try link.describe([path]) }) { [weak self] result in
      guard let self, item?.path == path, case .success(let found) = result else { return }
      guard let new = found.first else {
        hide()
        item = nil
        return onGone()
      }
      if new != item {
        if new.isLocked || new.modified != item?.modified { hide() }
        item = new
        fill(new)
      }
    }
  }

  private func fill(_ item: ShownItem) {
    label.text = item.title
    message.isVisible = false
    secretGroup.setTitle(
      "", Self.whyLocked(item, state).map { translated("Not readable now: \($0).") } ?? translated("Readable now."))
    fillAccess(item)
    attributeGroup.removeAll()
    for (name, value) in item.attributes.sorted(by: { $0.key < $1.key }) {
      attributeGroup.append(Row(ShownText.name(name), ShownText.name(value)))
    }
    attributeGroup.isVisible = !attributeGroup.isEmpty
  }

  private func fillAccess(_ item: ShownItem) {
    accessGroup.removeAll()
    let classes = AccessibilityClass.allCases.filter { !$0.isDeprecated || $0.name == item.accessible }
    let kinds = Choice(classes.map(\.when), name: translated("Readable"))
    kinds.chosen = classes.firstIndex { $0.name == item.accessible } ?? 0
    kinds.onChange { [unowned self, weak kinds] in
      if let kinds { change(accessible: classes[kinds.chosen].name, require: nil) }
    }
    accessGroup.append(
      Row(translated("Readable"), item.accessibility?.meaning ?? ShownText.name(item.accessible)).adding(kinds))
    let words = Requirement.all + (Requirement.all.contains(item.require) ? [] : [item.require])
    let requirements = Choice(words.map(Requirement.words), name: translated("Each read also asks for"))
    requirements.chosen = words.firstIndex(of: item.require) ?? 0
    requirements.onChange { [unowned self, weak requirements] in
      if let requirements { change(accessible: nil, require: words[requirements.chosen]) }
    }
    accessGroup.append(Row(translated("Each read also asks for")).adding(requirements))
    accessGroup.append(Row(translated("Stored"), Moment.text(item.created)))
    if item.modified != item.created { accessGroup.append(Row(translated("Changed"), Moment.text(item.modified))) }
    accessGroup.append(Row(translated("Place"), item.place))
  }

  private func change(accessible: String?, require: String?) {
    guard let item, accessible ?? item.accessible != item.accessible || require ?? item.require != item.require else {
      return
    }
    let path = item.path
    asker.perform({ link throws(Problem) in try link.setAccess(path, accessible: accessible, require: require) }) {
      [weak self] result in
      guard let self else { return }
      if case .failure(let problem) = result, self.item?.path == path, let item = self.item {
        fill(item)
        complain(problem)
      }
      refresh()
    }
  }

  private func complain(_ problem: Problem) {
    if problem.page != nil { return window()?.tell(problem) ?? () }
    message.text = problem.text
    message.isVisible = true
  }

  // MARK: The secret

  private func read(_ then: @escaping (Secret) -> Void) {
    // The buttons stay enabled: a button that does not would lose the keyboard to the beginning of the window.
    guard let path = item?.path, !isAsking else { return }
    isAsking = true
    message.isVisible = false
    let before = locks
    asker.perform({ link throws(Problem) in Handed(value: try link.secret(of: path)) }) { [weak self] result in
      guard let self else { return }
      isAsking = false
      // The person may have left the page, or a lock may have come meanwhile.
      guard item?.path == path, area.isOnScreen, locks == before else { return }
      switch result {
      case .success(let secret): then(secret.value)
      case .failure(let problem): complain(problem)
      }
      refresh()
    }
  }

  private func show(_ secret: Secret) {
    hide()
    guard secret.isPrintable, secret.count < 1 << 14 else {
      return complain(
        Problem(translated("It is \(secret.count) bytes of data, which a window cannot show. Copy works for text.")))
    }
    let field = SecretField(.reading, name: translated("Secret"))
    secret.withBytes { field.show($0) }
    let row = WideRow(ScrolledArea(field, scrollsSideways: true), name: translated("Secret"))
    (self.field, fieldRow) = (field, row)
    secretRow.setText("")
    secretGroup.append(row)
    showButton.setSymbol("view-conceal-symbolic", name: translated("Hide Secret"))
  }

  private func hide() {
    guard let field, let fieldRow else { return }
    field.erase()
    secretGroup.remove(fieldRow)
    (self.field, self.fieldRow) = (nil, nil)
    secretRow.setText(translated("hidden"))
    showButton.setSymbol("view-reveal-symbolic", name: translated("Show Secret"))
  }

  private func copy(_ secret: Secret) {
    guard secret.isText else { return complain(Problem(translated("It is data, not text, so it cannot be copied."))) }
    guard copying.copy(secret) else { return complain(Problem(translated("There is no memory for it."))) }
    window()?.tell(translated("Copied. The clipboard is cleared in \(Copying.seconds) seconds."))
  }

  // MARK: Its end

  private func askToDelete() {
    guard let item, let window = window() else { return }
    _ = Question(
      translated("Delete “\(item.title)”?"),
      translated(
        "Programs no longer find it. If the vault has a copy of itself from before, the page Yesterday brings the item back."
      ),
      answers: [("cancel", translated("_Cancel"), .plain), ("delete", translated("_Delete"), .destructive)],
      over: window
    ) { [weak self] answer in if answer == "delete" { self?.delete(item.path) } }
  }

  private func delete(_ path: String) {
    asker.perform({ link throws(Problem) in try link.delete(path) }) { [weak self] result in
      guard let self else { return }
      switch result {
      case .success:
        window()?.tell(translated("Deleted"), .yesterday)
        guard item?.path == path else { return }
        hide()
        item = nil
        onGone()
      case .failure(let problem):
        // The page may show another item by now.
        if item?.path == path { complain(problem) } else { window()?.tell(problem) }
      }
    }
  }
}
