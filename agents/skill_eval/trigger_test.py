"""Trigger test on a model: which skill it loads for a request, asked as in a run."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial

from agents.evidence import Evidence
from agents.llm.base import ChatModel, ModelMessage, TokenUsage, ToolCall
from agents.llm_registry.selection import SelectedModel
from agents.run_context import RunContext
from agents.skill_eval.runner import record_usage, run_concurrently
from agents.skills.run_skills import FIND, LOAD, RunSkills
from agents.skills.selection import RunSkillsFactory
from agents.strategies.react import REACT
from agents.strategies.shared.model_turn import Turn, TurnTooLong, stream_turn
from agents.strategies.shared.tool_loop import with_skills
from agents.tools import build_toolbox
from agents.tools.base import Toolbox, ToolScope
from agents.tools.live_call import LiveCall
from core.db.database import Database
from core.json_access import as_object, as_text, parse
from skills.selection.trigger_tests import TriggerAnswer, TriggerCandidates, TriggerQuery, split_queries

# One to search, one to load, one for a name that was misspelled.
_MOST_TURNS = 3
# Who says so much without a call does not look for a skill any more.
_MOST_TOKENS = 4_000
_TRIGGERED_FROM = 0.5

Spend = Callable[[TokenUsage], None]


async def loaded_skill_ids(model: ChatModel, skills: RunSkills, request: str, spend: Spend) -> tuple[str, ...]:
    """Ids of the skills that a model loads for a request before anything else, in order; may be none.

    It gets ReAct's prompt, the index, and the tools of a run without documents. Searches for skills and unknown names
    are answered; any other call or text ends the trial. Nothing is loaded. ``spend`` gets the tokens of each turn.
    """
    context = RunContext(request, model, skills=skills)
    tools = build_toolbox(ToolScope(context, Evidence(), top_k=1))
    request_messages = [ModelMessage("system", REACT), ModelMessage("user", request)]
    messages = with_skills(skills, request_messages, tools)
    for _ in range(_MOST_TURNS):
        turn = await _turn(model, messages, tools, spend)
        calls = () if turn is None else turn.calls
        requested_skills = [skills.find(_requested_name(call)) for call in calls if call.name == LOAD]
        loaded = dict.fromkeys(skill.ref.id for skill in requested_skills if skill is not None)
        if turn is None or loaded or not calls or any(c.name not in {LOAD, FIND} for c in calls):
            return tuple(loaded)
        messages.append(turn.message)
        for call in calls:
            output = await tools.call(call.name, call.arguments, live=LiveCall(call.id))
            messages.append(ModelMessage("tool", output.content, tool_call_id=call.id))
    return ()


async def _turn(model: ChatModel, messages: list[ModelMessage], tools: Toolbox, spend: Spend) -> Turn | None:
    events = model.events(messages, tools.specs)
    try:
        return await stream_turn(events, takes_calls=True, emit=_ignore, spend=spend, most_tokens=_MOST_TOKENS)
    except TurnTooLong as endless:
        spend(TokenUsage(0, endless.tokens, is_estimated=True))
        return None


def _ignore(_: object) -> None:
    """Drop the events of a trial."""


def _requested_name(call: ToolCall) -> str:
    try:
        return as_text(as_object(parse(call.arguments or "{}")).get("name"))
    except ValueError:
        return ""


class TriggerTrials:
    """Trials of one skill on a model; tokens count as the reader's usage."""

    def __init__(
        self, database: Database, factory: RunSkillsFactory, chosen: SelectedModel, candidates: TriggerCandidates
    ) -> None:
        self._database = database
        self._factory = factory
        self._chosen = chosen
        self._candidates = candidates
        self._loaded: dict[int, list[tuple[str, ...]]] = {}

    def run(self, queries: Sequence[TriggerQuery], runs: int) -> AsyncGenerator[int]:
        """Ask each request ``runs`` times; yields how many trials are done, see ``run_concurrently``."""
        self._loaded = {place: [] for place in range(len(queries))}
        trials = [partial(self._try, place, query) for place, query in enumerate(queries) for _ in range(runs)]
        return run_concurrently(trials)

    async def _try(self, place: int, query: TriggerQuery) -> None:
        candidates, model = self._candidates, self._chosen.model
        spent: list[TokenUsage] = []
        skills = await self._factory.build_trial(
            candidates.reader_id,
            [*candidates.siblings, candidates.tested],
            query.query,
            context_window=model.context_window,
        )
        try:
            self._loaded[place].append(await loaded_skill_ids(model, skills, query.query, spent.append))
        finally:
            await record_usage(self._database, candidates.reader_id, self._chosen, spent)

    def answers(self, queries: Sequence[TriggerQuery]) -> list[TriggerAnswer]:
        candidates = self._candidates
        cards = {card.id: card for card in (*candidates.siblings, candidates.tested)}
        answers: list[TriggerAnswer] = []
        for place, (query, split) in enumerate(zip(queries, split_queries(queries), strict=True)):
            loaded = self._loaded[place]
            share = sum(candidates.tested.id in ids for ids in loaded) / len(loaded)
            # Of what was loaded first, the most frequent one; of equal ones always the same.
            first = Counter(ids[0] if ids else "" for ids in loaded)
            best = min(first, key=lambda id_: (-first[id_], id_))
            name = candidates.name_of(cards[best]) if best else None
            is_triggered = share >= _TRIGGERED_FROM
            answers.append(TriggerAnswer(query.query, query.should_trigger, is_triggered, share, name, split))
        return answers
