"""Ids as somebody would send them who wants more than to play: each is the id of an event, a player, a team and an offer."""

import json

from deliveries import at, heartbeat, pop

HOSTILE = (
    "'; drop table events; --",
    '" or 1=1) union select * from quarantine --',
    "`events`; delete",
    "ends with a backslash \\",
    "\\' \\\" \\n \\u0041",
    "${jndi:ldap://127.0.0.1:1/x} ${7*7} #{7*7}",
    "{{7*7}}{% include '/etc/passwd' %}",
    "<script>window.broken=1</script>",
    "</script></td></table><script>window.broken=2</script>",
    "<img src=x onerror=window.broken=3>",
    "\"><svg/onload='window.broken=4'>",
    "&lt;b&gt; &amp;amp;",
    "[red]markup[/] [link=file:///etc/passwd]here[/link]",
    "../../../../escaped",
    "/escaped",
    "file:///escaped",
    "..\\..\\escaped",
    "%s %n %(x)s %2e%2e%2fescaped",
    "=cmd|' /C calc'!A0",
    "\x1b[2J\x1b]0;owned\x07",
    "nul \x00 inside",
    "tab\tline\nreturn\r",
    "\u202eright to left",
    "\ufeffmark \u2028 separator",
    "e\u0301 is not \u00e9 🎈",
    "__proto__",
    "person-00000000000000000000000000000000",
    "x" * 900,
)
FILE = "<img src=x onerror=alert(1)>'; drop table x --${7*7} %s %2e%2e%2f {{7*7}} [a-z]*{b,c}? \\ é.jsonl"
"""A name of a landing file. It cannot hold a slash; Spark cannot read a colon, and ingestion says so."""


def lines() -> list[str]:
    """A pop and an offer with each, and the time after which their results are settled."""
    sent = []
    for place, text in enumerate(HOSTILE):
        offer = {"event_id": f"{text} shown", "kind": "offer_shown", "player_id": text, "offer_id": text}
        sent.append(pop(text, 10 + place, bubbles=place + 1, player=text, team=text))
        sent.append(json.dumps({**offer, "occurred_at": at(10 + place)}))
    return [*sent, heartbeat("later", 9000)]
