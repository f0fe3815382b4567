"""A page in headless Chromium: what it loads, what it says, how it looks."""

import base64
import json
import tempfile

import debian
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

PACKAGES = ["chromium", "chromium-driver", "fonts-dejavu-core"]
PROGRAMS = ["chromium", "chromedriver"]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP = (1280, 900)
PHONE = (390, 844)


def install():
    """Installs Debian's packages if a program is missing; raises debian.Unavailable if it cannot."""
    debian.install(PACKAGES, PROGRAMS)


class Browser:
    """A Chromium with a profile of its own, which goes with it."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(
            prefix="poolsweep-browser-", ignore_cleanup_errors=True
        )
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for flag in [*FLAGS, f"--user-data-dir={self.profile.name}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()
        self.profile.cleanup()

    def open(self, path, size=DESKTOP, dark=False, scale=1):
        """Loads a page at a size in px; returns milliseconds from navigation to the end of loading."""
        command = self.driver.execute_cdp_cmd
        command(
            "Emulation.setDeviceMetricsOverride",
            {
                "width": size[0],
                "height": size[1],
                "deviceScaleFactor": scale,
                "mobile": size[0] < 500,
            },
        )
        command(
            "Emulation.setEmulatedMedia",
            {
                "features": [
                    {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
                ],
            },
        )
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.as_uri())
        self.settle()
        return self.run("return performance.getEntriesByType('navigation')[0].loadEventEnd")

    def settle(self):
        """Waits until what is drawn once its width is known is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)))"
        )

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector):
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)",
            selector,
        )

    def choose(self, selector, value):
        """Takes an option of a select by its value, as a person would."""
        self.run(
            "const s = document.querySelector(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('change', {bubbles: true}))",
            selector,
            str(value),
        )
        self.settle()

    def click(self, selector):
        """A real click, in the middle of the screen: the bar on top covers nothing there."""
        self.run(
            "document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})",
            selector,
        )
        self.find(selector).click()
        self.settle()

    def hover(self, selector):
        """Moves the pointer to the middle of an element; the text of the tooltip by name."""
        box = self.run(
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]",
            selector,
        )
        return self.point_at(*box)

    def point_at(self, x, y):
        self.settle()
        self.driver.execute_cdp_cmd(
            "Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y}
        )
        self.settle()
        if self.run("return document.getElementById('tip').hidden"):
            return None
        rows = self.run(
            "return [...document.querySelectorAll('#tip tr')].map((r) => [...r.cells].map((c) => c.textContent))"
        )
        return dict(rows)

    def errors(self):
        """What the page complained of since it was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Every address asked for since it was opened."""
        messages = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        sent = [m for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [m["params"]["request"]["url"] for m in sent]

    def picture(self, path, selector="html"):
        """A picture of an element, whole, whatever of it is in view."""
        box = self.run(
            "window.scrollTo({top: 0, behavior: 'instant'}); const b = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, scale: 1}",
            selector,
        )
        shot = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"captureBeyondViewport": True, "clip": box}
        )
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self):
        printed = self.driver.execute_cdp_cmd(
            "Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True}
        )
        return base64.b64decode(printed["data"])
