// swift-format-ignore-file
import Foundation
import Security

func statusNSError(_ status: OSStatus) -> NSError {
  NSError(
    domain: NSOSStatusErrorDomain, code: Int(status),
    userInfo: [NSLocalizedDescriptionKey: SecCopyErrorMessageString(status, nil) as Any])
}
