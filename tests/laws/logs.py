"""Logs, written commit by commit as ingestion would, and a plain-Python answer to what they mean.

Logs to try come from worlds.py. Nothing here uses the transformations: order, high-water mark, windows and sums are
computed a second time. A row is a tuple: key columns, start and end of the window, values. Times are aware datetimes in UTC.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain, pairwise

from deliveries import START
from made_log import made_log
from pyspark.sql import DataFrame

from lakehouse.lake import Lake
from transformations.result import Result

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
WINDOW = timedelta(seconds=10)
WINDOWS: dict[str, dict[str, timedelta]] = {
    "team_scores": {"size": WINDOW},
    "level_ups": {"size": WINDOW},
    "game_pulse": {"size": WINDOW},
    "player_pace": {"size": timedelta(seconds=20), "slide": timedelta(seconds=5)},
    "player_sessions": {"gap": timedelta(seconds=6)},
    "reaction_times": {"size": WINDOW},
    "active_players": {"size": timedelta(seconds=30)},
    "lifetime_totals": {},
    "hot_minutes": {"size": WINDOW},
    "pop_streaks": {"size": timedelta(minutes=5)},
    "offer_outcomes": {"within": timedelta(seconds=20)},
    "click_through": {"size": timedelta(seconds=30), "within": timedelta(seconds=20)},
    "league_scores": {"size": WINDOW},
}
"""Short ones: a log of a few dozen arrivals crosses many edges."""
GOAL = 500
STREAK = 10
GAP, WITHIN = 6_000, 20_000
SIZES = [10_000, 10_000, 20_000, 30_000, 300_000]
"""The same in milliseconds, for edges."""


@dataclass(frozen=True)
class Arrival:
    event_id: str
    millis: int  # event time after START
    team: str = "blue"
    player: str = "alice"
    bubbles: int = 1
    kind: str = "bubbles_popped"
    reaction_ms: int | None = None
    offer: str | None = None
    league: str | None = None

    @property
    def event_time(self) -> datetime:
        return START + self.millis * MILLISECOND

    @property
    def said(self) -> dict[str, object]:
        """The columns of the log that an event of this kind fills."""
        if self.kind == "heartbeat":
            return {}
        if self.kind == "league_changed":
            return {"player_id": self.player, "league": self.league}
        if self.kind in ("offer_shown", "offer_clicked"):
            return {"player_id": self.player, "offer_id": self.offer}
        popped = {"bubbles": self.bubbles, "reaction_ms": self.reaction_ms}
        return {"team_id": self.team, "player_id": self.player, **popped}


Log = Sequence[Sequence[Arrival]]
Row = tuple[object, ...]


def write_log(lake: Lake, log: Log, *, horizon: timedelta) -> None:
    """Append each commit that the log does not have yet, with what ingestion says of it."""
    rows = [
        [{"event_id": each.event_id, "kind": each.kind, "event_time": each.event_time, **each.said} for each in commit]
        for commit in log
    ]
    made_log(lake, rows, horizon=horizon)


def marks(log: Log) -> Iterator[tuple[int, Arrival, datetime]]:
    """Each arrival with the number of its commit and the high-water mark at it."""
    mark = None
    for number, commit in enumerate(log):
        for arrival in commit:
            mark = arrival.event_time if mark is None else max(mark, arrival.event_time)
            yield number, arrival, mark


def _floor(moment: datetime, size: timedelta) -> datetime:
    """The last multiple of `size` after the epoch that is at or before the moment."""
    return EPOCH + (moment - EPOCH) // size * size


def _in_order(arrivals: Iterable[Arrival], kind: str = "bubbles_popped") -> list[Arrival]:
    return sorted((a for a in arrivals if a.kind == kind), key=lambda a: (a.millis, a.event_id))


def _by(trait: str, arrivals: Iterable[Arrival]) -> dict[str, list[Arrival]]:
    """The arrivals per team or player, each in the order that they had."""
    groups: dict[str, list[Arrival]] = defaultdict(list)
    for arrival in arrivals:
        groups[getattr(arrival, trait)].append(arrival)
    return groups


def _bubbles(pops: Iterable[Arrival]) -> int:
    return sum(pop.bubbles for pop in pops)


# Results of a window: its rows from its pops, which come in the order of (time, id). The window is half-open.


def team_scores(start: datetime, end: datetime, pops: list[Arrival]) -> Iterator[Row]:
    for team, own in _by("team", pops).items():
        each = [pop.bubbles for pop in own]
        yield (team, start, end, sum(each), len(each), min(each), max(each), len(_by("player", own)))


def level_ups(start: datetime, end: datetime, pops: list[Arrival]) -> Iterator[Row]:
    for team, own in _by("team", pops).items():
        total = 0
        for pop in own:
            total += pop.bubbles
            if total >= GOAL:
                yield (team, start, end, pop.event_time)
                break


def game_pulse(start: datetime, end: datetime, pops: list[Arrival]) -> Iterator[Row]:
    yield (start, end, len(pops), _bubbles(pops), len(_by("player", pops)))


def player_pace(start: datetime, end: datetime, pops: list[Arrival]) -> Iterator[Row]:
    for player, own in _by("player", pops).items():
        yield (player, start, end, _bubbles(own), len(own))


def reaction_times(start: datetime, end: datetime, pops: list[Arrival]) -> Iterator[Row]:
    for team, own in _by("team", pops).items():
        times = sorted(pop.reaction_ms for pop in own if pop.reaction_ms is not None)
        if times:
            yield (team, start, end, *(_percentile(times, share) for share in (0.5, 0.95, 0.99)))


def _percentile(ordered: list[int], share: float) -> float:
    """Interpolated between the two neighbours of the position, as `PERCENTILE_CONT` is; equal ones are the answer."""
    position = share * (len(ordered) - 1)
    lower = int(position)
    upper = lower if position == lower else lower + 1
    if ordered[lower] == ordered[upper]:
        return float(ordered[lower])
    return ordered[lower] * (upper - position) + ordered[upper] * (position - lower)


def active_players(start: datetime, end: datetime, pops: list[Arrival]) -> Iterator[Row]:
    yield (start, end, len(_by("player", pops)))


def pop_streaks(start: datetime, end: datetime, pops: list[Arrival]) -> Iterator[Row]:
    for player, own in _by("player", pops).items():
        for streak in range(1, len(own) // STREAK + 1):
            ten = own[(streak - 1) * STREAK : streak * STREAK]
            yield (player, streak, start, end, ten[-1].millis - ten[0].millis, _bubbles(ten))


OF_A_WINDOW: dict[str, Callable[[datetime, datetime, list[Arrival]], Iterator[Row]]] = {
    "team_scores": team_scores,
    "level_ups": level_ups,
    "game_pulse": game_pulse,
    "player_pace": player_pace,
    "reaction_times": reaction_times,
    "active_players": active_players,
    "pop_streaks": pop_streaks,
}


# Results that reach beyond a window: their rows from all arrivals, in any order.


def player_sessions(arrivals: list[Arrival]) -> Iterator[Row]:
    """Neighbours that are exactly the gap apart belong together."""
    gap = WINDOWS["player_sessions"]["gap"]
    for player, own in _by("player", _in_order(arrivals)).items():
        sessions = [[own[0]]]
        for last, pop in pairwise(own):
            if pop.event_time - last.event_time > gap:
                sessions.append([])
            sessions[-1].append(pop)
        for pops in sessions:
            yield (player, pops[0].event_time, pops[-1].event_time + gap, len(pops), _bubbles(pops))


def lifetime_totals(arrivals: list[Arrival]) -> Iterator[Row]:
    for player, own in _by("player", _in_order(arrivals)).items():
        each = [pop.bubbles for pop in own]
        values = (sum(each), len(each), min(each), max(each), own[0].event_time, own[-1].event_time)
        yield (player, EPOCH, None, *values)


def hot_minutes(arrivals: list[Arrival]) -> Iterator[Row]:
    """Each pop that brings its team to the goal, counted over the window that ends with it: (t - size, t]."""
    size = WINDOWS["hot_minutes"]["size"]
    for team, own in _by("team", _in_order(arrivals)).items():
        before: int | None = None
        for place, pop in enumerate(own):
            reach = [p for p in own[: place + 1] if p.event_time > pop.event_time - size]
            bubbles = _bubbles(reach)
            if bubbles >= GOAL and (before is None or before < GOAL):
                end = pop.event_time + MILLISECOND
                yield (team, pop.event_id, end - size, end, bubbles, before)
            before = bubbles


def _outcomes(
    arrivals: list[Arrival], within: timedelta
) -> Iterator[tuple[str, str | None, datetime, datetime | None]]:
    """Player, offer, when it was shown, and the first click from then until `within` later, both included."""
    shown = {(a.player, a.offer, a.event_time) for a in arrivals if a.kind == "offer_shown"}
    clicks = [(a.player, a.offer, a.event_time) for a in arrivals if a.kind == "offer_clicked"]
    for player, offer, at in shown:
        times = [time for who, what, time in clicks if (who, what) == (player, offer) and at <= time <= at + within]
        yield (player, offer, at, min(times, default=None))


def offer_outcomes(arrivals: list[Arrival]) -> Iterator[Row]:
    within = WINDOWS["offer_outcomes"]["within"]
    for player, offer, shown, clicked in _outcomes(arrivals, within):
        yield (player, offer, shown, shown + within, clicked)


def click_through(arrivals: list[Arrival]) -> Iterator[Row]:
    """Counted in the window in which the offer was shown, whenever it was clicked."""
    size, within = WINDOWS["click_through"]["size"], WINDOWS["click_through"]["within"]
    clicked: dict[datetime, list[bool]] = defaultdict(list)
    for _player, _offer, shown, click in _outcomes(arrivals, within):
        clicked[_floor(shown, size)].append(click is not None)
    for start, each in clicked.items():
        yield (start, start + size, len(each), sum(each))


def league_scores(arrivals: list[Arrival]) -> Iterator[Row]:
    """A pop counts for the league that its player is in at the time of the pop, a change at that very time included."""
    size = WINDOWS["league_scores"]["size"]
    changes = _by("player", _in_order(arrivals, "league_changed"))
    cells: dict[tuple[str | None, datetime], list[Arrival]] = defaultdict(list)
    for pop in _in_order(arrivals):
        leagues = [change.league for change in changes.get(pop.player, []) if change.millis <= pop.millis]
        cells[leagues[-1] if leagues else "none", _floor(pop.event_time, size)].append(pop)
    for (league, start), pops in cells.items():
        yield (league, start, start + size, _bubbles(pops), len(pops))


OF_ALL: dict[str, Callable[[list[Arrival]], Iterator[Row]]] = {
    "player_sessions": player_sessions,
    "lifetime_totals": lifetime_totals,
    "hot_minutes": hot_minutes,
    "offer_outcomes": offer_outcomes,
    "click_through": click_through,
    "league_scores": league_scores,
}


def answer(name: str, log: Log) -> set[Row]:
    """The rows of a result over the whole log."""
    if name in OF_A_WINDOW:
        return _of_windows(name, ((arrival, None) for arrival in chain(*log)))
    return set(OF_ALL[name](list(chain(*log))))


ANSWERS: dict[str, Callable[[Log], set[Row]]] = {name: partial(answer, name) for name in WINDOWS}


def on_time_answer(name: str, log: Log, allowed: timedelta) -> set[Row]:
    """The rows of a result over what is not late for it.

    Late for a window: it had ended at or before the mark less the allowed lateness. A row of overlapping windows can be
    late for some of them. Beyond windows it is the row's own time that counts; a total over all time is never late.
    """
    if name == "lifetime_totals":
        return answer(name, log)
    if name in OF_A_WINDOW:
        return _of_windows(name, ((arrival, mark - allowed) for _, arrival, mark in marks(log)))
    return set(OF_ALL[name]([arrival for _, arrival, mark in marks(log) if arrival.event_time > mark - allowed]))


def held(result: Result, policy: str) -> bool:
    """Whether the engine counts late rows of a result too, as long as it holds their window."""
    return result.way == "engine" and result.name in OF_A_WINDOW and policy == "correct"


def drop_bounds(log: Log, cuts: Sequence[int], hold: timedelta) -> list[datetime]:
    """Until when windows are closed to the engine in each micro-batch, of which each ends before the commit `cuts` names.

    Its watermark follows what it has seen, one micro-batch behind, and it drops by the one of the micro-batch before.
    """
    seen = [max((each.event_time for each in chain(*log[:cut])), default=None) for cut in cuts]
    known = [EPOCH if mark is None else max(mark - hold, EPOCH) for mark in seen]
    return [EPOCH, EPOCH, *known][: len(cuts)]


def held_answer(name: str, log: Log, cuts: Sequence[int], bounds: Sequence[datetime]) -> set[Row]:
    """The rows of a result over what its engine has not dropped."""
    starts = [0, *cuts]
    slices = zip(starts, cuts, bounds, strict=False)
    return _of_windows(name, ((each, bound) for start, end, bound in slices for each in chain(*log[start:end])))


def _of_windows(name: str, arrivals: Iterable[tuple[Arrival, datetime | None]]) -> set[Row]:
    """The rows of all windows. Each arrival comes with the time until which windows are closed to it."""
    size = WINDOWS[name]["size"]
    slide = WINDOWS[name].get("slide", size)
    windows: dict[datetime, list[Arrival]] = defaultdict(list)
    for arrival, closed in arrivals:
        start = _floor(arrival.event_time, slide)
        while arrival.event_time < start + size:
            if closed is None or start + size > closed:
                windows[start].append(arrival)
            start -= slide
    filled = {start: _in_order(found) for start, found in windows.items()}
    return {row for start, pops in filled.items() if pops for row in OF_A_WINDOW[name](start, start + size, pops)}


KEY_COLUMNS = {name: 1 for name in WINDOWS} | {
    **dict.fromkeys(["game_pulse", "active_players", "click_through"], 0),
    **dict.fromkeys(["hot_minutes", "pop_streaks", "offer_outcomes"], 2),
}


def settled(name: str, row: Row, before: datetime) -> bool:
    """Whether the row is final but for late events; totals over all time are taken as they stand.

    `before` is the mark less the allowed lateness. A click that is just on time may come exactly at the bound, so offers
    settle strictly after it.
    """
    if name == "lifetime_totals":
        return True
    end = row[KEY_COLUMNS[name] + 1]
    assert isinstance(end, datetime)
    if name == "offer_outcomes":
        return end < before
    if name == "click_through":
        return end + WINDOWS[name]["within"] < before
    return end <= before


def exact(result: Result) -> list[str]:
    """The columns that two answers must agree in to the last bit: all but a sketch and what it estimates."""
    values = [value.name for value in result.values if value.compared and not value.error]
    return [*result.key, "window_start", "window_end", *values]


def rows_of(frame: DataFrame, result: Result) -> set[Row]:
    return {plain(row) for row in frame.select(*exact(result)).collect()}


def plain(row: Iterable[object]) -> Row:
    return tuple(value.astimezone(UTC) if isinstance(value, datetime) else value for value in row)
