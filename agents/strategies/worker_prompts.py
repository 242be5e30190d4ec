"""The prompt of the router."""

ROUTE = """You route a request to the agent that answers it best; you do not answer it. The \
agents:
{choices}
The user's documents {searchable} searchable in this run. Answer with one JSON object and nothing \
else:
{{"agent_type": "one of the names above", "reason": "why, in one short sentence"}}"""
