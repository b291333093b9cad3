"""Questions of the API and their answers, page by page. A page says where the next one begins."""

from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson

from lakehouse.arrivals import ARRIVALS
from lakehouse.commits import commits, committed_at
from lakehouse.errors import NothingToCompare
from lakehouse.settings import Settings
from serving.cursors import Cursors
from serving.formats import ARROW, CSV, as_arrow, as_csv, as_json, plain_rows
from serving.parameters import Page, Revisions, Rows, key_values
from serving.queries import Asked
from serving.reader import Answer, Reader
from serving.remembered import Body, Remembered
from serving.subjects import Subject
from serving.verdicts import differences, reconciliation, reconciliations
from transformations.durations import from_millis, iso, to_millis
from transformations.plain import plain


class Answers:
    def __init__(self, reader: Reader, cursors: Cursors) -> None:
        self._reader = reader
        self._cursors = cursors
        self._remembered = Remembered()

    def rows(self, name: str, asked: Rows, media_type: str) -> Body:
        """A page of a result. One that was asked for before, of the same versions, is not computed again."""
        question = sha256(f"{name}?{asked.model_dump_json(exclude={'cursor', 'limit'})}".encode()).hexdigest()[:16]
        subject, after = self._begun(name, asked, question)
        asked_for = (question, asked.limit, asked.cursor, media_type, subject.versions, subject.at)
        known = sha256(repr(asked_for).encode()).digest()
        body = self._remembered.get(known)
        if body is None:
            body = self._body(subject, asked, question, after, media_type)
            self._remembered.keep(known, body)
        return body

    def history(self, name: str, asked: Revisions) -> dict[str, Any]:
        """The revisions of one result, each with its part in the story, and since when it is settled."""
        computed = self._reader.subjects.computed(name)
        answer = self._reader.history(name, key=key_values(computed.result, asked.key), window_start=asked.window)
        if not len(answer.rows):
            raise NothingToCompare(
                f"The stream of {answer.subject.result.id} has no row for the key {asked.key} and the window that starts at "
                f"{iso(asked.window)}."
            )
        return {
            **_told(answer.subject),
            "settled": self._settled(answer, computed.settings),
            "rows": plain_rows(answer.rows),
        }

    def reconciliations(self, asked: Page) -> dict[str, Any]:
        question = "reconciliations"
        after = self._cursors.read(question, asked.cursor) if asked.cursor else None
        found = reconciliations(self._reader, limit=asked.limit + 1, after=after)
        page, more = found[: asked.limit], len(found) > asked.limit
        return {"reconciliations": page, "next": self._cursors.written(question, page[-1]["id"]) if more else None}

    def reconciliation(self, run: str, asked: Page) -> dict[str, Any]:
        question = f"reconciliations/{run}"
        first = self._cursors.read(question, asked.cursor) if asked.cursor else 0
        found = reconciliation(self._reader, run)
        if found is None:
            raise NothingToCompare(f"There is no reconciliation {run!r}. GET /reconciliations lists them.")
        rows = differences(self._reader, run, limit=asked.limit + 1, first=first)
        more = len(rows) > asked.limit
        following = self._cursors.written(question, first + asked.limit) if more else None
        return {**found, "differences": rows[: asked.limit], "next": following}

    def _begun(self, name: str, asked: Rows, question: str) -> tuple[Subject, tuple[Any, ...] | None]:
        """What a page is of, and behind what it begins."""
        subjects = self._reader.subjects
        if asked.cursor is None:
            return subjects.subject(name, asked.layer, moment=asked.as_of), None
        version, pins, after = self._cursors.read(question, asked.cursor)
        subject = subjects.subject(version, asked.layer, pins=tuple((table, number) for table, number in pins))
        return subject, (from_millis(after[0]), *key_values(subject.result, after[1:]))

    def _body(
        self, subject: Subject, asked: Rows, question: str, after: tuple[Any, ...] | None, media_type: str
    ) -> Body:
        key = key_values(subject.result, asked.key)
        wanted = Asked(first=asked.first, end=asked.end, key=key, settled=asked.settled, after=after, limit=asked.limit)
        answer = self._reader.rows(subject, wanted)
        following = self._following(answer, question)
        if media_type == CSV:
            content = as_csv(answer.rows)
        elif media_type == ARROW:
            content = as_arrow(answer.rows)
        else:
            content = as_json({**_told(subject), "next": following}, answer.rows)
        headers = {
            "ETag": f'"{sha256(content).hexdigest()[:32]}"',
            "Parity-Versions": orjson.dumps(subject.versions).decode(),
            "Parity-Log-Version": str(subject.at.log_version),
            **({} if following is None else {"Parity-Next": following}),
        }
        return Body(content, media_type, headers)

    def _following(self, answer: Answer, question: str) -> str | None:
        if not answer.more:
            return None
        last = answer.rows.slice(len(answer.rows) - 1).to_pylist()[0]
        subject = answer.subject
        after = [to_millis(last["window_start"]), *(_as_text(last[name]) for name in subject.result.key)]
        return self._cursors.written(question, [subject.result.id, subject.lake.pins, after])

    def _settled(self, answer: Answer, settings: Settings) -> dict[str, Any] | None:
        """Since which version of the log only late events can change the result."""
        subject, last = answer.subject, answer.rows.slice(len(answer.rows) - 1).to_pylist()[0]
        end: datetime | None = last["window_end"]
        if end is None:
            return None
        least = to_millis(end + subject.result.window.settles_after + settings.lateness.allowed)
        table, since = subject.lake.of_log(ARRIVALS), None
        for said in commits(subject.lake, table):
            if said["high_water"] is None or said["high_water"] < least:
                break
            since = said["version"]
        if since is None or since > subject.at.log_version:
            return None
        return {"log_version": since, "at": iso(committed_at(subject.lake, table, since))}


def _as_text(value: Any) -> str | None:
    """A value of a key as one would ask for it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(plain(value))


def _told(subject: Subject) -> dict[str, Any]:
    """What an answer is of."""
    at = subject.at
    return {
        "result": subject.result.name,
        "version": subject.result.version,
        "layer": at.layer,
        "log_version": at.log_version,
        "versions": subject.versions,
        "settled_before": iso(at.settled_before),
        "cut_off": None if at.cut_off is None else iso(at.cut_off),
    }
