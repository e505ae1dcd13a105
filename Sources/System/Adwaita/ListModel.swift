import CLatchkeyAdwaita

/// A GTK list of the numbers 0 to count - 1. GTK asks only for the numbers of rows near the screen, and the program keeps the rows'
/// content. So a list of 100,000 rows has only a few hundred objects.
final class ListModel {
  private static let count = "latchkey-count"

  private static let type: GType = {
    let type = g_type_register_static_simple(
      latchkey_object_type(), "LatchkeyRows", guint(MemoryLayout<GObjectClass>.size), nil,
      guint(MemoryLayout<GObject>.size), nil, GTypeFlags(rawValue: 0))
    var info = GInterfaceInfo(
      interface_init: { interface, _ in
        let functions = interface?.assumingMemoryBound(to: GListModelInterface.self)
        functions?.pointee.get_item_type = { _ in latchkey_object_type() }
        functions?.pointee.get_n_items = { list in ListModel.size(of: list) }
        functions?.pointee.get_item = { list, position in
          guard position < ListModel.size(of: list) else { return nil }
          return g_object_new_with_properties(latchkey_object_type(), 0, nil, nil).map { UnsafeMutableRawPointer($0) }
        }
      }, interface_finalize: nil, interface_data: nil)
    g_type_add_interface_static(type, latchkey_list_model_type(), &info)
    return type
  }()

  let object: UnsafeMutablePointer<GObject>

  init() {
    guard let object = g_object_new_with_properties(Self.type, 0, nil, nil) else { preconditionFailure("no memory") }
    self.object = object
  }

  deinit { g_object_unref(object) }

  private static func size(of list: OpaquePointer?) -> guint {
    guard let list else { return 0 }
    let object = UnsafeMutablePointer<GObject>(list)
    return guint(UInt(bitPattern: g_object_get_data(object, count)))
  }

  /// Replaces some rows by new ones. GTK draws all new rows.
  func replace(_ former: Range<Int>, with new: Int) {
    let count = Int(Self.size(of: OpaquePointer(object))) - former.count + new
    g_object_set_data(object, Self.count, UnsafeMutableRawPointer(bitPattern: count))
    g_list_model_items_changed(OpaquePointer(object), guint(former.lowerBound), guint(former.count), guint(new))
  }
}
