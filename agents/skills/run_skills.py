"""Skills of one run: available, active, and the tools that they allow."""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agents.llm.base import ModelMessage, ToolCall
from agents.skills.active import ActiveSkill, LoadedSkill, OfferedSkill, dump_skill, load_skill, names_tool, to_state
from agents.skills.loader import SkillLoader
from core.json_access import as_object, as_text
from skills.selection.prompt_index import IndexBlock
from skills.selection.selector import SkillSelector
from skills.store.summary import SkillCard

LOAD, READ_FILE, FIND, COMPLETE = ("load_skill", "read_skill_file", "find_skills", "complete_step")
ALWAYS_ALLOWED = frozenset((LOAD, READ_FILE, FIND, COMPLETE))
"""Tools that no skill takes away: they reach nothing but skills."""
MOST_ACTIVE = 3
"""Skills that a model may load; those that a person chose are counted apart."""
MOST_TOKENS = 20_000
"""About how many tokens all skills of a run may take together."""
_ALIKE = 3
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class SkillResources:
    """Loader, ranking and prompt index of a run's skills."""

    loader: SkillLoader
    selector: SkillSelector
    index: IndexBlock


class RunSkills:
    """The skills of one run; those ``chosen`` by a person load first. The journal stores changes as notes."""

    def __init__(
        self,
        resources: SkillResources,
        offered: Sequence[OfferedSkill],
        chosen: Sequence[OfferedSkill] = (),
        inputs: Mapping[str, JsonValue] | None = None,
        *,
        is_chinese: bool = False,
    ) -> None:
        self.loader = resources.loader
        self.index = resources.index
        self.inputs = dict(inputs or {})
        self.is_chinese = is_chinese
        self.chosen = tuple(chosen)
        self._is_begun = not self.chosen
        self._selector = resources.selector
        self._offered = {skill.key: skill for skill in [*offered, *chosen]}
        self._loaded: dict[str, LoadedSkill] = {}
        self._pending: dict[str, ActiveSkill] = {}
        self._notes: dict[str, dict[str, JsonValue]] = {}
        self._last_state: JsonValue = None
        self._is_listed = False

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(sorted(self._offered))

    def start_loading_chosen(self) -> bool:
        """Whether the chosen skills are still to be loaded; true at most once."""
        begun, self._is_begun = self._is_begun, True
        return not begun

    def find(self, name: str) -> OfferedSkill | None:
        by_id = next((skill for skill in self._offered.values() if skill.ref.id == name), None)
        return self._offered.get(name.strip().removeprefix("/")) or by_id

    def withdraw(self, skill: OfferedSkill) -> None:
        if not self.is_active(skill.ref.id):
            self._offered.pop(skill.key, None)

    def similar_keys(self, name: str) -> list[str]:
        return close_names(name.lower(), self.keys)

    async def rank(self, query: str, most: int) -> list[OfferedSkill]:
        """The skills that fit a request, best first; by words alone without an encoder."""
        ranked = await self._selector.rank_anyway(query)
        skills = [self._offered.get(skill.card.slug) for skill in ranked if skill.score > 0]
        return [skill for skill in skills if skill is not None][:most]

    @property
    def active(self) -> tuple[ActiveSkill, ...]:
        return tuple(loaded.skill for loaded in self._loaded.values())

    def is_active(self, skill_id: str) -> bool:
        return skill_id in self._loaded

    def is_chosen(self, skill_id: str) -> bool:
        return any(skill.ref.id == skill_id for skill in self.chosen)

    def lacks_room_for(self, skill: ActiveSkill) -> bool:
        by_id = {other.ref.id: other for other in (*self.active, *self._pending.values())}
        others = [other for other in by_id.values() if other.ref.id != skill.ref.id]
        by_model = sum(not other.chosen for other in others)
        together = skill.tokens + sum(other.tokens for other in others)
        return together > MOST_TOKENS or (not skill.chosen and by_model >= MOST_ACTIVE)

    def pin(self, skill: ActiveSkill) -> None:
        offered = self._offered.get(skill.key)
        card = offered.card if offered else SkillCard(skill.key, skill.name, "")
        self._offered[skill.key] = OfferedSkill(skill.key, skill.ref, card)

    def hold_pending(self, call_id: str, skill: JsonValue) -> None:
        """Apply a skill's tool restrictions while a person is asked for its inputs."""
        pending = load_skill(skill)
        self._pending[call_id] = pending
        self.pin(pending)

    def release_pending(self, call_id: str) -> None:
        self._pending.pop(call_id, None)

    def note_loaded(self, call_id: str, skill: ActiveSkill) -> None:
        self._notes[call_id] = {"loaded": dump_skill(skill)}

    def note_step(self, call_id: str, skill_id: str, index: int, evidence: str) -> None:
        step: dict[str, JsonValue] = {"id": skill_id, "index": index, "evidence": evidence}
        self._notes[call_id] = {"step": step}

    def pop_note(self, call_id: str) -> dict[str, JsonValue] | None:
        return self._notes.pop(call_id, None)

    def apply(self, call: ToolCall, content: str, note: JsonValue) -> None:
        about = as_object(note)
        if "loaded" in about:
            skill = load_skill(about["loaded"])
            self.pin(skill)
            self._loaded[skill.ref.id] = LoadedSkill(skill, call, content)
        if "step" in about:
            step = as_object(about["step"])
            working, index = self._loaded.get(str(step["id"])), step["index"]
            if working is not None and isinstance(index, int):
                working.done[index] = as_text(step.get("evidence"))
                working.is_unread = True

    def mark_read(self) -> None:
        """Mark results as read: the model reads them before its next calls."""
        for working in self._loaded.values():
            working.is_unread = False

    def is_unread(self, skill_id: str) -> bool:
        working = self._loaded.get(skill_id)
        return working is not None and working.is_unread

    def current_step(self, skill_id: str) -> int | None:
        working = self._loaded.get(skill_id)
        return None if working is None else working.current

    def done_steps(self, skill_id: str) -> frozenset[int]:
        working = self._loaded.get(skill_id)
        return frozenset(working.done if working else ())

    def refusal(self, tool: str, among: Collection[str] = ()) -> str | None:
        if self._allows(tool):
            return None
        names = ", ".join(skill.key for skill in self.restricting)
        allowed = [name for name in among if self._allows(name)]
        names_text = ", ".join(allowed[:_MOST_NAMED]) or "none"
        if (more := len(allowed) - _MOST_NAMED) > 0:
            names_text += f" and {more} more"
        return (
            f"The tool {tool[:100]} is not allowed by the active skill {names}: go on without it. "
            f"Allowed tools: {names_text}."
        )

    @property
    def restricting(self) -> tuple[ActiveSkill, ...]:
        """The skills whose tool restrictions apply; those chosen by a person take precedence."""
        return (*self._counting(self._in_force), *self._counting(self._pending.values()))

    @property
    def _in_force(self) -> tuple[ActiveSkill, ...]:
        return tuple(loaded.in_force for loaded in self._loaded.values())

    def _counting(self, skills: Iterable[ActiveSkill]) -> list[ActiveSkill]:
        every = (*self._in_force, *self._pending.values())
        by_person = any(skill.chosen for skill in every if skill.tools is not None)
        return [skill for skill in skills if skill.tools is not None and (skill.chosen or not by_person)]

    def _allows(self, tool: str) -> bool:
        active = self._counting(self._in_force)
        is_allowed = not active or any(names_tool(skill.tools or (), tool) for skill in active)
        # What may never be loaded gives nothing that those that are loaded do not.
        return is_allowed and all(
            names_tool(skill.tools or (), tool) for skill in self._counting(self._pending.values())
        )

    def render_index(self) -> str:
        """The index for the model; impressions are counted once."""
        if not self._is_listed:
            self._is_listed = True
            listed = [self._offered[key] for key in self.index.slugs if key in self._offered]
            self.loader.record_impressions([skill.ref for skill in listed])
        return self.index.text

    async def record_denial(self, tool: str) -> None:
        await self.loader.record_denial([skill.ref for skill in self.restricting], tool)

    def with_active_skills(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The messages with active skills as tool results behind the last question, never in the system message."""
        present = {call.id for message in messages for call in message.tool_calls}
        missing = [loaded for loaded in self._loaded.values() if loaded.call.id not in present]
        last = max((place for place, message in enumerate(messages) if message.role == "user"), default=None)
        if not missing or last is None:
            return list(messages)
        added: list[ModelMessage] = []
        for loaded in missing:
            added.append(ModelMessage("assistant", tool_calls=(loaded.call,)))
            added.append(ModelMessage("tool", loaded.result_text, tool_call_id=loaded.call.id))
        return [*messages[: last + 1], *added, *messages[last + 1 :]]

    def state_update(self, *, anew: bool = False) -> JsonValue:
        """Active skills as shared state if they changed since the last call or ``anew``, else None."""
        state: JsonValue = [to_state(loaded) for loaded in self._loaded.values()]
        if not state or (state == self._last_state and not anew):
            return None
        self._last_state = state
        return state


def close_names(text: str, names: Sequence[str]) -> list[str]:
    """The names that are spelled similarly to a text."""
    return difflib.get_close_matches(text, names, n=_ALIKE, cutoff=0.5)
