"""The fuzz targets. Only the night builds them, so the gate compares them with the sources."""

import re

from support.documents import REPOSITORY


def test_each_request_of_the_device_key_service_is_read():
    """The switch over the requests must be exhaustive. Otherwise no fuzz target builds."""
    packets = (REPOSITORY / "Sources/Wire/DeviceService/DevicePacket.swift").read_text()
    requests = re.findall(r"^  case (\w+)", packets.split("enum DeviceRequest")[1].split("init(decoding")[0], re.M)
    target = (REPOSITORY / "Tests/Fuzz/Targets/Target.swift").read_text()
    switch = target.split("func deviceRequest")[1].split("\n  }\n")[0]
    assert len(requests) > 10
    assert [one for one in requests if f".{one}" not in switch] == []
