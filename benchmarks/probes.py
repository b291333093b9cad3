"""Probes: an event of a team of its own lands every second, by the clock, whatever the system has answered so far.

Landing them and asking for them are threads of their own. A lander that waits for an answer before it lands the next one
would send least just when the system is slowest.
"""

import json
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from transformations.durations import iso

MEASURED = "team_scores"
EVERY = 1.0
LOOK = 0.05
PATIENCE = 180.0
"""Seconds after which a probe counts as never seen."""


@dataclass
class Probes:
    """Lands probes and asks for each, oldest first, until it is answered."""

    landing: Path
    address: str
    waits: list[float] = field(default_factory=list)
    """Seconds from a probe's landing to the first answer that has it."""
    lost: int = 0
    _waiting: dict[int, float] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self, seconds: float) -> None:
        """Land for so long, and come back when the last probe was answered or given up."""
        asking = threading.Thread(target=self._ask, name="probes", daemon=True)
        asking.start()
        begun = time.monotonic()
        for number in range(int(seconds / EVERY)):
            self._over.wait(max(0.0, begun + number * EVERY - time.monotonic()))
            self._land(number)
        self._over.set()
        asking.join()
        self.lost += len(self._waiting)  # an answer that made no sense has ended the asking

    def _land(self, number: int) -> None:
        name = f"probe-{number}"
        event = {"event_id": name, "kind": "bubbles_popped", "player_id": "probe", "team_id": name, "bubbles": 1}
        draft = self.landing / f".{name}"
        draft.write_text(json.dumps({**event, "occurred_at": iso(datetime.now(UTC))}) + "\n")
        draft.replace(self.landing / f"{name}.jsonl")
        self._waiting[number] = time.monotonic()

    def _ask(self) -> None:
        while self._waiting or not self._over.is_set():
            for number, landed in sorted(self._waiting.items()):
                seen, waited = self._answered(f"probe-{number}"), time.monotonic() - landed
                if seen:
                    self.waits.append(waited)
                elif waited > PATIENCE:
                    self.lost += 1
                else:
                    break
                del self._waiting[number]
            time.sleep(LOOK)

    def _answered(self, team: str) -> bool:
        try:
            with urlopen(f"{self.address}/results/{MEASURED}?layer=kappa&key={team}&limit=1", timeout=10) as answer:
                return bool(json.load(answer)["rows"])
        except HTTPError as refused:
            if refused.code != 404:  # the stream has not begun
                raise
            return False
        except TimeoutError:
            return False
