import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyItemProtection
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// `latchkey edit`
struct EditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit", abstract: translated("Change one item, only as the options say."),
    discussion: translated(
      """
      To change the class or the secret, the item must be readable. If it is locked, you are asked to unlock it. With \
      --secret: \(SecretInput.explanation)

      Examples:
        latchkey edit service=mail user=me --label 'Mail at work'
        latchkey edit login/5 --set user=you --unset server --class after-first-unlock
        latchkey edit login/5 --secret <new.key
        latchkey edit login/5 --require user-presence
        latchkey edit login/5 --new-passphrase
      """))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var prompts: PromptChoice
  @OptionGroup var input: SecretInput
  @Option(help: ArgumentHelp(translated("Another label."), valueName: "text")) var label: String?
  @Option(
    help: ArgumentHelp(
      translated("An attribute to add, or to give another value. May be repeated."), valueName: "name=value"))
  var set: [String] = []
  @Option(help: ArgumentHelp(translated("An attribute to remove. May be repeated."), valueName: "name")) var unset:
    [String] = []
  @Option(
    name: .customLong("class"), help: ArgumentHelp(AccessibilityClass.help, valueName: "class"),
    completion: AccessibilityClass.completion)
  var className: String?
  @Option(
    help: ArgumentHelp(
      translated("What each reading of the item requires from now on; 'none' for nothing."),
      discussion: AccessControl.help, valueName: "what"))
  var require: String?
  @Flag(help: .translated("Choose another passphrase, for an item that requires application-password."))
  var newPassphrase =
    false
  @Flag(help: .translated("Store another secret, read from standard input or asked for.")) var secret = false
  @Flag(help: .translated("Report as JSON, with the same keys in every version.")) var json = false
  @Argument(help: ItemSelector.help) var item: [String]

  func validate() throws {
    if case .paths(let paths) = try ItemSelector(item), paths.count > 1 {
      throw ValidationError(translated("One item at a time."))
    }
    _ = try AccessibilityClass.option(className)
    let values = try ItemAttributes(set).values
    for name in unset {
      try ItemAttributes.check(name)
      if values[name] != nil { throw ValidationError(translated("An attribute is named by --set and by --unset.")) }
    }
    _ = try AccessControl.option(require)
    if label == nil && set.isEmpty && unset.isEmpty && className == nil && require == nil && !newPassphrase && !secret {
      throw ValidationError(
        translated("Name what to change: --label, --set, --unset, --class, --require, --new-passphrase or --secret."))
    }
  }

  private struct Report: Encodable {
    let path: String
    let changed: [String]
    let newline_removed: Bool
  }

  func run() throws {
    try Failure.telling {
      if secret { try LatchkeyPosix.Process.forbidInspection() }
      try Sodium.initialize()
      let connection = try VaultConnection(place)
      let item = try ItemSelector(item).item(from: connection)
      // Changes that may be refused come first, so that an item is rarely changed by half.
      var changed: [String] = []
      var wasCut = false
      do {
        // The class of an item with requirements changes together with them.
        let changesAccess =
          require != nil || newPassphrase || (className != nil && !(item.require ?? "").isEmpty)
        if (className != nil && !changesAccess) || !set.isEmpty || !unset.isEmpty {
          changed += try changeAttributes(of: item, with: changesAccess ? nil : className, on: connection)
        }
        if changesAccess { changed += try changeAccess(of: item, on: connection) }
        if secret {
          wasCut = try changeSecret(of: item, on: connection)
          changed.append("secret")
        }
        if let label {
          try connection.opening(item.path, asking: !prompts.isForbidden) {
            try connection.set("Label", of: item.path, "s") { $0.appendString(label) }
          }
          changed.append("label")
        }
      } catch let error where !changed.isEmpty {
        let list = changed.map(Self.title).joined(separator: ", ")
        StandardStream.error.show(translated("latchkey: changed before it failed: \(list)\n"))
        throw error
      }
      FingerRequirement.warn(require)
      if json { return print(try JSONText.of(Report(path: item.place, changed: changed, newline_removed: wasCut))) }
      let list = changed.map(Self.title).joined(separator: ", ")
      print(
        wasCut
          ? translated("Changed \(item.place): \(list) (without the line end of the input).")
          : translated("Changed \(item.place): \(list)."))
    }
  }

  /// The name of a part that --json has in English, in the person's language.
  private static func title(_ part: String) -> String {
    switch part {
    case "attributes": translated("attributes")
    case "class": translated("class")
    case "requirements": translated("requirements")
    case "secret": translated("secret")
    case "label": translated("label")
    default: part
    }
  }

  /// Gives the item other attributes or another class, in one step.
  private func changeAttributes(
    of item: ListedItem, with className: String?, on connection: VaultConnection
  ) throws -> [String] {
    let asking = !prompts.isForbidden
    // Attributes that the person does not name must stay, so the command reads them. For another class the secret is stored again.
    let current = try connection.opening(item.path, asking: asking) {
      let now = try ListedItem(item.path, from: connection)
      guard let attributes = now.attributes, className == nil || !now.isLocked else {
        throw connection.obstacle(to: item.path)
      }
      return attributes
    }
    var next = current
    for (name, value) in try ItemAttributes(set).values { next[name] = value }
    for name in unset where next.removeValue(forKey: name) == nil {
      throw Failure.declined(translated("the item has no attribute '\(name)', so nothing was changed."))
    }
    if next != current {
      let same = try connection.items(with: next, in: item.collectionPath, asking: asking).filter {
        $0.path != item.path
      }
      if let other = same.first {
        throw Failure.declined(
          translated(
            """
            another item has just these attributes, so nothing was changed:
              \(other.title)
            Programs could not tell the two apart. Remove one, or use other attributes.
            """))
      }
    }
    let sent = className.map { next.merging([ItemAttributes.className: $0]) { _, named in named } } ?? next
    do {
      // The keys of the other class may be missing although the item can be read. For these keys the collection has to be unlocked.
      try connection.opening(className == nil ? item.path : item.collectionPath, asking: asking) {
        try connection.set("Attributes", of: item.path, "a{ss}") { $0.appendStringDictionary(sent) }
      }
    } catch Failure.locked where className != nil {
      let reason = connection.lockReason() ?? translated("its collection is locked")
      throw Failure.stillLocked(
        translated(
          """
          an item can get another class only while the secrets of that class can be read, and now they cannot \
          (\(reason)). Run 'latchkey unlock', then this again.
          """))
    }
    return (set.isEmpty && unset.isEmpty ? [] : ["attributes"]) + (className == nil ? [] : ["class"])
  }

  /// Changes the item's requirements, and its class or passphrase.
  private func changeAccess(of item: ListedItem, on connection: VaultConnection) throws -> [String] {
    let prompt = try connection.opening(item.collectionPath, asking: !prompts.isForbidden) {
      try connection.call(item.path, VaultConnection.itemAccess, "SetAccess") { out in
        out.appendDictionary("sv") { all in
          for (name, value) in [("accessible", className), ("require", require == "none" ? "" : require)] {
            guard let value else { continue }
            all.appendProperty(name, "s") { $0.appendString(value) }
          }
          guard newPassphrase else { return }
          all.appendProperty("new-passphrase", "b") { $0.appendBool(true) }
        }
      } read: { (answer: Message) throws(BusError) in
        try answer.readObjectPath()
      }
    }
    if prompt != VaultConnection.none {
      guard !prompts.isForbidden else {
        throw Failure.declined(translated("this command needs your answer to a prompt. Run it without --no-prompt."))
      }
      guard try connection.perform(prompt) != nil else {
        throw Failure.declined(
          translated(
            "\(PromptOutcome.words(connection.lastOutcome)). The item's class and requirements were not changed."))
      }
    }
    return (className == nil ? [] : ["class"]) + (require == nil ? [] : ["requirements"])
      + (newPassphrase ? ["passphrase"] : [])
  }

  /// Gives the item another secret, of the same content type.
  private func changeSecret(of item: ListedItem, on connection: VaultConnection) throws -> Bool {
    let channel = try connection.openChannel()
    let old = try connection.opening(item.path, asking: !prompts.isForbidden) {
      try connection.secret(of: item.path, by: channel)
    }
    let (new, wasCut) = try input.read(contentType: old.contentType)
    try connection.opening(item.path, asking: !prompts.isForbidden) {
      try connection.call(item.path, VaultConnection.item, "SetSecret") { out throws(BusError) in
        try channel.write(new, to: &out)
      } read: { _ in
      }
    }
    return wasCut
  }
}
