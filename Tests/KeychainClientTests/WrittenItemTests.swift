import Foundation
import LatchkeyItemProtection
import Testing

@testable import LatchkeyKeychainClient
@testable import LatchkeySecurity

@Suite("Items in the vault's form")
struct WrittenItemTests {
  private static let settable = AttributeName.allCases.filter { !$0.isSetByVault }

  /// The type and the bytes of a value. Swift's own equality does not distinguish two spellings of an accent.
  private func exactly(_ value: AttributeValue?) -> [String] {
    switch value {
    case .text(let text): ["text"] + text.utf8.map { String($0) }
    case .data(let data): ["data"] + data.map { String($0) }
    case .number(let number): ["number", String(number)]
    case .date(let date): ["date", "\(date)"]
    case nil: ["nothing"]
    }
  }

  @Test("Every value of every attribute comes back unchanged", arguments: ItemClass.allCases)
  func values(itemClass: ItemClass) throws {
    for name in WrittenItemTests.settable where name.belongs(to: itemClass) {
      for value in ItemExample.values {
        // The value in the form of a query: some attributes take a text for a number, and some accept no data.
        guard let given = try? AttributeValue(value.object, of: name) else { continue }
        let item = try ItemExample.new(["class": itemClass.rawValue, name.rawValue: value.object])
        let written = WrittenItem(item)
        for text in written.attributes.values + [written.label] { #expect(text.canTravel) }
        let read = try #require(try ItemExample.stored(ItemExample.found(written)))
        let came = read.attributes[name] ?? name.absentValue
        #expect(exactly(came) == exactly(given), "\(name): \(written)")
        #expect(read.primaryKey == item.primaryKey)
        #expect(read.reference.itemClass == itemClass && read.accessGroup == "TEAM.app" && !read.isSynchronizable)
      }
    }
  }

  @Test("A search for a value finds that value, and no other")
  func search() throws {
    for itemClass in ItemClass.allCases {
      for name in WrittenItemTests.settable where name.belongs(to: itemClass) {
        let values = ItemExample.values.filter { (try? AttributeValue($0.object, of: name)) != nil }
        let items = try values.enumerated().map { number, value in
          ItemExample.found(
            WrittenItem(try ItemExample.new(["class": itemClass.rawValue, name.rawValue: value.object])),
            number: UInt8(number))
        }
        for value in values {
          let query = try ItemExample.query(["class": itemClass.rawValue, name.rawValue: value.object])
          let plan = SearchPlan(query, groups: ItemExample.groups)
          let found = items.filter { item in
            plan.sets.contains { set in
              set.allSatisfy { item.attributes[$0.key].map { Array($0.utf8) } == Array($0.value.utf8) }
            }
          }
          let matching = try items.filter { query.matches(try #require(try ItemExample.stored($0))) }
          // The search misses no match, and an exact plan needs no second check.
          #expect(Set(matching.map(\.identifier)).isSubset(of: found.map(\.identifier)), "\(name) \(value)")
          if plan.isExact { #expect(found.map(\.identifier) == matching.map(\.identifier), "\(name) \(value)") }
          #expect(!matching.isEmpty)
        }
      }
    }
  }

  @Test("Other programs see a password for a service in this form")
  func generic() throws {
    let written = WrittenItem(try ItemExample.new(["class": "genp", "svce": "mail", "acct": "anna"]))
    #expect(written.label == "mail/anna")
    var attributes = written.attributes
    #expect(attributes.removeValue(forKey: "keychain:key")?.count == 24)
    #expect(
      attributes == [
        "xdg:schema": "org.latchkey.GenericPassword", "service": "mail", "account": "anna", "keychain:class": "genp",
        "keychain:agrp": "TEAM.app", "keychain:sync": "0", "keychain:labl": "none",
      ])
  }

  @Test("Other programs see a password for a server in this form")
  func internet() throws {
    let written = WrittenItem(
      try ItemExample.new([
        "class": "inet", "srvr": "example.com", "acct": Data("anna".utf8), "ptcl": "htps", "port": 443, "path": "/a",
        "sdmn": "realm", "atyp": "form", "sync": true, "labl": "Example", "icmt": "none", "agrp": "TEAM.shared",
      ]))
    #expect(written.label == "Example")
    var attributes = written.attributes
    attributes["keychain:key"] = nil
    #expect(
      attributes == [
        "xdg:schema": "org.gnome.keyring.NetworkPassword", "server": "example.com", "user": "anna",
        "protocol": "https", "port": "443", "object": "/a", "domain": "realm", "authtype": "form",
        "keychain:acct": "data", "keychain:class": "inet", "keychain:agrp": "TEAM.shared", "keychain:sync": "1",
        "keychain:icmt": "text=none",
      ])
  }

  @Test("Each of Apple's protocols has a word, and is found by it")
  func protocols() throws {
    let constants = [
      kSecAttrProtocolAFP, kSecAttrProtocolAppleTalk, kSecAttrProtocolDAAP, kSecAttrProtocolEPPC, kSecAttrProtocolFTP,
      kSecAttrProtocolFTPAccount, kSecAttrProtocolFTPProxy, kSecAttrProtocolFTPS, kSecAttrProtocolHTTP,
      kSecAttrProtocolHTTPProxy, kSecAttrProtocolHTTPS, kSecAttrProtocolHTTPSProxy, kSecAttrProtocolIMAP,
      kSecAttrProtocolIMAPS, kSecAttrProtocolIPP, kSecAttrProtocolIRC, kSecAttrProtocolIRCS, kSecAttrProtocolLDAP,
      kSecAttrProtocolLDAPS, kSecAttrProtocolNNTP, kSecAttrProtocolNNTPS, kSecAttrProtocolPOP3, kSecAttrProtocolPOP3S,
      kSecAttrProtocolRTSP, kSecAttrProtocolRTSPProxy, kSecAttrProtocolSMB, kSecAttrProtocolSMTP,
      kSecAttrProtocolSOCKS, kSecAttrProtocolSSH, kSecAttrProtocolTelnet, kSecAttrProtocolTelnetS,
    ].map { $0 as String }
    let words = constants.map { ProtocolWord.word(of: $0) }
    #expect(Set(words).count == constants.count)
    #expect(words.map { ProtocolWord.code(of: $0) } == constants)
    #expect(words.allSatisfy { !$0.hasSuffix(" ") })
    for (code, word) in [("htps", "https"), ("ftp ", "ftp"), ("imps", "imaps"), ("ldps", "ldaps"), ("smtp", "smtp")] {
      #expect(ProtocolWord.word(of: code) == word)
    }
  }

  @Test("A label comes back unchanged, and a person's own label wins")
  func labels() throws {
    let query = ["class": "genp", "svce": "mail", "acct": "anna"] as [String: Any]
    let without = WrittenItem(try ItemExample.new(query))
    #expect(ItemExample.found(without).labelValue == nil)
    #expect(ItemExample.found(without, label: "Renamed").labelValue == .text("Renamed"))
    let data = WrittenItem(try ItemExample.new(query.merging(["labl": Data("Mail".utf8)]) { $1 }))
    #expect(data.label == "Mail" && ItemExample.found(data).labelValue == .data(Data("Mail".utf8)))
    let odd = WrittenItem(try ItemExample.new(query.merging(["labl": Data([0xFF])]) { $1 }))
    #expect(odd.label == "mail/anna" && ItemExample.found(odd).labelValue == .data(Data([0xFF])))
    #expect(WrittenItem(try ItemExample.new(["class": "inet"])).label == "Password")
    #expect(WrittenItem(try ItemExample.new(["class": "inet", "srvr": "a", "acct": "b"])).label == "b@a")
  }

  @Test("The vault itself sets the dates and keeps the protection")
  func vault() throws {
    var found = ItemExample.found(WrittenItem(try ItemExample.new(["class": "genp"])), accessible: "after-first-unlock")
    let read = try #require(try ItemExample.stored(found))
    #expect(read.attributes[.creationDate] == .date(Date(timeIntervalSince1970: 1_000_000)))
    #expect(read.attributes[.modificationDate] == .date(Date(timeIntervalSince1970: 2_000_000)))
    #expect(read.protection == Protection(accessible: .afterFirstUnlock, control: .none))
    found = VaultItem(
      path: "/", identifier: Data(), attributes: [:], label: "", created: 0, modified: 0, accessible: "always",
      require: "", state: .locked, isKnown: false)
    #expect(try ItemExample.stored(found) == nil)
  }
}
