// swift-format-ignore-file
import Foundation
import Security

enum StatusEnum: Error, Equatable {
  case missing, duplicate, other(OSStatus)

  init?(_ status: OSStatus) {
    switch status {
    case noErr: return nil
    case errSecItemNotFound: self = .missing
    case errSecDuplicateItem: self = .duplicate
    default: self = .other(status)
    }
  }
}
