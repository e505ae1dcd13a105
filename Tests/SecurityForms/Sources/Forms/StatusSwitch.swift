// swift-format-ignore-file
import Foundation
import Security

func statusSwitch(_ status: OSStatus) -> String {
  switch status {
  case errSecSuccess: "done"
  case errSecItemNotFound, errSecNoSuchAttr: "nothing"
  case errSecDuplicateItem: "there"
  case errSecInteractionNotAllowed, errSecAuthFailed, errSecUserCanceled: "locked"
  case let other where other < 0: "failed"
  default: "odd"
  }
}
