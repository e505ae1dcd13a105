import ArgumentParser
import Glibc
import LatchkeyClassRules
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium
import LatchkeyText
import LatchkeyYAML

/// `.latchkey.yaml`: which secrets the commands of a project get. It came with the project, so it may be a stranger's: each is used
/// only after the person agreed to just this text at just this place.
struct ProjectFile {
  private static let name = ".latchkey.yaml"
  private static let folder = [".local", "state", "latchkey"]
  private static let record = "approved.json"
  private static let recordLimit = 1 << 20

  /// The requests of this folder's file.
  static func requests() throws -> [RunRequest] {
    let path = FilePath.absolute(name)
    let text: [UInt8]
    do throws(PosixError) {
      text = try FileDescriptor.open(path, flags: O_RDONLY | O_NONBLOCK).readAll(limit: YAMLNode.sizeLimit)
    } catch {
      if error.code == ENOENT {
        throw Failure.declined(translated("there is no \(name) here. Say what the command gets with --env or --file."))
      }
      throw Failure.file(translated("\(path) cannot be read: \(String(cString: strerror(error.code)))."))
    }
    let requests = try read(text, path)
    try approve(requests, path, hash: Base64.encode(Sodium.checksum(text.span.bytes)))
    return requests
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
    return requests
  }

  private static func malformed(_ path: String, _ line: Int) -> Failure {
    .file(
      translated("\(path):\(line): it has 'env' and 'files', with variables, and below each the attributes of an item.")
    )
  }

  /// Goes on only if the person agrees, or has agreed to the same text there.
  private static func approve(_ requests: [RunRequest], _ path: String, hash: String) throws {
    let home = ForeignFiles.home
    let read = try? Folder(path: ([home] + folder).joined(separator: "/"), owner: getuid()).read(
      record, limit: recordLimit)
    var known = read.flatMap { try? JSONValue(parsing: $0).decoded(as: [String: String].self) } ?? [:]
    if known[path] == hash { return }
    guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
      throw Failure.declined(
        translated(
          "you have not allowed \(path) as it is now. Run this once in a terminal, and look at what it asks for."))
    }
    var lines = [translated("\(path) wants these secrets for commands that you run here:")]
    for request in requests {
      let words = request.attributes.sorted { $0.key < $1.key }.map { ItemAttributes.word($0.key, $0.value) }
      lines.append("  \(request.variable)  \(words.joined(separator: " "))")
    }
    StandardStream.error.show(lines.map(TerminalText.printable).joined(separator: "\n") + "\n")
    StandardStream.error.show(translated("Type 'yes' to go on: "))
    guard readLine()?.split(whereSeparator: \.isWhitespace).map({ $0.lowercased() }) == ["yes"] else {
      throw Failure.declined(translated("the answer was not 'yes', so nothing was changed."))
    }
    known[path] = hash
    let bytes = Array(try JSONValue(known).text(isPretty: false).utf8)
    try Folder.create(folder, below: home, owner: getuid()).write(record, bytes.span.bytes, replacing: true)
  }
}
