/// The attributes that distinguish an item from all other items. An item's accessibility is not one of them, so the same account
/// cannot exist with two accessibilities.
package struct PrimaryKey: Hashable, Sendable {
  /// The class.
  package let itemClass: ItemClass
  /// The access group.
  package let accessGroup: String
  /// Whether the item is synchronizable.
  package let isSynchronizable: Bool
  /// The values of the class's primary attributes, in the form in which they are compared. An absent value is empty.
  package let values: [AttributeValue?]

  package init(
    itemClass: ItemClass, accessGroup: String, isSynchronizable: Bool, attributes: [AttributeName: AttributeValue]
  ) {
    self.itemClass = itemClass
    self.accessGroup = accessGroup
    self.isSynchronizable = isSynchronizable
    values = itemClass.primaryAttributes.map { (attributes[$0] ?? $0.absentValue)?.compared }
  }
}
