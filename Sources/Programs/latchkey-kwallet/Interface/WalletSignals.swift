import LatchkeySystemd

/// The signals of `org.kde.KWallet`, which the objects at both paths send to all programs.
struct WalletSignals {
  static let interface = "org.kde.KWallet"

  static var all: [ObjectInterface.Signal] {
    [
      signal("walletListDirty"), signal("walletCreated", "s wallet"), signal("walletOpened", "s wallet"),
      signal("walletAsyncOpened", "i tId", "i handle"), signal("walletDeleted", "s wallet"),
      signal("walletClosed", "s wallet"), signal("walletClosed", "i handle"), signal("walletClosedId", "i handle"),
      signal("allWalletsClosed"), signal("folderListUpdated", "s wallet"),
      signal("folderUpdated", "s wallet", "s folder"), signal("entryUpdated", "s wallet", "s folder", "s entry"),
      signal("entryRenamed", "s wallet", "s folder", "s oldName", "s newName"),
      signal("entryDeleted", "s wallet", "s folder", "s entry"),
      signal("applicationDisconnected", "s wallet", "s application"),
    ]
  }

  private static func signal(_ name: String, _ arguments: String...) -> ObjectInterface.Signal {
    ObjectInterface.Signal(
      name,
      arguments.map { argument in
        let words = argument.split(separator: " ")
        return ObjectInterface.Argument(String(words.first ?? ""), String(words.last ?? ""))
      })
  }

  let bus: Bus
  let paths: [String]

  /// Emits a signal with texts: names of wallets, folders, entries and programs.
  func emit(_ member: String, _ names: ExactName...) {
    send(member) { out in
      for name in names { out.appendString(name.text) }
    }
  }

  /// Emits a signal with numbers.
  func emit(_ member: String, numbers: [Int32]) {
    send(member) { out in
      for number in numbers { out.appendInt32(number) }
    }
  }

  private func send(_ member: String, _ build: (inout MessageWriter) -> Void) {
    for path in paths { try? bus.emitSignal(path: path, interface: Self.interface, member: member, build: build) }
  }
}
