// swift-format-ignore-file
import Foundation
import Security

func accessControlNSError(_ protection: CFString) -> (Int, String) {
  var error: Unmanaged<CFError>?
  _ = SecAccessControlCreateWithFlags(nil, protection, [.or, .and], &error)
  let cause = error!.takeRetainedValue()
  let same = cause as NSError
  return (CFErrorGetCode(cause) + same.code, (CFErrorGetDomain(cause) as String) + "\(String(describing: CFErrorCopyUserInfo(cause)))")
}
