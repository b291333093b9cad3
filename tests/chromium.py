"""Debian's Chromium without a window, driven as a person would drive it. It asks nobody outside for anything."""

import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement

SCREENSHOTS = Path(__file__).parents[1] / "screenshots"
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1400,1200"
)


@contextmanager
def chromium(*, logs: Sequence[str] = ()) -> "Iterator[WebDriver]":
    """A browser of its own. `logs` are kept for `get_log`: `browser` is the console, `performance` what it asked for."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("CHROMIUM OR ITS DRIVER IS MISSING: `make browser` installs them; what people see was NOT tried")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    options.set_capability("goog:loggingPrefs", dict.fromkeys(logs, "ALL"))
    for flag in FLAGS.split():
        options.add_argument(flag)
    driven = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    driven.set_page_load_timeout(120)
    try:
        yield driven
    finally:
        driven.quit()


def seen(driver: "WebDriver", locator: tuple[str, str], seconds: float = 60) -> "WebElement":
    """The element, as soon as it is on the page and shown."""
    from selenium.webdriver.support import expected_conditions
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, seconds).until(expected_conditions.visibility_of_element_located(locator))


def text_within(driver: "WebDriver", pattern: str, seconds: float = 60) -> str:
    """The text of the page, as soon as the pattern is in it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        text = driver.execute_script("return document.body ? document.body.innerText : ''")
        if re.search(pattern, text):
            return text
        time.sleep(0.2)
    raise AssertionError(f"{pattern!r} is not on {driver.current_url}: {text}")


def screenshot(driver: "WebDriver", name: str) -> None:
    """For people to look at; git ignores the directory."""
    SCREENSHOTS.mkdir(exist_ok=True)
    driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))
