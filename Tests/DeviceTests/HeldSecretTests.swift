import LatchkeySodium
import LatchkeyTSS
import Testing

@Suite(
  "A secret that the chip keeps until the machine starts again", .serialized,
  .enabled(if: SoftwareChip.program != nil, "swtpm is not installed"))
struct HeldSecretTests {
  init() throws { try Sodium.initialize() }

  private func octets(_ value: borrowing Key) -> [UInt8] { value.bytes.withUnsafeBytes { Array($0) } }

  /// The secret, or the failed step.
  private func outcome(_ tpm: TPM, _ context: [UInt8]) -> Result<[UInt8], TPMError> {
    do throws(TPMError) { return .success(octets(try tpm.held(context))) } catch { return .failure(error) }
  }

  private func isLost(_ outcome: Result<[UInt8], TPMError>) -> Bool {
    if case .failure(.failed(.loading, _)) = outcome { true } else { false }
  }

  @Test("A held secret comes back after a suspension, as often as it is requested, but not after a start")
  func lifetime() throws {
    let chip = try SoftwareChip()
    let tpm = try TPM(tcti: chip.tcti)
    let secret = try Key.random()
    var context = try tpm.hold(secret)
    #expect(!context.contains(octets(secret)))
    for _ in 0..<2 {
      #expect(outcome(tpm, context) == .success(octets(secret)))
      try chip.restart(.state, .state)
    }
    #expect(outcome(tpm, context) == .success(octets(secret)))
    // A changed bit in the chip's own part, behind the head of the context, and a truncated context.
    var changed = context
    changed[100] ^= 1
    #expect(isLost(outcome(tpm, changed)))
    #expect(outcome(tpm, Array(context.dropLast())) == .failure(.malformed))
    #expect(outcome(tpm, []) == .failure(.malformed))
    // A suspension with a new start, as after hibernation: TPM Restart. Then a shutdown with a start, and a power loss: TPM Reset.
    for (shutdown, startup) in [(.state, .clear), (.clear, .clear), (nil, .clear)]
      as [(SoftwareChip.Mode?, SoftwareChip.Mode)]
    {
      try chip.restart(shutdown, startup)
      #expect(isLost(outcome(tpm, context)), "\(String(describing: shutdown))")
      context = try tpm.hold(secret)
      #expect(outcome(tpm, context) == .success(octets(secret)))
    }
  }
}
