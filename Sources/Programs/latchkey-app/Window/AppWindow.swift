import LatchkeyAdwaita
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPosix

/// The window: collections and pages at the side, the state of the vault at the top, and the chosen page.
final class AppWindow {
  /// Where a row at the side leads.
  private enum Destination: Equatable {
    case all
    case collection(String)
    case page(PageName)
  }

  private let application: Application
  private var window: Window?
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
  private let item: ItemPage
  private let pages: [(name: PageName, symbol: String, page: any Page)]
  private let copying: Copying
  private var collections: [ShownCollection] = []
  private var destinations: [Destination] = []
  private var destination = Destination.all
  private var current: any Page
  private var state = ""
  private var isMoreSaid = false

  init(of application: Application) throws(PosixError) {
    self.application = application
    // GTK follows the process's locale, which stays "C" (``Language``).
    if ShownText.beginsRightToLeft(translated("Items")) { application.turnRightToLeft() }
    let holder = WindowHolder()
    let lookUp: () -> Window? = { holder.window }
    copying = Copying(Clipboard(of: sidebar), lookUp)
    items = ItemsPage(reader)
    item = ItemPage(reader, asker, copying, lookUp)
    pages = [
      (.yesterday, "document-open-recent-symbolic", YesterdayPage(copying, lookUp)),
      (.movingIn, "folder-download-symbolic", MovingInPage(copying, lookUp)),
      (.unlocking, "dialog-password-symbolic", UnlockingPage(copying, lookUp)),
      (.health, "emblem-ok-symbolic", HealthPage(copying, lookUp)),
      (.whoAsked, "view-list-symbolic", WhoAskedPage(copying, lookUp)),
    ]
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
    stack.add(items.widget, name: "items")
    stack.add(item.widget, name: "item")
    for one in pages { stack.add(one.page.widget, name: one.name.rawValue) }
    let window = Window(of: application, title: "Latchkey", icon: "org.latchkey.app", panes)
    self.window = window
    holder.window = window
    connect(window)
    fillSidebar()
    // Only now: the toolkit has read the desktop's settings by a service that wants to look at this process.
    try Process.forbidInspection()
    reader.start(listener: OnMainThread { [unowned self] in hear($0) })
    asker.start()
    commands.start()
  }

  private final class WindowHolder { var window: Window? }

  private func connect(_ window: Window) {
    header.add(backButton)
    backButton.isVisible = false
    backButton.onPress { [unowned self] in goBack() }
    panes.onFold { [unowned self] in showBack() }
    sidebar.onChoose { [unowned self] number in
      guard destinations.indices.contains(number) else { return }
      go(to: destinations[number])
      panes.showContent()
    }
    items.onOpen = { [unowned self] chosen in
      item.show(chosen)
      show(item, "item")
    }
    items.takeKeys(of: window)
    item.onGone = { [unowned self] in if current === item { show(items, "items") } }
    bar.onLock = { [unowned self] in lock() }
    bar.onUnlock = { [unowned self] in unlock() }
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
    // A secret does not stay in the clipboard without the program that takes it away.
    window.onClose { [unowned self] in takeSecretsAway() }
    application.onSignal { [unowned self] in
      takeSecretsAway()
      self.application.quit()
    }
    window.onActivity { [unowned self] in if self.window?.isActive == true { copying.windowIsActive() } }
  }

  private func takeSecretsAway() {
    item.leave()
    copying.windowCloses()
  }

  private var isCollection: Bool { if case .collection = destination { true } else { false } }

  /// Shows the window, with a page.
  func present(_ page: PageName?) {
    if let page { go(to: page == .items ? .all : .page(page)) } else if header.isUntitled { go(to: .all) }
    window?.present()
  }

  // MARK: Pages

  private func fillSidebar() {
    destinations = [.all] + collections.map { .collection($0.path) } + pages.map { .page($0.name) }
    var entries: [(symbol: String, text: String, title: String?)] = [
      ("view-grid-symbolic", translated("All items"), nil)
    ]
    for one in collections {
      entries.append((one.isLocked ? "changes-prevent-symbolic" : "folder-symbolic", one.title, nil))
    }
    for (number, one) in pages.enumerated() {
      entries.append((one.symbol, one.page.title, number == 0 ? translated("The vault") : nil))
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
      show(items, "items")
    case .collection(let path):
      items.show([path])
      show(items, "items")
    case .page(let name):
      guard let one = pages.first(where: { $0.name == name }) else { return }
      show(one.page, name.rawValue)
    }
  }

  private func show(_ page: any Page, _ name: String) {
    if current !== page { current.leave() }
    current = page
    stack.shown = name
    var below = ""
    if case .collection(let path) = destination { below = collections.first { $0.path == path }?.title ?? "" }
    header.setTitle(page.title, page === items || page === item ? below : "")
    showBack()
    page.appear()
  }

  private func showBack() {
    backButton.isVisible = panes.isFolded || current === item
    header.showsWindowButtons(atStart: panes.isFolded, atEnd: true)
    sideHeader.showsWindowButtons(atStart: true, atEnd: panes.isFolded)
  }

  private func goBack() {
    if current === item { show(items, "items") } else { panes.showSide() }
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
      item.vaultChanged(new)
      for one in pages { one.page.vaultChanged(new) }
      readCollections()
    case .gone(let problem):
      state = ""
      copying.clear()
      bar.show(problem)
      item.vaultChanged("")
    case .items:
      items.itemsChanged()
      if current === item { item.refresh() }
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
      guard let self, case .success(let found) = result, found != collections else { return }
      collections = found
      if case .collection(let path) = destination, !found.contains(where: { $0.path == path }) { destination = .all }
      fillSidebar()
      switch destination {
      case .all: items.show(found.map(\.path))
      case .collection, .page: break
      }
    }
  }

  private func lock() {
    commands.perform({ link throws(Problem) in
      try link.control { client throws(ControlError) in try client.ask(LockVault(), until: Process.now + 5000) }
      return true
    }) { [weak self] result in if case .failure(let problem) = result { self?.window?.tell(problem.text) } }
  }

  private func unlock() {
    asker.perform({ link throws(Problem) in
      try link.unlockVault()
      return true
    }) { [weak self] result in if case .failure(let problem) = result { self?.window?.tell(problem.text) } }
  }
}
