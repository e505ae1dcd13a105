import LatchkeyDoctor
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// The running KWallet, by its own interface. This is the only way to wallets that it encrypts with GPG.
struct RunningKWallet {
  private static let interface = "org.kde.KWallet"
  /// The name under which KWallet asks the person about us.
  private static let ownName = "latchkey"

  private let connection: ServiceConnection
  private let path: String

  /// Connects, and lets the bus start KWallet if it does not run.
  init(on address: String?) throws {
    var found: (ServiceConnection, String)?
    for version in ["6", "5"] where found == nil {
      do throws(ConnectionFailure) {
        let connection = try ServiceConnection(
          provider: "org.kde.kwalletd" + version, on: address.map(Bus.Address.address) ?? .session)
        found = (connection, "/modules/kwalletd" + version)
      } catch {
        switch error {
        case .notRunning: continue
        case .noBus:
          throw Failure.noService(translated("there is no bus at that address. Is it right, and does the bus run?"))
        case .stranger:
          throw Failure.noService(
            translated("the KWallet on that bus belongs to another user, so nothing was sent to it."))
        case .otherService, .broken: throw Failure(error)
        }
      }
    }
    guard let found else {
      throw Failure.noService(
        translated("KWallet does not run, and could not be started. Start it, then run this again."))
    }
    (connection, path) = found
    if let process = connection.ownerProcess, RunningProcess(process, in: SystemRoot())?.name == KWalletFront.process {
      throw Failure.noService(
        translated(
          """
          latchkey-kwallet answers in KWallet's place, and has no wallets of its own. Leave --running out to read KWallet's files. For \
          a wallet that is encrypted with GPG, remove the package latchkey-kwallet for a while, log in again, then run this again.
          """))
    }
  }

  /// Reads the chosen wallets. KWallet asks the person to open each.
  ///
  /// - Parameters:
  ///   - notes: KWallet's notes about a wallet's items of the Secret Service, because KWallet shows no program their
  ///     attributes.
  ///   - leave: gets the names of the wallet and the entry, and the reason, for each entry that could not be read.
  func collections(
    _ choice: ImportChoice, notes: (String) -> [String: ServedEntry], leave: (String, String, String) -> Void
  ) throws -> [ForeignCollection] {
    let names = try call("wallets") { (answer: Message) throws(BusError) in try answer.readStrings() }
    let unread = names.map { ForeignCollection(name: $0, label: $0, items: []) }
    try choice.checkNames(among: unread)
    let progress = Progress()
    defer { progress.end() }
    var read: [ForeignCollection] = []
    for wallet in unread where choice.takes(wallet) {
      let handle = try open(wallet.name)
      guard handle >= 0 else {
        leave(
          wallet.name, translated("all of its entries"),
          translated("KWallet did not open it; open it there, then run this again"))
        continue
      }
      defer { close(handle) }
      let served = notes(wallet.name)
      var items: [ForeignItem] = []
      for folder in try folders(handle) {
        progress.show(translated("\(items.count) entries read from \(wallet.name)"))
        for (entry, value) in try entries(handle, folder) {
          let kind = try WalletContent.Kind(rawValue: kind(handle, folder, entry))
          do {
            guard let kind, let value else { throw ForeignFileError.damaged }
            let item = try value.withBytes { bytes in
              let copy = try SecureBytes(copying: bytes)
              return try WalletContent.item(
                copy, 0..<copy.count, kind, folder: folder, entry: entry, served: served["\(folder)/\(entry)"])
            }
            items.append(item)
          } catch {
            leave(
              wallet.name, "\(folder)/\(entry)", translated("it is of an unknown kind, or larger than memory allows"))
          }
        }
      }
      read.append(ForeignCollection(name: wallet.name, label: wallet.name, items: items))
    }
    return read
  }

  /// The name of the default wallet.
  func standard() throws(Failure) -> String {
    try call("networkWallet") { (answer: Message) throws(BusError) in try answer.readString() }
  }

  private func call<Value>(
    _ member: String, timeout: Duration? = nil,
    build: (inout MessageWriter) -> Void = { _ in },
    read: (Message) throws(BusError) -> Value
  ) throws(Failure) -> Value {
    do throws(BusError) {
      return try connection.call(path, Self.interface, member, timeout: timeout, build: build, read: read)
    } catch {
      // This error is not about the vault.
      guard !error.isStandard("NoReply") else {
        throw .noService(translated("KWallet does not answer, or has ended. Start it again, then run this again."))
      }
      throw Failure(error)
    }
  }

  private func open(_ wallet: String) throws(Failure) -> Int32 {
    // A person may need much time to find a password or a smart card.
    try call("open", timeout: .seconds(24 * 60 * 60)) { out in
      out.appendString(wallet)
      // 0 stands for no window.
      out.appendInt64(0)
      out.appendString(Self.ownName)
    } read: { (answer: Message) throws(BusError) in
      try answer.readInt32()
    }
  }

  /// Ends our use of a wallet; other programs keep theirs.
  private func close(_ handle: Int32) {
    _ = try? call("close") { out in
      out.appendInt32(handle)
      out.appendBool(false)
      out.appendString(Self.ownName)
    } read: { _ in
    }
  }

  private func folders(_ handle: Int32) throws(Failure) -> [String] {
    try call("folderList") { out in
      out.appendInt32(handle)
      out.appendString(Self.ownName)
    } read: { (answer: Message) throws(BusError) in
      try answer.readStrings()
    }
  }

  /// The values of a folder's entries, in Qt's form; a value is nil if there was no memory for it.
  private func entries(_ handle: Int32, _ folder: String) throws(Failure) -> [(name: String, value: Secret?)] {
    try call("entriesList") { out in
      out.appendInt32(handle)
      out.appendString(folder)
      out.appendString(Self.ownName)
    } read: { (answer: Message) throws(BusError) in
      var found: [(name: String, value: Secret?)] = []
      try answer.readDictionary("sv") { (entry: Message) throws(BusError) in
        let name = try entry.readString()
        let value = try entry.readVariant("ay") { (value: Message) throws(BusError) in
          try value.withBytes { (bytes: RawSpan) throws(BusError) -> Secret? in
            guard let copy = try? SecureBytes(copying: bytes) else { return nil }
            return Secret(copy)
          }
        }
        found.append((name, value))
      }
      return found
    }
  }

  private func kind(_ handle: Int32, _ folder: String, _ entry: String) throws(Failure) -> Int32 {
    try call("entryType") { out in
      out.appendInt32(handle)
      out.appendString(folder)
      out.appendString(entry)
      out.appendString(Self.ownName)
    } read: { (answer: Message) throws(BusError) in
      try answer.readInt32()
    }
  }
}
