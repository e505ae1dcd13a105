import Foundation
import Testing

@testable import LatchkeyKeychainClient
@testable import LatchkeySecurity

@Suite("The hash of a primary key")
struct PrimaryKeyTests {
  private func hash(_ dictionary: [String: Any]) throws -> String {
    try ItemExample.new(dictionary).primaryKey.hash
  }

  @Test("Absent equals empty, and text equals its UTF-8 bytes")
  func same() throws {
    let bare = try hash(["class": "genp"])
    for same in [
      ["svce": ""], ["acct": Data()], ["svce": "", "acct": ""], ["agrp": "TEAM.app"], ["sync": false], ["labl": "x"],
      ["gena": "x"], ["pdmn": "ck"], ["icmt": "x"],
    ] as [[String: Any]] {
      #expect(try hash(same.merging(["class": "genp"]) { $1 }) == bare, "\(same)")
    }
    let server = try hash(["class": "inet", "srvr": "a"])
    for same in [["port": 0], ["ptcl": 0], ["sdmn": ""], ["path": Data()], ["srvr": Data("a".utf8)]] as [[String: Any]]
    {
      #expect(try hash(same.merging(["class": "inet", "srvr": "a"]) { first, _ in first }) == server, "\(same)")
    }
  }

  @Test("The hash covers every attribute that distinguishes items")
  func different() throws {
    let keys: [[String: Any]] = [
      [:], ["svce": "a"], ["acct": "a"], ["svce": "a", "acct": "a"], ["svce": "aa"], ["acct": 1], ["acct": "1"],
      ["sync": true], ["agrp": "TEAM.shared"], ["svce": Data([0xFF])],
    ]
    let others: [[String: Any]] = [
      [:], ["srvr": "a"], ["sdmn": "a"], ["path": "a"], ["atyp": "a"], ["ptcl": "a"], ["port": 1], ["ptcl": 1],
      ["ptcl": "htps"], ["ptcl": "https"],
    ]
    let hashes =
      try keys.map { try hash($0.merging(["class": "genp"]) { $1 }) }
      + others.map { try hash($0.merging(["class": "inet"]) { $1 }) }
    #expect(Set(hashes).count == keys.count + others.count)
  }

  @Test("The hash of a primary key never changes, because vaults store it")
  func known() throws {
    #expect(try hash(["class": "genp", "svce": "mail", "acct": "anna"]) == "K7meH9Niqb2lIXujjLRq3w==")
  }
}
