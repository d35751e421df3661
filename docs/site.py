"""The pages of docs/ and README.md as a static site.

usage: python3 docs/site.py FOLDER

Writes a page of HTML for each page of Markdown, index.html of README.md, copies the pages of puzzles and the sources that are linked to. It knows the Markdown that
these pages use: headings, paragraphs, lists, tables, fenced blocks, code, links, bold. Prints what a link does not reach, a page or a heading; exit 1 where there is one.
"""
import html
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STYLE = """:root { color-scheme: light dark; --line: #8884; --soft: #8881 }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 62rem; padding: 1rem 1.5rem 4rem }
nav { display: flex; flex-wrap: wrap; border-bottom: 1px solid var(--line); font-size: .85rem; padding-bottom: .5rem }
nav a { margin-right: .8rem; white-space: nowrap }
code, pre { font: 13px/1.45 ui-monospace, monospace; background: var(--soft); border-radius: 4px }
code { padding: .1em .25em } pre { padding: .7rem .9rem; overflow-x: auto } pre code { padding: 0; background: none }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1rem 0 }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top }
a { color: light-dark(#0550ae, #79b8ff) }"""


def anchor(title):
    """The name of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]|\]\([^)]*\)", "", title).lower()).replace(" ", "-")


def target(link):
    path, mark, name = link.partition("#")
    if re.match(r"\w+:", path) or not path.endswith(".md"):
        return link
    page = path.rsplit("/", 1)[-1][:-3]
    return ("index" if page == "README" else page) + ".html" + mark + name


def inline(text, links):
    def link(m):
        links.append(m[2])
        return f'<a href="{html.escape(target(m[2]))}">{m[1]}</a>'

    kept = []

    def keep(m):
        kept.append(f"<code>{html.escape(m[2].strip() if m[1] != '`' else m[2])}</code>")
        return f"\0{len(kept) - 1}\0"

    text = html.escape(re.sub(r"(`+)(.+?)\1(?!`)", keep, text), quote=False)
    text = re.sub(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)", link, text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"<i>\1</i>", text))
    return re.sub("\0(\\d+)\0", lambda m: kept[int(m[1])], text)


def cells(row):
    """A table's row; `|` inside of code is no border."""
    kept = re.sub(r"`[^`]*`", lambda m: m[0].replace("|", "\1"), row.strip()).replace("\\|", "\1")
    return [c.strip().replace("\1", "|") for c in kept.strip("|").split("|")]


def convert(text, links, names):
    """Markdown -> HTML; adds to links what is linked to, to names the names of headings."""
    out, lines, at = [], text.split("\n"), 0
    is_start = re.compile(r"```|#{1,6} |[-*] |\d+\. |\||$")
    while at < len(lines):
        line = lines[at]
        if line.startswith("```"):
            end = next(i for i in range(at + 1, len(lines) + 1) if i == len(lines) or lines[i].startswith("```"))
            out.append("<pre><code>" + html.escape("\n".join(lines[at + 1: end])) + "</code></pre>")
            at = end + 1
        elif m := re.match(r"(#{1,6}) (.*)", line):
            name = anchor(m[2])
            name += f"-{names.count(name)}" * (name in names)
            names.append(name)
            out.append(f'<h{len(m[1])} id="{name}">{inline(m[2], links)}</h{len(m[1])}>')
            at += 1
        elif line.startswith("|"):
            end = at
            while end < len(lines) and lines[end].startswith("|"):
                end += 1
            rows = [cells(r) for r in lines[at:end] if not re.fullmatch(r"[|\s:-]*-[|\s:-]*", r)]
            out.append("<table>")
            for i, row in enumerate(rows):
                tag = "th" if i == 0 else "td"
                out.append("<tr>" + "".join(f"<{tag}>{inline(c, links)}</{tag}>" for c in row) + "</tr>")
            out.append("</table>")
            at = end
        elif m := re.match(r"([-*]|\d+\.) ", line):
            kind = "ul" if m[1] in "-*" else "ol"
            out.append(f"<{kind}>")
            while at < len(lines) and (m := re.match(r"\s*([-*]|\d+\.) (.*)", lines[at])):
                item, at = m[2], at + 1
                while at < len(lines) and lines[at].strip() and not is_start.match(lines[at].lstrip()):
                    item, at = f"{item} {lines[at].strip()}", at + 1
                out.append(f"<li>{inline(item, links)}</li>")
            out.append(f"</{kind}>")
        elif not line.strip():
            at += 1
        else:
            end = at + 1
            while end < len(lines) and not is_start.match(lines[end]):
                end += 1
            out.append(f"<p>{inline(' '.join(lines[at:end]), links)}</p>")
            at = end
    return "\n".join(out)


def main(folder):
    to = pathlib.Path(folder)
    to.mkdir(parents=True, exist_ok=True)
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/benchmarks").glob("*.md"))]
    nav = "".join(f'<a href="{target(p.name)}">{p.stem if p.stem != "README" else "fx"}</a>' for p in pages)
    names, links = {}, []
    for page in pages:
        own, names[page] = [], []
        body = convert(page.read_text(), own, names[page])
        links += [(page, link) for link in own]
        where = target(page.name)
        for link in own:  # a source lies beside the pages under its path in the tree
            path = (page.parent / link.partition("#")[0]).resolve()
            if path.is_file() and path.suffix != ".md" and path.is_relative_to(ROOT):
                copy = to / path.relative_to(ROOT / "docs" if path.is_relative_to(ROOT / "docs") else ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
        body = body.replace('href="../../', 'href="').replace('href="../', 'href="').replace('href="docs/puzzles/', 'href="puzzles/')
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>fx: {page.stem}</title><style>{STYLE}</style>'
        (to / where).write_text(f'<!doctype html><html lang="en"><head>{head}</head><body><nav>{nav}</nav>\n{body}\n</body></html>\n')
    n_wrong = 0
    for page, link in links:
        path, _, name = link.partition("#")
        if re.match(r"\w+:", path):
            continue
        reached = (page.parent / path).resolve() if path else page
        if not reached.exists() or (name and reached.suffix == ".md" and name not in names.get(reached, ())):
            print(f"{page.relative_to(ROOT)}: {link} leads nowhere")
            n_wrong += 1
    print(f"{len(pages)} pages, {len(links)} links, {n_wrong} lead nowhere: {to}/index.html")
    return n_wrong > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
