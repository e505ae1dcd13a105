import Foundation
import LatchkeySecurity
import Testing

@Suite("Certificates")
struct CertificateTests {
  private func kept(_ bytes: [UInt8]) -> Data? {
    SecCertificateCreateWithData(nil, Data(bytes) as CFData).map { SecCertificateCopyData($0) as Data }
  }

  @Test("A single DER sequence of the right length is kept unchanged")
  func sequences() {
    for count in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000] {
      let content = [UInt8](repeating: 7, count: count)
      let length: [UInt8] =
        switch count {
        case ..<0x80: [UInt8(count)]
        case ..<0x100: [0x81, UInt8(count)]
        case ..<0x10000: [0x82, UInt8(count >> 8), UInt8(count & 0xff)]
        default: [0x83, UInt8(count >> 16), UInt8(count >> 8 & 0xff), UInt8(count & 0xff)]
        }
      let bytes = [0x30] + length + content
      #expect(kept(bytes) == Data(bytes))
      #expect(kept(bytes + [0]) == nil)
      if count > 0 { #expect(kept(bytes.dropLast()) == nil) }
    }
  }

  @Test(
    "Other data is not a certificate",
    arguments: [
      [], [0x30], [0x31, 0], [0x30, 0x80], [0x30, 0x80, 0, 0], [0x30, 0x81], [0x30, 0x81, 1, 7], [0x30, 0x82, 0, 1, 7],
      [0x30, 0x85, 0, 0, 0, 0, 0], [0x30, 0xff], [0x30, 0x84, 0xff, 0xff, 0xff, 0xff], Array("-----BEGIN".utf8),
    ] as [[UInt8]])
  func others(bytes: [UInt8]) {
    #expect(kept(bytes) == nil)
  }

  @Test("A certificate keeps its own copy of the data, which may start anywhere in memory")
  func copies() {
    let mutable = NSMutableData(data: Data([0x30, 1, 7]))
    let certificate = SecCertificateCreateWithData(nil, mutable)
    mutable.resetBytes(in: NSRange(location: 0, length: 3))
    #expect(certificate.map { SecCertificateCopyData($0) as Data } == Data([0x30, 1, 7]))
    let slice = Data([9, 9, 0x30, 1, 7])[2...]
    #expect(SecCertificateCreateWithData(nil, slice as CFData) != nil)
  }
}
