import Foundation
import Testing

@testable import LatchkeyKeychainClient
@testable import Security

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

  @Test("What is nearer to the program counts")
  func order() throws {
    let file = try list(["application-identifier": "TEAM.mailer"])
    #expect(names { _ in } == ["mailer"])
    #expect(names { $0.bundle = "org.example.Mailer" } == ["org.example.Mailer"])
    #expect(names { ($0.bundle, $0.application) = ("b", "org.example.Sandboxed") } == ["org.example.Sandboxed"])
    #expect(names { ($0.application, $0.environment) = ("a", "TEAM.one TEAM.two") } == ["TEAM.one", "TEAM.two"])
    #expect(names { ($0.environment, $0.entitlements) = ("e", file) } == ["TEAM.mailer"])
    #expect(names { $0.executable = "" } == [])
  }

  @Test("The environment's names stand between blanks or commas")
  func environment() {
    #expect(names { $0.environment = " TEAM.one,TEAM.two\tTEAM.one \n" } == ["TEAM.one", "TEAM.two"])
    #expect(names { $0.environment = " , " } == ["mailer"])
  }

  @Test("Entitlements: the groups, then the application")
  func entitlements() throws {
    let both = try list(["application-identifier": "TEAM.app", "keychain-access-groups": ["TEAM.shared", "TEAM.app"]])
    #expect(names { $0.entitlements = both } == ["TEAM.shared", "TEAM.app"])
    let groups = try list(["keychain-access-groups": ["TEAM.one"]])
    #expect(names { $0.entitlements = groups } == ["TEAM.one"])
  }

  @Test("Entitlements that say nothing give nothing")
  func noEntitlements() throws {
    let empty = try list([:])
    #expect(names { $0.entitlements = empty } == [])
    #expect(names { $0.entitlements = Data("no list".utf8) } == [])
    let wrong = try list(["keychain-access-groups": "TEAM.one", "application-identifier": 1])
    #expect(names { $0.entitlements = wrong } == [])
  }
}
