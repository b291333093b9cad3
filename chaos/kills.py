"""SIGKILL at a known moment, also twice in a row.

Each kill has a sign of its own, and the disk has to show afterwards that it was the moment that was meant. A writer that strikes
itself comes to most moments again by its next start, in the same micro-batch. To the others it comes again in the next one, so it
recovers in between and something new lands.
"""

import random
import time
from dataclasses import dataclass, field

from chaos.moments import Moment, remains
from chaos.remains import Remains
from chaos.system import PATIENCE, STRUCK_NAMES, Incident, System, Writer
from chaos.violation import Violation
from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import boundaries
from lakehouse.identity import live_epoch
from lakehouse.log import position
from transformations.result import Result

KILLED = -9
ATTEMPTS = 5
"""How often a moment that is seen from outside may be missed by some milliseconds."""


def killed(writer: Writer, moment: Moment, system: System, rng: random.Random, *, late: bool) -> Incident:
    """The kill, the second one that the seed may want, and the start after it."""
    result = rng.choice(system.subject.repaired if late else system.results)
    times = rng.choice((1, 2))
    kill = Kill(system, writer, moment, result, late)
    struck = kill.fresh()
    if times == 2 and moment.comes_again:
        kill.again()
    elif times == 2:
        kill.recovered()
        kill.fresh()
    system.disarm()
    kill.started()
    if late:
        kill.refuse_without_repairs()
    of = "" if writer == "ingest" else f" of {result.name}"
    which = "same" if moment.comes_again else "next"
    again = f", and once more at that moment of the {which} micro-batch" if times == 2 else ""
    kind = " in a micro-batch with repairs" if late else ""
    return Incident(f"{STRUCK_NAMES[writer]}{of} was killed{kind} {moment.said}{again}", struck)


@dataclass
class Kill:
    """The kills of one writer at one moment."""

    system: System
    writer: Writer
    moment: Moment
    result: Result
    late: bool
    struck: list[tuple[int, Remains]] = field(default_factory=list)
    """The version of the log before the late events of each kill, and what was left."""

    def fresh(self) -> float:
        """A kill in a micro-batch of something that lands now; returns when it struck."""
        for _ in range(ATTEMPTS):
            before, since = self._remains(), position(self.system.lake).version
            at, left = self._strike(lands=True)
            if self._is_shown(before, left):
                self.struck.append((since, left))
                return at
            self.recovered()
        raise Violation(
            f"{self._whom} was to be killed {self.moment.said}, and {ATTEMPTS} times the moment was over when the kill came"
        )

    def again(self) -> None:
        """A kill at the same place of the same micro-batch: the order for it still stands."""
        before, [*_, (since, first)] = self._remains(), self.struck
        self.system.start(self.writer)
        _, left = self._strike(lands=False)
        if not self._is_shown(before, left) or left.planned != first.planned:
            raise Violation(self._another(left))
        self.struck.append((since, left))

    def recovered(self) -> None:
        """Start the writer, and wait until all is as if nothing had happened."""
        self.system.disarm()
        self.started()
        self.system.recovered()

    def started(self) -> None:
        """Start the writer; the batch layer has to come to its end."""
        process = self.system.start(self.writer)
        if self.writer == "batch" and process.wait(PATIENCE) != 0:
            raise Violation(f"the batch layer failed when it was started again: {process.said[-600:].strip()}")

    def refuse_without_repairs(self) -> None:
        """What was said to be a micro-batch with repairs has to have some, by its commit."""
        self.system.until(self.system.streamed, "the stream does not go on after its kill", pause=0.05)
        found = boundaries(self.system.lake, self.result, live_epoch(self.system.lake, self.result))
        for since, left in self.struck:
            first = min((each for each in found if each.log_version > since), key=lambda each: each.batch)
            if not first.repairs:
                raise Violation(
                    f"micro-batch {first.batch} of {self.result.name} was to repair what late events touched, and its commit "
                    f"says {first.repairs} repairs"
                )
            if first.batch not in (left.planned, left.planned + 1):  # before its offsets were logged it was not planned
                raise Violation(
                    f"{self._whom} was struck in micro-batch {left.planned}, and the repairs are in {first.batch}"
                )

    def _strike(self, *, lands: bool) -> tuple[float, Remains]:
        """Let something land if that is wanted, and let the writer die of it."""
        system, moment = self.system, self.moment
        seen = None if moment.watch is None else moment.watch(system, self.result)
        if lands:
            self._land()
            if self.writer == "batch":
                system.start("batch")
        if seen is not None:
            system.until(seen, f"{self._whom} was to be killed {moment.said}, and that moment does not come")
            system.process(self.writer).kill()
        code = system.died(self.writer)
        at = time.monotonic()
        if code != KILLED:
            raise Violation(
                f"{self._whom} was to be killed {moment.said}, and ended with exit code {code}: "
                f"{system.process(self.writer).said[-600:].strip()}"
            )
        return at, self._remains()

    def _land(self) -> None:
        if self.late:
            kind = self.result.kinds[0]
            self.system.await_late(kind)
            with self.system.held_still("stream", self.result):
                self._arm()
                self.system.deliveries.late(self.system.late_before(), kind=kind)
                self.system.until(self.system.ingested, "late files are not ingested")
        else:
            self._arm()
            self.system.deliveries.portion()

    def _arm(self) -> None:
        if self.moment.place is not None:
            what = ARRIVALS if self.writer == "ingest" else self.result.name
            self.system.arm(f"{self.moment.place}:{what}:*")

    def _is_shown(self, before: Remains, left: Remains) -> bool:
        if self.moment.shown(before, left):
            return True
        if self.moment.watch is None:
            raise Violation(self._another(left))
        return False

    def _another(self, left: Remains) -> str:
        return f"{self._whom} was killed {self.moment.said}, and the disk shows another moment: {left}"

    def _remains(self) -> Remains:
        return remains(self.system, self.writer, self.result)

    @property
    def _whom(self) -> str:
        return STRUCK_NAMES[self.writer]
