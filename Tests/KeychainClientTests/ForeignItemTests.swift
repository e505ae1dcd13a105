import Foundation
import LatchkeyItemProtection
import Testing

@testable import LatchkeyKeychainClient
@testable import LatchkeySecurity

@Suite("Items of other programs")
struct ForeignItemTests {
  @Test("The class follows from the attributes")
  func classes() throws {
    #expect(ItemExample.foreign(["service": "mail"]).itemClass == .genericPassword)
    #expect(ItemExample.foreign(["server": "a"]).itemClass == .internetPassword)
    #expect(ItemExample.foreign(["server": "a", "service": "mail"]).itemClass == .internetPassword)
    #expect(ItemExample.foreign(["account": "anna"]).itemClass == nil)
    #expect(ItemExample.foreign(["keychain:class": "keys", "service": "mail"]).itemClass == nil)
    let item = try #require(
      try ItemExample.stored(ItemExample.foreign(["server": "a", "protocol": "https", "port": "443"], label: "A")))
    #expect(item.accessGroup == "TEAM.app" && !item.isSynchronizable)
    #expect(item.attributes[.protocol] == .text("htps") && item.attributes[.port] == .number(443))
    #expect(item.attributes[.label] == .text("A"))
  }

  @Test("A search includes other programs' items only if the query names a service or server, in the first group")
  func searches() throws {
    func foreign(_ more: [String: Any], class itemClass: String = "genp") throws -> [String: String]? {
      let query = try ItemExample.query(more.merging(["class": itemClass]) { $1 })
      return SearchPlan(query, groups: ItemExample.groups).foreign
    }
    #expect(try foreign([:]) == nil)
    #expect(try foreign(["acct": "anna"]) == nil)
    #expect(try foreign(["svce": ""]) == nil)
    #expect(try foreign(["svce": "mail"]) == ["service": "mail"])
    #expect(try foreign(["svce": Data("mail".utf8), "acct": "anna"]) == ["service": "mail", "account": "anna"])
    #expect(try foreign(["svce": "mail", "sync": true]) == nil)
    #expect(try foreign(["svce": "mail", "sync": "syna"]) != nil)
    #expect(try foreign(["svce": "mail", "agrp": "TEAM.shared"]) == nil)
    #expect(try foreign(["svce": "mail", "agrp": "TEAM.app"]) != nil)
    #expect(try foreign(["acct": "anna", "ptcl": "htps"], class: "inet") == nil)
    #expect(
      try foreign(["srvr": "a", "ptcl": "htps", "port": 443], class: "inet")
        == ["server": "a", "protocol": "https", "port": "443"])
  }

  @Test("An update keeps attributes that have no Apple name, and does not turn the item into one of SecItemAdd")
  func update() throws {
    let found = ItemExample.foreign(
      ["service": "mail", "account": "anna", "folder": "inbox", "xdg:schema": "org.example.Mail"], label: "Mail")
    let item = try #require(try ItemExample.stored(found))
    let changes = try ItemChanges(["acct": "bea", "icmt": "x"] as NSDictionary, of: .genericPassword)
    let change = try ItemChange(of: found, item, by: changes)
    #expect(change.written.item?.label == "Mail")
    #expect(
      change.written.item?.attributes == [
        "service": "mail", "account": "bea", "folder": "inbox", "xdg:schema": "org.example.Mail",
        "keychain:icmt": "text=x",
      ])
    #expect(change.written.item?.unique == [:])
    let renamed = try ItemChange(
      of: found, item, by: ItemChanges(["labl": Data("M".utf8)] as NSDictionary, of: .genericPassword))
    #expect(renamed.written.item?.label == "M" && renamed.written.item?.attributes["keychain:labl"] == "data")
    for changes in [["agrp": "TEAM.shared"], ["sync": true]] as [NSDictionary] {
      #expect(throws: ItemFailure(errSecNoAccessForItem, .foreignItem)) {
        try ItemChange(of: found, item, by: ItemChanges(changes, of: .genericPassword))
      }
    }
  }
}

@Suite("Updates of items")
struct ItemChangeTests {
  private func change(_ given: [String: Any], _ changes: [String: Any]) throws -> ItemChange {
    let found = ItemExample.found(WrittenItem(try ItemExample.new(given.merging(["class": "genp"]) { $1 })))
    let item = try #require(try ItemExample.stored(found))
    return try ItemChange(of: found, item, by: ItemChanges(changes as NSDictionary, of: .genericPassword))
  }

  @Test("An update sends only the changed values")
  func parts() throws {
    let secret = try change(["svce": "mail"], ["v_Data": Data("x".utf8)])
    #expect(secret.written.item == nil && secret.written.accessible == nil && secret.protection == nil)
    let same = try change(["svce": "mail"], ["svce": "mail", "pdmn": "ak"])
    #expect(same.written.item == nil)
    let moved = try change(["svce": "mail"], ["svce": "post", "agrp": "TEAM.shared", "sync": true])
    #expect(moved.written.item?.label == "post")
    let wanted = try ItemExample.new(["class": "genp", "svce": "post", "agrp": "TEAM.shared", "sync": true])
    #expect(moved.written.item == WrittenItem(wanted))
  }

  @Test("A change of the accessibility is sent with the attributes, and a change of the access control by itself")
  func protection() throws {
    let accessible = try change(["svce": "mail"], ["pdmn": "ck"])
    #expect(accessible.written.accessible == .afterFirstUnlock && accessible.protection == nil)
    #expect(accessible.written.item != nil)
    let control = try #require(SecAccessControlCreateWithFlags(nil, "aku" as CFString, .userPresence, nil))
    let guarded = try change(["svce": "mail"], ["accc": control])
    #expect(guarded.written.item == nil && guarded.written.accessible == nil)
    #expect(guarded.protection?.accessible == .whenUnlockedThisDeviceOnly)
    #expect(guarded.protection?.control.text == "user-presence")
  }

  @Test("Another spelling of the same accent is a change")
  func spelling() throws {
    #expect(try change(["icmt": "e\u{301}"], ["icmt": "\u{e9}"]).written.item != nil)
    #expect(try change(["icmt": "e\u{301}"], ["icmt": "e\u{301}"]).written.item == nil)
  }

  @Test("A value that becomes empty leaves no attribute")
  func emptied() throws {
    let change = try change(["svce": "mail", "acct": Data([0xFF])], ["acct": ""])
    #expect(change.written.item?.attributes["keychain:acct"] == nil)
    #expect(change.written.item?.attributes["account"] == nil)
  }
}
