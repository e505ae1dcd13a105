import LatchkeyAdwaita
import LatchkeyGettext

/// The list of items, with the search. The vault finds items step by step, and the page reads the items that are on the screen.
final class ItemsPage: Page {
  let title = PageName.items.title
  var widget: Widget { box }

  private let box = Box(.column)
  private let field = SearchField(hint: translated("Search by label or attribute"))
  private let pages = Pages()
  private let status = StatusPage(symbol: "system-search-symbolic", title: "")
  private let remark = Label(wraps: true).styled("caption", "dim-label").margins(4, 12)
  private var rows: LongList?
  private var list = ItemList()
  private var shown: [ItemList.Place] = []
  private let vault: VaultThread
  private let window: () -> Window?
  private var words: [String] = []
  private var state = ""
  // Why there is no vault to ask.
  private var gone: Problem?
  private var isReading = false
  private var isLoaded = false
  private var isReloadWanted = false
  // Whether the screen already shows rows of the running search.
  private var isShowing = false
  private var unread = 0
  private var turn: Timer?
  // Grows with each search: the page drops answers that belong to an earlier search.
  private var epoch = 0
  /// Called with the item that a person chose.
  var onOpen: (ShownItem) -> Void = { _ in }

  init(_ vault: VaultThread, _ window: @escaping () -> Window?) {
    (self.vault, self.window) = (vault, window)
    let rows = LongList(name: translated("Items")) { [unowned self] row, position in show(position, in: row) }
    self.rows = rows
    pages.add(ScrolledArea(rows), name: "list")
    pages.add(status, name: "status")
    box.append(field.margins(6, 12))
    box.append(pages)
    box.append(remark)
    remark.isVisible = false
    field.onChange { [unowned self] in search() }
    field.onEnter { [unowned self] in openFirst() }
    rows.onPress { [unowned self] position in if let item = list.item(at: position) { onOpen(item) } }
    showCount()
  }

  func appear() {
    field.takeKeys(of: window())
    field.focus()
  }

  /// Keys on another page may belong to a password, if its dialog appears late. The search must not take them.
  func leave() { field.takeKeys(of: nil) }

  /// Puts the keyboard into the search field.
  func focusSearch() { field.focus() }

  /// Shows the items of other collections.
  func show(_ collections: [String]) {
    guard collections != list.collections else { return }
    list.choose(collections)
    isLoaded = false
    showAll()
    find(keepsRows: false)
  }

  /// Shows the items that were read before the window existed.
  func show(_ look: FirstLook) {
    guard list.collections.isEmpty, words.isEmpty, let step = look.step else {
      return show(look.collections.map(\.path))
    }
    list.choose(look.collections.map(\.path))
    begin(keepsRows: false)
    hear(step, in: 0, epoch, keepsRows: false)
  }

  func vaultChanged(_ state: String) {
    let former = self.state
    self.state = state
    gone = nil
    if [former, state].contains("sealed") || former.isEmpty {
      list.removeAll()
      showAll()
    }
    reload()
  }

  /// There is no vault to ask any more. Items from before would look as if they could still be read.
  func vaultIsGone(_ problem: Problem) {
    state = ""
    gone = problem
    begin(keepsRows: false)
    isLoaded = false
    list.removeAll()
    showAll()
  }

  /// Reads the items again after a short delay, because changes often come one after the other.
  func itemsChanged() {
    isReloadWanted = true
    guard turn == nil else { return }
    turn = Timer(milliseconds: list.isShort ? 200 : 2000) { [unowned self] in
      turn = nil
      if isReloadWanted { reload() }
    }
  }

  func reload() {
    list.becomeStale()
    find(keepsRows: true)
  }

  private func search() {
    words = ShownItem.searchWords(field.text)
    find(keepsRows: false)
  }

  /// Opens the first item that the search has found.
  private func openFirst() {
    if isShowing, !words.isEmpty, let item = list.item(at: 0) { onOpen(item) }
  }

  // Whether a search has just ended and only its first rows are drawn.
  private var isBrief = false
  private var rest: Timer?

  private func showFirstRows() {
    isBrief = true
    rest = Timer(milliseconds: 250) { [unowned self] in
      rest = nil
      isBrief = false
      showAll()
    }
    showAll()
  }

  // MARK: Finding

  /// Begins a search, and ends the earlier one.
  ///
  /// - Parameter keepsRows: whether the present rows stay until the search ends.
  private func find(keepsRows: Bool) {
    begin(keepsRows: keepsRows)
    guard !list.collections.isEmpty else { return showCount() }
    step(epoch, collection: 0, from: 0, keepsRows)
  }

  private func begin(keepsRows: Bool) {
    isReloadWanted = false
    epoch += 1
    isReading = false
    unread = 0
    isShowing = keepsRows
    list.begin()
  }

  private func step(_ asked: Int, collection: Int, from next: UInt64, _ keepsRows: Bool) {
    let (path, words) = (list.collections[collection], words)
    // The page already has the labels of a short list.
    let isDescribed = collection == 0 && next == 0 && !keepsRows && !(isLoaded && list.isShort)
    vault.perform({ link throws(Problem) in
      try FoundStep(link, path, words, from: next, isDescribed: isDescribed)
    }) { [weak self] result in
      guard let self, asked == epoch else { return }
      guard case .success(let step) = result else { return showCount() }
      hear(step, in: collection, asked, keepsRows: keepsRows)
    }
  }

  private func hear(_ found: FoundStep, in collection: Int, _ asked: Int, keepsRows: Bool) {
    let page = found.page
    list.take(page.items, in: collection)
    list.take(found.items, first: found.described, of: page.items, in: collection)
    unread += page.unread
    let following = page.next > 0 ? collection : collection + 1
    let isLast = following == list.collections.count
    if isLast || (!keepsRows && list.hasComing) {
      if isLast { isLoaded = true }
      list.showComing(isWhole: isLast && words.isEmpty)
      if isShowing { showAll() } else { showFirstRows() }
      isShowing = true
    }
    if !isLast {
      step(asked, collection: following, from: page.next, keepsRows)
    } else if words.isEmpty, !list.isShort {
      warm(asked, collection: 0, from: 0)
    }
  }

  /// Has the vault decrypt every label now, so that the next search is fast.
  private func warm(_ asked: Int, collection: Int, from next: UInt64) {
    guard collection < list.collections.count else { return }
    let path = list.collections[collection]
    vault.perform({ link throws(Problem) in try link.search(path, [], from: next, limit: 0) }) { [weak self] result in
      guard let self, asked == epoch, case .success(let page) = result else { return }
      warm(asked, collection: page.next > 0 ? collection : collection + 1, from: page.next)
    }
  }

  // MARK: Reading

  private func readMore() {
    guard !isReading else { return }
    let places = list.nextPlaces(seen: rows?.positions ?? [], limit: 128)
    guard !places.isEmpty else { return }
    isReading = true
    let (asked, collections, paths) = (epoch, list.collections, places.map(list.path))
    vault.perform({ link throws(Problem) in try link.describe(paths) }) { [weak self] result in
      guard let self else { return }
      if asked == epoch { isReading = false }
      guard collections == list.collections, case .success(let items) = result else { return }
      list.take(items, of: places)
      showAll()
      readMore()
    }
  }

  private func showAll() {
    let new = isBrief ? Array(list.found.prefix(FoundStep.firstRows)) : list.found
    rows?.change(from: shown, to: new)
    shown = new
    showCount()
    readMore()
  }

  private func showCount() {
    if !list.found.isEmpty {
      pages.shown = "list"
    } else {
      pages.shown = "status"
      let text: (String, String)
      if let gone {
        text = (translated("No Answer"), gone.text)
      } else if !isLoaded {
        text = (translated("Reading the Vault…"), "")
      } else if !words.isEmpty {
        text = (translated("Nothing Found"), translated("No label and no attribute has these words."))
      } else if state == "sealed" {
        text = (translated("The Vault Is Sealed"), translated("Its items are listed after the first unlock."))
      } else {
        text = (
          translated("No Items Yet"),
          translated("Programs store their passwords here. The page Moving In brings those of other programs.")
        )
      }
      let symbol = isLoaded && !words.isEmpty ? "system-search-symbolic" : "dialog-password-symbolic"
      status.show(symbol: symbol, title: text.0, text: text.1)
      let isNew = gone == nil && isLoaded && words.isEmpty && state != "sealed"
      status.offer(isNew ? (PageName.movingIn.title, "app.\(PageName.movingIn.rawValue)") : nil)
    }
    remark.isVisible = unread > 0
    if unread > 0 {
      remark.text = translated(
        unread, one: "The label of 1 item cannot be read now, so the search does not find it.",
        other: "The labels of \(unread) items cannot be read now, so the search does not find them.")
    }
  }

  private func show(_ position: Int, in row: ListRow) {
    guard let item = list.item(at: position) else {
      row.show(symbol: "content-loading-symbolic", "…", "", "")
      return wantMore()
    }
    let kind = item.accessibility?.when ?? ShownText.name(item.accessible)
    let about = [item.program, kind].filter { !$0.isEmpty }.joined(separator: " · ")
    row.show(
      symbol: item.isLocked ? "changes-prevent-symbolic" : "changes-allow-symbolic", item.title, about,
      ItemPage.whyLocked(item, state) ?? translated("readable now"))
  }

  // While a person scrolls, GTK asks for rows one by one. The timer reads several of them at once.
  private var wanted: Timer?

  private func wantMore() {
    guard wanted == nil else { return }
    wanted = Timer(milliseconds: 1) { [unowned self] in
      wanted = nil
      readMore()
    }
  }
}
