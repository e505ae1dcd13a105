/// An item that can be restored.
struct RestoredItem {
  let target: RestoreTarget
  let collection: OpenCollection
  var key: ClassKey
  var metadata: ItemMetadata
  let created: UInt64
  let modified: UInt64
}
