/// The attributes that tell an item from all others. An item's accessibility is not one of these attributes: the same account
/// cannot exist in two classes.
package struct PrimaryKey: Hashable, Sendable {
  /// The class.
  package let itemClass: ItemClass
  /// The access group.
  package let accessGroup: String
  /// Whether it is synchronizable.
  package let isSynchronizable: Bool
  /// The values of the class's primary attributes, as they are compared; absent ones are empty.
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
