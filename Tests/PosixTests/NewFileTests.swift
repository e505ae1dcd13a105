import Foundation
import LatchkeyScratch
import Testing

@testable import LatchkeyPosix

/// The file systems of the tests have files without a name. `isNamed` stands for a file system without them.
@Suite("A file that appears whole or not at all")
struct NewFileTests {
  private let scratch: ScratchFolder

  init() throws { scratch = try ScratchFolder() }

  private func make(_ bytes: [UInt8], replacing: Bool = false, finishing: Bool = true, isNamed: Bool = false) throws {
    let file = try NewFile("f", in: scratch.path, replacing: replacing, isNamed: isNamed)
    try file.append(Array(bytes.prefix(1)))
    try file.append(Array(bytes.dropFirst()))
    if finishing { try file.finish() }
  }

  @Test("A new file gets its name when it is finished, and only its owner can read it", arguments: [false, true])
  func finished(_ isNamed: Bool) throws {
    let file = try NewFile("f", in: scratch.path, replacing: false, isNamed: isNamed)
    try file.append([1, 2])
    #expect(try scratch.names() == (isNamed ? [".f.latchkey-new"] : []))
    try file.finish()
    #expect(try scratch.names() == ["f"] && scratch.content("f") == [1, 2])
    var status = stat()
    #expect(stat(scratch.file("f"), &status) == 0 && status.st_mode & 0o7777 == 0o600)
  }

  @Test("A dropped file leaves nothing, and an existing file stays", arguments: [false, true])
  func dropped(_ isNamed: Bool) throws {
    try make([1], finishing: false, isNamed: isNamed)
    #expect(try scratch.names() == [])
    try make([1])
    try make([2], replacing: true, finishing: false, isNamed: isNamed)
    #expect(try scratch.names() == ["f"] && scratch.content("f") == [1])
  }

  @Test("An existing file is replaced only on request, even if it came meanwhile", arguments: [false, true])
  func replacing(_ isNamed: Bool) throws {
    try make([1], isNamed: isNamed)
    #expect(throws: PosixError("open", code: EEXIST)) { try make([2], isNamed: isNamed) }
    #expect(throws: PosixError("open", code: EEXIST)) {
      try NewFile.check("f", in: scratch.path, replacing: false)
    }
    try make([2], replacing: true, isNamed: isNamed)
    #expect(try scratch.names() == ["f"] && scratch.content("f") == [2])
    unlink(scratch.file("f"))
    let late = try NewFile("f", in: scratch.path, replacing: false, isNamed: isNamed)
    #expect(symlink("elsewhere", scratch.file("f")) == 0)
    #expect(throws: PosixError("rename", code: EEXIST)) { try late.finish() }
    #expect(throws: PosixError("open", code: EEXIST)) { try make([3]) }
  }

  @Test("No folder is replaced, and no folder is created")
  func folders() throws {
    #expect(mkdir(scratch.file("f"), 0o700) == 0)
    #expect(throws: PosixError("open", code: EISDIR)) { try make([1], replacing: true) }
    #expect(throws: PosixError("open", code: ENOENT)) {
      _ = try NewFile("f", in: scratch.file("missing"), replacing: false)
    }
  }

  @Test("No pipe, no device and no link to one is replaced", arguments: [false, true])
  func devices(_ replacing: Bool) throws {
    #expect(mkfifo(scratch.file("f"), 0o600) == 0)
    #expect(throws: PosixError("open", code: ENOTSUP)) { try make([1], replacing: replacing) }
    unlink(scratch.file("f"))
    #expect(symlink("/dev/null", scratch.file("f")) == 0)
    #expect(throws: PosixError("open", code: ENOTSUP)) { try make([1], replacing: replacing) }
    #expect(try scratch.names() == ["f"])
  }

  @Test("Of two files that are written under one name at once, one appears whole, the other not at all")
  func twoAtOnce() throws {
    do {
      let first = try NewFile("f", in: scratch.path, replacing: true, isNamed: true)
      try first.append([1, 1])
      let second = try NewFile("f", in: scratch.path, replacing: true, isNamed: true)
      try second.append([2])
      #expect(throws: PosixError("rename", code: EBUSY)) { try first.finish() }
      #expect(scratch.content("f") == nil)
      try second.append([2])
      try second.finish()
    }
    #expect(try scratch.names() == ["f"] && scratch.content("f") == [2, 2])
  }

  @Test("Of two files that are written without a name at once, the last stays, and both were whole")
  func twoUnnamed() throws {
    let first = try NewFile("f", in: scratch.path, replacing: true)
    try first.append([1, 1])
    let second = try NewFile("f", in: scratch.path, replacing: true)
    try second.append([2])
    try first.finish()
    #expect(scratch.content("f") == [1, 1])
    try second.append([2])
    try second.finish()
    #expect(try scratch.names() == ["f"] && scratch.content("f") == [2, 2])
  }

  @Test("The next file removes the leftovers of a killed process")
  func leftover() throws {
    try scratch.put(".f.latchkey-new", [9, 9, 9, 9])
    try make([1, 2])
    #expect(try scratch.names() == ["f"] && scratch.content("f") == [1, 2])
  }
}
