"""Pictures of the console for the guide: ``python -m scripts.guide_pictures [--only guide|sources|backups]``.

Starts a product of its own, fills it with the guide, and takes the pictures of ``docs/pictures`` in both languages in
Debian's Chromium (``scripts/setup_browser.sh``). Controls are found by the words of the console's catalogues.
"""

import argparse
import asyncio
import json
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.console_browser import TimedPage, timed_page
from benchmarks.product import Product, SampleDocument, logged_in, running_product
from scripts.photographer import ANSWER_MS, ROOT, Photographer, tab
from scripts.source_pictures import take_backups, take_sources

_PARTS = ("guide", "sources", "backups")
# What benchmarks leave out and a newcomer sees.
_AS_STARTED = {"AGENTEX_DOCUMENTATION_ENABLED": "true", "AGENTEX_STARTER_SKILLS_ENABLED": "true"}
_TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "name": "Manuals",
        "question": "How do I upload a document?",
        "other": "How do I delete a document?",
        "missing": "getting-started.md",
        "starter": "Meeting minutes",
        "rule": "Answer finished",
        "rule_text": "The conversation has an answer.",
        "memories": ("I work in the documentation team.", "I prefer short answers with their sources."),
    },
    "zh": {
        "name": "手册",
        "question": "如何上传文档？",
        "other": "如何删除文档？",
        "missing": "getting-started.md",
        "starter": "会议纪要",
        "rule": "回答完成",
        "rule_text": "对话已有回答。",
        "memories": ("我在文档团队工作。", "我喜欢简短并注明来源的回答。"),
    },
}


def main() -> None:
    """Take all pictures anew, or those of one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=_PARTS)
    parts = {parser.parse_args().only or part for part in _PARTS}
    with tempfile.TemporaryDirectory() as name, running_product(settings=_settings_of(Path(name))) as product:
        # Before the browser, which has a loop of its own.
        bases = {language: asyncio.run(_fill(product, language)) for language in _TEXTS} if "guide" in parts else {}
        with timed_page(product) as signed_in:
            for language in bases:
                _take(signed_in, language, bases)
            if "sources" in parts:
                take_sources(product, signed_in, Path(name))
            if "backups" in parts:
                take_backups(product, signed_in, Path(name))


def _settings_of(folder: Path) -> dict[str, str]:
    for name in ("sources", "backups"):
        (folder / name).mkdir()
    return {
        **_AS_STARTED,
        "AGENTEX_SOURCE_FOLDERS": str(folder / "sources"),
        "AGENTEX_BACKUP_FOLDER": str(folder / "backups"),
        "AGENTEX_BACKUP_PASSPHRASE": secrets.token_urlsafe(),
    }


async def _fill(product: Product, language: str) -> str:
    paths = sorted((ROOT / "docs" / "guide" / language).glob("*.md"))
    texts = _TEXTS[language]
    async with logged_in(product) as session:
        kb_id = await session.create(str(texts["name"]))
        await session.ingest(kb_id, [SampleDocument(path.name, path.read_bytes()) for path in paths])
    return kb_id


@dataclass(frozen=True)
class GuidePhotographer(Photographer):
    """A tab whose pictures are of the guide's texts.

    Attributes:
        kb_id: the knowledge base with the guide in this language.
        foreign_kb_id: the one with the guide in the other language.
    """

    kb_id: str
    foreign_kb_id: str

    def text(self, name: str) -> str:
        """A text of this language that is typed or looked for."""
        return str(_TEXTS[self.language][name])


def _take(signed_in: TimedPage, language: str, bases: dict[str, str]) -> None:
    [foreign] = [kb_id for other, kb_id in bases.items() if other != language]
    with tab(signed_in, language) as page:
        photographer = GuidePhotographer(page, signed_in.base, language, bases[language], foreign)
        photographer.open("/")
        photographer.save("home")
        _knowledge(photographer)
        _search(photographer)
        _rule(photographer)
        _chat(photographer)
        _rule_log(photographer)
        _skill(photographer)
        _settings(photographer)


def _knowledge(photographer: GuidePhotographer) -> None:
    page = photographer.open("/knowledge-bases")
    photographer.button("knowledge:create.open").click()
    page.get_by_role("dialog").get_by_role("radio").first.wait_for()
    photographer.save("knowledge-base")
    photographer.open(f"/knowledge-bases/{photographer.kb_id}").get_by_role("table").wait_for()
    photographer.save("documents")


def _search(photographer: GuidePhotographer) -> None:
    words = photographer.words
    page = photographer.open(f"/knowledge-bases/{photographer.kb_id}/search")
    page.get_by_role("searchbox").fill(photographer.text("question"))
    page.keyboard.press("Enter")
    hit = page.get_by_role("main").get_by_role("link", name="documents.md").first
    hit.wait_for()
    photographer.save("search")
    photographer.button("search:why.title").click()
    dialog = page.get_by_role("dialog")
    document = dialog.get_by_label(words("search:choose.document"))
    document.press_sequentially(photographer.text("missing"))
    page.locator(f"datalist option[value='{photographer.text('missing')}']").wait_for(state="attached")
    dialog.get_by_role("radio").nth(2).check()
    photographer.button("search:why.explain", dialog).click()
    page.get_by_role("list", name=words("search:why.steps")).wait_for()
    page.get_by_role("list", name=words("search:why.steps")).scroll_into_view_if_needed()
    photographer.save("missing-passage")
    page = photographer.open(f"/knowledge-bases/{photographer.foreign_kb_id}/search?q={photographer.text('question')}")
    page.get_by_role("article").first.wait_for()
    photographer.save("both-languages")
    photographer.open(f"/knowledge-bases/{photographer.kb_id}/search?q={photographer.text('question')}")
    page.get_by_role("main").get_by_role("link", name="documents.md").first.click()
    page.get_by_role("heading", level=1, name="documents.md").wait_for()
    photographer.wait_for_mark("document-chunk")
    photographer.save("document")


def _rule(photographer: GuidePhotographer) -> None:
    """Write a rule, and try it with an event; the chat's answers will trigger it."""
    words = photographer.words
    page = photographer.open("/rules/new")
    page.get_by_label(words("rules:form.name"), exact=True).fill(photographer.text("rule"))
    page.get_by_label(words("rules:when.event_type"), exact=True).select_option("run.finished")
    photographer.button("rules:if.add").click()
    page.get_by_label(words("rules:if.field")).fill("run.agent_type")
    page.get_by_label(words("rules:if.value"), exact=True).fill("agentic_rag")
    page.get_by_label(words("rules:then.notify_title")).fill("{{run.title}}")
    page.get_by_label(words("rules:then.notify_text")).fill(photographer.text("rule_text"))
    event = {"run": {"title": photographer.text("question"), "agent_type": "agentic_rag"}}
    page.get_by_label(words("rules:dry_run.data")).fill(json.dumps(event, ensure_ascii=False, indent=2))
    photographer.button("rules:dry_run.run").click()
    page.get_by_text(words("rules:dry_run.acts"), exact=True).wait_for()
    page.evaluate("scrollTo(0, 0)")
    photographer.save("rule")
    photographer.button("rules:form.create").click()
    page.get_by_role("heading", level=1, name=photographer.text("rule")).wait_for()


def _rule_log(photographer: GuidePhotographer) -> None:
    words = photographer.words
    page = photographer.open("/rules")
    page.get_by_role("link", name=photographer.text("rule"), exact=True).click()
    page.get_by_role("link", name=words("rules:tab.log"), exact=True).click()
    done = page.get_by_role("listitem").filter(has_text=words("rules:status.success")).first
    done.get_by_text(words("rules:log.details")).click(timeout=ANSWER_MS)
    page.get_by_role("table").first.wait_for()
    photographer.save("rule-log")


def _chat(photographer: GuidePhotographer) -> None:
    words = photographer.words
    page = photographer.open("/")
    page.get_by_role("textbox", name=words("home:ask.label")).fill(photographer.text("question"))
    photographer.button("home:ask.submit").click()
    _wait_for_answer(photographer)
    source = page.get_by_role("button", name=words("chat:sources.open", number=1, name="")).first
    source.click()
    page.get_by_role("complementary").last.wait_for()
    photographer.wait_for_mark("document-quote")
    photographer.save("chat")
    page.keyboard.press("Escape")
    photographer.button("chat:card.show").click()
    page.get_by_role("region", name=words("chat:card.title"), exact=True).wait_for()
    photographer.save("card")
    page.reload()
    _wait_for_answer(photographer)
    photographer.button("chat:message.edit").click()
    field = page.get_by_role("textbox", name=words("chat:message.edited"))
    field.fill(photographer.text("other"))
    field.press("Enter")
    page.get_by_text("2 / 2", exact=True).wait_for()
    _wait_for_answer(photographer)
    photographer.save("branches")


def _wait_for_answer(photographer: GuidePhotographer) -> None:
    photographer.button("chat:message.copy").wait_for(timeout=ANSWER_MS)
    photographer.button("chat:composer.stop").wait_for(state="detached", timeout=ANSWER_MS)


def _skill(photographer: GuidePhotographer) -> None:
    page = photographer.open("/skills/new")
    starter = page.get_by_role("region", name=photographer.text("starter"))
    photographer.button(f"skills:new.language.{photographer.language}", starter).click()
    page.get_by_role("textbox").first.wait_for()
    photographer.save("skill")


def _settings(photographer: GuidePhotographer) -> None:
    page = photographer.open("/models")
    photographer.button("connections:model.add").click()
    page.get_by_role("dialog").wait_for()
    photographer.save("model")
    page = photographer.open("/profile")
    for text in _TEXTS[photographer.language]["memories"]:
        photographer.button("profile:memory.add").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("textbox").fill(text)
        photographer.button("common:action.save", dialog).click()
        page.get_by_role("dialog").wait_for(state="detached")
        page.get_by_text(text, exact=True).wait_for()
    page.get_by_role("heading", name=photographer.words("profile:memory.title")).scroll_into_view_if_needed()
    photographer.save("memories")
    photographer.open("/admin/system")
    photographer.save("administration")


if __name__ == "__main__":
    main()
