// swift-format-ignore-file
import Foundation
import Security

func certificate(_ data: Data) -> Data? {
  guard let certificate = SecCertificateCreateWithData(nil, data as CFData) else { return nil }
  let key: SecKey? = nil, identity: SecIdentity? = nil
  _ = (key, identity)
  return SecCertificateCopyData(certificate) as Data
}
