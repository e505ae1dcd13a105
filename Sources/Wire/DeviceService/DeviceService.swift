// DeviceService: the protocol of the device key service, and its client.
//
// `latchkey-deviced` has the machine's secret. A user's daemon asks it to wrap and unwrap the shares on
// which device-bound classes depend. ``DevicePacket`` is the form of all packets. ``ServiceDeviceKey``
// is the client, and a ``DeviceKey`` for the vault like any other.
//
//     if let key = try ServiceDeviceKey.find(at: ServiceDeviceKey.path) {
//       let share = try key.unwrap(wrapped, kind, context: vault)
//     }
//
// ``ServiceProbe`` lets an event loop wait until the service has started. ``TurnLimit`` bounds all
// waits of one turn of the loop. ``LoginConnection`` is a connection that root opens for the login of a
// user who gave no password.
//
// The module promises that the kernel tells the service which user asks. Only packets of root name a
// user. The client believes only a service that runs as root. If the service does not answer, a turn of
// the loop waits once for a short time, and not once for each request. A lock ends the wait. Keys in
// packets are in locked memory.
//
// It does not keep any secret. The module DeviceStore, on the floor Vault, has the store on the disk.
// It does not decide whether a vault depends on the service or on a file: the vault's room Device does.
// About a TPM it tells only the word in ``ServiceDeviceKey/backend``. docs/developer/protocols.md has
// the bytes.
