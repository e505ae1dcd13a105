import Foundation

// No dependency of this target is ours, and yet it can see us. What packages do then that know Apple's Security only:
#if canImport(Security)
  import Security

  extension SecCertificate {
    static func neighbour(_ der: Data) -> SecCertificate? { SecCertificateCreateWithData(nil, der as CFData) }
  }

  func neighbour(_ certificate: SecCertificate) -> Data { SecCertificateCopyData(certificate) as Data }
#endif
