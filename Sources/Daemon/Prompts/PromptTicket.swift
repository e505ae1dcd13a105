import LatchkeyControl
import LatchkeyKeybag
import LatchkeySystemd

/// One client's place in the queue.
public final class PromptTicket {
  let lifting: Set<Int64>
  let caller: Caller
  private(set) var passphrase: GivenPassphrase?
  var timer: EventSource?
  /// Whether the client has left, or waits no longer, while the person may still answer.
  var hasLeft = false
  private var ended: (() -> Void)?
  /// How the prompt ended; nil while the prompt waits, and after it was cancelled.
  public private(set) var end: PromptEnd?

  init(lifting: Set<Int64>, caller: Caller, passphrase: GivenPassphrase?, ended: @escaping () -> Void) {
    self.lifting = lifting
    self.caller = caller
    self.passphrase = passphrase
    self.ended = ended
  }

  /// From now on the client is told nothing.
  func forget() { (timer, ended, passphrase) = (nil, nil, nil) }

  func end(_ end: PromptEnd) { takeEnd(end)?() }

  func takeEnd(_ end: PromptEnd) -> (() -> Void)? {
    defer { forget() }
    self.end = end
    return ended
  }
}
