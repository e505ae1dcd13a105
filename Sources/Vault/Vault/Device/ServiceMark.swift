import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The file `device.service`. It says that on this machine the system service keeps the vault's device key. So if the service is
/// missing, the vault makes no key in a file. The mark has no secret.
struct ServiceMark: Equatable {
  static let name = "device.service"
  private static let magic = Array("LATCHSVC".utf8)
  private static let version: UInt32 = 1
  private static let size = 8 + 4 + 16 + 16 + 32

  /// A hash of the machine's identity; zeros if the machine has none.
  let machine: [UInt8]
  /// The identity of the key in a file that the service's key replaced; zeros if there was no such file.
  let replaced: [UInt8]

  init(machine: [UInt8]?, replaced: [UInt8]? = nil) {
    self.machine = ServiceMark.tag(machine)
    self.replaced = replaced ?? [UInt8](repeating: 0, count: 16)
  }

  private static func tag(_ machine: [UInt8]?) -> [UInt8] {
    guard let machine else { return [UInt8](repeating: 0, count: 16) }
    return Sodium.checksum(machine.span.bytes, length: 16)
  }

  /// The mark in the vault's folder; nil if there is no mark.
  ///
  /// - Throws: ``DeviceKeyError/unavailable(_:)`` for a file that is not a mark.
  init?(in folder: borrowing Folder) throws(DeviceKeyError) {
    guard folder.contains(ServiceMark.name) else { return nil }
    do {
      let content = try folder.read(ServiceMark.name, limit: ServiceMark.size)
      var input = ByteReader(content)
      let head = try input.take(8)
      let version: UInt32 = try input.number()
      machine = try input.take(16)
      replaced = try input.take(16)
      let sum = try input.take(32)
      let body = Array(content.prefix(ServiceMark.size - 32))
      guard input.remaining == 0, head == ServiceMark.magic, version == ServiceMark.version,
        sum == Sodium.checksum(body.span.bytes)
      else { throw DeviceKeyError.unavailable(.device(.markDamaged)) }
    } catch let error as DeviceKeyError { throw error } catch let error as PosixError {
      throw .unavailable(.of(.serviceMark, .verbatim(error.description)))
    } catch { throw .unavailable(.device(.markTruncated)) }
  }

  /// Whether the mark was made on the machine with that identity.
  func isOf(_ machine: [UInt8]?) -> Bool { self.machine == ServiceMark.tag(machine) }

  func write(in folder: borrowing Folder) throws(PosixError) {
    var out = ByteWriter()
    out.put(ServiceMark.magic)
    out.number(ServiceMark.version)
    out.put(machine)
    out.put(replaced)
    let body = out.bytes
    out.put(Sodium.checksum(body.span.bytes))
    let content = out.bytes
    try folder.write(ServiceMark.name, content.span.bytes, replacing: true)
  }
}
