import LatchkeyForeignKeyrings
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// The methods of `org.kde.KWallet`, with the arguments and answers of kwalletd 5.103 and 6.13.
extension KWalletService {
  var members: [Member] { walletMembers + folderMembers + readingMembers + writingMembers }

  private static func name(_ call: MethodCall) throws(BusError) -> ExactName {
    ExactName(try call.message.readString())
  }

  // MARK: - wallets

  private var walletMembers: [Member] {
    [
      Member("isEnabled", "", "b") { [unowned self] call in
        let isEnabled = settings.isEnabled
        call.reply { $0.appendBool(isEnabled) }
      },
      Member("open", "s wallet,x wId,s appid", "i") { [unowned self] call throws(BusError) in
        let wallet = try Self.name(call)
        let window = try call.message.readInt64()
        // As in kwalletd, the wallet stays open after the connection ends, because scripts make a new connection for each call.
        open(wallet, window, try Self.name(call), call, endsWithConnection: false) { handle in
          call.reply { $0.appendInt32(handle) }
        }
      },
      Member("openAsync", "s wallet,x wId,s appid,b handleSession", "i") { [unowned self] call throws(BusError) in
        let wallet = try Self.name(call)
        let window = try call.message.readInt64()
        let program = try Self.name(call)
        let handlesSession = try call.message.readBool()
        guard settings.isEnabled else { return call.reply { $0.appendInt32(-1) } }
        let transaction = nextTransaction()
        // The number must arrive first, because the program recognises the signal by it.
        call.reply { $0.appendInt32(transaction) }
        open(wallet, window, program, call, endsWithConnection: handlesSession) { [unowned self] handle in
          signals.emit("walletAsyncOpened", numbers: [transaction, handle])
        }
      },
      // This program opens no wallet files. `latchkey import kwallet FILE` imports them.
      Member("openPath", "s path,x wId,s appid", "i") { call in call.reply { $0.appendInt32(-1) } },
      Member("openPathAsync", "s path,x wId,s appid,b handleSession", "i") { call in call.reply { $0.appendInt32(-1) }
      },
      Member("close", "i handle,b force,s appid", "i") { [unowned self] call throws(BusError) in
        let handle = try call.message.readInt32()
        let force = try call.message.readBool()
        let result = close(handle, force: force, try Self.name(call), call)
        call.reply { $0.appendInt32(result) }
      },
      Member("close", "s wallet,b force", "i") { [unowned self] call throws(BusError) in
        let wallet = try Self.name(call)
        let result = close(wallet, force: try call.message.readBool())
        call.reply { $0.appendInt32(result) }
      },
      // Does nothing, because everything is already on the disk.
      Member("sync", "i handle,s appid", "") { call in call.reply() },
      Member("deleteWallet", "s wallet", "i") { [unowned self] call throws(BusError) in
        let result = delete(try Self.name(call))
        call.reply { $0.appendInt32(result) }
      },
      Member("isOpen", "s wallet", "b") { [unowned self] call throws(BusError) in
        let isOpen = isOpen(try Self.name(call))
        call.reply { $0.appendBool(isOpen) }
      },
      Member("isOpen", "i handle", "b") { [unowned self] call throws(BusError) in
        let isOpen = isOpen(try call.message.readInt32())
        call.reply { $0.appendBool(isOpen) }
      },
      Member("users", "s wallet", "as") { [unowned self] call throws(BusError) in
        let programs = programs(of: try Self.name(call))
        call.reply { $0.appendStrings(programs.map(\.text)) }
      },
      Member("changePassword", "s wallet,x wId,s appid", "") { _ throws(BusError) in
        throw .notSupported(
          "a wallet has no password of its own: the vault opens with your login password. 'passwd' changes that one")
      },
      Member("pamOpen", "s wallet,ay passwordHash,i sessionTimeout", "") { _ throws(BusError) in
        throw .notSupported("no wallet opens with this: your login unlocks the vault by pam_latchkey")
      },
      Member("wallets", "", "as") { [unowned self] call in
        let names = names()
        call.reply { $0.appendStrings(names.map(\.text)) }
      },
      Member("networkWallet", "", "s") { [unowned self] call in
        let name = settings.networkWallet
        call.reply { $0.appendString(name) }
      },
      Member("localWallet", "", "s") { [unowned self] call in
        let name = settings.localWallet
        call.reply { $0.appendString(name) }
      },
      Member("disconnectApplication", "s wallet,s application", "b") { [unowned self] call throws(BusError) in
        let wallet = try Self.name(call)
        let isDone = disconnect(try Self.name(call), from: wallet)
        call.reply { $0.appendBool(isDone) }
      },
      Member("closeAllWallets", "", "") { [unowned self] call in
        closeAll()
        call.reply()
      },
      Member("reconfigure", "", "") { [unowned self] call in
        reconfigure()
        call.reply()
      },
      // Programs ask this question and the next one before they open a wallet. If the search fails, the folder or entry does not
      // count as missing.
      Member("folderDoesNotExist", "s wallet,s folder", "b") { [unowned self] call throws(BusError) in
        let wallet = try Self.name(call)
        let folder = try Self.name(call)
        let isMissing = quietly(false) { () throws(BusError) in
          let known = try store.names(standard: ExactName(settings.networkWallet))
          guard known.contains(wallet) else { return true }
          return try !has(folder, in: wallet)
        }
        call.reply { $0.appendBool(isMissing) }
      },
      Member("keyDoesNotExist", "s wallet,s folder,s key", "b") { [unowned self] call throws(BusError) in
        let wallet = try Self.name(call)
        let folder = try Self.name(call)
        let key = try Self.name(call)
        let isMissing = quietly(false) { () throws(BusError) in try store.entry(key, in: folder, of: wallet) == nil }
        call.reply { $0.appendBool(isMissing) }
      },
    ]
  }

  // MARK: - folders

  private var folderMembers: [Member] {
    [
      Member("folderList", "i handle,s appid", "as") { [unowned self] call throws(BusError) in
        let handle = try call.message.readInt32()
        let wallet = wallet(handle, try Self.name(call))
        let found = quietly([]) { () throws(BusError) in
          try wallet.map { wallet throws(BusError) in try folders(of: wallet) } ?? []
        }
        call.reply { $0.appendStrings(found.map(\.text)) }
      },
      folderMember("hasFolder", "b") { [unowned self] wallet, folder, call in
        let isThere = quietly(false) { () throws(BusError) in
          guard let wallet else { return false }
          return try has(folder, in: wallet)
        }
        call.reply { $0.appendBool(isThere) }
      },
      folderMember("createFolder", "b") { [unowned self] wallet, folder, call in
        let isMade = quietly(false) { () throws(BusError) in
          guard let wallet else { return false }
          return try create(folder, in: wallet)
        }
        call.reply { $0.appendBool(isMade) }
      },
      folderMember("removeFolder", "b") { [unowned self] wallet, folder, call in
        let isRemoved = quietly(false) { () throws(BusError) in
          guard let wallet else { return false }
          return try remove(folder, from: wallet)
        }
        call.reply { $0.appendBool(isRemoved) }
      },
      folderMember("entryList", "as") { [unowned self] wallet, folder, call in
        let names = entries(of: wallet, in: folder).map(\.name).sorted()
        call.reply { $0.appendStrings(names.map(\.text)) }
      },
      folderMember("entriesList", "a{sv}") { [unowned self] wallet, folder, call in answer(call, wallet, folder) },
      folderMember("mapList", "a{sv}") { [unowned self] wallet, folder, call in answer(call, wallet, folder, .map) },
      folderMember("passwordList", "a{sv}") { [unowned self] wallet, folder, call in
        answer(call, wallet, folder, .password)
      },
      entryMember("readEntryList", "a{sv}") { [unowned self] wallet, folder, key, call in
        answer(call, wallet, folder, matching: key)
      },
      entryMember("readMapList", "a{sv}") { [unowned self] wallet, folder, key, call in
        answer(call, wallet, folder, .map, matching: key)
      },
      entryMember("readPasswordList", "a{sv}") { [unowned self] wallet, folder, key, call in
        answer(call, wallet, folder, .password, matching: key)
      },
    ]
  }

  /// A method whose arguments are handle, folder and program. `body` gets nil if the program has not opened the wallet.
  private func folderMember(
    _ name: String, _ output: String, _ body: @escaping (ExactName?, ExactName, MethodCall) -> Void
  ) -> Member {
    Member(name, "i handle,s folder,s appid", output) { [unowned self] call throws(BusError) in
      let handle = try call.message.readInt32()
      let folder = try Self.name(call)
      body(wallet(handle, try Self.name(call)), folder, call)
    }
  }

  /// A method whose arguments are handle, folder, entry and program.
  private func entryMember(
    _ name: String, _ output: String, _ body: @escaping (ExactName?, ExactName, ExactName, MethodCall) -> Void
  ) -> Member {
    Member(name, "i handle,s folder,s key,s appid", output) { [unowned self] call throws(BusError) in
      let handle = try call.message.readInt32()
      let folder = try Self.name(call)
      let key = try Self.name(call)
      body(wallet(handle, try Self.name(call)), folder, key, call)
    }
  }

  /// The entries of a folder, each name once; empty if the program has not opened the wallet.
  private func entries(of wallet: ExactName?, in folder: ExactName) -> [WalletStore.Entry] {
    guard let wallet else { return [] }
    var seen: Set<ExactName> = []
    return quietly([]) { () throws(BusError) in try store.entries(of: wallet, folder: folder) }
      .filter { seen.insert($0.name).inserted }
  }

  /// The entry of that name; nil if the program has not opened the wallet.
  private func entry(_ key: ExactName, in folder: ExactName, of wallet: ExactName?) -> WalletStore.Entry? {
    guard let wallet else { return nil }
    return quietly(nil) { () throws(BusError) in try store.entry(key, in: folder, of: wallet) }
  }

  /// An entry with its secret; nil if the entry is of another kind.
  private func opened(
    _ key: ExactName, in folder: ExactName, of wallet: ExactName?, _ kind: WalletContent.Kind? = nil
  ) -> WalletStore.Entry? {
    guard let entry = entry(key, in: folder, of: wallet), kind == nil || entry.form.kind == kind else { return nil }
    return quietly(nil) { () throws(BusError) in try store.opened([entry]).first }
  }

  // MARK: - reading

  private var readingMembers: [Member] {
    [
      entryMember("hasEntry", "b") { [unowned self] wallet, folder, key, call in
        let isThere = entry(key, in: folder, of: wallet) != nil
        call.reply { $0.appendBool(isThere) }
      },
      entryMember("entryType", "i") { [unowned self] wallet, folder, key, call in
        let kind = entry(key, in: folder, of: wallet)?.form.kind.rawValue ?? 0
        call.reply { $0.appendInt32(kind) }
      },
      entryMember("readEntry", "ay") { [unowned self] wallet, folder, key, call in
        let entry = opened(key, in: folder, of: wallet)
        call.reply(sensitive: true) { out throws(BusError) in try Self.append(entry, to: &out) }
      },
      entryMember("readMap", "ay") { [unowned self] wallet, folder, key, call in
        let map = opened(key, in: folder, of: wallet, .map)
        call.reply(sensitive: true) { out throws(BusError) in try Self.append(map, to: &out) }
      },
      entryMember("readPassword", "s") { [unowned self] wallet, folder, key, call in
        let text = opened(key, in: folder, of: wallet, .password)?.secret
        call.reply(sensitive: true) { Self.append(text: text, to: &$0) }
      },
    ]
  }

  /// Appends a password. It is empty if there is no entry, or if the entry is not text.
  private static func append(text: Secret?, to out: inout MessageWriter) {
    guard let text, text.isText, text.withBytes({ !$0.contains(0) }) else {
      return out.appendString("")
    }
    text.withBytes { out.appendText($0) }
  }

  /// Appends a value as Qt writes it; no bytes if there is no value.
  private static func append(_ entry: WalletStore.Entry?, to out: inout MessageWriter) throws(BusError) {
    guard let entry, let secret = entry.secret else { return out.appendBytes([]) }
    if entry.form == .binary { return secret.withBytes { out.appendBytes($0) } }
    do {
      let bytes = try secret.withBytes { try SecureBytes(copying: $0) }
      let value: SecureBytes? =
        switch entry.form {
        case .plaintext: try WalletValue.string(bytes)
        case .map: try WalletValue.map(bytes)
        case .base64, .binary: try Base64.decode(secret: bytes.bytes)
        }
      guard let value else { return out.appendBytes([]) }
      out.appendBytes(value.bytes)
    } catch { throw .failed("there is no memory for the entry") }
  }

  /// Answers with the names and values of all entries that can be read.
  private func answer(
    _ call: MethodCall, _ wallet: ExactName?, _ folder: ExactName, _ kind: WalletContent.Kind? = nil,
    matching pattern: ExactName? = nil
  ) {
    let isTooLong = pattern.map { $0.text.utf8.count > Self.nameLimit } == true
    let entries = (isTooLong ? [] : entries(of: wallet, in: folder)).filter { entry in
      (kind == nil || entry.form.kind == kind)
        && pattern.map { entry.name.text.utf8.count <= Self.nameLimit && Wildcard.matches(entry.name, $0) } != false
    }
    let wanted = quietly([]) { () throws(BusError) in try store.opened(entries) }.filter { $0.secret != nil }
    call.reply(sensitive: true) { out throws(BusError) in
      out.open("a", "{sv}")
      for entry in wanted {
        guard out.failure == nil else { return }
        out.open("e", "sv")
        out.appendString(entry.name.text)
        out.open("v", kind == .password ? "s" : "ay")
        if kind == .password { Self.append(text: entry.secret, to: &out) } else { try Self.append(entry, to: &out) }
        out.close()
        out.close()
      }
      out.close()
    }
  }

  // MARK: - writing

  private var writingMembers: [Member] {
    [
      Member("writeEntry", "i handle,s folder,s key,ay value,i entryType,s appid", "i") {
        [unowned self] call throws(BusError) in try write(call, nil)
      },
      Member("writeEntry", "i handle,s folder,s key,ay value,s appid", "i") { [unowned self] call throws(BusError) in
        try write(call, .stream)
      },
      Member("writeMap", "i handle,s folder,s key,ay value,s appid", "i") { [unowned self] call throws(BusError) in
        try write(call, .map)
      },
      Member("writePassword", "i handle,s folder,s key,s value,s appid", "i") { [unowned self] call throws(BusError) in
        let message = call.message
        let handle = try message.readInt32()
        let (folder, key) = (try Self.name(call), try Self.name(call))
        let secret = try message.withText { bytes throws(BusError) in try Self.secret(bytes) }
        guard let wallet = wallet(handle, try Self.name(call)) else { return call.reply { $0.appendInt32(-1) } }
        let item = ForeignItem(
          label: "\(folder.text)/\(key.text)", attributes: ["type": WalletStore.Form.plaintext.rawValue], secret: secret
        )
        let result = write(item, key, in: folder, of: wallet)
        call.reply { $0.appendInt32(result) }
      },
      Member("renameEntry", "i handle,s folder,s oldName,s newName,s appid", "i") {
        [unowned self] call throws(BusError) in
        let handle = try call.message.readInt32()
        let (folder, old, new) = (try Self.name(call), try Self.name(call), try Self.name(call))
        let wallet = wallet(handle, try Self.name(call))
        let result = quietly(-1) { () throws(BusError) -> Int32 in
          guard let wallet else { return -1 }
          return try rename(old, to: new, in: folder, of: wallet)
        }
        call.reply { $0.appendInt32(result) }
      },
      entryMember("removeEntry", "i") { [unowned self] wallet, folder, key, call in
        let result = quietly(-1) { () throws(BusError) -> Int32 in
          guard let wallet else { return -1 }
          return try remove(key, from: folder, of: wallet)
        }
        call.reply { $0.appendInt32(result) }
      },
    ]
  }

  /// Reads the arguments of a call that writes bytes, and answers the call.
  ///
  /// - Parameter kind: the kind of the value; nil if an argument of the call names it.
  private func write(_ call: MethodCall, _ kind: WalletContent.Kind?) throws(BusError) {
    let message = call.message
    let handle = try message.readInt32()
    let (folder, key) = (try Self.name(call), try Self.name(call))
    let value = try message.withBytes { bytes throws(BusError) in try Self.secret(bytes) }
    var wanted = kind
    if kind == nil { wanted = WalletContent.Kind(rawValue: try message.readInt32()) }
    guard let wallet = wallet(handle, try Self.name(call)), let wanted else {
      return call.reply { $0.appendInt32(-1) }
    }
    let result: Int32
    do {
      result = write(try value.withBytes { try SecureBytes(copying: $0) }, wanted, key, in: folder, of: wallet)
    } catch {
      result = -1
    }
    call.reply { $0.appendInt32(result) }
  }

  private static func secret(_ bytes: RawSpan) throws(BusError) -> Secret {
    do { return Secret(try SecureBytes(copying: bytes), contentType: "text/plain") } catch {
      throw .failed("there is no memory for the value")
    }
  }
}
