import Foundation
import LatchkeySecurity
import LatchkeySodium

extension PrimaryKey {
  /// A hash of the primary key. No two items that `SecItemAdd` stored may have the same hash. An absent value counts as empty, and
  /// text counts as its UTF-8.
  var hash: String {
    var form = Data()
    func octets(_ number: Int64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
    func add(_ kind: String, _ bytes: Data) {
      form.append(contentsOf: kind.utf8)
      form.append(contentsOf: octets(Int64(bytes.count)))
      form.append(bytes)
    }
    add("c", Data(itemClass.rawValue.utf8))
    add("g", Data(accessGroup.utf8))
    add("s", Data([isSynchronizable ? 1 : 0]))
    for value in values {
      switch value?.compared {
      case .data(let data): add("d", data)
      case .number(let number): add("n", Data(octets(number)))
      // No primary attribute is a date, and each primary attribute has a value that means "absent".
      case .text, .date, nil: add("-", Data())
      }
    }
    return Data(Sodium.checksum(Array(form).span.bytes, length: 16)).base64EncodedString()
  }
}
