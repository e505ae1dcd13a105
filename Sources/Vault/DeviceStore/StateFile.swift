import Glibc
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// One kind of file in the service's state folder: magic, version, content, check sum. FORMAT.md has them byte by byte.
struct StateFile {
  let name: String
  let magic: StaticString

  /// The device secret, as its seal keeps it.
  static let device = StateFile(name: "device", magic: "LATCHDVS")
  /// The folder of the users' files.
  static let users = "users"

  /// A user's salt.
  static func salt(_ user: UInt32) -> StateFile { StateFile(name: "\(user)", magic: "LATCHUSR") }
  /// A user's erasable secret.
  static func erasable(_ user: UInt32) -> StateFile { StateFile(name: "\(user).erasable", magic: "LATCHERS") }

  /// The generations of a user's vaults.
  static func vaults(_ user: UInt32) -> StateFile { StateFile(name: "\(user).vaults", magic: "LATCHGEN") }

  private static let version: UInt32 = 1
  private static let headSize = 8 + 4
  private static let sumSize = 32
  /// The largest file, in bytes.
  private static let limit = 8192

  var damaged: DeviceKeyError {
    .unavailable(.stateDamaged(file: name))
  }

  /// The content; nil if there is no file.
  func read(_ folder: borrowing Folder) throws(DeviceKeyError) -> SecureBytes? {
    do {
      var file = try SecureBytes(count: StateFile.limit)
      let size: Int
      do throws(PosixError) {
        size = try folder.read(name, into: file.mutableBytes)
      } catch {
        if error.code == ENOENT { return nil }
        throw DeviceKeyError.unavailable(.stateUnreadable(file: name, .verbatim("\(error)")))
      }
      guard size >= StateFile.headSize + StateFile.sumSize, size < StateFile.limit else { throw damaged }
      let bytes = file.bytes
      let content = StateFile.headSize..<(size - StateFile.sumSize)
      let sum = Sodium.checksum(bytes.extracting(first: content.upperBound))
      guard Sodium.equal(sum.span.bytes, bytes.extracting(content.upperBound..<size)),
        Sodium.equal(bytes.extracting(first: 8), magicBytes.span.bytes)
      else { throw damaged }
      let version = UInt32(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt32.self))
      guard version == StateFile.version else {
        throw DeviceKeyError.unavailable(.stateNewer(file: name, format: version))
      }
      return try SecureBytes(copying: bytes.extracting(content))
    } catch let error as DeviceKeyError { throw error } catch { throw .unavailable(.device(.noMemory)) }
  }

  private var magicBytes: [UInt8] { Array(magic.description.utf8) }

  /// Writes the file, whole or not at all.
  func write(_ content: RawSpan, in folder: borrowing Folder, replacing: Bool) throws(DeviceKeyError) {
    var head = ByteWriter()
    head.put(magicBytes)
    head.number(StateFile.version)
    do {
      let body = head.bytes.count + content.byteCount
      var file = try SecureBytes(count: body + StateFile.sumSize)
      file.write(head.bytes.span.bytes, at: 0)
      file.write(content, at: head.bytes.count)
      let sum = Sodium.checksum(file.bytes.extracting(first: body))
      file.write(sum.span.bytes, at: body)
      try folder.write(name, file.bytes, replacing: replacing)
    } catch let error as PosixError {
      throw .unavailable(.stateNotWritten(file: name, .verbatim("\(error)")))
    } catch { throw .unavailable(.device(.noMemory)) }
  }
}
