"""The reader of chaos: whatever an answer says wrongly, or however a server fails, it complains, and it never dies silently."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from game import catalogue
from pytest import MonkeyPatch

import chaos.reader
from chaos.reader import LAYERS, Question, Reader, Sums
from chaos.violation import Violation

SCORES, SESSIONS = (catalogue()[name] for name in ("team_scores", "player_sessions"))
RESULTS = [SCORES, SESSIONS]
PATIENCE = 20.0
Answer = Callable[[str, dict[str, str]], tuple[int, bytes]]
"""What is said to a path and its parameters: the code and the body."""


def row(team: str = "blue", *, bubbles: int = 7, start: str = "2026-03-01T10:00:00Z") -> dict[str, Any]:
    return {"team_id": team, "player_id": team, "window_start": start, "bubbles": bubbles, "events": 2}


def whole(*rows: dict[str, Any], version: int = 3, **more: Any) -> dict[str, Any]:
    return {"log_version": version, "versions": {"kappa": version}, "rows": list(rows), "next": None, **more}


def sound(_: str, __: dict[str, str]) -> tuple[int, bytes]:
    return 200, json.dumps(whole(row(), row("red"))).encode()


class Server:
    """What the reader knows of `parity serve`."""

    def __init__(self, said: str, code: int | None = None) -> None:
        self.said, self.code = said, code

    def end(self) -> None:
        pass


@contextmanager
def reading(answer: Answer, *, short: bool = False) -> Iterator[Reader]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlparse(self.path)
            code, body = answer(asked.path, {name: each for name, [each] in parse_qs(asked.query).items()})
            self.send_response(code)
            self.send_header("Content-Length", str(len(body) + (100 if short else 0)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    reader = Reader(Server(f"at http://127.0.0.1:{server.server_port}"), RESULTS)  # type: ignore[arg-type]
    try:
        yield reader
    finally:
        reader.end()
        server.shutdown()
        server.server_close()


def refused(reader: Reader) -> str:
    with pytest.raises(Violation) as found:
        reader.refuse_silence(reader.answers(), patience=PATIENCE)
    return str(found.value)


def test_every_result_is_asked_of_every_layer_in_every_round() -> None:
    asked = set()

    def answer(path: str, parameters: dict[str, str]) -> tuple[int, bytes]:
        asked.add((path, parameters["layer"]))
        return sound(path, parameters)

    with reading(answer) as reader:
        for _ in range(2):
            before = reader.answers()
            reader.refuse_silence(before, patience=PATIENCE)
            assert all(count > before[question] for question, count in reader.answers().items())
    assert asked == {(f"/results/{each.name}", layer) for each in RESULTS for layer in LAYERS}
    assert "lambda" in LAYERS and not reader.complaints


def test_an_answer_that_ends_too_soon_is_a_complaint() -> None:
    """`IncompleteRead` is no error of the operating system: it ended the reader's thread, and the run passed."""
    with reading(sound, short=True) as reader:
        assert "IncompleteRead" in refused(reader)


def test_an_answer_that_nobody_expected_is_a_complaint() -> None:
    with reading(lambda *_: (200, b'{"log_version": 1}')) as reader:
        assert "KeyError" in refused(reader)
    with reading(lambda *_: (200, b"[not json")) as reader:
        assert "JSONDecodeError" in refused(reader)


def test_a_server_that_fails_is_a_complaint() -> None:
    with reading(lambda *_: (500, b"it broke")) as reader:
        assert "answered 500 about team_scores of kappa: it broke" in refused(reader)


def test_a_layer_that_never_answers_is_a_violation(monkeypatch: MonkeyPatch) -> None:
    """Not to be there yet is no error. Not to be there at the end of a round is a violation."""

    def answer(path: str, parameters: dict[str, str]) -> tuple[int, bytes]:
        return (404, b"") if parameters["layer"] == "batch" else sound(path, parameters)

    with reading(answer) as reader:
        monkeypatch.setattr(chaos.reader, "PAUSE", 0.01)
        with pytest.raises(
            Violation, match="no answer in this round about team_scores of batch, player_sessions of batch"
        ):
            reader.refuse_silence(reader.answers(), patience=3.0)


def test_a_layer_that_was_there_and_is_gone_is_a_complaint() -> None:
    gone = threading.Event()
    with reading(lambda *given: (404, b"gone") if gone.is_set() else sound(*given)) as reader:
        reader.refuse_silence(reader.answers(), patience=PATIENCE)
        gone.set()
        assert "answered 404 about" in refused(reader)


def test_a_reader_that_fails_itself_is_a_complaint(monkeypatch: MonkeyPatch) -> None:
    def broken(self: Reader) -> str:
        raise RuntimeError(f"a mistake in {type(self).__name__}")

    monkeypatch.setattr(Reader, "_address", broken)
    reader = Reader(Server(""), RESULTS)  # type: ignore[arg-type]
    assert "the reader itself failed: RuntimeError: a mistake in Reader" in refused(reader)


def test_a_server_that_has_ended_is_a_complaint() -> None:
    reader = Reader(Server("it could not begin", code=2), RESULTS)  # type: ignore[arg-type]
    assert "the server ended with exit code 2: it could not begin" in refused(reader)


def test_pages_are_read_to_the_last() -> None:
    def answer(_: str, parameters: dict[str, str]) -> tuple[int, bytes]:
        page = whole(row("red")) if parameters.get("cursor") == "behind" else whole(row(), next="behind")
        return 200, json.dumps(page).encode()

    with reading(answer) as reader:
        reader.refuse_silence(reader.answers(), patience=PATIENCE)
        assert {each.rows for each in reader._sums.values()} == {2}


KAPPA, LAMBDA, BATCH, TOLD_ONCE = (
    Question(SCORES, "kappa"),
    Question(SCORES, "lambda"),
    Question(SCORES, "batch"),
    Question(SESSIONS, "kappa"),
)
SAME = whole(row(), row("red"))
OTHER = whole(row(), row("red", bubbles=8))
JUDGED: dict[str, tuple[Question, list[dict[str, Any]], str]] = {
    "the same again": (KAPPA, [SAME, SAME], ""),
    "more of a later version": (KAPPA, [SAME, {**OTHER, "log_version": 4}], ""),
    "another sum of one version": (KAPPA, [SAME, OTHER], "came to"),
    "a row less of one version": (BATCH, [SAME, whole(row())], "came to"),
    "another sum of the same tables": (LAMBDA, [SAME, OTHER], "came to"),
    "another sum after a recompute": (LAMBDA, [SAME, {**OTHER, "versions": {"kappa": 3, "batch": 2}}], ""),
    "another sum of batch after a recompute": (BATCH, [SAME, {**OTHER, "versions": {"batch": 9}}], "came to"),
    "a session more that the engine tells late": (TOLD_ONCE, [SAME, {**OTHER, "versions": {"kappa": 4}}], ""),
    "back in the log": (LAMBDA, [SAME, {**SAME, "log_version": 2}], "went back from log version 3 to 2"),
    "a key twice": (KAPPA, [whole(row(), row(bubbles=1))], 'has ["blue", "2026-03-01T10:00:00Z"] twice'),
}


@pytest.mark.parametrize("name", JUDGED)
def test_an_answer_is_judged_by_itself_and_by_those_before(name: str) -> None:
    question, answers, said = JUDGED[name]
    reader = Reader(Server("", code=0), RESULTS)  # type: ignore[arg-type]
    reader.end()
    reader.complaints.clear()
    for answer in answers:
        reader.judge(question, answer)
    assert len(reader.complaints) == (1 if said else 0), reader.complaints
    assert said in "".join(reader.complaints)


def test_sums_are_of_every_value() -> None:
    assert Sums.of([row(), row("red", bubbles=-2)], SESSIONS) == Sums(2, (("events", 4), ("bubbles", 5)))
    offers = catalogue()["offer_outcomes"]
    assert Sums.of([{"clicked_at": "2026-03-01T10:00:00Z"}, {"clicked_at": None}], offers) == Sums(
        2, (("clicked_at", 1),)
    )
    assert Sums.of([], offers) == Sums(0, ())
