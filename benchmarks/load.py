"""A load on the API from a process of its own: so many connections, each asks again as soon as it has its answer.

    python -m benchmarks.load http://127.0.0.1:8000 16 10 '/results/team_scores?limit=300' ['/results/…' …]

Bounded in time. Prints requests a second and percentiles of the latency as a line of JSON.
"""

import asyncio
import json
import sys
import time
from itertools import cycle
from statistics import quantiles
from urllib.parse import urlsplit


async def main(address: str, connections: int, seconds: float, paths: list[str]) -> dict[str, float]:
    host = urlsplit(address)
    assert host.hostname in ("127.0.0.1", "localhost")
    taken: list[float] = []
    sizes: list[int] = []
    upcoming = cycle(paths)
    end = time.monotonic() + seconds

    async def client() -> None:
        reader, writer = await asyncio.open_connection(host.hostname, host.port)
        while time.monotonic() < end:
            begun = time.perf_counter()
            writer.write(f"GET {next(upcoming)} HTTP/1.1\r\nHost: {host.netloc}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            await reader.readexactly(length)
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(head.decode())
            taken.append(time.perf_counter() - begun)
            sizes.append(length)
        writer.close()

    begun = time.monotonic()
    await asyncio.gather(*(client() for _ in range(connections)))
    wall = time.monotonic() - begun
    at = quantiles(taken, n=100)
    return {
        "requests": len(taken),
        "per_second": round(len(taken) / wall, 1),
        "p50_ms": round(at[49] * 1000, 2),
        "p99_ms": round(at[98] * 1000, 2),
        "bytes": round(sum(sizes) / len(sizes)),
    }


if __name__ == "__main__":
    found = asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]))
    sys.stdout.write(json.dumps(found) + "\n")
