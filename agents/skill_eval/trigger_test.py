"""Asks a language model which skill it would load for a request, as a run would ask it."""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial

from agents.evidence import Evidence
from agents.llm.base import ChatModel, ModelMessage, TokenUsage, ToolCall
from agents.llm_registry.selection import SelectedModel
from agents.run_context import RunContext
from agents.skill_eval.runner import count_tokens, side_by_side
from agents.skills.factory import RunSkillsFactory
from agents.skills.run_skills import FIND, LOAD, RunSkills
from agents.strategies.model_turn import Turn, TurnTooLong, stream_turn
from agents.strategies.react import REACT
from agents.strategies.tool_loop import with_skills
from agents.tools import build_toolbox
from agents.tools.base import Toolbox, ToolScope
from core.db.database import Database
from core.json_access import as_object, as_text, parse
from skills.selection.trigger_tests import Answer, Field, Query, splits

# One to search, one to load, one for a name that was misspelled.
_MOST_TURNS = 3
# Who says so much without a call does not look for a skill any more.
_MOST_TOKENS = 4_000
_TRIGGERED_FROM = 0.5

Spend = Callable[[TokenUsage], None]


async def loaded_by(
    model: ChatModel, shelf: RunSkills, request: str, spend: Spend
) -> tuple[str, ...]:
    """The skills that a model loads for a request before it does anything else.

    It gets ReAct's prompt, the index, and the tools of a run without documents. A search for skills
    is answered, and so is a name that there is not; anything else that it calls or says ends the
    trial. Nothing is loaded.

    Args:
        model: is asked.
        shelf: the skills that it may load.
        request: a user's words.
        spend: is told the tokens of each turn.

    Returns:
        Ids of skills, in the order of the calls; none where it goes on without a skill.

    Raises:
        ToolsRefused: the endpoint takes no tools.
        ModelFailed: the model broke off.
    """
    context = RunContext(request, model, skills=shelf)
    tools = build_toolbox(ToolScope(context, Evidence(), top_k=1))
    asked = [ModelMessage("system", REACT), ModelMessage("user", request)]
    messages = with_skills(shelf, asked, tools)
    for _ in range(_MOST_TURNS):
        turn = await _turn(model, messages, tools, spend)
        calls = () if turn is None else turn.calls
        named = [shelf.find(_named(call)) for call in calls if call.name == LOAD]
        loaded = dict.fromkeys(one.ref.id for one in named if one is not None)
        if turn is None or loaded or not calls or any(c.name not in {LOAD, FIND} for c in calls):
            return tuple(loaded)
        messages.append(turn.message)
        for call in calls:
            output = await tools.call(call.name, call.arguments, call_id=call.id)
            messages.append(ModelMessage("tool", output.content, tool_call_id=call.id))
    return ()


async def _turn(
    model: ChatModel, messages: list[ModelMessage], tools: Toolbox, spend: Spend
) -> Turn | None:
    events = model.events(messages, tools.specs)
    try:
        return await stream_turn(
            events, takes_calls=True, emit=_unheard, spend=spend, most_tokens=_MOST_TOKENS
        )
    except TurnTooLong as endless:
        spend(TokenUsage(0, endless.tokens, is_estimated=True))
        return None


def _unheard(_: object) -> None:
    """Nobody follows what is said in a trial."""


def _named(call: ToolCall) -> str:
    try:
        return as_text(as_object(parse(call.arguments or "{}")).get("name"))
    except ValueError:
        return ""


class Trials:
    """Trials of one skill on a model, for somebody whose usage they are.

    Args:
        database: where usage is counted.
        use: gives trials their skills.
        chosen: the model.
        field: the skills to choose among.
    """

    def __init__(
        self, database: Database, use: RunSkillsFactory, chosen: SelectedModel, field: Field
    ) -> None:
        self._database = database
        self._use = use
        self._chosen = chosen
        self._field = field
        self._loaded: dict[int, list[tuple[str, ...]]] = {}

    def run(self, queries: Sequence[Query], runs: int) -> AsyncGenerator[int]:
        """Ask each request so many times, some at once; closed early, the others are not asked.

        Yields:
            How many trials are done; at least once a second, so that whoever waits can leave.

        Raises:
            ModelFailed: the model broke off; the other trials end, too.
        """
        self._loaded = {place: [] for place in range(len(queries))}
        trials = [
            partial(self._try, place, one) for place, one in enumerate(queries) for _ in range(runs)
        ]
        return side_by_side(trials)

    async def _try(self, place: int, query: Query) -> None:
        field, model = self._field, self._chosen.model
        spent: list[TokenUsage] = []
        shelf = await self._use.trial_shelf(
            field.reader_id,
            [*field.beside, field.tested],
            query.query,
            context_window=model.context_window,
        )
        try:
            self._loaded[place].append(await loaded_by(model, shelf, query.query, spent.append))
        finally:
            await count_tokens(self._database, field.reader_id, self._chosen, spent)

    def answers(self, queries: Sequence[Query]) -> list[Answer]:
        """What came of all trials, request by request; to be asked once :meth:`run` has ended."""
        field = self._field
        cards = {card.id: card for card in (*field.beside, field.tested)}
        answers: list[Answer] = []
        for place, (query, split) in enumerate(zip(queries, splits(queries), strict=True)):
            loaded = self._loaded[place]
            share = sum(field.tested.id in ids for ids in loaded) / len(loaded)
            # Of what was loaded first, the most frequent one; of equal ones always the same.
            first = Counter(ids[0] if ids else "" for ids in loaded)
            best = min(first, key=lambda id_: (-first[id_], id_))
            name = field.name_of(cards[best]) if best else None
            is_triggered = share >= _TRIGGERED_FROM
            answers.append(
                Answer(query.query, query.should_trigger, is_triggered, share, name, split)
            )
        return answers
