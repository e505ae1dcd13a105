import Foundation
import LatchkeyDeviceStore
import LatchkeyScratch
import LatchkeySodium
import Testing

@Suite("The hash of a user's prints")
struct EnrolledPrintsTests {
  private let scratch: ScratchFolder

  init() throws {
    try Sodium.initialize()
    scratch = try ScratchFolder()
    try put("anna/goodix/0/1", "left thumb")
    try put("anna/goodix/0/7", "right index")
    try put("bob/goodix/0/1", "left thumb")
  }

  private func put(_ path: String, _ text: String) throws {
    let file = URL(filePath: scratch.file(path))
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    try? FileManager.default.removeItem(at: file)
    try Data(text.utf8).write(to: file)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
  }

  private func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: scratch.file(path)) }

  private func hash(_ user: String = "anna", owner: uid_t = geteuid()) -> [UInt8]? {
    EnrolledPrints.hash(of: user, in: scratch.path, owner: owner)
  }

  @Test("The hash of a user's prints stays the same while nothing changes, and differs after every change of a finger")
  func changes() throws {
    let first = try #require(hash())
    #expect(first.count == 32 && hash() == first && hash("bob") != first)
    var seen: Set<[UInt8]> = [first]
    // Another print under the same name, as after a deletion and a new enrolment.
    try put("anna/goodix/0/7", "right indeX")
    #expect(seen.insert(try #require(hash())).inserted)
    try put("anna/goodix/0/2", "another")
    #expect(seen.insert(try #require(hash())).inserted)
    try remove("anna/goodix/0/1")
    #expect(seen.insert(try #require(hash())).inserted)
    // The same print under the name of another finger or another reader.
    try remove("anna/goodix/0/2")
    try put("anna/goodix/0/3", "another")
    #expect(seen.insert(try #require(hash())).inserted)
    try remove("anna/goodix/0/3")
    try put("anna/goodix/1/3", "another")
    #expect(seen.insert(try #require(hash())).inserted)
    // Bytes that move from a file's name into its content make another tree.
    try put("anna/goodix/0/7", "a")
    try put("anna/goodix/0/8", "b")
    #expect(seen.insert(try #require(hash())).inserted)
    try put("anna/goodix/0/7", "a8b")
    try remove("anna/goodix/0/8")
    #expect(seen.insert(try #require(hash())).inserted)
    // The last change is taken back.
    try remove("anna/goodix/1")
    try put("anna/goodix/0/1", "left thumb")
    try put("anna/goodix/0/7", "right index")
    #expect(hash() == first)
  }

  @Test("The hash of a user's prints does not exist without prints, or if other users could have written them")
  func none() throws {
    #expect(hash("nobody") == nil)
    for name in ["", ".", "..", "anna/goodix", "../" + URL(filePath: scratch.path).lastPathComponent] {
      #expect(hash(name) == nil)
    }
    #expect(hash(owner: geteuid() + 1) == nil)
    try FileManager.default.createDirectory(atPath: scratch.file("carl/goodix/0"), withIntermediateDirectories: true)
    #expect(hash("carl") == nil)
    // A link, a file that other users may write, a folder that they may write, and a tree that is too deep.
    try FileManager.default.createSymbolicLink(atPath: scratch.file("dora"), withDestinationPath: scratch.file("anna"))
    #expect(hash("dora") == nil)
    try put("bob/goodix/0/2", "x")
    #expect(hash("bob") != nil)
    for path in ["bob/goodix/0/2", "bob/goodix"] {
      let before = try #require(FileManager.default.attributesOfItem(atPath: scratch.file(path))[.posixPermissions])
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: scratch.file(path))
      #expect(hash("bob") == nil)
      try FileManager.default.setAttributes([.posixPermissions: before], ofItemAtPath: scratch.file(path))
      #expect(hash("bob") != nil)
    }
    try put("bob/goodix/0/deep/er", "x")
    #expect(hash("bob") == nil)
  }
}
