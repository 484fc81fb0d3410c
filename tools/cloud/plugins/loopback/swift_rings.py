"""Write Swift's rings of one device and one replica.

    python -m loopback.swift_rings SWIFT_FOLDER DEVICES_FOLDER NAME:PORT...
"""

import sys
from pathlib import Path

from swift.common.ring import RingBuilder

folder, devices = map(Path, sys.argv[1:3])
(devices / "d1").mkdir(parents=True, exist_ok=True)
for word in sys.argv[3:]:
    name, port = word.split(":")
    address = {"ip": "127.0.0.1", "port": int(port), "replication_ip": "127.0.0.1", "replication_port": int(port)}
    builder = RingBuilder(4, 1, 1)
    builder.add_dev({"id": 0, "region": 1, "zone": 1, "weight": 1.0, "device": "d1", "meta": "", **address})
    builder.rebalance()
    builder.get_ring().save(str(folder / f"{name}.ring.gz"))
