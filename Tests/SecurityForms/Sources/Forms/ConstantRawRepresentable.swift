// swift-format-ignore-file
import Foundation
import Security

enum ConstantRawRepresentable: RawRepresentable {
  case ftp, https

  init?(rawValue: String) {
    switch rawValue {
    case String(kSecAttrProtocolFTP): self = .ftp
    case String(kSecAttrProtocolHTTPS): self = .https
    default: return nil
    }
  }

  var rawValue: String {
    switch self {
    case .ftp: String(kSecAttrProtocolFTP)
    case .https: kSecAttrProtocolHTTPS as String
    }
  }
}
