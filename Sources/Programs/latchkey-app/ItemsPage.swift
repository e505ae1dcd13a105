import LatchkeyAdwaita
import LatchkeyGettext

/// The list of items, with the search.
final class ItemsPage: Page {
  let title = translated("Items")
  var widget: Widget { box }

  private let box = Box(.column)
  private let field = SearchField(hint: translated("Search by label or attribute"))
  private let pages = Pages()
  private let status = StatusPage(symbol: "system-search-symbolic", title: "")
  private let remark = Label(wraps: true).styled("caption", "dim-label").margins(4, 12)
  private var rows: LongList?
  private var list = ItemList()
  private let vault: VaultThread
  private var collections: [String] = []
  private var state = ""
  private var isReading = false
  private var isLoaded = false
  private var isReloadWanted = false
  private var turn: Timer?
  // Answers to questions from before the last reload are dropped.
  private var epoch = 0
  /// Called with the item that a person chose.
  var onOpen: (ShownItem) -> Void = { _ in }

  init(_ vault: VaultThread) {
    self.vault = vault
    let rows = LongList(name: translated("Items")) { [unowned self] row, position in show(position, in: row) }
    self.rows = rows
    pages.add(ScrolledArea(rows), name: "list")
    pages.add(status, name: "status")
    box.append(field.margins(6, 12))
    box.append(pages)
    box.append(remark)
    remark.isVisible = false
    field.onChange { [unowned self] in search() }
    rows.onPress { [unowned self] position in if let item = list.item(at: position) { onOpen(item) } }
    showCount()
  }

  func appear() { field.focus() }

  /// Goes to the search.
  func focusSearch() { field.focus() }

  func takeKeys(of window: Window) { field.takeKeys(of: window) }

  /// Shows the items of other collections.
  func show(_ collections: [String]) {
    guard collections != self.collections else { return }
    self.collections = collections
    reload()
  }

  func vaultChanged(_ state: String) {
    let former = self.state
    self.state = state
    if [former, state].contains("sealed") || former.isEmpty { list.removeAll() }
    list.becomeStale()
    reload()
  }

  /// Reads the paths again, soon: many items may come one after the other.
  func itemsChanged() {
    isReloadWanted = true
    guard turn == nil else { return }
    turn = Timer(milliseconds: list.paths.count > ItemList.sortingLimit ? 2000 : 200) { [unowned self] in
      turn = nil
      if isReloadWanted { reload() }
    }
  }

  func reload() {
    isReloadWanted = false
    epoch += 1
    let (asked, paths) = (epoch, collections)
    vault.perform({ link throws(Problem) in try link.items(of: paths) }) { [weak self] result in
      guard let self, asked == epoch else { return }
      if case .success(let paths) = result {
        isLoaded = true
        list.replace(with: paths)
        isReading = false
        showAll()
        readMore()
      } else {
        showCount()
      }
    }
  }

  private func readMore() {
    guard !isReading else { return }
    let paths = list.nextPaths(seen: rows?.positions ?? [], limit: 128)
    guard !paths.isEmpty else { return showCount() }
    isReading = true
    let asked = epoch
    vault.perform({ link throws(Problem) in try link.describe(paths) }) { [weak self] result in
      guard let self, asked == epoch else { return }
      isReading = false
      guard case .success(let items) = result else { return }
      if list.take(items) { showAll() } else { rows?.refresh() }
      readMore()
    }
  }

  private func search() {
    list.search(field.text)
    showAll()
  }

  private func showAll() {
    rows?.count = list.found.count
    showCount()
  }

  private func showCount() {
    if !list.found.isEmpty {
      pages.shown = "list"
    } else {
      pages.shown = "status"
      let text: (String, String)
      if !isLoaded {
        text = (translated("Reading the vault…"), "")
      } else if !list.wanted.isEmpty {
        text = (translated("Nothing found"), translated("No label and no attribute has these words."))
      } else if state == "sealed" {
        text = (translated("The vault is sealed"), translated("Its items are listed after the first unlock."))
      } else {
        text = (
          translated("No items yet"),
          translated("Programs store their passwords here. The page Moving in brings those of other programs.")
        )
      }
      status.show(symbol: "dialog-password-symbolic", title: text.0, text: text.1)
    }
    let (known, all) = (list.knownCount, list.paths.count)
    remark.isVisible = known < all && isLoaded
    if remark.isVisible {
      remark.text = translated("Read \(known) of \(all) items. The search finds the others later.")
    }
  }

  private func show(_ position: Int, in row: ListRow) {
    guard let item = list.item(at: position) else { return row.show(symbol: "content-loading-symbolic", "…", "", "") }
    let kind = item.accessibility?.when ?? ShownText.name(item.accessible)
    let about = [item.program, kind].filter { !$0.isEmpty }.joined(separator: " · ")
    row.show(
      symbol: item.isLocked ? "changes-prevent-symbolic" : "changes-allow-symbolic", item.title, about,
      ItemPage.whyLocked(item, state) ?? translated("readable now"))
  }
}
