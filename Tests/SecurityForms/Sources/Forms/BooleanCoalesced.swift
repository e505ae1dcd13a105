// swift-format-ignore-file
import Foundation
import Security

func booleanCoalesced() -> [CFString: Any] { [kSecReturnData: kCFBooleanTrue ?? true, kSecAttrSynchronizable: kCFBooleanFalse ?? false] }
