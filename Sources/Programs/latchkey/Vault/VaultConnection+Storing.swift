import LatchkeyClassRules
import LatchkeyGettext
import LatchkeySecretClient
import LatchkeySystemd

/// New items and collections.
extension VaultConnection {
  /// The items of a collection that have these attributes and no others, but for the implied schema.
  func items(with attributes: [String: String], in collection: String, asking: Bool) throws -> [ListedItem] {
    // A keybag that waits for its database, and a sealed vault without its device key, can search nothing before the unlock.
    let found = try opening(collection, asking: asking) { try ItemSelector.found(attributes, from: self) }
      .filter { $0.collectionPath == collection }
    return try found.map { item in
      if item.attributes != nil { return item }
      // The item has the given attributes, but its other attributes cannot be read now.
      return try naming(item) {
        try opening(item.path, asking: asking) {
          let opened = try ListedItem(item.path, from: self)
          guard opened.attributes != nil else { throw obstacle(to: item.path) }
          return opened
        }
      }
    }.filter { GenericSchema.areSame($0.attributes ?? [:], attributes) }
  }

  /// Runs work on an item that was found by its attributes. An error names the item, because the person did not.
  func naming<Value>(_ item: ListedItem, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as BusError where !error.isLocked {
      let reason = error.told
      throw BusError(
        name: error.name, message: translated("\(item.place) has these attributes, and cannot be read: \(reason)"))
    }
  }

  /// Stores an item.
  ///
  /// - Parameter times: the times at which another program stored and last changed the item; only Latchkey reads them.
  /// - Returns: the item's place; or the prompt, if a person has to answer first.
  func store(
    _ secret: Secret, label: String, attributes: [String: String], in collection: String, replacing: Bool,
    times: [String: UInt64] = [:], by channel: SecretChannel
  ) throws(BusError) -> (item: String, prompt: String?) {
    try call(collection, Self.collection, "CreateItem") { out throws(BusError) in
      out.appendItemProperties(label: label, attributes: attributes, times: times)
      try channel.write(secret, to: &out)
      out.appendBool(replacing)
    } read: { (answer: Message) throws(BusError) in
      try answer.readMade()
    }
  }

  /// Gives an item another label, another secret or both, in one step.
  func update(_ path: String, label: String?, secret: Secret?, by channel: SecretChannel) throws {
    try connection.update(path, label: label, secret: secret, by: channel)
  }

  /// Makes a collection.
  ///
  /// - Returns: the collection's path; or the prompt, if a person has to answer first.
  func makeCollection(label: String) throws(BusError) -> (collection: String, prompt: String?) {
    try call(Self.root, Self.service, "CreateCollection") { out in
      out.appendDictionary("sv") { all in
        all.appendProperty("\(Self.collection).Label", "s") { $0.appendString(label) }
      }
      out.appendString("")
    } read: { (answer: Message) throws(BusError) in
      let made = try answer.readMade()
      return (made.item, made.prompt)
    }
  }
}

extension Message {
  /// The new item, and the prompt that has to come first.
  fileprivate func readMade() throws(BusError) -> (item: String, prompt: String?) {
    let item = try readObjectPath()
    let prompt = try readObjectPath()
    return (item, prompt == VaultConnection.none ? nil : prompt)
  }
}
