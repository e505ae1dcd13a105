import LatchkeyBackup
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// What all packets of the control socket have in common: version, operation, fields. FORMAT.md has them byte by byte.
enum ControlPacket {
  static let version: UInt8 = 1
  /// In the place of an operation in a reply: it cannot be done.
  static let declined: UInt8 = 255
  /// The largest packet, in bytes.
  static let sizeLimit = 32768
  /// The longest path of a folder, in bytes.
  static let pathLimit = 4000
  /// The largest request, in bytes, but for a chunk of a backup.
  static let requestLimit = 4096
  /// Version and operation, in bytes.
  static let headSize = 2

  enum Operation: UInt8 {
    case hello = 1
    case unlock = 2
    case status = 3
    case lock = 4
    case prompt = 5
    case promptEnded = 6
    case derivation = 7
    case passphrase = 8
    case openPrompt = 9
    case removePassphrase = 10
    case beginBackup = 11
    case beginRestore = 12
    case takeChunk = 13
    case giveChunk = 14
    case archiveReport = 15
    case rotate = 21
    case mayRotate = 22
    case neededEpoch = 23
    case deviceSecret = 24
    case destroyPasscodeItems = 25
    case accessLog = 26
    case clearAccessLog = 27
    case noteOtherPassword = 28
    case startEmpty = 29
    case unlockSession = 30
    case takePassphrase = 31
    case noteSlowPassword = 32
    case oneTimeKey = 33
    case mayDerive = 34

    /// Whether its request brings keys, so that it is sealed.
    var carriesKeys: Bool {
      switch self {
      case .unlock, .rotate, .unlockSession, .passphrase: true
      default: false
      }
    }
  }

  static func begin(_ operation: Operation) -> ByteWriter {
    var out = ByteWriter()
    out.number(version)
    out.number(operation.rawValue)
    return out
  }
}

/// What a peer asks of the daemon.
public enum ControlRequest: ~Copyable {
  /// An authentication begins.
  case hello(Hello)
  /// Keys for the authentication that was announced before.
  case unlock(TierDelivery)
  /// How things are.
  case status
  /// Lock now.
  case lock
  /// What the prompt of this number is to ask; whoever asks shows it.
  case prompt(UInt64)
  /// The passphrase that a program gave for the prompt that this connection shows, sealed to this public key.
  case takePassphrase(publicKey: [UInt8])
  /// The prompt that this connection shows has ended.
  case promptEnded(PromptEnd)
  /// How the passphrase for the prompt of this number becomes a key.
  case derivation(prompt: UInt64)
  /// The key that a passphrase gave.
  case passphrase(PassphraseKey)
  /// A prompt that the caller will show itself, for the collection of this name.
  case openPrompt(PromptRequest.Purpose, collection: String)
  /// Takes the passphrase from the collection of this name.
  case removePassphrase(collection: String)
  /// A backup begins, on this connection.
  case beginBackup
  /// A restore begins, on this connection.
  case beginRestore(RestoreRequest)
  /// The next bytes of the backup.
  case takeChunk
  /// The next chunk of the backup that is restored, without its length.
  case giveChunk([UInt8])
  /// What became of everything, from this line on; ends a restore.
  case archiveReport(after: UInt64)
  /// The tier keys of a keybag that was given new ones: from now on the newest are used.
  case rotate(TierDelivery)
  /// Whether keys could be rotated now.
  case mayRotate
  /// Whether a password may be worked on now, to change the keybag: no keys follow.
  case mayDerive
  /// The oldest generation of tier keys that something hangs on.
  case neededEpoch
  /// The secret of a protector without a password.
  case deviceSecret(DeviceSecretRequest)
  /// Destroys what hangs on the login's password; whether that was removed from the login.
  case destroyPasscodeItems(passwordRemoved: Bool)
  /// The entries of the access log before this number, newest first; 0 for the newest.
  case accessLog(below: UInt64)
  /// Removes the entries of the access log.
  case clearAccessLog
  /// A password that PAM accepted does not open the vault.
  case noteOtherPassword
  /// The login password took so many milliseconds to check, as this machine is too slow for what it costs.
  case noteSlowPassword(milliseconds: UInt32)
  /// Puts the vault in this folder aside, so that the next login founds another one.
  case startEmpty(folder: String)
  /// Tier key C alone, for the session that was announced before.
  case unlockSession(SessionDelivery)
  /// A public key that the next packet is sealed to: it carries keys.
  case oneTimeKey
  /// Nothing that this version knows.
  case malformed
}

/// What the daemon answers.
public enum ControlReply: Equatable, Sendable {
  /// To hello.
  case need(Need)
  /// To unlock.
  case outcome(UnlockOutcome)
  /// To status.
  case status(Status)
  /// To lock: done.
  case locked
  /// To prompt.
  case prompt(PromptRequest)
  /// To derivation.
  case derivation(PassphraseDerivation)
  /// To openPrompt: the prompt's number, and what it asks.
  case opened(UInt64, PromptRequest)
  /// To removePassphrase: done.
  case passphraseRemoved
  /// To mayRotate: yes.
  case mayRotate
  /// To mayDerive: yes.
  case mayDerive
  /// To neededEpoch.
  case neededEpoch(UInt32)
  /// To deviceSecret.
  case deviceSecret(SealedDeviceSecret)
  /// To destroyPasscodeItems: how many items there were.
  case passcodeItemsDestroyed(UInt64)
  /// To accessLog.
  case accessLog(AccessLogPage)
  /// To clearAccessLog: how many entries there were.
  case accessLogCleared(UInt64)
  /// To noteOtherPassword and noteSlowPassword: done.
  case noted
  /// To startEmpty: where the vault is now.
  case putAside(String)
  /// To beginBackup and beginRestore: the number of the prompt for the passphrase.
  case archiveOpened(UInt64)
  /// To takeChunk.
  case chunk(ArchiveChunk)
  /// To giveChunk: whether it was the last one.
  case chunkTaken(isLast: Bool)
  /// To archiveReport.
  case archiveReport(ArchivePage)
  /// To oneTimeKey: the public key, 32 bytes.
  case oneTimeKey([UInt8])
  /// To any from prompt on: it cannot be done; the text says why.
  case declined(String)

  /// The longest reason, in bytes; what is longer is cut.
  private static let textLimit = 1024

  /// The packet's bytes.
  var encoded: [UInt8] {
    switch self {
    case .need(let need):
      var out = ControlPacket.begin(.hello)
      switch need {
      case .nothing: out.number(UInt8(0))
      case .keys: out.number(UInt8(1))
      case .refused: out.number(UInt8(2))
      }
      if case .refused(let reason) = need { out.text(reason, limit: ControlReply.textLimit) } else { out.text("") }
      return out.bytes
    case .outcome(let outcome):
      var out = ControlPacket.begin(.unlock)
      let (code, text): (UInt8, String) =
        switch outcome {
        case .live: (0, "")
        case .staged: (1, "")
        case .wrongKeys: (2, "")
        case .refused(let reason): (3, reason)
        case .unusable(let reason): (4, reason)
        }
      out.number(code)
      out.text(text, limit: ControlReply.textLimit)
      return out.bytes
    case .status(let status):
      var out = ControlPacket.begin(.status)
      status.encode(into: &out)
      return out.bytes
    case .locked: return ControlPacket.begin(.lock).bytes
    case .prompt(let request):
      var out = ControlPacket.begin(.prompt)
      request.encode(into: &out)
      return out.bytes
    case .derivation(let derivation):
      var out = ControlPacket.begin(.derivation)
      derivation.encode(into: &out)
      return out.bytes
    case .opened(let number, let request):
      var out = ControlPacket.begin(.openPrompt)
      out.number(number)
      request.encode(into: &out)
      return out.bytes
    case .passphraseRemoved: return ControlPacket.begin(.removePassphrase).bytes
    case .archiveOpened(let number):
      var out = ControlPacket.begin(.beginBackup)
      out.number(number)
      return out.bytes
    case .chunk(let chunk):
      var out = ControlPacket.begin(.takeChunk)
      chunk.encode(into: &out)
      return out.bytes
    case .chunkTaken(let isLast):
      var out = ControlPacket.begin(.giveChunk)
      out.number(UInt8(isLast ? 1 : 0))
      return out.bytes
    case .archiveReport(let page):
      var out = ControlPacket.begin(.archiveReport)
      page.encode(into: &out)
      return out.bytes
    case .mayRotate: return ControlPacket.begin(.mayRotate).bytes
    case .mayDerive: return ControlPacket.begin(.mayDerive).bytes
    case .neededEpoch(let number):
      var out = ControlPacket.begin(.neededEpoch)
      out.number(number)
      return out.bytes
    case .deviceSecret(let secret):
      var out = ControlPacket.begin(.deviceSecret)
      secret.encode(into: &out)
      return out.bytes
    case .passcodeItemsDestroyed(let count):
      var out = ControlPacket.begin(.destroyPasscodeItems)
      out.number(count)
      return out.bytes
    case .accessLog(let page):
      var out = ControlPacket.begin(.accessLog)
      page.encode(into: &out)
      return out.bytes
    case .accessLogCleared(let count):
      var out = ControlPacket.begin(.clearAccessLog)
      out.number(count)
      return out.bytes
    case .noted: return ControlPacket.begin(.noteOtherPassword).bytes
    case .putAside(let path):
      var out = ControlPacket.begin(.startEmpty)
      out.text(path, limit: ControlPacket.pathLimit)
      return out.bytes
    case .oneTimeKey(let publicKey):
      var out = ControlPacket.begin(.oneTimeKey)
      out.put(publicKey)
      return out.bytes
    case .declined(let reason):
      var out = ByteWriter()
      out.number(ControlPacket.version)
      out.number(ControlPacket.declined)
      out.text(reason, limit: ControlReply.textLimit)
      return out.bytes
    }
  }

  /// Reads a packet; nil for anything else than this version's answers.
  init?(decoding bytes: [UInt8]) {
    var input = ByteReader(bytes)
    guard (try? input.number(UInt8.self)) == ControlPacket.version, let raw = try? input.number(UInt8.self) else {
      return nil
    }
    if raw == ControlPacket.declined {
      guard let reason = try? input.text() else { return nil }
      self = .declined(reason)
      return
    }
    guard let operation = ControlPacket.Operation(rawValue: raw) else { return nil }
    switch operation {
    case .hello:
      guard let code = try? input.number(UInt8.self), let text = try? input.text() else { return nil }
      switch code {
      case 0: self = .need(.nothing)
      case 1: self = .need(.keys)
      case 2: self = .need(.refused(text))
      default: return nil
      }
    case .unlock:
      guard let code = try? input.number(UInt8.self), let text = try? input.text() else { return nil }
      switch code {
      case 0: self = .outcome(.live)
      case 1: self = .outcome(.staged)
      case 2: self = .outcome(.wrongKeys)
      case 3: self = .outcome(.refused(text))
      case 4: self = .outcome(.unusable(text))
      default: return nil
      }
    case .status:
      guard let status = Status(decoding: &input) else { return nil }
      self = .status(status)
    case .lock: self = .locked
    case .prompt:
      guard let request = PromptRequest(decoding: &input) else { return nil }
      self = .prompt(request)
    case .derivation:
      guard let derivation = PassphraseDerivation(decoding: &input) else { return nil }
      self = .derivation(derivation)
    case .openPrompt:
      guard let number = try? input.number(UInt64.self), let request = PromptRequest(decoding: &input) else {
        return nil
      }
      self = .opened(number, request)
    case .removePassphrase: self = .passphraseRemoved
    case .mayRotate: self = .mayRotate
    case .mayDerive: self = .mayDerive
    case .neededEpoch:
      guard let number = try? input.number(UInt32.self) else { return nil }
      self = .neededEpoch(number)
    case .deviceSecret:
      guard let secret = SealedDeviceSecret(decoding: &input) else { return nil }
      self = .deviceSecret(secret)
    case .destroyPasscodeItems:
      guard let count = try? input.number(UInt64.self) else { return nil }
      self = .passcodeItemsDestroyed(count)
    case .accessLog:
      guard let page = AccessLogPage(decoding: &input) else { return nil }
      self = .accessLog(page)
    case .clearAccessLog:
      guard let count = try? input.number(UInt64.self) else { return nil }
      self = .accessLogCleared(count)
    case .noteOtherPassword: self = .noted
    case .startEmpty:
      guard let path = try? input.text() else { return nil }
      self = .putAside(path)
    case .beginBackup:
      guard let number = try? input.number(UInt64.self) else { return nil }
      self = .archiveOpened(number)
    case .takeChunk:
      guard let chunk = ArchiveChunk(decoding: &input) else { return nil }
      self = .chunk(chunk)
    case .giveChunk:
      guard let isLast = try? input.number(UInt8.self), isLast <= 1 else { return nil }
      self = .chunkTaken(isLast: isLast == 1)
    case .archiveReport:
      guard let page = ArchivePage(decoding: &input) else { return nil }
      self = .archiveReport(page)
    case .oneTimeKey:
      guard input.remaining == SealedBox.publicKeySize, let key = try? input.take(SealedBox.publicKeySize) else {
        return nil
      }
      self = .oneTimeKey(key)
    // Answered by an outcome, by nothing, by a secret, or as beginBackup or noteOtherPassword is.
    case .takePassphrase, .passphrase, .rotate, .unlockSession, .promptEnded, .beginRestore, .noteSlowPassword:
      return nil
    }
  }
}
