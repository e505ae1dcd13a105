import Glibc
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeyPosix

/// The files of another program to read.
struct ForeignFiles {
  /// The files.
  private(set) var paths: [String] = []
  private let ending: String
  /// The folders that were searched, and the names of their files.
  private(set) var folders: [(path: String, names: [String])] = []

  /// - Parameters:
  ///   - given: files, and folders of them.
  ///   - folder: the program's own folder, used if nothing is given.
  ///   - ending: of such files.
  ///   - what: the kind of file, for a person.
  init(_ given: [String], folder: String, ending: String, what: String) throws {
    self.ending = ending
    for path in given.isEmpty ? [folder] : given {
      var kind = stat()
      guard stat(path, &kind) == 0, kind.st_mode & S_IFMT == S_IFDIR else {
        if given.isEmpty { break }
        paths.append(path)
        continue
      }
      let names: [String]
      do { names = try Self.names(in: path).sorted() } catch {
        throw Failure.file(translated("\(path) cannot be read, so nothing was imported."))
      }
      folders.append((path, names))
      paths += names.filter { $0.hasSuffix(ending) }.map { "\(path)/\($0)" }
    }
    guard !paths.isEmpty else {
      throw Failure.file(translated("there is no \(what) in \(given.first ?? folder), so nothing was imported."))
    }
  }

  /// The names of the entries of a folder.
  static func names(in folder: String) throws(PosixError) -> [String] {
    try FileDescriptor.open(folder, flags: O_RDONLY | O_DIRECTORY).names()
  }

  /// The folder in which programs keep their data.
  static var dataFolder: String { folder("XDG_DATA_HOME", "/.local/share") }
  /// The folder in which programs keep their settings.
  static var settingsFolder: String { folder("XDG_CONFIG_HOME", "/.config") }
  /// The person's home.
  static var home: String { LatchkeyPosix.Process.environment["HOME"] ?? Account(uid: getuid())?.home ?? "" }

  /// Names the other files of the folders: a file with another ending may be somebody's only copy.
  ///
  /// - Parameter isKnown: tells the program's own files by their names, and files that another notice names.
  func nameOthers(_ importer: inout Importer, isKnown: (String) -> Bool) {
    for (path, names) in folders {
      let list = names.filter { !$0.hasSuffix(ending) && !isKnown($0) }.sorted().joined(separator: ", ")
      if !list.isEmpty { importer.note(translated("Other files in \(path), which were not read: \(list).")) }
    }
  }

  private static func folder(_ variable: String, _ standard: String) -> String {
    if let named = LatchkeyPosix.Process.environment[variable], named.hasPrefix("/") { return named }
    return home + standard
  }

  /// Opens a file. If there are several files, one that cannot be opened is skipped, such as a link that leads to itself.
  private func opened(_ path: String, _ importer: inout Importer) throws -> ForeignFile? {
    do { return try ForeignFile(path) } catch Failure.file(let reason) where paths.count > 1 {
      importer.leave(ForeignFile.name(path), translated("all of its items"), reason)
      return nil
    }
  }

  /// Reads each chosen file. If the only named file cannot be read, the command fails. Of several files, the others are read.
  ///
  /// - Parameters:
  ///   - choice: the chosen collections. Files of other collections are not opened, so their passwords do not matter.
  ///   - beside: the paths of other files that belong to a file, and are deleted with it.
  ///   - listing: returns the name and the label of the collection in a file without opening it.
  ///   - open: makes a collection from a file.
  /// - Returns: the collections; collections of unopened files have no items.
  func read(
    _ importer: inout Importer, what: String, _ choice: ImportChoice, beside: (String) -> [String] = { _ in [] },
    listing: (borrowing ForeignFile) throws(ForeignFileError) -> ForeignCollection,
    _ open: (borrowing ForeignFile) throws(ForeignFileError) -> ForeignCollection
  ) throws -> [ForeignCollection] {
    var collections: [ForeignCollection] = []
    var unwanted: [ForeignCollection] = []
    for path in paths {
      guard let file = try opened(path, &importer) else { continue }
      do throws(ForeignFileError) {
        let listed = try listing(file)
        guard choice.takes(listed) else {
          unwanted.append(listed)
          continue
        }
        collections.append(try open(file))
        for file in [path] + beside(path) { importer.noteFile(file) }
      } catch {
        guard paths.count > 1 else {
          throw Failure.file(translated("\(path) \(error.explanation). Nothing was imported."))
        }
        importer.leave(
          ForeignFile.name(path), translated("all of its items"), translated("the file \(error.explanation)"))
      }
    }
    if !unwanted.isEmpty {
      importer.keep(translated("Files that were not read because of --collection: \(unwanted.count)."))
    }
    guard collections.isEmpty, unwanted.count < paths.count else { return collections + unwanted }
    throw Failure.file(
      translated(
        """
        no \(what) could be read, so nothing was imported. Was the password right?
        To see why a file could not be read, name that file alone.
        """))
  }
}
