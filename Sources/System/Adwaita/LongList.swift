import CLatchkeyAdwaita

/// The content of a row: a symbol, a title, a text below it, and a remark at its end.
public final class ListRow: Widget {
  private let symbol = Symbol("")
  private let title = Label()
  private let text = Label().styled("caption", "dim-label")
  private let remark = Label().styled("caption", "dim-label")
  // The texts of the row. A row is drawn again whenever other rows are read. Setting the same texts again would make GTK tell
  // screen readers each time.
  private var shown: [String] = []

  init() {
    super.init(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12))
    margins(6, 6)
    let words = Box(.column, spacing: 2, title, text).expanding(horizontally: true)
    for child in [symbol, words, remark] {
      keep(child)
      gtk_box_append(cast(), child.pointer)
    }
  }

  /// Shows a row. A screen reader says all three texts.
  public func show(symbol name: String, _ title: String, _ text: String, _ remark: String) {
    guard shown != [name, title, text, remark] else { return }
    shown = [name, title, text, remark]
    symbol.show(name)
    self.title.text = title
    self.text.text = text
    self.text.isVisible = !text.isEmpty
    self.remark.text = remark
    nameRow([title, text, remark].filter { !$0.isEmpty }.joined(separator: ", "))
  }
}

/// A list with any number of rows. Only the rows on the screen have widgets.
public final class LongList: Widget {
  private let model: ListModel
  private let factory: OpaquePointer
  // The contents of all existing row widgets, by GTK's row object.
  private var contents: [UnsafeMutableRawPointer: ListRow] = [:]
  // The contents that are bound to a position, by GTK's row object, which knows the position.
  private var shown: [UnsafeMutableRawPointer: ListRow] = [:]

  /// An empty list.
  ///
  /// - Parameters:
  ///   - show: called to fill the row at a position.
  public init(name: String, show: @escaping (ListRow, Int) -> Void) {
    model = ListModel()
    guard let factory = gtk_signal_list_item_factory_new() else { preconditionFailure("GTK made no factory") }
    self.factory = factory
    g_object_ref(model.object)
    let selection = gtk_single_selection_new(OpaquePointer(model.object))
    gtk_single_selection_set_autoselect(selection, 0)
    gtk_single_selection_set_can_unselect(selection, 1)
    g_object_ref(UnsafeMutableRawPointer(factory))
    super.init(gtk_list_view_new(selection, factory))
    gtk_list_view_set_single_click_activate(opaque, 1)
    named(name)
    expanding(horizontally: true, vertically: true)
    let raw = UnsafeMutableRawPointer(factory)
    Handler.connect(raw, argumentOf: "setup") { [unowned self] item in
      guard let item else { return }
      let content = ListRow()
      contents[item] = content
      gtk_list_item_set_child(OpaquePointer(item), content.pointer)
    }
    Handler.connect(raw, argumentOf: "bind") { [unowned self] item in
      guard let item, let content = contents[item] else { return }
      shown[item] = content
      show(content, Self.position(of: item))
    }
    Handler.connect(raw, argumentOf: "unbind") { [unowned self] item in
      if let item { shown[item] = nil }
    }
    Handler.connect(raw, argumentOf: "teardown") { [unowned self] item in
      if let item { contents[item] = nil }
    }
    self.show = show
  }

  private var show: (ListRow, Int) -> Void = { _, _ in }

  deinit { g_object_unref(UnsafeMutableRawPointer(factory)) }

  private static func position(of item: UnsafeMutableRawPointer) -> Int {
    Int(gtk_list_item_get_position(OpaquePointer(item)))
  }

  /// Shows other things, and draws the rows of things that stay again. Rows before the first change and after the last change keep
  /// their place.
  public func change<Thing: Equatable>(from former: [Thing], to new: [Thing]) {
    var start = 0
    let shared = min(former.count, new.count)
    while start < shared, former[start] == new[start] { start += 1 }
    var end = 0
    while end < shared - start, former[former.count - 1 - end] == new[new.count - 1 - end] { end += 1 }
    if former.count > start + end || new.count > start + end {
      model.replace(start..<former.count - end, with: new.count - start - end)
    }
    refresh()
  }

  /// The positions that have a widget now.
  public var positions: [Int] { shown.keys.map(Self.position).sorted() }

  /// Draws the rows on the screen again.
  public func refresh() { for (item, content) in shown { show(content, Self.position(of: item)) } }

  /// Calls `body` with the position of the row that a person clicked, or opened with the Enter key.
  public func onPress(_ body: @escaping (Int) -> Void) {
    Handler.connect(raw, argumentOf: "activate") { argument in
      body(Int(UInt32(truncatingIfNeeded: UInt(bitPattern: argument))))
    }
  }
}
