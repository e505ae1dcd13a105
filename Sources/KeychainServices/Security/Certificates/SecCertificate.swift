public import Foundation

/// A certificate in DER.
///
/// On Linux this is only a container. Its only check is that the data is one DER value of the right length. It exists because a
/// package that checks `canImport(Security)` then expects this type.
public final class SecCertificate: NSObject, @unchecked Sendable {
  let der: NSData

  init?(der: NSData) {
    guard SecCertificate.isOneSequence(der as Data), let copy = der.copy() as? NSData else { return nil }
    self.der = copy
  }

  /// Whether bytes are a single SEQUENCE whose length field, in DER's shortest form, is the length of the rest.
  static func isOneSequence(_ bytes: Data) -> Bool {
    var rest = bytes[...]
    guard rest.popFirst() == 0x30, let first = rest.popFirst() else { return false }
    guard first >= 0x80 else { return rest.count == Int(first) }
    let size = Int(first & 0x7f)
    guard (1...4).contains(size), rest.count >= size else { return false }
    let length = rest.prefix(size).reduce(0) { $0 << 8 | Int($1) }
    let shortest = length < 0x80 ? 0 : (Int.bitWidth - length.leadingZeroBitCount + 7) / 8
    return size == shortest && rest.count - size == length
  }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Keeps a certificate.
///
/// - Parameters:
///   - allocator: Nil.
///   - data: The certificate in DER.
/// - Returns: Nil for data that cannot be a certificate.
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
  SecCertificate(der: data)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The certificate in DER, as it was given.
///
/// - Parameter certificate: Any certificate.
/// - Returns: Its bytes.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { certificate.der }
