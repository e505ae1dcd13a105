import Foundation
import Testing

@testable import LatchkeyKeychainClient
@testable import LatchkeySecurity

@Suite("A program's access groups")
struct AccessGroupsTests {
  private func names(_ make: (inout ProgramIdentity) -> Void) -> [String] {
    var identity = ProgramIdentity()
    identity.executable = "mailer"
    make(&identity)
    return AccessGroups(identity).names
  }

  private func list(_ list: [String: Any]) throws -> Data {
    try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
  }

  @Test("The source closest to the program wins")
  func order() throws {
    let file = try list(["application-identifier": "TEAM.mailer"])
    #expect(names { _ in } == ["mailer"])
    #expect(names { $0.bundle = "org.example.Mailer" } == ["org.example.Mailer"])
    #expect(names { ($0.bundle, $0.application) = ("b", "org.example.Sandboxed") } == ["org.example.Sandboxed"])
    #expect(names { ($0.application, $0.environment) = ("a", "TEAM.one TEAM.two") } == ["TEAM.one", "TEAM.two"])
    #expect(names { ($0.environment, $0.entitlements) = ("e", .contents(file, path: "/e")) } == ["TEAM.mailer"])
    #expect(names { $0.executable = "" } == [])
  }

  @Test("The environment separates names by blanks or commas")
  func environment() {
    #expect(names { $0.environment = " TEAM.one,TEAM.two\tTEAM.one \n" } == ["TEAM.one", "TEAM.two"])
    #expect(names { $0.environment = " , " } == ["mailer"])
  }

  @Test("Entitlements name the groups, then the application")
  func entitlements() throws {
    let both = try list(["application-identifier": "TEAM.app", "keychain-access-groups": ["TEAM.shared", "TEAM.app"]])
    #expect(names { $0.entitlements = .contents(both, path: "/e") } == ["TEAM.shared", "TEAM.app"])
    let groups = try list(["keychain-access-groups": ["TEAM.one"]])
    #expect(names { $0.entitlements = .contents(groups, path: "/e") } == ["TEAM.one"])
  }

  @Test("Entitlements without names give no groups")
  func noEntitlements() throws {
    let empty = try list([:])
    #expect(names { $0.entitlements = .contents(empty, path: "/e") } == [])
    #expect(names { $0.entitlements = .contents(Data("no list".utf8), path: "/e") } == [])
    let wrong = try list(["keychain-access-groups": "TEAM.one", "application-identifier": 1])
    #expect(names { $0.entitlements = .contents(wrong, path: "/e") } == [])
  }

  @Test("An unreadable file gives no groups, and the error says why")
  func unreadable() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("groups-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    try FileManager.default.createDirectory(atPath: path("folder"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: path("loop"), withDestinationPath: "loop")
    for (name, error) in [("folder", EISDIR), ("loop", ELOOP)] {
      let entitlements = ProgramIdentity.Entitlements(path: path(name))
      #expect(entitlements == .unreadable(path: path(name), reason: String(cString: strerror(error))))
      var identity = ProgramIdentity(entitlements: entitlements)
      (identity.environment, identity.executable) = ("TEAM.other", "mailer")
      let failure = #expect(throws: ItemFailure.self) { try AccessGroups(identity).groupsForSearch(named: nil) }
      #expect(failure?.status == errSecMissingEntitlement)
      #expect(failure?.cause?.advice.contains("The file \(path(name)) cannot be read: ") == true)
    }
  }

  @Test("Without such a file, the other sources count")
  func absent() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("groups-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("file").path
    #expect(ProgramIdentity.Entitlements(path: file) == nil)
    try list(["application-identifier": "TEAM.mailer"]).write(to: URL(fileURLWithPath: file))
    #expect(names { $0.entitlements = .init(path: file) } == ["TEAM.mailer"])
    #expect(ProgramIdentity.Entitlements(path: file + "/under") == nil)
    #expect(ProgramIdentity.Entitlements(path: file + String(repeating: "x", count: 255)) == nil)
  }
}
