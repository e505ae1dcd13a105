import Foundation
import LatchkeyScratch
import Testing

@testable import LatchkeyPosix

@Suite("A file that appears whole or not at all")
struct NewFileTests {
  private let scratch: ScratchFolder

  init() throws { scratch = try ScratchFolder() }

  private func make(_ bytes: [UInt8], replacing: Bool = false, finishing: Bool = true) throws {
    let file = try NewFile("f", in: scratch.path, replacing: replacing)
    try file.append(Array(bytes.prefix(1)))
    try file.append(Array(bytes.dropFirst()))
    if finishing { try file.finish() }
  }

  @Test("It has its name when it is finished, and is for its owner only")
  func finished() throws {
    let file = try NewFile("f", in: scratch.path, replacing: false)
    try file.append([1, 2])
    #expect(try scratch.names() == [".f.latchkey-new"])
    try file.finish()
    #expect(try scratch.names() == ["f"] && scratch.content("f") == [1, 2])
    var status = stat()
    #expect(stat(scratch.file("f"), &status) == 0 && status.st_mode & 0o7777 == 0o600)
  }

  @Test("One that is dropped leaves nothing, and what was there stays")
  func dropped() throws {
    try make([1], finishing: false)
    #expect(try scratch.names() == [])
    try make([1])
    try make([2], replacing: true, finishing: false)
    #expect(try scratch.names() == ["f"] && scratch.content("f") == [1])
  }

  @Test("What is there is replaced only where that was wished, also what came meanwhile")
  func replacing() throws {
    try make([1])
    #expect(throws: PosixError("open", code: EEXIST)) { try make([2]) }
    #expect(throws: PosixError("open", code: EEXIST)) {
      try NewFile.check(scratch.file("f"), replacing: false)
    }
    try make([2], replacing: true)
    #expect(scratch.content("f") == [2])
    unlink(scratch.file("f"))
    let late = try NewFile("f", in: scratch.path, replacing: false)
    #expect(symlink("elsewhere", scratch.file("f")) == 0)
    #expect(throws: PosixError("rename", code: EEXIST)) { try late.finish() }
    #expect(throws: PosixError("open", code: EEXIST)) { try make([3]) }
  }

  @Test("No folder is replaced, and none is made")
  func folders() throws {
    #expect(mkdir(scratch.file("f"), 0o700) == 0)
    #expect(throws: PosixError("open", code: EISDIR)) { try make([1], replacing: true) }
    #expect(throws: PosixError("open", code: ENOENT)) {
      _ = try NewFile("f", in: scratch.file("missing"), replacing: false)
    }
  }

  @Test("No pipe or device is replaced, nor a link to one", arguments: [false, true])
  func devices(_ replacing: Bool) throws {
    #expect(mkfifo(scratch.file("f"), 0o600) == 0)
    #expect(throws: PosixError("open", code: ENOTSUP)) { try make([1], replacing: replacing) }
    unlink(scratch.file("f"))
    #expect(symlink("/dev/null", scratch.file("f")) == 0)
    #expect(throws: PosixError("open", code: ENOTSUP)) { try make([1], replacing: replacing) }
    #expect(try scratch.names() == ["f"])
  }

  @Test("Of two that write the same file at the same time, one comes whole and the other not at all")
  func twoAtOnce() throws {
    do {
      let first = try NewFile("f", in: scratch.path, replacing: true)
      try first.append([1, 1])
      let second = try NewFile("f", in: scratch.path, replacing: true)
      try second.append([2])
      #expect(throws: PosixError("rename", code: EBUSY)) { try first.finish() }
      #expect(scratch.content("f") == nil)
      try second.append([2])
      try second.finish()
    }
    #expect(try scratch.names() == ["f"] && scratch.content("f") == [2, 2])
  }

  @Test("What a killed one left is gone with the next")
  func leftover() throws {
    try scratch.put(".f.latchkey-new", [9, 9, 9, 9])
    try make([1, 2])
    #expect(try scratch.names() == ["f"] && scratch.content("f") == [1, 2])
  }
}
