/// The control field of a PAM line. It decides what libpam does with the module's answer.
struct PAMControl: Equatable {
  enum Action: Equatable {
    case ignore
    case ok
    case done
    case bad
    case die
    case reset
    /// Skip this number of lines.
    case jump(Int)
  }

  private let actions: [String: Action]

  /// Reads a word, or `[answer=action …]`; nil if libpam would not understand the text.
  init?(_ text: String) {
    if text.hasPrefix("["), text.hasSuffix("]") {
      var actions: [String: Action] = [:]
      for pair in text.dropFirst().dropLast().split(whereSeparator: { $0 == " " || $0 == "\t" }) {
        let parts = pair.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, let action = PAMControl.action(parts[1]) else { return nil }
        actions[parts[0].lowercased()] = action
      }
      self.actions = actions
      return
    }
    switch text.lowercased() {
    case "required": actions = ["success": .ok, "new_authtok_reqd": .ok, "ignore": .ignore, "default": .bad]
    case "requisite": actions = ["success": .ok, "new_authtok_reqd": .ok, "ignore": .ignore, "default": .die]
    case "sufficient": actions = ["success": .done, "new_authtok_reqd": .done, "default": .ignore]
    case "optional": actions = ["success": .ok, "new_authtok_reqd": .ok, "default": .ignore]
    default: return nil
    }
  }

  private static func action(_ word: Substring) -> Action? {
    switch word.lowercased() {
    case "ignore": .ignore
    case "ok": .ok
    case "done": .done
    case "bad": .bad
    case "die": .die
    case "reset": .reset
    default: Int(word).flatMap { $0 > 0 ? .jump($0) : nil }
    }
  }

  /// For an answer without a name or a default, libpam uses `bad`.
  func action(for answer: PAMAnswer) -> Action { actions[answer.rawValue] ?? actions["default"] ?? .bad }

  /// Whether any answer has an action for which `isWanted` is true.
  func has(_ isWanted: (Action) -> Bool) -> Bool { actions.values.contains(where: isWanted) }

  /// Whether the success of a module ends the stack early, so that the module is another way in.
  var isShortcut: Bool {
    switch action(for: .success) {
    case .done, .jump: true
    default: false
    }
  }
}

/// The answers of a module that matter here.
enum PAMAnswer: String, Equatable {
  case success
  case ignore
  /// The password is wrong.
  case refused = "auth_err"
  /// The module does not know the user, because it looks in another place.
  case stranger = "user_unknown"
  /// The module cannot be used, such as a reader without a finger.
  case unavailable = "authinfo_unavail"
}
