import Foundation

// This target does not depend on our modules, but can see them. Packages that know only Apple's Security do this:
#if canImport(Security)
  import Security

  extension SecCertificate {
    static func neighbour(_ der: Data) -> SecCertificate? { SecCertificateCreateWithData(nil, der as CFData) }
  }

  func neighbour(_ certificate: SecCertificate) -> Data { SecCertificateCopyData(certificate) as Data }
#endif
