// swift-format-ignore-file
import Foundation
import Security

func resultEither(_ result: AnyObject?) -> [[String: Any]] {
  switch result {
  case let many as [[String: Any]]: many
  case let one as [String: Any]: [one]
  default: []
  }
}
