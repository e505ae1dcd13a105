import LatchkeyControl
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.latchkey.Prompt` of prompts, for a client that gives a reason, has the item's passphrase already, or
/// wants to know how the prompt ended.
final class ToldPromptObject {
  static let name = "org.latchkey.Prompt"

  private let table: PromptTable
  private let prompts: PromptObject
  private let sessions: TransportSessions

  init(_ table: PromptTable, prompts: PromptObject, sessions: TransportSessions) {
    self.table = table
    self.prompts = prompts
    self.sessions = sessions
  }

  var interface: ObjectInterface {
    ObjectInterface(
      Self.name,
      methods: [.init("Prompt", input: [.init("a{sv}", "options")], flags: .sensitive, handler: perform)],
      signals: [.init("Ended", [.init("s", "outcome")])])
  }

  private func perform(_ call: MethodCall) throws(BusError) {
    let prompt = try table.new(call)
    var (window, reason) = ("", "")
    var given: GivenPassphrase?
    try call.message.readDictionary("sv") { [self] (entry: Message) throws(BusError) in
      switch try entry.readString() {
      case "window":
        window = try entry.readVariant(.text)
      case "reason":
        reason = try entry.readVariant(.text)
      case "passphrase":
        given = try entry.readVariant("(oayays)") { (value: Message) throws(BusError) in
          try passphrase(try sessions.receiveSecret(value, of: call.sender))
        }
      default: throw BusError.invalidArguments("only 'window', 'reason' and 'passphrase' can be named")
      }
    }
    prompt.given = given
    prompt.tellsOutcome = true
    prompts.perform(prompt, window: window, reason: reason)
    call.reply()
  }

  private func passphrase(_ received: ReceivedSecret) throws(BusError) -> GivenPassphrase {
    let given: GivenPassphrase?
    do { given = try GivenPassphrase(copying: received.value.bytes) } catch {
      throw .limitsExceeded(.refusal(.noMemory))
    }
    guard let given else {
      throw .invalidArguments("a passphrase must have 1 to \(GivenPassphrase.limit) bytes, none of them 0")
    }
    return given
  }
}
