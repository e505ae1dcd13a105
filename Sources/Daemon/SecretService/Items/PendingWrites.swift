import LatchkeySystemd
import LatchkeyVault

/// Writes that wait for something other than a person, and the limits of all waiting writes. They wait until the whole database
/// was verified, or until the enrolled fingers are known.
final class PendingWrites {
  private let gate: VerificationGate
  private let prompts: PromptTable
  private let clients: Clients
  private unowned let delegate: any SecretServiceDelegate
  private var fingerWaits: [FingerWait] = []
  private var verificationWaits: [VerificationWait] = []

  /// The most writes that may wait for one answer of fprintd.
  private static let fingerWaitLimit = 64
  /// The most writes of one client, and of all clients, that may wait for the database. The limit is higher than the one for a
  /// person's answer. A program that starts with the session may send many writes at once, and no write waits long.
  private static let verificationWaitLimit = (own: 64, all: 256)
  /// The most items of one client, and of all clients, that may wait for a person, and the most bytes of all of them. Each item is
  /// kept until the person answers, with its secret in locked memory.
  private static let waitingLimit = (own: 8, all: 32, bytes: 64 << 20)

  init(
    _ gate: VerificationGate, prompts: PromptTable, clients: Clients, delegate: any SecretServiceDelegate
  ) {
    self.gate = gate
    self.prompts = prompts
    self.clients = clients
    self.delegate = delegate
  }

  /// Writes when the whole database was verified; at once, if it was already.
  func whenVerified(
    _ size: Int, _ call: MethodCall, write: @escaping () throws(BusError) -> Void
  ) throws(BusError) {
    guard !gate.isVerified else { return try write() }
    let own = verificationWaits.count { $0.call.sender == call.sender }
    guard own < Self.verificationWaitLimit.own, verificationWaits.count < Self.verificationWaitLimit.all else {
      throw .limitsExceeded(.service(.manyWaitForCheck))
    }
    try checkRoom(for: size, of: call.sender)
    let wait = VerificationWait(size, call, write: write)
    verificationWaits.append(wait)
    clients.watch(call.sender)
    gate.whenVerified { [weak self, weak wait] in
      guard let self, let wait, verificationWaits.contains(where: { $0 === wait }) else { return }
      verificationWaits.removeAll { $0 === wait }
      do throws(BusError) { try wait.write() } catch { wait.call.fail(error) }
    }
  }

  /// Calls `proceed` when the enrolled fingers are known. If they stay unknown, the client gets an error.
  ///
  /// - Parameter size: the size of the waiting item in bytes; nil if no item waits.
  func whenFingersAreKnown(
    _ size: Int?, _ call: MethodCall, proceed: @escaping (FingerSet) throws(BusError) -> Void
  ) throws(BusError) {
    guard fingerWaits.count < Self.fingerWaitLimit else { throw .limitsExceeded(.service(.manyWaitForAnswer)) }
    if let size { try checkRoom(for: size, of: call.sender) }
    let wait = FingerWait(size, call, proceed: proceed)
    fingerWaits.append(wait)
    clients.watch(call.sender)
    delegate.presentFingers { [weak self, weak wait] answer in
      guard let self, let wait, fingerWaits.contains(where: { $0 === wait }) else { return }
      fingerWaits.removeAll { $0 === wait }
      do throws(BusError) {
        let fingers = try BusError.vault { () throws(VaultError) in
          let fingers = try answer.get()
          // This is checked first, so that no person chooses a passphrase in vain.
          guard !fingers.isEmpty else { throw .noFingerEnrolled }
          return fingers
        }
        try wait.proceed(fingers)
      } catch { wait.call.fail(error) }
    }
  }

  /// Refuses an item that would have to wait if too much waits already.
  func checkRoom(for size: Int, of client: String) throws(BusError) {
    var waiting = prompts.withItem
    let held = fingerWaits.compactMap { wait in
      wait.size.map { (bytes: $0, owner: wait.call.sender) }
    }
    // The number of these writes has its own limit.
    let written = verificationWaits.reduce(size) { $0 + $1.size }
    let own = waiting.count { $0.owner == client } + held.count { $0.owner == client }
    let bytes = {
      waiting.reduce(held.reduce(written) { $0 + $1.bytes }) { $0 + ($1.item?.new.size ?? 0) }
    }
    while waiting.count + held.count >= Self.waitingLimit.all || bytes() > Self.waitingLimit.bytes {
      // Names on the bus cost nothing. So the client with the most waiting items loses one for which no prompt was shown yet.
      let owners = Dictionary(grouping: waiting, by: \.owner)
      guard let most = owners.values.max(by: { $0.count < $1.count }), most.count > own,
        let oldest = most.filter(\.isNew).min(by: { $0.number < $1.number })
      else { break }
      prompts.end(oldest)
      waiting.removeAll { $0 === oldest }
    }
    guard own < Self.waitingLimit.own, waiting.count + held.count < Self.waitingLimit.all,
      bytes() <= Self.waitingLimit.bytes
    else { throw .limitsExceeded(.service(.manyWaitForAnswer)) }
  }

  /// Drops the writes that wait, because the keys were erased.
  func drop() {
    let calls = fingerWaits.map(\.call) + verificationWaits.map(\.call)
    disconnect()
    for call in calls { call.fail(.isLocked(.service(.lockedMeanwhile))) }
  }

  /// Forgets a client that has left.
  func forget(client: String) {
    fingerWaits.removeAll { $0.call.sender == client }
    verificationWaits.removeAll { $0.call.sender == client }
  }

  /// The bus is lost, and with it every waiting client.
  func disconnect() { (fingerWaits, verificationWaits) = ([], []) }
}

/// A write that waits until the whole database was checked. Dropping it erases its secret.
final class VerificationWait {
  /// The size of the write, in bytes.
  let size: Int
  let call: MethodCall
  /// Writes the item.
  let write: () throws(BusError) -> Void

  init(_ size: Int, _ call: MethodCall, write: @escaping () throws(BusError) -> Void) {
    self.size = size
    self.call = call
    self.write = write
  }
}

/// An item that a client wants to store or change, and that waits until the enrolled fingers are known. Dropping it erases its
/// secret.
final class FingerWait {
  /// The size of the item to store, in bytes; nil if there is no such item.
  let size: Int?
  let call: MethodCall
  /// Stores the item.
  let proceed: (FingerSet) throws(BusError) -> Void

  init(_ size: Int?, _ call: MethodCall, proceed: @escaping (FingerSet) throws(BusError) -> Void) {
    self.size = size
    self.call = call
    self.proceed = proceed
  }
}
