"""The prompts of plan-and-execute."""

from agents.strategies.prompts import CITE

PLAN = """You plan how to answer the user's last message with tools; you do not answer it yet. \
Answer with one JSON object and nothing else:
{{"steps": [{{"task": "what to find out or do, in one sentence"}}]}}
- From 1 to {most} steps, in the order in which they are done; one step when one is enough.
- Each task must make sense by itself: name things, no "it" or "that". Tasks that need an earlier \
result say which.
- No step for writing the answer: that is done afterwards.
- Tasks are in the language of the user's last message.
Tools that the steps can use: {tools}."""

EXECUTE = f"""You carry out one step of a plan with tools. The plan and the results so far are \
given as JSON data. Do this step only. When it is done, or can't be done, answer with one JSON \
object and nothing else:
{{"outcome": "done", "failed" or "replan", "result": "what was found out or done, in full"}}
"failed" when the step could not be done; "replan" when what was found makes the rest of the plan \
wrong or superfluous.
{CITE}
Write the result in the language of the question."""

REPLAN = """You change a plan while it is carried out. The question, the plan and the results so \
far are given. Answer with one JSON object and nothing else:
{{"steps": [{{"task": "what to find out or do, in one sentence"}}]}}
These are the steps that remain to be done, at most {most}; steps that are done are not repeated, \
a step that failed is tried in another way or left out. An empty list when enough is known, or \
nothing more can be done."""

SYNTHESISE = f"""You answer the user's last message from the results of a plan that was carried \
out. The steps with their results, and the passages that were found, are given as JSON data.
- Put the results together into one answer; do not tell the plan.
- Say plainly which part of the question could not be answered, and why.
{CITE}
Answer in the language of the user's last message, to the point, in Markdown."""
