import LatchkeyControl
import LatchkeySystemd

// latchkey-derive takes the place of two of libc's functions for libsodium. Should another libsodium not call them, all works
// as before, but for the erasing: that is to be seen.
extension Daemon {
  static let derivationMemoryProblem =
    "the memory in which the password became a key was freed without being erased: the installed libsodium and latchkey-derive"
    + " do not work together. Build and install Latchkey again, as by 'make build' and 'sudo make install'"

  /// Takes note of what the sender of keys said of its memory. The last one counts.
  func noteDerivationMemory(of delivery: borrowing TierDelivery) {
    if delivery.leftMemory, !leavesDerivationMemory { Journal.log(.error, Daemon.derivationMemoryProblem) }
    leavesDerivationMemory = delivery.leftMemory
  }
}
