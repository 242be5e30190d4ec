"""The pictures of a question: shown to a model that sees, and owned up to where they are not."""

from dataclasses import dataclass

from agents.llm.base import ModelImage
from agents.run_request import ContextItem

_TITLE = "Images attached to the question"
_UNSEEN = (
    "{unseen} of {total} can't be seen by you: say so where the answer depends on them, and do "
    "not guess what they show."
)
_BLIND = (
    "The attached pictures were not looked at: what answers here can't see pictures.",
    "附带的图片没有被查看：这里作答的模型不能看图片。",
)
_UNREADABLE = (
    "{unseen} of {total} attached pictures could not be read and were not looked at.",
    "附带的 {total} 张图片中有 {unseen} 张无法读取，没有被查看。",
)


@dataclass(frozen=True, slots=True)
class VisionInput:
    """What a run sees of its question's pictures.

    Attributes:
        attached: How many the question has.
        images: Those that the model is shown.
        is_blind: Whether it is shown none because it can't see.
    """

    attached: int = 0
    images: tuple[ModelImage, ...] = ()
    is_blind: bool = False

    @property
    def unseen(self) -> int:
        """How many are not shown."""
        return self.attached - len(self.images)

    @property
    def told(self) -> tuple[ContextItem, ...]:
        """What the model is told of those that it is not shown."""
        if not self.unseen:
            return ()
        text = _UNSEEN.format(unseen=self.unseen, total=self.attached)
        return (ContextItem(_TITLE, text),)

    def note(self, *, is_chinese: bool) -> str:
        """What the reader of the answer is told of them; empty where all were shown."""
        if not self.unseen:
            return ""
        wording = _BLIND if self.is_blind else _UNREADABLE
        return wording[is_chinese].format(unseen=self.unseen, total=self.attached)
