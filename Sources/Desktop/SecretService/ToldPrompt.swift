import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// The interface `org.latchkey.Prompt` of prompts: for a client that says what it wants it for, has the item's passphrase already,
/// or wants to be told how the prompt ended.
extension SecretService {
  var toldPromptInterface: ObjectInterface {
    ObjectInterface(
      Self.toldPromptName,
      methods: [
        .init("Prompt", input: [.init("a{sv}", "options")], flags: .sensitive, handler: performToldPrompt)
      ],
      signals: [.init("Ended", [.init("s", "outcome")])])
  }

  private static let toldPromptName = "org.latchkey.Prompt"

  private func performToldPrompt(_ call: MethodCall) throws(BusError) {
    let prompt = try newPrompt(call)
    var (window, reason) = ("", "")
    var given: GivenPassphrase?
    try call.message.readDictionary("sv") { [self] (entry: Message) throws(BusError) in
      switch try entry.readString() {
      case "window":
        window = try entry.readVariant("s") { (value: Message) throws(BusError) in try value.readString() }
      case "reason":
        reason = try entry.readVariant("s") { (value: Message) throws(BusError) in try value.readString() }
      case "passphrase":
        given = try entry.readVariant("(oayays)") { (value: Message) throws(BusError) in
          try passphrase(try receiveSecret(value, of: call.sender))
        }
      default: throw BusError.invalidArguments("only 'window', 'reason' and 'passphrase' can be named")
      }
    }
    prompt.given = given
    prompt.tellsOutcome = true
    perform(prompt, window: window, reason: reason)
    call.reply()
  }

  private func passphrase(_ received: ReceivedSecret) throws(BusError) -> GivenPassphrase {
    let given: GivenPassphrase?
    do { given = try GivenPassphrase(copying: received.value.bytes) } catch {
      throw .limitsExceeded("there is not enough memory")
    }
    guard let given else {
      throw .invalidArguments("a passphrase has 1 to \(GivenPassphrase.limit) bytes, none of them 0")
    }
    return given
  }

  /// What the client gave for a question of its prompt: the passphrase of the item that is to open, or the one that a new item
  /// gets. Where both would be asked it is the former.
  func passphrase(for question: Question, of prompt: Prompt) -> GivenPassphrase? {
    switch (prompt.purpose, question) {
    case (.unlock, .item), (.store, .newItemPassphrase): prompt.given
    case (.change(let change), .itemAccess): change.present.needsPassphrase ? prompt.given : nil
    case (.change(let change), .newItemPassphrase): change.present.needsPassphrase ? nil : prompt.given
    default: nil
    }
  }

  /// Tells the client, where it wants to know, how its prompt ended.
  ///
  /// - Parameter isDone: whether it has what it wanted.
  func tellOutcome(of prompt: Prompt, isDone: Bool) {
    guard prompt.tellsOutcome else { return }
    let outcome = isDone ? "accepted" : Self.outcome(of: prompt)
    try? bus.emitSignal(
      path: prompt.path, interface: Self.toldPromptName, member: "Ended", to: prompt.owner
    ) { (out: inout MessageWriter) throws(BusError) in try out.appendString(outcome) }
  }

  private static func outcome(of prompt: Prompt) -> String {
    if prompt.item?.failure?.name == BusError.duplicateName { return "duplicate" }
    return switch prompt.lastEnd {
    case .refused: "refused"
    case .dismissed: "dismissed"
    // Nothing was left to be asked, or what was answered was not enough.
    case nil, .granted, .unavailable, .broken, .expired: "unavailable"
    case .outdated, .withdrawn, .locked: "withdrawn"
    case .fingers: "fingers"
    }
  }
}
