import Foundation
import LatchkeyItemProtection

/// The contents of a program's dictionary, each value with its proper type. Each call then checks whether it accepts the
/// combination.
struct ItemTerms {
  /// Whether items are synchronizable.
  enum Synchronizable {
    case no
    case yes
    /// Either of them, for searches.
    case any
  }

  /// The purpose of the dictionary.
  enum Purpose {
    /// To describe a new item.
    case newItem
    /// To find items.
    case search
    /// To change items. Such a dictionary may have only attributes and a secret.
    case changes(ItemClass)

    /// The code for keys, certificates and identities. A search just finds none, so that a program that deletes items of all
    /// classes can continue. Storing one must fail, because it would be lost.
    fileprivate var absence: OSStatus { if case .newItem = self { errSecUnimplemented } else { errSecItemNotFound } }
  }

  private(set) var itemClass: ItemClass
  private(set) var reference: ItemReference?
  private(set) var attributes: [AttributeName: AttributeValue] = [:]
  private(set) var accessGroup: String?
  private(set) var synchronizable: Synchronizable?
  private(set) var accessible: AccessibilityClass?
  private(set) var control: SecAccessControl?
  private(set) var secret: Data?
  private(set) var returned: ReturnedKinds = []
  private(set) var limit: MatchLimit?
  private(set) var authentication = Authentication()

  /// Reads a dictionary.
  ///
  /// - Throws: `errSecParam` for a wrong type, an unknown key, or a missing class; `errSecNoSuchAttr` for an attribute that items
  ///   of the class do not have; the errors of ``ItemClass/init(term:absence:)``.
  init(_ dictionary: NSDictionary, for purpose: Purpose) throws(ItemFailure) {
    var terms: [String: Any] = [:]
    // Keys may be string objects, and values may be bridged or not. From here on all are Swift values.
    for (key, value) in dictionary {
      guard let key = key as? String else { throw .parameter }
      terms[key] = value
    }
    switch purpose {
    case .newItem, .search: (itemClass, reference) = try ItemTerms.subject(of: &terms, absence: purpose.absence)
    case .changes(let known): itemClass = known
    }
    // Reads the keys in a fixed order, so that it reports the same mistake each time if there are several.
    for (key, value) in terms.sorted(by: { $0.key < $1.key }) {
      do throws(ItemFailure) { try take(value, for: key, purpose) } catch { throw error.naming(key) }
    }
    try authentication.settle()
    if let accessible, let control, control != SecAccessControl(accessible: accessible, flags: []) {
      throw ItemFailure(errSecParam, .contradiction(["pdmn", "accc"]))
    }
  }

  /// The class, from its key or from the persistent reference.
  private static func subject(
    of terms: inout [String: Any], absence: OSStatus
  ) throws(ItemFailure) -> (itemClass: ItemClass, reference: ItemReference?) {
    var named: ItemClass?
    if let term = terms.removeValue(forKey: "class") {
      do throws(ItemFailure) {
        named = try ItemClass(term: term, absence: absence)
      } catch { throw error.naming("class") }
    }
    guard let term = terms.removeValue(forKey: "v_PersistentRef") else {
      guard let named else {
        // The type of the reference object tells the class.
        if let object = terms["v_Ref"], isOtherClass(object) { throw ItemFailure(absence) }
        throw ItemFailure(errSecParam, .missingClass)
      }
      return (named, nil)
    }
    let reference: ItemReference
    do throws(ItemFailure) { reference = try ItemReference(term: term) } catch { throw error.naming("v_PersistentRef") }
    guard named == nil || named == reference.itemClass else {
      throw ItemFailure(errSecNoSuchClass, .referenceOfOtherClass)
    }
    return (reference.itemClass, reference)
  }

  private mutating func take(_ value: Any, for key: String, _ purpose: Purpose) throws(ItemFailure) {
    if try takeAttribute(value, for: key) { return }
    if case .changes = purpose { throw ItemFailure(errSecNoSuchAttr, .unchangeableKey(key)) }
    if try takeOther(value, for: key) { return }
    // Apple's attributes have keys of four letters, so this may be an attribute of another class.
    throw key.utf16.count == 4
      ? ItemFailure(errSecNoSuchAttr, .otherClassKey(key)) : ItemFailure(errSecParam, .unknownKey(key))
  }

  private mutating func takeAttribute(_ value: Any, for key: String) throws(ItemFailure) -> Bool {
    if let name = AttributeName(rawValue: key) {
      guard name.belongs(to: itemClass) else { throw ItemFailure(errSecNoSuchAttr, .otherClassKey(key)) }
      attributes[name] = try AttributeValue(value, of: name)
      return true
    }
    switch key {
    case "agrp":
      guard let text = value as? String else { throw .parameter }
      accessGroup = text
    case "sync":
      if value as? String == "syna" {
        synchronizable = .any
      } else {
        synchronizable = try Bool(term: value) ? .yes : .no
      }
    case "pdmn":
      guard let text = value as? String, let known = AccessibilityClass(constant: text) else { throw .parameter }
      accessible = known
    case "accc":
      guard let object = value as? SecAccessControl else { throw .parameter }
      control = object
    case "v_Data":
      guard let data = value as? Data else { throw .parameter }
      secret = data
    case "nleg": break  // Chooses one of a Mac's two keychains.
    default: return false
    }
    return true
  }

  private mutating func takeOther(_ value: Any, for key: String) throws(ItemFailure) -> Bool {
    if let kind = ReturnedKinds(key: key) {
      if try Bool(term: value) { returned.insert(kind) }
      return true
    }
    switch key {
    case "m_Limit": limit = try MatchLimit(term: value)
    case "m_ItemList", "u_ItemList": throw ItemFailure(errSecUnimplemented)
    case "v_Ref": throw ItemTerms.isOtherClass(value) ? ItemFailure(errSecUnimplemented) : .parameter
    default: return try authentication.take(value, for: key)
    }
    return true
  }

  /// Whether an object is a key, a certificate or an identity.
  private static func isOtherClass(_ object: Any) -> Bool {
    object is SecKey || object is SecCertificate || object is SecIdentity
  }

  /// The protection that the dictionary names; nil if it names none.
  ///
  /// - Throws: The errors of ``Protection/init(_:)``.
  func protection() throws(ItemFailure) -> Protection? {
    if let control { return try Protection(control) }
    return accessible.map { Protection(accessible: $0, control: .none) }
  }

  /// The attributes that a program can set.
  var settableAttributes: [AttributeName: AttributeValue] { attributes.filter { !$0.key.isSetByVault } }
}
