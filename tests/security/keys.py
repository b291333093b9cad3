"""How a key could be written down by mistake: as it is, as hex, and as the pads of an HMAC, which are as good as the key."""


def key_spellings(key: str) -> tuple[str, ...]:
    block = key.encode().ljust(64, b"\0")
    pads = (bytes(byte ^ pad for byte in block).hex() for pad in (0x36, 0x5C))
    return (key, key.encode().hex(), *pads)
