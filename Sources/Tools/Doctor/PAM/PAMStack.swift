import LatchkeyGettext

/// The lines of one kind of one service: its file, with the files that it includes.
struct PAMStack {
  /// The four kinds of lines, but for `account`, which does not matter here.
  enum Kind: String, CaseIterable {
    case auth
    case password
    case session
  }

  /// A line that names a module, or begins a stack within the stack.
  struct Entry: Equatable {
    /// The module without its folder, such as `pam_unix.so`; empty if a substack begins here.
    let module: String
    /// The module in its written form, with a folder if the line has one.
    let path: String
    let options: [String]
    let control: PAMControl
    /// The number of substacks that contain the line.
    let depth: Int
    /// The file that has the line.
    let file: String

    var isSubstack: Bool { module.isEmpty }
  }

  /// Why a file cannot be followed.
  enum Trouble: Error, Equatable {
    case missing(String)
    case unreadable(String)
    case notUnderstood(String, line: Int)
    case tooDeep(String)

    var description: String {
      switch self {
      case .missing(let path): translated("\(path) does not exist")
      case .unreadable(let path): translated("\(path) cannot be read")
      case .notUnderstood(let path, let line): translated("\(path), line \(line), cannot be understood")
      case .tooDeep(let path): translated("\(path) is included too often")
      }
    }
  }

  private(set) var entries: [Entry] = []

  /// The folders that libpam searches for services, in its order. The last one is for openSUSE.
  static let folders = ["/etc/pam.d", "/usr/lib/pam.d", "/usr/etc/pam.d"]
  private static let depthLimit = 16

  /// The services that have a file.
  static func services(in root: SystemRoot) -> [String] {
    var names = Set<String>()
    for folder in folders { names.formUnion(root.names(in: folder)) }
    // Leftovers of editors and packages name no service.
    return names.filter { !$0.contains(".") && !$0.hasSuffix("~") }.sorted()
  }

  /// The file of a service, or a file that another file includes.
  static func path(of name: String, in root: SystemRoot) -> String? {
    if name.hasPrefix("/") { return root.contains(name) ? name : nil }
    return folders.map { $0 + "/" + name }.first { root.contains($0) }
  }

  /// The lines of `kind` of a service.
  init(_ service: String, _ kind: Kind, in root: SystemRoot) throws(Trouble) {
    try follow(service, kind, depth: 0, nesting: 0, root)
  }

  private mutating func follow(
    _ name: String, _ kind: Kind, depth: Int, nesting: Int, _ root: SystemRoot
  ) throws(Trouble) {
    guard nesting < PAMStack.depthLimit else { throw .tooDeep(name) }
    guard let path = PAMStack.path(of: name, in: root) else { throw .missing("/etc/pam.d/\(name)") }
    guard case .text(let text) = root.content(path) else { throw .unreadable(path) }
    var pending = ""
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let line = line.prefix { $0 != "#" }
      if line.last == "\\" {
        pending += line.dropLast() + " "
        continue
      }
      let words = PAMStack.words(pending + line)
      pending = ""
      if words.isEmpty { continue }
      if words[0] == "@include", words.count >= 2 {
        try follow(words[1], kind, depth: depth, nesting: nesting + 1, root)
        continue
      }
      let type = (words[0].hasPrefix("-") ? String(words[0].dropFirst()) : words[0]).lowercased()
      guard type == kind.rawValue else { continue }
      guard words.count >= 3 else { throw .notUnderstood(path, line: index + 1) }
      switch words[1].lowercased() {
      case "include":
        try follow(words[2], kind, depth: depth, nesting: nesting + 1, root)
      case "substack":
        guard let control = PAMControl("required") else { throw .notUnderstood(path, line: index + 1) }
        entries.append(Entry(module: "", path: words[2], options: [], control: control, depth: depth, file: path))
        try follow(words[2], kind, depth: depth + 1, nesting: nesting + 1, root)
      default:
        guard let control = PAMControl(words[1]) else { throw .notUnderstood(path, line: index + 1) }
        let module = words[2].split(separator: "/").last.map(String.init) ?? words[2]
        entries.append(
          Entry(
            module: module, path: words[2], options: Array(words.dropFirst(3)), control: control, depth: depth,
            file: path))
      }
    }
  }

  /// Words between blanks; text in brackets is one word.
  private static func words(_ line: String) -> [String] {
    var words: [String] = []
    var word = ""
    var isBracketed = false
    for character in line {
      if !isBracketed, character == " " || character == "\t" || character == "\r" {
        if !word.isEmpty { words.append(word) }
        word = ""
        continue
      }
      if character == "[" && word.isEmpty { isBracketed = true }
      if character == "]" { isBracketed = false }
      word.append(character)
    }
    return word.isEmpty ? words : words + [word]
  }
}
