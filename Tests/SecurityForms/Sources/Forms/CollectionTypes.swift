// swift-format-ignore-file
import Foundation
import Security

func collectionTypes(_ text: String) -> (CFString, CFArray, CFData, CFNumber, CFDate, CFIndex, CFTypeID) {
  let array: CFArray = [text, text] as CFArray
  return (text as CFString, array, Data(text.utf8) as CFData, 5 as CFNumber, Date() as CFDate, 5, 5)
}
