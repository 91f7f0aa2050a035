"""A browser under watch: what it asks of whom, with the network refused.

A server on the loopback is two things at once: it serves a folder, and it is the proxy of the
browser. As a proxy it refuses, and writes down what it was asked for: so it sees what leaves the
browser by whatever door, also where playwright reports no request.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

SETTLED = 300  # milliseconds after which a page has asked for what it asks by itself
SCROLLED = """async () => {
  const step = window.innerHeight;
  for (let y = 0; y <= document.documentElement.scrollHeight; y += step) {
    window.scrollTo(0, y);
    await new Promise(requestAnimationFrame);
  }
}"""


class _Handler(SimpleHTTPRequestHandler):
    """Serves its folder; refuses and writes down what is meant for another host."""

    def parse_request(self):
        read = super().parse_request()
        outside = read and (self.command == "CONNECT" or not self.path.startswith("/"))
        if outside:
            self.server.refused.append(self.path)
            self.send_error(403)
        return read and not outside

    def log_message(self, *words):
        pass


@contextmanager
def served(folder):
    """Serve `folder` on the loopback, and refuse the rest of the world."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
    server.refused = []
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def is_own(address, folder, host):
    """Tell whether `address` belongs to the page: a file of the folder, or of its server."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        return not parts.netloc and Path(unquote(parts.path)).is_relative_to(folder)
    return parts.scheme in ("data", "blob", "about") or (
        parts.scheme == "http" and parts.netloc == host
    )


@contextmanager
def watched(chromium, server, folder, url, **settings):
    """Yield a new tab for the page at `url`, and a list of what the browser will have asked of
    others, sorted, which is filled when the tab is closed.

    Args:
        chromium: the browser.
        server: the one that `served` gave.
        folder: the pages.
        url: the page that is to be opened.
        settings: of the tab, such as `viewport`.
    """
    host = f"127.0.0.1:{server.server_port}"
    asked, outside = [], []
    server.refused.clear()
    proxy = {"server": f"http://{host}", "bypass": host}
    context = chromium.new_context(proxy=proxy, **settings)
    context.on("request", lambda request: asked.append(request.url))
    tab = context.new_page()
    tab.on("websocket", lambda socket: asked.append(socket.url))
    try:
        yield tab, outside
    finally:
        context.close()
    assert url in asked, f"{url} was not opened"
    found = {address for address in asked if not is_own(address, folder, host)}
    outside += sorted(found | set(server.refused))


def asked_outside(chromium, server, folder, page, way, scale=1):
    """Open a page of `folder` and return what the browser asked of others, sorted.

    Args:
        chromium: the browser.
        server: the one that `served` gave.
        folder: the pages.
        page: the file of a page, below `folder`.
        way: "file" or "http".
        scale: pixels of the screen per pixel of the page, which chooses among pictures.
    """
    from playwright.sync_api import Error

    base = folder.as_uri() if way == "file" else f"http://127.0.0.1:{server.server_port}"
    url = f"{base}/{page.relative_to(folder).as_posix()}"
    with watched(chromium, server, folder, url, device_scale_factor=scale) as (tab, outside):
        with suppress(Error):  # of a page that goes elsewhere by itself: that is written down
            tab.goto(url)
            tab.evaluate("window.MathJax && MathJax.startup && MathJax.startup.promise")
            tab.evaluate(SCROLLED)
        tab.wait_for_timeout(SETTLED)
    return outside
