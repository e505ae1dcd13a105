import Glibc
import LatchkeyBytes
import LatchkeyPosix
import LatchkeySodium

/// The device key as a file beside the vault, for systems without the device key service.
///
/// The file's secret is mixed with the machine's identity, so that a home folder copied to another machine does not
/// carry the device along. Weaker than the other backends, and `status` says so.
public final class FileDeviceKey: DeviceKey {
  /// The file's name in the vault's folder.
  public static let name = "device.key"
  private static let magic = Array("LATCHDEV".utf8)
  private static let version: UInt32 = 1
  // The fields: magic, version, whether a machine identity is mixed in, device secret, erasable secret, check sum.
  private static let headSize = 8 + 4 + 1
  private static let size = headSize + 2 * Key.size + 32

  /// 16 bytes by which a vault recognises this device. On another machine, the same file leads to other bytes.
  public let identity: [UInt8]
  /// Always ``DeviceKeyBackend/file``.
  public let backend = DeviceKeyBackend.file
  private let key: Key
  private var erasable: Key
  private let head: [UInt8]
  private let secret: Key

  /// Reads the device key in `folder`, or makes it if it is missing.
  ///
  /// - Parameters:
  ///   - machine: 16 bytes that identify this machine, or nil if it has no identity.
  ///   - mayCreate: false if a vault already exists, whose device key should exist too.
  /// - Throws: ``DeviceKeyError/unavailable(_:)`` with the problem of the file. The file is not changed.
  public init(folder: borrowing Folder, machine: [UInt8]?, mayCreate: Bool) throws(DeviceKeyError) {
    do {
      let content =
        mayCreate && !folder.contains(FileDeviceKey.name)
        ? try FileDeviceKey.create(in: folder, boundToMachine: machine != nil) : try FileDeviceKey.load(from: folder)
      let bytes = content.bytes
      let sum = FileDeviceKey.checksum(of: content)
      guard Sodium.equal(sum.span.bytes, bytes.extracting((FileDeviceKey.size - 32)..<FileDeviceKey.size)),
        Sodium.equal(bytes.extracting(first: 8), FileDeviceKey.magic.span.bytes)
      else { throw DeviceKeyError.unavailable(.device(.fileDamaged)) }
      // The error does not say that the file is damaged. A person might otherwise remove the only copy of a good key.
      let flag = bytes.unsafeLoad(fromByteOffset: 12, as: UInt8.self)
      guard
        UInt32(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt32.self)) == FileDeviceKey.version,
        flag <= 1
      else { throw DeviceKeyError.unavailable(.device(.fileNewer)) }
      let bound = flag == 1
      guard !bound || machine != nil else { throw DeviceKeyError.unavailable(.device(.noMachineIdentity)) }
      let inputs = bound ? [machine ?? []] : []
      let start = FileDeviceKey.headSize
      let secret = try Key(copying: bytes.extracting(start..<(start + Key.size)))
      let other = try Key(copying: bytes.extracting((start + Key.size)..<(start + 2 * Key.size)))
      key = try secret.derive(.deviceWrap, inputs)
      erasable = try other.duplicate()
      identity = try secret.tag(.deviceIdentity, inputs, length: 16)
      head = bytes.extracting(first: start).octets
      self.secret = try secret.duplicate()
    } catch let error as DeviceKeyError {
      throw error
    } catch let error as PosixError {
      throw .unavailable(.verbatim(error.description))
    } catch {
      throw .unavailable(.device(.noMemory))
    }
  }

  /// Writes the file again with another erasable secret. A file system that keeps former contents of files also keeps the old
  /// secret. Only the system service can do better.
  ///
  /// - Throws: ``DeviceKeyError/unavailable(_:)``; the old secret is then unchanged.
  public func eraseErasable(in folder: borrowing Folder) throws(DeviceKeyError) {
    do {
      let next = try Key.random()
      let content = try FileDeviceKey.assembled(head: head, secret: secret, erasable: next)
      try folder.write(FileDeviceKey.name, content.bytes.extracting(first: FileDeviceKey.size), replacing: true)
      erasable = next
    } catch let error as PosixError {
      throw .unavailable(.verbatim(error.description))
    } catch {
      throw .unavailable(.device(.noMemory))
    }
  }

  private static func assembled(
    head: [UInt8], secret: borrowing Key, erasable: borrowing Key
  ) throws(SodiumError) -> SecureBytes {
    var content = try SecureBytes(count: size + 1)
    content.write(head.span.bytes, at: 0)
    content.write(secret.bytes, at: headSize)
    content.write(erasable.bytes, at: headSize + Key.size)
    let sum = checksum(of: content)
    content.write(sum.span.bytes, at: size - 32)
    return content
  }

  private static func load(from folder: borrowing Folder) throws -> SecureBytes {
    var content = try SecureBytes(count: size + 1)
    let count = try folder.read(name, into: content.mutableBytes)
    guard count == size else { throw DeviceKeyError.unavailable(.device(.fileTruncated)) }
    return content
  }

  private static func create(in folder: borrowing Folder, boundToMachine: Bool) throws -> SecureBytes {
    let lock = try KeybagFile.lock(folder)
    defer { extendLifetime(lock) }
    // Two programs that do this at once get the same device key.
    if folder.contains(name) { return try load(from: folder) }
    var head = ByteWriter()
    head.put(magic)
    head.number(version)
    head.number(UInt8(boundToMachine ? 1 : 0))
    let made = try assembled(head: head.bytes, secret: .random(), erasable: .random())
    try folder.write(name, made.bytes.extracting(first: size), replacing: false)
    return try load(from: folder)
  }

  private static func checksum(of content: borrowing SecureBytes) -> [UInt8] {
    Sodium.checksum(content.bytes.extracting(first: size - 32))
  }

  /// A reader of the file can unwrap everything, so it cannot keep a secret for logins alone.
  private static func check(_ kind: DeviceShareKind) throws(DeviceKeyError) {
    guard kind != .session else { throw .unavailable(.device(.serviceKeepsLogins)) }
  }

  private func wrapKey(_ kind: DeviceShareKind) throws(SodiumError) -> Key {
    var hash = try KeyedHash(key: key)
    hash.update(KeyLabel.deviceWrap.text)
    hash.update([kind.rawValue].span.bytes)
    if kind == .erasable { hash.update(erasable) }
    return try hash.key()
  }

  /// Wraps `share` for this device and machine, bound to `context`: 72 bytes.
  ///
  /// - Throws: ``DeviceKeyError/unavailable(_:)`` if there is no memory for a secret.
  public func wrap(
    _ share: borrowing Key, _ kind: DeviceShareKind, context: [UInt8]
  ) throws(DeviceKeyError) -> [UInt8] {
    try FileDeviceKey.check(kind)
    do { return AEAD.seal(share.bytes, key: try wrapKey(kind), associated: context) } catch {
      throw .unavailable(.device(.noMemory))
    }
  }

  /// Unwraps a share that ``wrap(_:_:context:)`` made with this file on this machine.
  ///
  /// - Throws: ``DeviceKeyError/otherDevice`` for any other bytes, even damaged ones.
  public func unwrap(_ wrapped: [UInt8], _ kind: DeviceShareKind, context: [UInt8]) throws(DeviceKeyError) -> Key {
    try FileDeviceKey.check(kind)
    do {
      return try Key(try AEAD.open(wrapped.span.bytes, key: try wrapKey(kind), associated: context))
    } catch {
      throw error == .outOfMemory ? .unavailable(.device(.noMemory)) : .otherDevice
    }
  }
}
