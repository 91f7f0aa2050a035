"""Pages that reach for another host, in every way that we know."""

from __future__ import annotations

# Ways to reach another host, by name. They come in pieces of a page, "SCRIPT:" stands for a file
# beside it, "STYLE:" for a style sheet.
HOST = "outside.test"
PLANTED = {
    "image": f'<img src="https://{HOST}/x.png">',
    "second candidate": f'<img src="x.png" srcset="x.png 1x, http://{HOST}/x.png 2x">',
    "backslashes": rf'<img src="\\{HOST}\x.png">',
    "no slashes": f'<img src="https:{HOST}/x.png">',
    "line ends in the address": f'<img src="ht\ntps:/\t/{HOST}/x.png">',
    "base": f'<base href="http://{HOST}/"><img src="x.png">',
    "refresh": f'<meta http-equiv="refresh" content="0; url=http://{HOST}/">',
    "style attribute": f'<p style="background: url(http://{HOST}/x.png)">x</p>',
    "escaped style": f"<p style=\"background: url('\\68ttp://{HOST}/x.png')\">x</p>",
    "style sheet": f"STYLE:p {{ background: url(http://{HOST}/x.png) }}",
    "import": f"STYLE:@import 'http://{HOST}/x.css';",
    "import in the page": f"<style>@import url(http://{HOST}/x.css);</style>",
    "font": f"STYLE:@font-face {{ font-family: f; src: url(http://{HOST}/f) }} p {{ font: 1em f }}",
    "image set": f"STYLE:p {{ background: image-set('http://{HOST}/x.png' 1x) }}",
    "preload": f'<link rel="preload" as="image" href="http://{HOST}/x.png">',
    "module preload": f'<link rel="modulepreload" href="http://{HOST}/x.js">',
    "icon": f'<link rel="icon" href="http://{HOST}/x.ico">',
    "frame": f'<iframe src="http://{HOST}/"></iframe>',
    "page in a frame": f"<iframe srcdoc=\"<img src='http://{HOST}/x.png'>\"></iframe>",
    "SVG use": f'<svg><use href="http://{HOST}/x.svg#x"/></svg>',
    "SVG image": f'<svg><image href="http://{HOST}/x.png"/></svg>',
    "SVG filter": f'<svg><feImage href="http://{HOST}/x.png"/></svg>',
    "background": f'<table background="http://{HOST}/x.png"><tr><td>x</table>',
    "object": f'<object data="http://{HOST}/x.svg"></object>',
    "embedded": f'<embed src="http://{HOST}/x.svg">',
    "poster": f'<video poster="http://{HOST}/x.png"></video>',
    "form that submits itself": (
        f'<form action="http://{HOST}/"><input autofocus onfocus="this.form.submit()"></form>'
    ),
    "ping": f'<a href="#x" ping="http://{HOST}/">x</a>',
    "preconnect": f'<link rel="preconnect" href="http://{HOST}">',
    "handler": f'<img src="none.png" onerror="fetch(\'http://{HOST}/\')">',
    "inline fetch": f"<script>fetch('http://{HOST}/')</script>",
    "script file": f"SCRIPT:fetch('http://{HOST}/')",
    "dynamic import": f"SCRIPT:import('http://{HOST}/x.js')",
    "web socket": f"SCRIPT:new WebSocket('ws://{HOST}/')",
    "beacon": f"SCRIPT:navigator.sendBeacon('http://{HOST}/')",
    "event source": f"SCRIPT:new EventSource('http://{HOST}/')",
    "picture by script": f"SCRIPT:new Image().src = 'http://{HOST}/x.png'",
    "address in pieces": f"SCRIPT:fetch(['http:', '', '{HOST}', ''].join('/'))",
    "script that runs text": f"SCRIPT:eval(atob(btoa('fe' + 'tch(\"http:/' + '/{HOST}/\")')))",
}
# What a file does not show; what a browser does only at a click, or without a request.
UNREADABLE = ("address in pieces", "script that runs text")
NOT_BY_ITSELF = ("ping", "preconnect")


def plant(folder, form):
    """Write a page with one of the forms into `folder`."""
    kind, colon, rest = form.partition(":")
    if kind in ("SCRIPT", "STYLE") and colon:
        name = "x.js" if kind == "SCRIPT" else "x.css"
        (folder / name).write_text(rest)
        form = {
            "SCRIPT": f'<script src="{name}"></script>',
            "STYLE": f'<link rel="stylesheet" href="{name}">',
        }[kind]
    page = folder / "index.html"
    page.write_text(f'<!doctype html><meta charset="utf-8"><title>x</title>{form}<p>x</p>')
    return page
