import Glibc
import LatchkeyAccessEvent
import LatchkeyBytes
import LatchkeyHistoryControl
import LatchkeyLogControl
import LatchkeyPosix
import LatchkeyPrompters
import LatchkeySecretClient
import LatchkeySodium

@testable import LatchkeyBackup
@testable import LatchkeyBackupControl
@testable import LatchkeyControl
@testable import LatchkeyDeviceService
@testable import LatchkeyForeignKeyrings
@testable import LatchkeyKeybag
@testable import LatchkeyPrompts
@testable import LatchkeySSHProtocol
@testable import LatchkeySecretService
@testable import LatchkeyVault

/// The targets of the fuzzer. Each takes any bytes, and must return.
enum Target: String, CaseIterable {
  case keybag
  case recoveryCode = "recovery-code"
  case deviceKey = "device-key"
  case deviceRequest = "device-request"
  case controlRequest = "control-request"
  case controlReply = "control-reply"
  case deriveRequest = "derive-request"
  case objectPath = "object-path"
  case controlAttributes = "control-attributes"
  case accessControl = "access-control"
  case metadata
  case accessLogEntry = "access-log-entry"
  case unitName = "unit-name"
  case backup
  case foreignFile = "foreign-file"
  case sshMessage = "ssh-message"
  case walletValue = "wallet-value"
  case database
  case rows
  case hostile

  /// The target of this process.
  nonisolated(unsafe) static var chosen: (([UInt8]) -> Void)?

  /// The function that takes an input.
  var body: ([UInt8]) -> Void {
    switch self {
    case .keybag: Target.keybag
    case .deviceKey: deviceKeys()
    case .deviceRequest: Target.deviceRequest
    case .recoveryCode: Target.recoveryCode
    case .controlRequest: Target.request
    case .controlReply: Target.reply
    case .deriveRequest: Target.derive
    case .objectPath: Target.path
    case .controlAttributes: Target.attributes
    case .accessControl: Target.accessControl
    case .metadata: Target.metadata
    case .accessLogEntry: Target.logged
    case .unitName: Target.unit
    case .backup: Target.backups()
    case .foreignFile: Target.foreignFile
    case .sshMessage: Target.sshMessage
    case .walletValue: Target.walletValue
    case .database: DamagedVault().damage
    case .rows: DamagedVault().alter
    case .hostile: Target.hostile()
    }
  }

  private static func hostile() -> ([UInt8]) -> Void {
    let vault = HostileVault()
    // After a trap, this folder has the input as files.
    print("the vault is in \(vault.place)")
    return { input in if let complaint = vault.complaint(input) { fatalError(complaint) } }
  }

  private static func require(_ holds: Bool, _ what: String) {
    if !holds { fatalError(what) }
  }

  /// The input. If its first byte is odd, the rest of the input with a valid check sum.
  private static func checked(_ input: [UInt8]) -> [UInt8] {
    guard let first = input.first, first & 1 == 1 else { return input }
    let body = Array(input.dropFirst())
    return body + Sodium.checksum(body.span.bytes)
  }

  private static func keybag(_ input: [UInt8]) {
    let bytes = checked(input)
    guard let keybag = try? Keybag(decoding: bytes) else { return }
    require(keybag.encoded == bytes, "a keybag is written otherwise than it was read")
    require((1...16).contains(keybag.protectors.count) && (1...8).contains(keybag.epochs.count), "bounds")
    for protector in keybag.protectors where protector.kind == .password {
      require((3...10).contains(protector.cost.passes) && protector.cost.memory <= 1 << 30, "cost")
    }
  }

  private static func recoveryCode(_ input: [UInt8]) {
    guard let code = try? RecoveryCode(typed: input.span.bytes), let text = try? code.text() else { return }
    let written = text.bytes.withUnsafeBytes { Array($0) }
    guard let again = try? RecoveryCode(typed: written.span.bytes), let same = try? again.text() else {
      fatalError("a code that was read cannot be read again")
    }
    require(same.bytes.withUnsafeBytes { Array($0) } == written, "a code is written otherwise than it was read")
  }

  private func deviceKeys() -> ([UInt8]) -> Void {
    guard let home = try? Home(), let folder = try? KeybagFile.folder(home: home.path, owner: getuid()) else {
      fatalError("no folder")
    }
    let box = FolderBox(folder)
    return { input in
      home.write(FileDeviceKey.name, Target.checked(input))
      for machine in [Home.machine, nil] {
        guard let key = try? FileDeviceKey(folder: box.folder, machine: machine, mayCreate: false) else { continue }
        Target.require(key.identity.count == 16, "the device's identity")
      }
    }
  }

  private final class FolderBox {
    let folder: Folder
    init(_ folder: consuming Folder) { self.folder = folder }
  }

  /// A raw packet, and the fields of keys from a sealed one.
  private static func request(_ input: [UInt8]) {
    guard let memory = try? SecureBytes(copying: input.span.bytes) else { fatalError("no memory for a packet") }
    guard let packet = ArrivedPacket(memory, size: input.count) else { return }
    for message in Target.messages { request(packet, message) }
    let fields = input.span.bytes.extracting(droppingFirst: ControlPacket.headSize)
    keys(fields, UnlockWithTiers.self)
    keys(fields, Rotate.self)
    keys(fields, SessionDelivery.self)
    keys(fields, PassphraseKey.self)
  }

  private static let messages: [any ControlMessage.Type] = [
    Hello.self, GetStatus.self, LockVault.self, ShowPrompt.self, EndPrompt.self, GetDerivation.self, OpenPrompt.self,
    RemovePassphrase.self, BeginBackup.self, BeginRestore.self, TakeChunk.self, GiveChunk.self, FinishArchive.self,
    CheckMayRotate.self, CheckMayDerive.self, GetNeededEpoch.self, DeviceSecretRequest.self, DestroyPasscodeItems.self,
    GetAccessLog.self,
    ClearAccessLog.self, NoteOtherPassword.self, PutVaultAside.self, TakePassphrase.self, NoteSlowPassword.self,
    MakeOneTimeKey.self, ListGenerations.self, MakeGeneration.self, CompareGeneration.self,
    RestoreFromGeneration.self, GoThroughGeneration.self, GetComparison.self, FinishRestore.self,
    FindInGenerations.self, GetFoundItems.self, ForgetEverywhere.self, GetForgetting.self, DeleteCollection.self,
  ]

  /// Each readable packet can be written and read again. Bytes that are not valid text are replaced, so the new packet
  /// may differ.
  private static func request<Message: ControlMessage>(_ packet: borrowing ArrivedPacket, _: Message.Type) {
    guard let message = packet.message(Message.self) else { return }
    let written = message.packet
    require(written.count <= Message.sizeLimit, "a message that does not fit into a packet")
    guard let memory = try? SecureBytes(copying: written.span.bytes),
      let again = ArrivedPacket(memory, size: written.count)?.message(Message.self)
    else { fatalError("a message that was read cannot be read again") }
    require(again.packet == written, "a message is written otherwise than it was read")
  }

  private static func keys<Message: KeyMessage & ~Copyable>(_ fields: RawSpan, _: Message.Type) {
    guard let message = Message(decoding: fields) else { return }
    do {
      let written = try message.encoded(behind: [])
      require(written.count == fields.byteCount, "keys of another size than they were read")
    } catch { fatalError("no memory for keys") }
  }

  private static func deviceRequest(_ input: [UInt8]) {
    switch DeviceRequest(decoding: input.span.bytes) {
    case .identity: require(input.count == 2, "more than a request")
    case .wrap(_, _, let context): require(input.count == 4 + context.count + 32 && context.count <= 64, "a wrap")
    case .unwrap(let wrapped, let kind, let context):
      let fields = [kind.rawValue, UInt8(context.count)] + context + wrapped
      require([1, 3] + fields == input, "an unwrap is read otherwise than it was written")
    case .eraseErasable: require(input.count == 6, "the size of a user")
    case .forget: require(input.count == 6, "the size of a user")
    case .session: require(input.count == 6, "the size of a user")
    case .move(let backend): require(input.count == 3 && backend != .file, "a move")
    case .note(let generations, let vault, let isBeginning):
      var out = ByteWriter()
      out.put([1, 7] + vault)
      out.number(generations.keybag)
      out.number(generations.database)
      out.number(UInt8(isBeginning ? 1 : 0))
      require(out.bytes == input, "a note is read otherwise than it was written")
    case .makeKey: require(input.count == 2, "more than a request")
    case .hold(let sealed): require([1, 9] + sealed == input, "a hold is read otherwise than it was written")
    case .drop: require(input.count == 2, "more than a request")
    case .held: require(input.count == 6, "the size of a user")
    case .verify: require(input.count == 6, "the size of a user")
    case .touch: require(input.count == 6, "the size of a number")
    case .leave: require(input.count == 6, "the size of a number")
    case .malformed: break
    }
  }

  private static func reply(_ input: [UInt8]) {
    for message in Target.messages { reply(input, message) }
    guard let outcome = try? UnlockOutcome(decodingAnswer: input, of: UnlockOutcome.operation) else { return }
    let again = try? UnlockOutcome(decodingAnswer: outcome.packet, of: UnlockOutcome.operation)
    require(again?.packet == outcome.packet, "an outcome is written otherwise than it was read")
  }

  private static func reply<Message: ControlMessage>(_ input: [UInt8], _: Message.Type) {
    guard let answer = try? Message.answer(in: input) else { return }
    let bytes = Message.packet(answering: answer)
    require(bytes.count <= ControlPacket.sizeLimit, "an answer that does not fit into a packet")
    guard let again = try? Message.answer(in: bytes) else {
      fatalError("an answer that was read cannot be read again")
    }
    require(Message.packet(answering: again) == bytes, "an answer is written otherwise than it was read")
  }

  /// The fields of each agent message that has fields, and a key file.
  private static func sshMessage(_ input: [UInt8]) {
    let bytes = input.span.bytes
    var whole = SSHReader(0..<input.count)
    if let key = try? PrivateKey(bytes, &whole) {
      if key.isConsistent, let signature = key.sign(bytes, .sha256) {
        require(key.publicKey.isSignature(signature, of: bytes), "a signature that is not the key's")
      }
      _ = try? KeyConstraints(bytes, &whole)
    }
    var constraints = SSHReader(0..<input.count)
    if let read = try? KeyConstraints(bytes, &constraints), !read.destinations.isEmpty {
      require(
        (try? DestinationConstraint.read(read.destinations.span.bytes, SSHReader(0..<read.destinations.count))) != nil,
        "destinations that cannot be read again")
    }
    var bindings = SessionBindings()
    var binding = SSHReader(0..<input.count)
    _ = bindings.bind(bytes, &binding)
    if let key = try? PublicKey(blob: input) {
      _ = SigningSubject(bytes, by: key)
      _ = key.isSignature(input, of: bytes)
    }
    _ = SecurityKeyHelper.answer(input)
    if let contents = try? KeyFile.decode(bytes) {
      require((try? KeyFile.encode(contents.key, comment: contents.comment)) != nil, "a key that cannot be written")
    }
  }

  private static func derive(_ input: [UInt8]) {
    guard let memory = try? SecureBytes(copying: input.span.bytes),
      let request = DeriveRequest(decoding: memory.bytes)
    else { return }
    require(request.token.count <= 4096, "a token that is too long")
    require(request.operation != .authenticate || request.token.count > 0, "a login without a token")
    require(request.operation.hasSecond == (request.second.count > 0), "a second secret")
    require(request.second.count <= 4096, "a second secret that is too long")
    let paths = [request.home, request.runtime, request.shadow, request.services, request.device]
    for text in [request.user, request.service, request.tty, request.remoteHost] + paths {
      require(!text.utf8.contains(0), "a text with a NUL")
    }
    require(paths.allSatisfy { $0.isEmpty || $0.hasPrefix("/") }, "a relative path")
  }

  private static func path(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    switch ObjectPath(text) {
    case .collection(.vault(let id)):
      require(CollectionPlace.vault(id).numberPath == text, "two spellings of a collection")
    case .collection(.session): require(CollectionPlace.session(1).numberPath == text, "two spellings of a collection")
    case .item(.vault(let id), let item):
      require(item > 0 && CollectionPlace.vault(id).numberPath + "/\(item)" == text, "two spellings of an item")
    case .item(.session, let item):
      require(item > 0 && CollectionPlace.session(1).numberPath + "/\(item)" == text, "two spellings of an item")
    case .collection(.named(let name)):
      require(ObjectPath.collections + "/" + name == text, "two spellings of a collection")
    case .item(.named(let name), let item):
      require(item > 0 && ObjectPath.collections + "/\(name)/\(item)" == text, "two spellings of an item")
    case .collection(.alias), .item(.alias, _): require(text.hasPrefix(ObjectPath.aliases + "/"), "no alias")
    case .other: break
    }
  }

  private static func attributes(_ input: [UInt8]) {
    let words = input.split(separator: 0, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    var all: [String: String] = [:]
    for index in stride(from: 0, to: words.count - 1, by: 2) { all[words[index]] = words[index + 1] }
    guard let control = try? ControlAttributes(all) else { return }
    for (name, value) in control.attributes {
      require(all[name] == value && !name.hasPrefix("latchkey:"), "a control attribute among an item's")
    }
    let named = (control.accessibility == nil ? 0 : 1) + (control.access == nil ? 0 : 1)
    require(all.count - control.attributes.count == named, "a lost attribute")
    if let access = control.access { combined(access) }
    _ = control.query
  }

  /// The first byte chooses the content: 0 is flags as bits, 1 is their names, and other values are an item's column.
  private static func accessControl(_ input: [UInt8]) {
    guard let kind = input.first else { return }
    let rest = Array(input.dropFirst())
    switch kind {
    case 0:
      var reader = ByteReader(rest)
      guard let bits: UInt32 = try? reader.number(), let access = try? AccessControl(rawValue: bits) else { return }
      require(access.rawValue == bits, "flags are kept otherwise than they were given")
      combined(access)
    case 1:
      let text = String(decoding: rest, as: UTF8.self)
      guard let access = try? AccessControl(text: text) else { return }
      require(access.requiresAnything == !text.isEmpty, "words that ask for nothing")
      combined(access)
    default:
      guard let column = try? ItemAccess(decoding: rest, ofItem: 1) else { return }
      require(column.encoded == rest, "an item's column is written otherwise than it was read")
      require(column.derivation?.cost.isReasonable ?? true, "cost")
    }
  }

  /// Conditions that every accepted combination of flags meets.
  private static func combined(_ access: AccessControl) {
    require((try? AccessControl(text: access.text)) == access, "flags are written otherwise than they were read")
    require(
      access.requiresAnything == (access.needsPassphrase || !access.conditions.isEmpty), "flags that ask for nothing")
    require(!access.conditions.isSuperset(of: [.biometryAny, .biometryCurrentSet]), "both biometries")
    require(!access.conditions.contains(.userPresence) || access.conditions.count == 1, "presence with others")
    // A prompt without steps would never be confirmed.
    let request = PromptRequest(
      purpose: .item, label: "", caller: "", window: "", terminal: "", access: access)
    require(PromptStep.steps(of: request).isEmpty == !access.requiresAnything, "a prompt without steps")
  }

  private static func logged(_ input: [UInt8]) {
    guard let event = AccessLogSeal.read(input) else { return }
    require(input.count.isMultiple(of: 64), "an entry's size")
    require(
      event.label.utf8.count <= 3 * AccessEvent.textLimit && event.caller.utf8.count <= 3 * AccessEvent.textLimit,
      "a text's length")
    var out = ByteWriter()
    event.encode(into: &out)
    var reader = ByteReader(out.bytes)
    require(AccessEvent(decoding: &reader) != nil && reader.remaining == 0, "an entry cannot be read again")
  }

  /// All functions that read the name of a control group or the file of a sandbox.
  private static func unit(_ input: [UInt8]) {
    let text = String(decoding: input, as: UTF8.self)
    let manager = "0::/user.slice/user-1.slice/user@1.service/"
    let limit = 3 * input.count + 8
    for groups in [text, manager + text + ".service", manager + "app-" + text + ".scope"] {
      require(UnitName.application(inControlGroups: groups)?.utf8.count ?? 0 <= limit, "a unit's name")
      require(UnitName.snap(inControlGroups: groups)?.utf8.count ?? 0 <= limit, "a snap's name")
    }
    require(UnitName.snap(in: text)?.isEmpty != true, "a snap without a name")
    require(FlatpakInfo.application(in: input)?.isEmpty != true, "an application without a name")
  }

  /// The first byte chooses the content. 0 is a keyring file, and 1 a decrypted keyring. 2 is a table. 3 is a KDE 4
  /// wallet, and 4 a decrypted wallet. 5 is a decrypted oo7 item, 6 a pass file, and 7 a Latchkey export. 8 is the
  /// header of a .kdbx, and other values are a KeePass database.
  private static func foreignFile(_ input: [UInt8]) {
    let rest = Array(input.dropFirst())
    guard let bytes = try? SecureBytes(copying: rest.span.bytes), let none = try? SecureBytes(count: 0) else {
      fatalError("no memory for a file")
    }
    let items: [ForeignItem]? =
      switch input.first {
      case 0: try? KeyringFile.read(bytes, name: "login", password: none).items
      case 1: try? BinaryKeyring.items(bytes, [0, 1, 0x100])
      case 2: try? PasswordTable.read(bytes).items
      case 3: try? WalletFile.read(bytes, name: "kdewallet", salt: none, password: none).items
      case 4: try? WalletContent.items(bytes, in: 0..<bytes.count, served: [:])
      case 5: (try? VariantKeyring.content(bytes)).map { [$0] }
      case 6: try? PasswordFile.items(bytes, name: "a", modified: 0)
      case 7: (try? JSONExport(bytes))?.collections.flatMap(\.items)
      case 8: (try? KeePassHeader.check(bytes)).map { [] }
      default:
        (try? KeePassExport(bytes) { try SecureBytes(copying: $0.bytes) }).map { read in
          var read = read
          _ = try? read.addFiles { _, name in try SecureBytes(copying: Array(name.utf8).span.bytes) }
          return read.items
        }
      }
    // Many entries may share an attached file.
    if input.first ?? 9 > 8 { return }
    let secrets = (items ?? []).reduce(0) { $0 + $1.secret.count }
    // A map of a wallet becomes JSON, and a stream becomes Base64.
    let isWallet = input.first == 3 || input.first == 4
    require(secrets <= (isWallet ? 4 : 1) * rest.count, "secrets that are not in the file")
  }

  /// Values that KDE's programs send and get back, and maps that other programs have stored.
  private static func walletValue(_ input: [UInt8]) {
    guard let memory = try? SecureBytes(copying: Array(input.dropFirst()).span.bytes) else { fatalError("no memory") }
    guard let kind = WalletContent.Kind(rawValue: Int32((input.first ?? 0) % 4)) else {
      _ = try? WalletValue.map(memory)
      return
    }
    guard let once = stored(memory, kind), let twice = returned(once, kind) else { return }
    guard let again = returned(twice, kind) else { fatalError("a value that was read cannot be read again") }
    require(octets(again) == octets(twice), "a value is written otherwise than it was read")
  }

  /// The stored form of a value, or nil if the value is malformed.
  private static func stored(_ value: borrowing SecureBytes, _ kind: WalletContent.Kind) -> Secret? {
    guard let item = try? WalletContent.item(value, 0..<value.count, kind, folder: "f", entry: "e") else {
      fatalError("no memory for a value")
    }
    return kind == .stream || item.attributes["type"] != "base64" ? item.secret : nil
  }

  /// The stored form after a program has read the value and stored it again.
  private static func returned(_ secret: Secret, _ kind: WalletContent.Kind) -> Secret? {
    guard let memory = try? secret.withBytes({ try SecureBytes(copying: $0) }) else { fatalError("no memory") }
    let value: SecureBytes? =
      switch kind {
      case .password: try? WalletValue.string(memory)
      case .map: (try? WalletValue.map(memory)) ?? nil
      case .stream: (try? Base64.decode(secret: memory.bytes)) ?? nil
      }
    guard let value else { fatalError("a stored value cannot be read") }
    return stored(value, kind)
  }

  private static func octets(_ secret: Secret) -> [UInt8] { secret.withBytes { $0.withUnsafeBytes { Array($0) } } }

  private static func metadata(_ input: [UInt8]) {
    guard let (metadata, revision) = try? ItemMetadata.decode(input) else { return }
    let bytes = metadata.encoded(revision: revision)
    require(bytes.count.isMultiple(of: ItemMetadata.padding), "the padding of metadata")
    guard let again = try? ItemMetadata.decode(bytes) else { fatalError("metadata cannot be read again") }
    // The format cuts texts at 64 KiB. Bytes that are not valid text may exceed that after their replacement.
    if metadata.contentType.utf8.count <= Int(UInt16.max) {
      require(
        again.metadata == metadata && again.revision == revision, "metadata is written otherwise than it was read")
    }
  }
}
