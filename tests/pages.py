"""What the tests read out of a page: the targets it offers, the places it links to, and the text a reader sees."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote


class Page(HTMLParser):
    """A page's `ids`, `links`, `tags` and visible `text`."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name == "href" and tag == "a"]

    def handle_data(self, data: str) -> None:
        if self.lasttag != "style":
            self.text += f"{data} "


def broken_links(page: Page) -> list[str]:
    """The page's links that lead nowhere."""
    return [link for link in page.links if not _leads_somewhere(page, unquote(link))]


def _leads_somewhere(page: Page, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = page.path.parent / name if name else page.path
    return target.is_file() and (not anchor or anchor in Page(target).ids)
