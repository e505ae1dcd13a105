// swift-format-ignore-file
import LocalAuthentication

func contextErrors(_ error: any Error) -> Bool {
  switch error {
  case let error as LAError where error.code == .userCancel: true
  default: (error as NSError).domain == LAErrorDomain && (error as NSError).code == LAError.Code.authenticationFailed.rawValue
  }
}
