"""Values of the data on a terminal: an id may be anything, also what a terminal would obey, or markup of Rich's."""

from rich.markup import escape


def spelt(text: str) -> str:
    """The text with everything that cannot be printed spelt out, as `\\x1b`; line breaks and tabs stay."""
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" else sign.encode("unicode_escape", "surrogatepass").decode()
        for sign in text
    )


def plain(value: object) -> str:
    """A value as text between markup: what is in it is neither obeyed nor rendered."""
    return escape(spelt(str(value)).replace("\n", "\\n").replace("\t", "\\t"))
