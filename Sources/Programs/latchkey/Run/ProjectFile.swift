import ArgumentParser
import Glibc
import LatchkeyClassRules
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium
import LatchkeyText
import LatchkeyYAML

/// `.latchkey.yaml`: the secrets for the commands of a project. A stranger may have written the file, so it is used only after the
/// person agreed to exactly this text at this place.
struct ProjectFile {
  private static let name = ".latchkey.yaml"
  private static let folder = [".local", "state", "latchkey"]
  private static let record = "approved.json"
  private static let lock = "approved.lock"
  /// The most secrets of a file. A person must see all requests at once before agreeing.
  private static let requestLimit = 16
  /// The number of characters (Unicode scalars) that are shown of a name, and of all attributes of a request.
  private static let (nameLimit, lineLimit) = (80, 200)
  private static let recordLimit = 1 << 20
  /// The time for which another run may lock the record, in milliseconds.
  private static let lockLimit = 5000

  /// The secrets that the file requests.
  let requests: [RunRequest]
  private let path: String
  private let hash: String

  /// Reads this folder's file. Call ``approve(_:command:)`` before its requests are used.
  init() throws {
    let name = Self.name
    path = FilePath.absolute(name)
    guard path.hasPrefix("/") else {
      throw Failure.declined(
        translated("the current folder does not exist any more. Go to another one, then run this again."))
    }
    let text: [UInt8]
    do throws(PosixError) {
      text = try FileDescriptor.open(path, flags: O_RDONLY | O_NONBLOCK).readAll(limit: YAMLNode.sizeLimit)
    } catch {
      if error.code == ENOENT {
        throw Failure.declined(translated("there is no \(name) here. Name the command's secrets with --env or --file."))
      }
      throw Failure.file(translated("\(path) cannot be read: \(String(cString: strerror(error.code)))."))
    }
    requests = try Self.read(text, path)
    hash = Base64.encode(Sodium.checksum(text.span.bytes))
  }

  private static func read(_ text: [UInt8], _ path: String) throws -> [RunRequest] {
    let document: YAMLNode?
    do throws(YAMLError) { document = try YAMLNode.document(text) } catch {
      throw Failure.file(RulesError(path: path, error).reason.told)
    }
    guard case .mapping(let parts)? = document?.content else { throw malformed(path, 1) }
    var requests: [RunRequest] = []
    for part in parts {
      guard part.key == "env" || part.key == "files", case .mapping(let entries) = part.value.content else {
        throw malformed(path, part.line)
      }
      for entry in entries {
        guard case .mapping(let pairs) = entry.value.content else { throw malformed(path, entry.line) }
        var attributes: [String: String] = [:]
        for pair in pairs {
          guard let value = pair.value.scalar else { throw malformed(path, pair.line) }
          attributes[pair.key] = value
        }
        do {
          requests.append(try RunRequest(variable: entry.key, attributes: attributes, isFile: part.key == "files"))
        } catch { throw malformed(path, entry.line) }
      }
    }
    guard !requests.isEmpty else { throw malformed(path, 1) }
    guard requests.count <= requestLimit else {
      throw Failure.declined(
        translated(
          "\(path) asks for \(requests.count) secrets, but a file may ask for \(requestLimit) at most. Use --env and --file for the others."
        ))
    }
    return requests
  }

  private static func shown(_ text: String, _ limit: Int) -> String {
    let start = text.unicodeScalars.prefix(limit)
    return start.endIndex == text.unicodeScalars.endIndex ? text : String(start) + "…"
  }

  private static func malformed(_ path: String, _ line: Int) -> Failure {
    .file(
      translated(
        "\(path):\(line): this line does not fit. The file has 'env' and 'files', below these the variables, and below each variable the attributes of an item."
      )
    )
  }

  /// Continues only if the person agrees, or has agreed before to the same text in the same folder.
  ///
  /// - Parameters:
  ///   - items: for each request, the item that the request gets now.
  ///   - command: the command that gets the items now.
  func approve(_ items: [String], command: [String]) throws {
    let home = ForeignFiles.home
    let top = try? Folder(path: ([home] + Self.folder).joined(separator: "/"), owner: getuid())
    if let top, Self.approved(top)[path] == hash { return }
    guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
      throw Failure.declined(
        translated(
          "you have not allowed \(path) as it is now. Run this once in a terminal, and look at what it asks for."))
    }
    var lines = [translated("\(path) wants these secrets for commands that you run here:")]
    for (request, item) in zip(requests, items) {
      let words = request.attributes.sorted { $0.key < $1.key }.map {
        Self.shown(ItemAttributes.word($0.key, $0.value), Self.nameLimit)
      }
      let item = Self.shown(item, Self.nameLimit)
      let variable = Self.shown(request.variable, Self.nameLimit)
      lines.append("  \(variable)  \(Self.shown(words.joined(separator: " "), Self.lineLimit))")
      lines.append(
        "    "
          + (request.isFile
            ? translated("in a file, now from the item \(item)")
            : translated("in the environment, now from the item \(item)")))
    }
    let line = command.joined(separator: " ")
    lines.append(translated("The command that gets them now: \(line)"))
    lines.append(
      translated(
        requests.count,
        one: "If you agree, each command that you run here by 'latchkey run' gets this secret, until the file changes.",
        other:
          "If you agree, each command that you run here by 'latchkey run' gets these \(requests.count) secrets, until the file changes."
      ))
    StandardStream.error.show(lines.map(TerminalText.printable).joined(separator: "\n") + "\n")
    StandardStream.error.show(translated("Type 'yes' to go on: "))
    guard readLine()?.split(whereSeparator: \.isWhitespace).map({ $0.lowercased() }) == ["yes"] else {
      throw Failure.declined(translated("the answer was not 'yes', so nothing was changed."))
    }
    // Another run may have recorded its file while this one waited for the person.
    let folder = try Folder.create(Self.folder, below: home, owner: getuid())
    let held = try folder.lock(Self.lock, deadline: Self.lockLimit)
    var known = Self.approved(folder)
    known[path] = hash
    let bytes = Array(try JSONValue(known).text(isPretty: false).utf8)
    try folder.write(Self.record, bytes.span.bytes, replacing: true)
    withExtendedLifetime(held) {}
  }

  /// The hash of each file that was allowed.
  private static func approved(_ folder: borrowing Folder) -> [String: String] {
    let bytes = try? folder.read(record, limit: recordLimit)
    return bytes.flatMap { try? JSONValue(parsing: $0).decoded(as: [String: String].self) } ?? [:]
  }
}
