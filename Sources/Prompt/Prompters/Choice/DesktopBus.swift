import LatchkeySystemd

/// The session bus, on which desktops offer their prompters.
final class DesktopBus {
  let bus: Bus
  let deadline: PromptDeadline
  /// Whether the connection was lost, so that no more answers can come.
  private(set) var isLost = false

  /// Nil if there is no bus.
  init?(deadline: PromptDeadline) {
    guard let bus = try? Bus(.session, loop: deadline.loop) else { return nil }
    self.bus = bus
    self.deadline = deadline
    try? bus.onDisconnect { [weak self] in self?.isLost = true }
  }

  /// The owner of a bus name; nil if the name has no owner, or the bus does not answer.
  func owner(of name: String) -> String? {
    ask { done throws(BusError) in try bus.nameOwner(of: name, completion: done) } ?? nil
  }

  /// Whether a bus name has an owner, or the bus could start its program.
  func offers(_ name: String) -> Bool {
    if owner(of: name) != nil { return true }
    let names = ask { done throws(BusError) in try bus.activatableNames(completion: done) }
    return names?.contains(name) ?? false
  }

  /// The owner of a bus name. The bus starts the program if it does not run.
  func start(_ name: String) -> String? {
    if let owner = owner(of: name) { return owner }
    let limit = PromptDeadline.programLimit
    let started: Void? = ask { done throws(BusError) in try bus.startService(name, timeout: limit, completion: done) }
    return started == nil ? nil : owner(of: name)
  }

  /// Makes a call that no person has to answer, and waits for the answer.
  private func ask<Value>(
    _ call: (@escaping (Result<Value, BusError>) -> Void) throws(BusError) -> Void
  ) -> Value? {
    var answer: Result<Value, BusError>?
    do throws(BusError) { try call { answer = $0 } } catch { return nil }
    guard deadline.wait(atMost: PromptDeadline.programLimit, until: { answer != nil || isLost }) else { return nil }
    return try? answer?.get()
  }
}
