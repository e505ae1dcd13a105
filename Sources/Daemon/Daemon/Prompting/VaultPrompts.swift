import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySecretService
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// Connects the prompts to the vault, in both directions.
final class VaultPrompts: PromptQueueDelegate {
  private let vault: Vault
  private let session: SessionReference
  private let presence: BusPresence
  private let fingers: FingerCheck
  private let device: DeviceOpening
  private let log: AccessLogService
  private let upkeep: VaultUpkeep
  private let loop: EventLoop
  private let launcher: PromptLauncher
  private unowned let observer: any KeyObserver
  /// For each prompt from whose passphrase a helper now derives keys, the time at which the passphrase was given.
  private var given: [UInt64: UInt64] = [:]
  private(set) lazy var queue = PromptQueue(loop: loop, delegate: self)
  private(set) lazy var archives = ArchiveService(
    vault, queue: queue, session: session, presence: presence, loop: loop)

  var isLockerUp: Bool { session.machine.lockerUp }

  init(
    _ vault: Vault, session: SessionReference, presence: BusPresence, fingers: FingerCheck, device: DeviceOpening,
    log: AccessLogService, upkeep: VaultUpkeep, launcher: PromptLauncher, loop: EventLoop, observer: any KeyObserver
  ) {
    self.vault = vault
    self.session = session
    self.presence = presence
    self.fingers = fingers
    self.device = device
    self.log = log
    self.upkeep = upkeep
    self.launcher = launcher
    self.loop = loop
    self.observer = observer
  }

  /// Registers the messages of the control socket that this type answers.
  func serve(in table: inout ControlTable) {
    table.answer(ShowPrompt.self) { [unowned self] message, peer throws(Refusal) in
      guard !peer.isPrompt, let request = queue.show(message.number, on: peer) else {
        throw Refusal(.refusal(.noClientWaits))
      }
      peer.isPrompt = true
      return request
    }
    table.answer(PlacePrompt.self) { [unowned self] message, peer in
      queue.place(message.place, on: peer)
      return Done()
    }
    table.answer(OpenPrompt.self) { [unowned self] message, peer throws(Refusal) in
      try peer.beginPrompt { () throws(Refusal) in try open(message, on: peer) }
    }
    table.answer(TakePassphrase.self) { [unowned self] message, peer throws(Refusal) in
      guard let passphrase = queue.passphrase(on: peer) else { throw Refusal(.refusal(.noProgramGave)) }
      do throws(SodiumError) { return try SealedPassphrase(passphrase, to: message.publicKey) } catch {
        throw Refusal(.because(.refusal(.cannotSeal), .verbatim("\(error)")))
      }
    }
    table.take(EndPrompt.self) { message, peer in peer.end(message.end) }
    table.answerHelper(GetDerivation.self) { [unowned self] message throws(Refusal) in
      let derivation = try derivation(prompt: message.prompt)
      // Drops the times of prompts that are over: a helper may have died without bringing a key.
      given = given.filter { queue.question(ofPrompt: $0.key) != nil }
      given[message.prompt] = min(message.given, Process.microsecondsSinceBoot)
      return derivation
    }
    table.takeKeys(PassphraseKey.self) { [unowned self] message, _, answer in answer(passphrase(message)) }
    table.answer(RemovePassphrase.self) { [unowned self] message, _ throws(Refusal) in
      try removePassphrase(collection: message.collection)
      return Done()
    }
    table.answer(DeleteCollection.self) { [unowned self] message, _ throws(Refusal) in
      try delete(collection: message.collection)
      return Done()
    }
    archives.serve(in: &table)
  }

  /// The prompt on a connection has ended.
  ///
  /// - Parameter end: nil if only the prompt's connection ended.
  func ended(on connection: any PromptConnection, _ end: PromptEnd?) {
    queue.ended(on: connection, end)
    archives.ended(on: connection)
  }

  func openWithoutAsking(_ question: Question, lifting: Set<Int64>) {
    device.openWithoutAsking(question, lifting: lifting)
  }

  func check(_ question: Question, then: @escaping (PromptEnd?) -> Void) { fingers.check(question, then: then) }

  func asked(_ question: Question) { log.asked(question) }

  func ended(_ question: Question, for caller: Caller, _ end: PromptEnd) { log.ended(question, for: caller, end) }

  func used(_ question: Question, by caller: Caller) { log.used(question, by: caller) }

  func launchPrompt(_ number: UInt64, failed: @escaping () -> Void) {
    launcher.launch(number, by: presence, failed: failed)
  }

  func isAnswered(_ question: Question, lifting: Set<Int64>) -> Bool {
    switch question {
    case .login:
      guard case .unlocked = session.machine.state else { return false }
      return lifting.allSatisfy { id in
        // A collection that was deleted meanwhile needs no answer.
        guard let state = try? vault.collections.state(of: id) else { return true }
        return state != .lockedExplicitly && !vault.collections.hasLockedItems(in: id)
      }
    case .collection(let id):
      guard let state = try? vault.collections.state(of: id) else { return true }
      return state == .unlocked || state == .locked
    case .item(let id, let client):
      // An item that was deleted, or requires nothing any more, needs no answer.
      guard (try? vault.reader.readability(ofItem: id)) == .guarded else { return true }
      return presence.service?.answers.isGranted(id, for: client) ?? false
    case .itemAccess, .newItemPassphrase: return presence.service?.answers.subject(ofWaiting: question) == nil
    case .newPassphrase, .newBackup, .backup, .loginAdvice: return false
    }
  }

  func subject(of question: Question) -> PromptSubject {
    switch question {
    case .collection(let id), .newPassphrase(let id):
      PromptSubject(label: (try? vault.collections.info(of: id).label) ?? "")
    case .item(let id, let client): itemSubject(id, reuse: presence.service?.answers.reuse(of: client) ?? 0)
    case .itemAccess(let id, _, _): itemSubject(id, change: presence.service?.answers.change(for: question) ?? "")
    case .newItemPassphrase: PromptSubject(label: presence.service?.answers.subject(ofWaiting: question) ?? "")
    case .login: PromptSubject(createsVault: vault.isMissing)
    case .loginAdvice: PromptSubject(label: (try? vault.collections.info(of: Vault.firstCollection).label) ?? "")
    case .newBackup, .backup: PromptSubject()
    }
  }

  private func itemSubject(_ id: Int64, reuse: UInt16 = 0, change: String = "") -> PromptSubject {
    guard let info = try? vault.reader.info(ofItem: id) else { return PromptSubject() }
    return PromptSubject(
      label: info.metadata?.label ?? "", access: fingers.otherConditions(ofItem: id) ?? info.access ?? .none,
      reuse: fingers.mayReadAgain(item: id) ? reuse : 0, change: change)
  }

  func accepted(_ question: Question, for caller: Caller, showing subject: PromptSubject, answer: AnyObject?) -> Bool {
    guard let service = presence.service else { return false }
    switch question {
    case .item(let id, let client):
      guard let grant = grant(item: id, showing: subject, answer) else { return false }
      service.answers.add(grant, for: client, caller, reuse: subject.reuse)
      return true
    case .itemAccess(let id, _, _):
      guard let grant = grant(item: id, showing: subject, answer) else { return false }
      return service.answers.give(grant, to: question, showing: subject.access)
    case .newItemPassphrase:
      // The item is stored only now, because a stack may refuse after the passphrase was typed.
      guard let passphrase = (answer as? ChosenPassphrase)?.take() else { return false }
      do throws(BusError) { try service.answers.give(passphrase, to: question) } catch {
        Journal.log(.warning, "an item was not written after its passphrase was chosen: \(error.message)")
        return false
      }
      return true
    case .login, .loginAdvice, .collection, .newPassphrase, .newBackup, .backup: return true
    }
  }

  /// The grant of an accepted prompt; nil if the item's requirements differ from the requirements that the prompt showed.
  private func grant(item id: Int64, showing subject: PromptSubject, _ answer: AnyObject?) -> AccessGrant? {
    guard subject.access.requiresAnything, itemSubject(id, reuse: subject.reuse, change: subject.change) == subject
    else {
      return nil
    }
    // An item without a passphrase needs only the results of the PAM stacks for its conditions.
    return answer as? AccessGrant ?? (try? vault.reader.grant(item: id))
  }

  private func open(_ message: OpenPrompt, on connection: any PromptConnection) throws(Refusal) -> OpenedPrompt {
    let id = try collection(named: message.collection)
    // The typing person may be another than the person at the screen.
    guard !isLockerUp else { throw Refusal(.refusal(.screenLocked)) }
    let state = try Refusal.vault { () throws(VaultError) in try vault.collections.state(of: id) }
    switch message.purpose {
    case .login, .newVault, .loginAdvice: throw Refusal(.refusal(.loginPassword))
    case .item, .itemAccess, .newItemPassphrase: throw Refusal(.refusal(.itemNotCollection))
    case .collection:
      switch state {
      case .needsPassphrase: break
      case .sealed: throw Refusal(.refusal(.logInFirst))
      case .locked, .lockedExplicitly: throw Refusal(.refusal(.vaultIsLocked))
      case .unlocked: throw Refusal(.session(.alreadyUnlocked))
      }
      guard !queue.isPaused(.collection(id)) else {
        throw Refusal(.refusal(.paused))
      }
      return queue.opened(.collection(id), on: connection)
    case .newPassphrase:
      guard id != PortalCollection.id(in: vault) else {
        throw Refusal(PortalCollection.takesNoPassphrase)
      }
      try Refusal.vault { () throws(VaultError) in try vault.collections.checkPassphraseMayChange(of: id) }
      return queue.opened(.newPassphrase(id), on: connection)
    }
  }

  private func derivation(prompt number: UInt64) throws(Refusal) -> PassphraseDerivation {
    let derivation: PassphraseDerivation? =
      switch queue.question(ofPrompt: number) {
      case .collection(let id):
        try Refusal.vault { () throws(VaultError) in try vault.collections.passphraseDerivation(of: id) }
      case .item(let id, _), .itemAccess(let id, _, _):
        try Refusal.vault { () throws(VaultError) in try vault.reader.passphraseDerivation(ofItem: id) }
      case .newPassphrase, .newBackup, .newItemPassphrase: queue.newDerivation(ofPrompt: number)
      case .backup: archives.derivation(prompt: number)
      case .login, .loginAdvice, nil: nil
      }
    guard let derivation else { throw Refusal(.refusal(.noPassphrasePrompt)) }
    return derivation
  }

  private func passphrase(_ delivery: consuming PassphraseKey) -> UnlockOutcome {
    let number = delivery.prompt
    let question = queue.question(ofPrompt: number)
    let key = delivery.takeKey()
    let given = given.removeValue(forKey: number) ?? 0
    guard !isLockerUp else { return .refused(.refusal(.screenIsLocked)) }
    do throws(VaultError) {
      switch question {
      case .collection(let id):
        guard vault.collections.latestOwnLock < given else { return .refused(.session(.lockedMeanwhile)) }
        guard try vault.collections.open(id, passphraseKey: key) else {
          queue.wasWrong(prompt: number)
          return .wrongKeys
        }
        queue.wasRight(prompt: number)
      case .newPassphrase(let id):
        guard let derivation = queue.newDerivation(ofPrompt: number) else { return .refused(.refusal(.noSuchPrompt)) }
        try vault.collections.setPassphrase(of: id, key: key, derivation)
      case .item(let id, _), .itemAccess(let id, _, _):
        guard let grant = try vault.reader.grant(item: id, passphraseKey: key) else {
          queue.wasWrong(prompt: number)
          return .wrongKeys
        }
        queue.wasRight(prompt: number)
        // The prompt asks for the item's conditions as well, so the passphrase counts only when the prompt has ended.
        queue.keep(grant, prompt: number)
        return .live
      case .newItemPassphrase:
        guard let derivation = queue.newDerivation(ofPrompt: number) else { return .refused(.refusal(.noSuchPrompt)) }
        queue.keep(ChosenPassphrase(NewItemPassphrase(derivation, key: key)), prompt: number)
        return .live
      case .newBackup, .backup: return archives.start(prompt: number, key)
      case .login, .loginAdvice, nil: return .refused(.refusal(.noPassphrasePrompt))
      }
    } catch {
      return error == .isLocked ? .refused(error.reason) : .unusable(error.reason)
    }
    // Continues with the items that waited for keys: items that were stored while locked, and items that get new keys.
    upkeep.goOn()
    observer.stateChanged()
    return .live
  }

  private func removePassphrase(collection name: String) throws(Refusal) {
    let id = try collection(named: name)
    let derivation = try Refusal.vault { () throws(VaultError) in try vault.collections.passphraseDerivation(of: id) }
    guard derivation != nil else { throw Refusal(.refusal(.noPassphrase)) }
    try Refusal.vault { () throws(VaultError) in try vault.collections.removePassphrase(of: id) }
  }

  /// Deletes a collection whose passphrase is forgotten, because no other way can. Any other collection, or a collection that holds
  /// an item with an explicit lock, is deleted in the same way as by clients of the bus. Clients of the bus cannot delete a locked
  /// collection, so that no program loses secrets that it cannot read.
  private func delete(collection name: String) throws(Refusal) {
    // Another person may be typing than the one at the screen. Without a password, the vault is unlocked behind a locker too.
    guard !isLockerUp else { throw Refusal(.refusal(.screenLocked)) }
    guard case .unlocked = session.machine.state else {
      throw Refusal(.refusal(.lockedBefore))
    }
    let id = try collection(named: name)
    let derivation = try Refusal.vault { () throws(VaultError) in try vault.collections.passphraseDerivation(of: id) }
    guard derivation != nil else { throw Refusal(.refusal(.noPassphrase)) }
    switch try Refusal.vault({ () throws(VaultError) in try vault.collections.state(of: id) }) {
    case .needsPassphrase: break
    case .unlocked:
      throw Refusal(.refusal(.passphraseGiven))
    case .sealed, .locked, .lockedExplicitly:
      throw Refusal(.refusal(.vaultIsLocked))
    }
    guard !vault.collections.hasLockedItems(in: id) else {
      throw Refusal(.refusal(.itemLockedByItself))
    }
    try Refusal.vault { () throws(VaultError) in try vault.collections.delete(id) }
    Journal.log(
      .notice,
      "collection \(CollectionName.ofNumber(id)) was deleted without its passphrase, as the user asked")
    presence.service?.deleted(collection: id)
    queue.stateChanged()
  }

  /// The collection that a person names by its label or by the last part of its object path.
  private func collection(named name: String) throws(Refusal) -> Int64 {
    var found: [Int64] = []
    for id in vault.collections.ids {
      if [vault.collections.pathName(of: id), CollectionName.ofNumber(id)].contains(name) { return id }
      let info = try Refusal.vault { () throws(VaultError) in try vault.collections.info(of: id) }
      if info.label == name { found.append(id) }
    }
    guard let id = found.first else { throw Refusal(.refusal(.noCollectionOfName)) }
    guard found.count == 1 else {
      let names = found.map { vault.collections.pathName(of: $0) }.joined(separator: ", ")
      throw Refusal(.ambiguous(count: found.count, names: names))
    }
    return id
  }
}

extension PromptQueue {
  /// Makes a prompt that a connection shows itself.
  fileprivate func opened(_ question: Question, on connection: any PromptConnection) -> OpenedPrompt {
    let (number, request) = open(question, on: connection)
    return OpenedPrompt(number: number, request: request)
  }
}

/// A passphrase that waits until its prompt has ended. It is a class because a value that is not copyable cannot be an answer.
private final class ChosenPassphrase {
  private var passphrase: NewItemPassphrase?
  init(_ passphrase: consuming NewItemPassphrase) { self.passphrase = consume passphrase }
  func take() -> NewItemPassphrase? { passphrase.take() }
}
