"""The attempts of a reflexion run: their drafts, their scores, the best of them."""

from dataclasses import dataclass

from pydantic import BaseModel, Field, JsonValue

from agents.citations import UnsupportedClaim
from agents.evidence import Evidence
from agents.llm.extractive.model import ENOUGH_COVERAGE
from agents.llm.extractive.quotes import Quotation
from agents.strategies.citation_check import check_citations
from agents.strategies.claim_check import unsupported_claims

_PENALTY = 0.15
_UNJUDGED = 0.5
_LONGEST_PROBLEM = 500
_MOST_PROBLEMS = 10
_FAULTS = {
    "uncited": "This has no citation: {text}",
    "no_source": "This cites a number that no passage has: {text}",
    "not_in_source": "The cited passage does not say this: {text}",
}


class Verdict(BaseModel):
    """What the model says of an attempt."""

    score: float = Field(ge=0, le=1)
    passed: bool
    problems: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt and what was found of it.

    Attributes:
        draft: The answer that was attempted.
        score: From 0 to 1.
        problems: What is missing or wrong.
    """

    draft: str
    score: float
    passed: bool
    problems: tuple[str, ...] = ()

    def to_json(self, number: int) -> dict[str, JsonValue]:
        """The attempt as the shared state shows it, without its text."""
        return {
            "number": number,
            "score": round(self.score, 2),
            "passed": self.passed,
            "problems": list(self.problems),
        }


def best_of(trials: list[Trial]) -> int | None:
    """The place of the best attempt that came to a draft, the later one of equals."""
    places = [place for place, trial in enumerate(trials) if trial.draft]
    return max(places, key=lambda place: (trials[place].score, place), default=None)


def judge(draft: str, evidence: Evidence, verdict: Verdict | None) -> Trial:
    """An attempt with what the model says of it and what its citations show.

    Citations that do not hold cost points whatever the model says, and such an attempt does not
    pass; a verdict that can't be read leaves it to them alone.

    Args:
        draft: the attempt's answer.
        evidence: what its marks may name.
        verdict: the model's; None when it can't be read.
    """
    invalid = check_citations(draft, evidence).invalid_numbers
    faults = [_fault(claim) for claim in unsupported_claims(draft, evidence)]
    if invalid and not faults:
        faults = [f"No passage has the number {number}." for number in invalid]
    said = [] if verdict is None else [problem.strip() for problem in verdict.problems]
    score = _UNJUDGED if verdict is None else verdict.score
    passed = not faults and (verdict is None or verdict.passed)
    problems = [problem[:_LONGEST_PROBLEM] for problem in [*said, *faults] if problem]
    return Trial(
        draft, max(0.0, score - _PENALTY * len(faults)), passed, tuple(problems[:_MOST_PROBLEMS])
    )


def judge_quotes(draft: str, quotation: Quotation, missing: str) -> Trial:
    """An attempt of the offline model: how much of the question its quotes cover."""
    passed = quotation.coverage >= ENOUGH_COVERAGE
    return Trial(draft, quotation.coverage, passed, (missing,) if missing and not passed else ())


def _fault(claim: UnsupportedClaim) -> str:
    return _FAULTS[claim.reason].format(text=claim.text)
