import CLatchkeyAdwaita

/// Two panes beside each other. A narrow window shows one of them at a time.
public final class Panes: Widget {
  private let content: Widget

  /// A list at the side, and the content that the list leads to.
  public init(side: Widget, content: Widget) {
    self.content = content
    super.init(adw_leaflet_new())
    let line = Separator()
    for child in [side, line, content] { keep(child) }
    adw_leaflet_append(opaque, side.pointer)
    if let page = adw_leaflet_append(opaque, line.pointer) { adw_leaflet_page_set_navigatable(page, 0) }
    adw_leaflet_append(opaque, content.pointer)
    adw_leaflet_set_can_navigate_back(opaque, 1)
  }

  /// Whether the window has room for only one pane.
  public var isFolded: Bool { adw_leaflet_get_folded(opaque) != 0 }

  /// Shows the content, if the window has room for only one pane.
  public func showContent() { adw_leaflet_set_visible_child(opaque, content.pointer) }

  /// Shows the list at the side.
  public func showSide() { _ = adw_leaflet_navigate(opaque, ADW_NAVIGATION_DIRECTION_BACK) }

  /// Calls `body` when the window becomes wide enough for both panes, or too narrow for them.
  public func onFold(_ body: @escaping () -> Void) {
    Handler.connect(raw, argumentOf: "notify::folded") { _ in body() }
  }
}

/// Several pages, of which one is shown. The other pages are made invisible, because GTK would otherwise tell screen readers about
/// them.
public final class Pages: Widget {
  private var pages: [(name: String, page: Widget)] = []

  /// An empty stack of pages.
  public init() {
    super.init(gtk_stack_new())
    expanding(horizontally: true, vertically: true)
  }

  /// Adds a page. The first page is shown.
  public func add(_ page: Widget, name: String) {
    pages.append((name, page))
    gtk_stack_add_named(opaque, page.pointer, name)
    page.isVisible = pages.count == 1
  }

  /// The name of the page that is shown.
  public var shown: String {
    get { gtk_stack_get_visible_child_name(opaque).map { String(cString: $0) } ?? "" }
    set {
      guard let next = pages.first(where: { $0.name == newValue }), !next.page.isVisible else { return }
      next.page.isVisible = true
      gtk_stack_set_visible_child(opaque, next.page.pointer)
      for one in pages where one.page !== next.page { one.page.isVisible = false }
    }
  }
}

/// The bar at the top of a pane.
public final class HeaderBar: Widget {
  private let title: OpaquePointer?

  /// A bar with a title.
  public init(_ text: String) {
    let title = adw_window_title_new(text, "")
    self.title = title.map { OpaquePointer($0) }
    super.init(adw_header_bar_new())
    adw_header_bar_set_title_widget(opaque, title)
  }

  /// Whether the bar has no title yet.
  public var isUntitled: Bool { adw_window_title_get_title(title).map { $0.pointee == 0 } ?? true }

  /// Sets another title.
  public func setTitle(_ text: String, _ below: String = "") {
    adw_window_title_set_title(title, text)
    adw_window_title_set_subtitle(title, below)
  }

  /// Adds something at the beginning.
  public func add(_ child: Widget) {
    keep(child)
    adw_header_bar_pack_start(opaque, child.pointer)
  }

  /// Says at which ends of this bar the window's buttons appear. Two bars may share the top of one window.
  public func showsWindowButtons(atStart: Bool, atEnd: Bool) {
    adw_header_bar_set_show_start_title_buttons(opaque, atStart ? 1 : 0)
    adw_header_bar_set_show_end_title_buttons(opaque, atEnd ? 1 : 0)
  }
}
