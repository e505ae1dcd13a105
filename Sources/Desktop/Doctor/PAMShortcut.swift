import LatchkeyText

/// A stack whose `sufficient` lines end it before the module is reached, in one file of the administrator's: the file as it
/// would be with jumps to the module in their place, as Debian's common-auth has them.
struct PAMShortcut {
  let command: String
  let outcome: SystemRoot

  /// nil where other lines end the stack, or where a jump would be counted wrong.
  init?(_ name: String, _ kind: PAMStack.Kind, in root: SystemRoot) {
    guard let stack = try? PAMStack(name, kind, in: root),
      let file = stack.entries.first(where: \.isOurs)?.file, file.hasPrefix(PAMStack.folders[0] + "/"),
      case .text(let text) = root.content(file), !text.contains(text: "\\\n")
    else { return nil }
    let enders = Self.enders(of: stack)
    guard !enders.isEmpty, enders.allSatisfy({ $0.file == file }),
      let change = Change(text, kind, enders.map(\.path))
    else { return nil }
    outcome = root.changing(file, to: change.text)
    // A login that works must not be refused afterwards.
    guard let after = try? PAMStack(name, kind, in: outcome), Self.successes(in: after) == Self.successes(in: stack)
    else { return nil }
    let lines = change.added.map { "'\($0)'" }.joined(separator: " ")
    command =
      "sudo sed -i -E \(change.expressions.map { "-e '\($0)'" }.joined(separator: " ")) \(file)"
      + " && printf '%s\\n' \(lines) | sudo tee -a \(file) >/dev/null"
  }

  /// Whether a line ends the stack at the right password, before the module.
  static func endsEarly(_ name: String, _ kind: PAMStack.Kind, in root: SystemRoot) -> Bool {
    guard kind != .session, let stack = try? PAMStack(name, kind, in: root), stack.entries.contains(where: \.isOurs)
    else {
      return false
    }
    return !enders(of: stack).isEmpty
  }

  private static func askers(of stack: PAMStack) -> [Int] { stack.entries.indices.filter { stack.entries[$0].isAsker } }

  /// Whether the password is accepted that each module that asks for one accepts.
  private static func successes(in stack: PAMStack) -> [Bool] {
    askers(of: stack).map { PAMTrial(stack, accepting: .entry($0)).isSuccess }
  }

  /// The lines that end the stack at the right password, before the module.
  private static func enders(of stack: PAMStack) -> [PAMStack.Entry] {
    var found: [PAMStack.Entry] = []
    for asker in askers(of: stack) {
      let trial = PAMTrial(stack, accepting: .entry(asker))
      guard trial.isSuccess, let end = trial.lastWord, !trial.called.contains(where: { stack.entries[$0].isOurs }),
        !found.contains(stack.entries[end])
      else { continue }
      found.append(stack.entries[end])
    }
    return found
  }

  /// The text of the file, line by line, and the same for sed.
  private struct Change {
    let text: String
    let expressions: [String]
    /// The lines that go to the end of the file.
    let added: [String]

    init?(_ old: String, _ kind: PAMStack.Kind, _ modules: [String]) {
      func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
      // tee appends to it, so the last line has to be complete.
      guard old.hasSuffix("\n") else { return nil }
      var lines: [(words: [Substring], text: String)] = old.dropLast().split(
        separator: "\n", omittingEmptySubsequences: false
      )
      .map { ($0.split(whereSeparator: isBlank), String($0)) }
      func isOfKind(_ words: [Substring]) -> Bool {
        words.first == kind.rawValue[...] || words.first == "-\(kind.rawValue)"
      }
      func isOurs(_ words: [Substring]) -> Bool {
        isOfKind(words) && words.count > 2 && words[2].hasSuffix("pam_latchkey.so")
      }
      let ours = lines.filter { isOurs($0.words) }
      guard ours.count == 1, !ours[0].text.contains(text: "'") else { return nil }
      lines.removeAll { isOurs($0.words) }
      var expressions = ["/^-?\(kind.rawValue)[[:space:]].*pam_latchkey\\.so/d"]
      for module in modules {
        let places = lines.indices.filter { place in
          let words = lines[place].words
          return isOfKind(words) && words.count > 2 && words[1] == "sufficient" && words[2] == module[...]
        }
        let isPlain = module.utf8.allSatisfy { byte in
          (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte) || "_-./".utf8.contains(byte)
        }
        guard places.count == 1, let place = places.first, isPlain else { return nil }
        let behind = lines[(place + 1)...].map(\.words)
        // They bring in lines that are not counted here.
        guard
          !behind.contains(where: {
            $0.first == "@include" || (isOfKind($0) && $0.count > 1 && ["include", "substack"].contains($0[1]))
          })
        else { return nil }
        // Over the lines that were left out so far, and the new one that refuses all others.
        let count = behind.count(where: isOfKind) + 1
        let control = "[success=\(count) new_authtok_reqd=\(count) default=ignore]"
        let words = lines[place].words
        let rest = ([words[0], control[...]] + words[2...]).joined(separator: " ")
        lines[place] = (rest.split(whereSeparator: isBlank), rest)
        let pattern = module.replacing(text: ".", with: "\\.").replacing(text: "/", with: "\\/")
        expressions.append(
          "s/^(-?\(kind.rawValue)[[:space:]]+)sufficient([[:space:]]+\(pattern)([[:space:]]|$))/\\1\(control)\\2/")
      }
      added = [
        "\(kind.rawValue) requisite pam_deny.so", "\(kind.rawValue) required pam_permit.so",
        ours[0].words.joined(separator: " "),
      ]
      text = (lines.map(\.text) + added).map { $0 + "\n" }.joined()
      self.expressions = expressions
    }
  }
}
