import LatchkeyItemProtection
import LatchkeySecretClient
import LatchkeySystemd

/// The words of a prompt, and the answers that the program gives.
struct PromptWords {
  /// The reason that the program gives to the person.
  let reason: String?
  /// The item's passphrase, if the program has it.
  let passphrase: Secret?
}

extension VaultLink {
  /// Asks the vault to unlock an object for this connection.
  func unlock(_ paths: [String], _ words: PromptWords) throws(BusError) -> PromptOutcome {
    let prompt = try connection.call(ServiceConnection.root, ServiceConnection.service, "Unlock") {
      $0.appendObjectPaths(paths)
    } read: { (answer: Message) throws(BusError) in
      _ = try answer.readObjectPaths()
      return try answer.readObjectPath()
    }
    return prompt == ServiceConnection.none ? .accepted : try perform(prompt, words)
  }

  /// Waits until a prompt of this connection has ended.
  func perform(_ prompt: String, _ words: PromptWords) throws(BusError) -> PromptOutcome {
    var isDismissed: Bool?
    var outcome: String?
    var isGone = false
    let slots: [BusSlot]
    do {
      slots = [
        try connection.bus.watchPeer(connection.owner) { isGone = true },
        try connection.bus.matchSignal(
          sender: connection.owner, path: prompt, interface: ServiceConnection.toldPrompt, member: "Ended"
        ) { (signal: Message) throws(BusError) in
          outcome = try signal.readString()
        },
        try connection.bus.matchSignal(
          sender: connection.owner, path: prompt, interface: ServiceConnection.prompt, member: "Completed"
        ) { (signal: Message) throws(BusError) in
          isDismissed = try signal.readBool()
        },
      ]
    } catch { throw .failed(error.description) }
    return try withExtendedLifetime(slots) { () throws(BusError) in
      try connection.call(prompt, ServiceConnection.toldPrompt, "Prompt") { out throws(BusError) in
        out.open("a", "{sv}")
        if let reason = words.reason?.fitForPrompt { out.appendText("reason", reason) }
        if let passphrase = words.passphrase {
          out.open("e", "sv")
          out.appendString("passphrase")
          out.open("v", "(oayays)")
          try channel.write(passphrase, to: &out)
          out.close()
          out.close()
        }
        out.close()
      } read: { _ in
      }
      try connection.serveForPerson { isDismissed != nil || isGone }
      guard let isDismissed else { throw .disconnected("the vault is gone") }
      return outcome.flatMap { PromptOutcome(rawValue: $0) } ?? (isDismissed ? .dismissed : .accepted)
    }
  }
}

extension String {
  /// The first 1000 characters of a text, without characters that a message cannot carry; nil for an empty text.
  fileprivate var fitForPrompt: String? {
    let text = String(String.UnicodeScalarView(unicodeScalars.filter { String($0).canTravel }.prefix(1000)))
    return text.isEmpty ? nil : text
  }
}
