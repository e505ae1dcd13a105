import LatchkeyAdwaita
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPosix

/// The window: collections and pages at the side, the state of the vault at the top, and the chosen page.
final class AppWindow {
  /// The place to which a row at the side leads.
  private enum Destination: Equatable {
    case all
    case collection(String)
    case page(PageName)
  }

  private let application: Application
  private let holder = WindowHolder()
  private var window: Window? { holder.window }
  private let panes: Panes
  private let sidebar = Sidebar(name: translated("Collections and pages"))
  private let stack = Pages()
  private let header = HeaderBar("")
  private let sideHeader = HeaderBar("Latchkey")
  private let bar = StateBar()
  private let backButton: Button
  private let reader = VaultThread()
  private let asker = VaultThread()
  private let commands = VaultThread()

  private let items: ItemsPage
  // These pages are made when somebody first opens them, so that the window appears sooner.
  private var item: ItemPage?
  private var pages: [PageName: any Page] = [:]
  private let copying: Copying
  private var collections: [ShownCollection] = []
  private var destinations: [Destination] = []
  private var destination = Destination.all
  private var current: any Page
  private var state = ""

  init(of application: Application) throws(PosixError) {
    self.application = application
    // No label may be in memory before core dumps are forbidden. The rest of forbidInspection follows after the toolkit's start.
    try Process.forbidCoreDumps()
    // Another thread reads the vault while GTK makes the window. This thread handles the results later, when the window is
    // complete.
    reader.start(listener: OnMainThread { [holder] in holder.hear($0) })
    reader.perform({ link throws(Problem) in try FirstLook(link) }) { [holder] in holder.look($0) }
    copying = Copying(Clipboard(of: sidebar), holder.lookUp)
    items = ItemsPage(reader, holder.lookUp)
    current = items
    backButton = Button(symbol: "go-previous-symbolic", name: translated("Back"))
    let side = Box(.column)
    sideHeader.showsWindowButtons(atStart: true, atEnd: false)
    side.append(sideHeader)
    side.append(ScrolledArea(sidebar).expanding(horizontally: false, vertically: true))
    side.atLeast(width: 230)
    header.showsWindowButtons(atStart: false, atEnd: true)
    let content = Box(.column, header, bar.widget, stack).expanding(horizontally: true)
    panes = Panes(side: side, content: content)
    stack.add(items.widget, name: PageName.items.rawValue)
    let window = Window(of: application, title: "Latchkey", icon: "org.latchkey.app", panes)
    holder.window = window
    connect(window)
    fillSidebar()
    // This must wait until the toolkit has read the desktop's settings. The service of these settings has to look at this process.
    try Process.forbidInspection()
    holder.hear = { [unowned self] in hear($0) }
    holder.look = { [unowned self] in if case .success(let look) = $0 { begin(with: look) } }
    asker.start()
    commands.start()
  }

  /// Gives the window to parts that are made before it. Also has the handlers for work that began before the window existed.
  private final class WindowHolder {
    var window: Window?
    var lookUp: () -> Window? { { self.window } }
    var hear: (VaultNews) -> Void = { _ in }
    var look: (Result<FirstLook, Problem>) -> Void = { _ in }
  }

  private func connect(_ window: Window) {
    header.add(backButton)
    backButton.isVisible = false
    backButton.onPress { [unowned self] in goBack() }
    panes.onFold { [unowned self] in showBack() }
    sidebar.onChoose { [unowned self] number in
      if destinations.indices.contains(number) { go(to: destinations[number]) }
    }
    items.onOpen = { [unowned self] in open($0) }
    bar.onLock = { [unowned self] in lock() }
    bar.onUnlock = { [unowned self] in unlock() }
    bar.onHelp = { [unowned self] in go(to: .page($0)) }
    application.add(action: "lock", keys: "<Control>l") { [unowned self] in lock() }
    application.add(action: "search", keys: "<Control>f") { [unowned self] in
      go(to: destination == .all || isCollection ? destination : .all)
      items.focusSearch()
    }
    application.add(action: "back", keys: "<Alt>Left") { [unowned self] in
      if backButton.isVisible { goBack() }
    }
    application.add(action: "refresh", keys: "F5", "<Control>r") { [unowned self] in current.reload() }
    application.add(action: "quit", keys: "<Control>q") { [unowned self] in self.window?.close() }
    // This program removes the secret from the clipboard after a while, so it must not end and leave the secret there.
    window.onClose { [unowned self] in takeSecretsAway() }
    application.onSignal { [unowned self] in
      takeSecretsAway()
      self.application.quit()
    }
    window.onActivity { [unowned self] in if self.window?.isActive == true { copying.windowIsActive() } }
  }

  private func takeSecretsAway() {
    item?.leave()
    copying.windowCloses()
  }

  private var isCollection: Bool { if case .collection = destination { true } else { false } }

  /// Shows the window, and a page if one is given.
  func present(_ page: PageName?) {
    if let page {
      go(to: page == .items ? .all : .page(page))
    } else if header.isUntitled {
      go(to: .all)
      // A narrow window begins with the list of pages and collections.
      panes.showSide()
    }
    window?.present()
  }

  // MARK: Pages

  private func fillSidebar() {
    let others = PageName.allCases.filter { $0 != .items }
    destinations = [.all] + collections.map { .collection($0.path) } + others.map { .page($0) }
    var entries: [(symbol: String, text: String, title: String?)] = [
      (PageName.items.symbol, translated("All Items"), nil)
    ]
    for one in collections {
      entries.append((one.isLocked ? "changes-prevent-symbolic" : "folder-symbolic", one.title, nil))
    }
    for (number, one) in others.enumerated() {
      entries.append((one.symbol, one.title, number == 0 ? translated("The Vault") : nil))
    }
    sidebar.fill(entries)
    sidebar.choose(destinations.firstIndex(of: destination) ?? 0)
  }

  private func go(to new: Destination) {
    destination = new
    sidebar.choose(destinations.firstIndex(of: new) ?? 0)
    switch new {
    case .all:
      items.show(collections.map(\.path))
      showItems()
    case .collection(let path):
      items.show([path])
      showItems()
    case .page(let name): show(page(name), name.rawValue)
    }
    panes.showContent()
  }

  /// A page other than the list of items.
  private func page(_ name: PageName) -> any Page {
    if let made = pages[name] { return made }
    let page: any Page =
      switch name {
      case .items: items
      case .yesterday: YesterdayPage(copying, holder.lookUp)
      case .movingIn: MovingInPage(copying, holder.lookUp)
      case .unlocking: UnlockingPage(copying, holder.lookUp)
      case .health: HealthPage(copying, holder.lookUp) { [unowned self] in unlock(then: $0) }
      case .whoAsked: WhoAskedPage(copying, holder.lookUp)
      }
    pages[name] = page
    stack.add(page.widget, name: name.rawValue)
    page.vaultChanged(state)
    return page
  }

  /// Shows the page of an item.
  private func open(_ chosen: ShownItem) {
    let page = item ?? ItemPage(reader, asker, copying, holder.lookUp)
    if item == nil {
      item = page
      stack.add(page.widget, name: "item")
      page.vaultChanged(state)
      page.onGone = { [unowned self] in if isItem { showItems() } }
    }
    page.show(chosen)
    show(page, "item")
  }

  private var isItem: Bool { current === item }

  private func showItems() { show(items, PageName.items.rawValue) }

  private func show(_ page: any Page, _ name: String) {
    if current !== page { current.leave() }
    current = page
    stack.shown = name
    var below = ""
    if case .collection(let path) = destination { below = collections.first { $0.path == path }?.title ?? "" }
    header.setTitle(page.title, page === items || isItem ? below : "")
    showBack()
    page.appear()
  }

  private func showBack() {
    backButton.isVisible = panes.isFolded || isItem
    header.showsWindowButtons(atStart: panes.isFolded, atEnd: true)
    sideHeader.showsWindowButtons(atStart: true, atEnd: panes.isFolded)
  }

  private func goBack() {
    if isItem { showItems() } else { panes.showSide() }
  }

  // MARK: The vault

  private func hear(_ news: VaultNews) {
    switch news {
    case .state(let new):
      state = new
      if new != "unlocked" { copying.clear() }
      bar.show(new, nil)
      askWhy()
      items.vaultChanged(new)
      item?.vaultChanged(new)
      for page in pages.values { page.vaultChanged(new) }
      readCollections()
    case .gone(let problem):
      state = ""
      copying.clear()
      bar.show(problem)
      items.vaultIsGone(problem)
      item?.vaultChanged("")
    case .items:
      items.itemsChanged()
      if isItem { item?.refresh() }
    case .collections: readCollections()
    }
  }

  private func askWhy() {
    commands.perform({ link throws(Problem) in try link.status() }) { [weak self] result in
      guard let self, case .success(let status) = result, status.state.name == state else { return }
      bar.show(state, status)
    }
  }

  private func readCollections() {
    reader.perform({ link throws(Problem) in try link.collections() }) { [weak self] result in
      guard let self, case .success(let found) = result, take(found) else { return }
      if destination == .all { items.show(found.map(\.path)) }
    }
  }

  /// Takes the collections.
  ///
  /// - Returns: whether the collections are different from before.
  private func take(_ found: [ShownCollection]) -> Bool {
    guard found != collections else { return false }
    collections = found
    if case .collection(let path) = destination, !found.contains(where: { $0.path == path }) { destination = .all }
    fillSidebar()
    return true
  }

  /// Shows the first items as soon as the window exists.
  private func begin(with look: FirstLook) {
    if take(look.collections), destination == .all { items.show(look) }
  }

  private func lock() {
    commands.perform({ link throws(Problem) in
      try link.control { client throws(ControlError) in try client.ask(LockVault(), until: Process.now + 5000) }
      return true
    }) { [weak self] result in if case .failure(let problem) = result { self?.window?.tell(problem) } }
  }

  /// Has the desktop ask for what unlocks the vault.
  private func unlock(then: @escaping (Bool) -> Void = { _ in }) {
    // A password that is typed before the desktop's dialog is there must not come into the search.
    items.leave()
    asker.perform({ link throws(Problem) in
      try link.unlockVault()
      return true
    }) { [weak self] result in
      if let self, items.widget.isOnScreen { items.appear() }
      if case .failure(let problem) = result {
        self?.window?.tell(problem)
        then(false)
      } else {
        then(true)
      }
    }
  }
}
