// swift-format-ignore-file
import Foundation
import Security

struct StatusError: LocalizedError {
  let status: OSStatus
  var errorDescription: String? { SecCopyErrorMessageString(status, nil) as String? ?? "\(status)" }
}

func statusMessage(_ status: OSStatus) -> String {
  if let text = SecCopyErrorMessageString(status, nil) { return "\(text)" }
  return "unknown"
}
